//! A link that a bundle follows, and looking at its carrier without waiting for a busy kernel. It judges nothing:
//! `links::life` does.

use std::time::Duration;

use links::life::Life;
use model::config::{LinkProbe, Member};
use tokio::task::JoinHandle;

use super::asker::Asker;
use super::device::Netlink;

/// Kernels that are busy with other interfaces let questions wait, for seconds where many come and go. Questions to next
/// hops go on meanwhile.
const SOON: Duration = Duration::from_millis(5);

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
            reason: "it was not looked at yet".to_owned(),
            look: None,
        }
    }

    /// Its interface has this number now, or is not there.
    pub fn is(&mut self, ifindex: Option<u32>) {
        if self.ifindex != ifindex {
            self.stop_looking();
        }
        self.ifindex = ifindex;
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
