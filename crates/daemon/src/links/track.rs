//! A link that a bundle follows, and looking at its carrier without waiting for a busy kernel. It judges nothing:
//! `links::life` does.

use std::collections::HashMap;
use std::time::Duration;

use l4::hops::{Link, Route};
use links::life::{Life, Why};
use model::config::{LinkProbe, Member};
use model::moment::Moment;
use tokio::task::JoinHandle;

use super::asker::Asker;
use super::device::Netlink;

/// Kernels that are busy with other interfaces let questions wait, for seconds where many come and go. Questions to next
/// hops go on meanwhile.
const SOON: Duration = Duration::from_millis(5);

/// What the far end was told of a link without a carrier here.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Notices {
    /// How often, since the carrier was lost.
    pub sent: u32,
    /// When it is told again.
    pub due: Moment,
}

/// A link that is followed.
#[derive(Debug)]
pub(super) struct Track {
    /// What is wanted.
    pub wanted: Member,
    /// What is known of it.
    pub life: Life,
    /// Its interface, if there is one.
    pub ifindex: Option<u32>,
    /// Asks its next hop.
    pub asker: Option<Asker>,
    /// What its questions carry or carried last; 0: there were none.
    pub token: u64,
    /// What the far end was told of this link.
    pub notices: Notices,
    /// The interface's name, where that is not what is wanted.
    found: Option<String>,
    /// Why it lives, or does not.
    pub reason: String,
    /// The kernel is asked for the carrier.
    look: Option<JoinHandle<Option<bool>>>,
}

impl Drop for Track {
    fn drop(&mut self) {
        self.stop_looking();
    }
}

impl Track {
    /// One of which nothing is known.
    pub fn new(wanted: &Member, probe: Option<&LinkProbe>) -> Track {
        Track {
            wanted: wanted.clone(),
            life: Life::new(probe.cloned()),
            ifindex: None,
            asker: None,
            token: 0,
            notices: Notices::default(),
            found: None,
            reason: "it was not looked at yet".to_owned(),
            look: None,
        }
    }

    /// Which interface it is, of those that are there; `routed`: by which its next hop is reached, asked where no interface
    /// is wanted by name. What it was stays when its way is lost.
    pub fn finds(&self, links: &HashMap<u32, Link>, routed: &Route) -> Option<u32> {
        if let Some(name) = &self.wanted.interface {
            return links.iter().find(|(_, link)| link.name == *name).map(|(ifindex, _)| *ifindex);
        }
        let hop = self.wanted.via.first()?;
        let found = match routed {
            // Not by a router: that would be another link's, or the bundle's own.
            Route::Via { ifindex, next, .. } if next == hop => Some(*ifindex),
            _ => None,
        };
        found.or(self.ifindex).filter(|ifindex| links.contains_key(ifindex))
    }

    /// Its interface has this number now, or is not there.
    pub fn is(&mut self, ifindex: Option<u32>, links: &HashMap<u32, Link>) {
        if self.ifindex != ifindex {
            self.stop_looking();
        }
        let lost = self.ifindex.is_some() && ifindex.is_none();
        self.ifindex = ifindex;
        self.found = ifindex.and_then(|ifindex| links.get(&ifindex)).map(|link| link.name.clone());
        if lost {
            // It may be known already that there is no carrier: that there is nothing at all says more.
            self.because(Why::NoCarrier);
        }
    }

    /// The interface's name, or what is known instead.
    pub fn name(&self) -> String {
        let hop = || self.wanted.via.first().map_or_else(String::new, |ip| format!("to {ip}"));
        self.wanted.interface.clone().or_else(|| self.found.clone()).unwrap_or_else(hop)
    }

    /// Takes down why it changed; the reason in a sentence.
    pub fn because(&mut self, why: Why) -> &str {
        let via = self.wanted.via.first().map(ToString::to_string).unwrap_or_default();
        let name = self.name();
        self.reason = match why {
            Why::NoCarrier if self.ifindex.is_none() => match &self.wanted.interface {
                Some(name) => format!("there is no interface {name}"),
                None => format!("no interface leads to {via}"),
            },
            Why::NoCarrier => format!("{name} has no carrier"),
            Why::Carrier => format!("{name} has a carrier"),
            Why::Silence => format!("{via} does not answer"),
            Why::Answers => format!("{via} answers"),
            Why::DownThere => format!("{via} says that it has no carrier there"),
        };
        &self.reason
    }

    /// What the kernel says of the carrier, if it says it soon; one that is busy is heard later.
    pub async fn look(&mut self, netlink: &Netlink) -> Option<bool> {
        let Some(ifindex) = self.ifindex else { return Some(false) };
        let look = self.look.get_or_insert_with(|| tokio::spawn(netlink.carrier(ifindex)));
        let answer = tokio::time::timeout(SOON, look).await.ok()?;
        self.look = None;
        answer.ok()?
    }

    fn stop_looking(&mut self) {
        if let Some(look) = self.look.take() {
            look.abort();
        }
    }
}
