//! A link of a bundle: its liveness, and its carrier, read without waiting for a busy kernel.

use std::collections::HashMap;
use std::time::Duration;

use l4::next_hops::{NextHopLink, ServerRoute};
use links::link_monitor::{LinkChange, LinkMonitor};
use model::config::{BundleLink, LinkProbe};
use model::monotonic_time::MonotonicTime;
use tokio::task::JoinHandle;

use super::device::BundleNetlink;
use super::prober::LinkProber;

/// Kernels that are busy with other interfaces let questions wait, for seconds where many come and go. Questions to next
/// hops go on meanwhile.
const SOON: Duration = Duration::from_millis(5);

/// Notices sent to the far end about a link without a carrier here.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CarrierNotices {
    /// How often, since the carrier was lost.
    pub sent: u32,
    /// The time of the next announcement.
    pub next_at: MonotonicTime,
}

/// A link that is followed.
#[derive(Debug)]
pub(super) struct LinkTracker {
    pub wanted: BundleLink,
    pub liveness: LinkMonitor,
    /// Its interface, if there is one.
    pub ifindex: Option<u32>,
    /// Probes its next hop.
    pub prober: Option<LinkProber>,
    /// The token of its latest probes; 0: there were none.
    pub token: u64,
    /// Announcements about this link to the far end.
    pub notices: CarrierNotices,
    /// The interface's name, if the configuration does not give it.
    interface_name: Option<String>,
    /// Why it lives, or does not.
    pub reason: String,
    /// The pending query for the carrier.
    carrier_query: Option<JoinHandle<Option<bool>>>,
}

impl Drop for LinkTracker {
    fn drop(&mut self) {
        self.stop_looking();
    }
}

impl LinkTracker {
    /// One of which nothing is known.
    pub fn new(wanted: &BundleLink, probe: Option<&LinkProbe>) -> LinkTracker {
        LinkTracker {
            wanted: wanted.clone(),
            liveness: LinkMonitor::new(probe.cloned()),
            ifindex: None,
            prober: None,
            token: 0,
            notices: CarrierNotices::default(),
            interface_name: None,
            reason: "it was not looked at yet".to_owned(),
            carrier_query: None,
        }
    }

    /// Selects the link's interface among the existing ones. `routed`: the interface that reaches its next hop, used if
    /// none is configured by name. The interface stays selected when its route is lost.
    pub fn finds(&self, links: &HashMap<u32, NextHopLink>, routed: &ServerRoute) -> Option<u32> {
        if let Some(name) = &self.wanted.interface {
            return links.iter().find(|(_, link)| link.name == *name).map(|(ifindex, _)| *ifindex);
        }
        let hop = self.wanted.via.first()?;
        let found = match routed {
            // Not by a router: that would be another link's, or the bundle's own.
            ServerRoute::Via { ifindex, next, .. } if next == hop => Some(*ifindex),
            _ => None,
        };
        found.or(self.ifindex).filter(|ifindex| links.contains_key(ifindex))
    }

    /// Its interface has this number now, or is not there.
    pub fn set_interface(&mut self, ifindex: Option<u32>, links: &HashMap<u32, NextHopLink>) {
        if self.ifindex != ifindex {
            self.stop_looking();
        }
        let lost = self.ifindex.is_some() && ifindex.is_none();
        self.ifindex = ifindex;
        self.interface_name =
            ifindex.and_then(|ifindex| links.get(&ifindex)).map(|link| link.name.clone());
        if lost {
            // A missing interface is a stronger reason than a missing carrier.
            self.set_reason(LinkChange::NoCarrier);
        }
    }

    /// The interface's name, or a substitute.
    pub fn name(&self) -> String {
        let hop = || self.wanted.via.first().map_or_else(String::new, |ip| format!("to {ip}"));
        self.wanted.interface.clone().or_else(|| self.interface_name.clone()).unwrap_or_else(hop)
    }

    /// Takes down why it changed; the reason in a sentence.
    pub fn set_reason(&mut self, why: LinkChange) -> &str {
        let via = self.wanted.via.first().map(ToString::to_string).unwrap_or_default();
        let name = self.name();
        self.reason = match why {
            LinkChange::NoCarrier if self.ifindex.is_none() => match &self.wanted.interface {
                Some(name) => format!("there is no interface {name}"),
                None => format!("no interface leads to {via}"),
            },
            LinkChange::NoCarrier => format!("{name} has no carrier"),
            LinkChange::Carrier => format!("{name} has a carrier"),
            LinkChange::NoReply => format!("{via} does not answer"),
            LinkChange::Replies => format!("{via} answers"),
            LinkChange::RemoteDown => format!("{via} says that it has no carrier there"),
        };
        &self.reason
    }

    /// Reads the carrier if the kernel answers soon; later answers are read the next time.
    pub async fn poll_carrier(&mut self, netlink: &BundleNetlink) -> Option<bool> {
        let Some(ifindex) = self.ifindex else { return Some(false) };
        let look = self.carrier_query.get_or_insert_with(|| tokio::spawn(netlink.carrier(ifindex)));
        let answer = tokio::time::timeout(SOON, look).await.ok()?;
        self.carrier_query = None;
        answer.ok()?
    }

    fn stop_looking(&mut self) {
        if let Some(look) = self.carrier_query.take() {
            look.abort();
        }
    }
}
