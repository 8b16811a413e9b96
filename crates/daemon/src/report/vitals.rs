//! What belongs to the process beside the picture: descriptors, memory, the log, probes, source ports, samples.
//!
//! `Vitals` knows where to look; `Facts` is what was seen at one moment. It keeps no counter of its own.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use api::types::Descriptors;
use l7::{Open, PortUse, Resting};
use model::id::ServerId;
use rustix::process::{Resource, getrlimit};

use super::sample::{Sample, Samples, step};
use crate::access::{AccessCounts, AccessLog};
use crate::acme::board::{Board as Orders, Row};
use crate::capture::{self, Captures};
use crate::control::picture::Certificates;
use crate::control::{Control, Picture};
use model::refused::{Lost, RefusedRequests};

use crate::headroom::{self, Headroom};
use crate::insight::{self, Insight};
use crate::judge::weighed::Weighed;
use crate::kept::board::{self as kept, Left};
use crate::links::view as links;
use crate::mptcp::view as mptcp;
use crate::names::shared::Shared;
use crate::packets::view::View;
use crate::probe::board::Board;
use crate::probe::counts::{ProbeCounts, ProbeSums};
use crate::serve::counts::{Counts, Read};
use crate::serve::ports::AdminSockets;
use crate::slow::{Slow, Totals};
use crate::telemetry::{self, Outbox};
use crate::upgrade::remains::{Predecessor, Remains};
use crate::uplinks::view as uplinks;
use crate::users::Users;
use crate::users::shown::Shown;
use crate::vrrp::view as vrrp;

/// Reads source ports in use; called on a control thread.
pub type Ports = Box<dyn Fn() -> Vec<PortUse> + Send + Sync>;

/// Where the process's own facts are found.
pub struct Vitals {
    /// The daemon.
    pub control: Control,
    /// Source ports.
    pub ports: Ports,
    /// Tells the workers which source ports rest.
    pub rest: Box<dyn Fn(&Resting) + Send + Sync>,
    /// What the workers have open and keep.
    pub open: Box<dyn Fn() -> Open + Send + Sync>,
    /// The access log's writer.
    pub access: Arc<AccessLog>,
    /// Probes by result.
    pub probes: Arc<ProbeCounts>,
    /// The newest evidence of each server.
    pub board: Arc<Board>,
    /// The packet plane.
    pub packets: tokio::sync::watch::Receiver<Arc<View>>,
    /// Shared addresses.
    pub vrrp: tokio::sync::watch::Receiver<Arc<vrrp::View>>,
    /// Bundles of links.
    pub links: tokio::sync::watch::Receiver<Arc<links::View>>,
    /// Uplinks.
    pub uplinks: tokio::sync::watch::Receiver<Arc<uplinks::View>>,
    /// Multipath TCP.
    pub mptcp: tokio::sync::watch::Receiver<Arc<mptcp::View>>,
    /// The name server.
    pub names: Arc<Shared>,
    /// The arithmetic of weights.
    pub weighed: Arc<Weighed>,
    /// Exchanges that were measured.
    pub slow: Arc<Slow>,
    /// The last refused requests.
    pub refused: Arc<RefusedRequests>,
    /// What watched connections of the packet plane showed.
    pub insight: Arc<Insight>,
    /// What users met.
    pub users: Arc<Users>,
    /// Certificates that are ordered.
    pub ordered: Arc<Orders>,
    /// Clients that draining servers still keep.
    pub kept: Arc<kept::Board>,
    /// Captures that rules call for.
    pub captures: Captures,
    /// What a collector is told.
    pub told: Arc<Outbox>,
    /// How much of every limit is in use, and how long it lasts.
    pub headroom: Arc<Headroom>,
    /// What rates are measured against.
    pub samples: Samples,
    /// The API.
    pub served: Arc<Counts>,
    /// Where the API and the metrics are listened for over TCP.
    pub admin: Arc<AdminSockets>,
    /// The process that handed over to this one, while it drains.
    pub before: Arc<Predecessor>,
}

/// What was seen.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// When the process began.
    pub started_unix_ms: u64,
    /// Worker threads.
    pub workers: usize,
    /// File descriptors.
    pub descriptors: Descriptors,
    /// Resident memory.
    pub resident_bytes: u64,
    /// The access log.
    pub access: AccessCounts,
    /// Probes.
    pub probes: ProbeSums,
    /// Lines about the daemon itself that were not written.
    pub events_dropped: u64,
    /// Events by kind.
    pub events: Vec<(&'static str, u64)>,
    /// Attempts to keep generations or operators' words on disk that failed.
    pub state_failures: u64,
    /// Source ports.
    pub ports: Vec<PortUse>,
    /// What the workers have open and keep.
    pub open: Open,
    /// The packet plane.
    pub packets: Arc<View>,
    /// Time of measured exchanges, by service.
    pub slow: Totals,
    /// Refused requests that are not kept any more.
    pub refused_lost: Lost,
    /// What watched connections of the packet plane showed, by service.
    pub insight: insight::Totals,
    /// What users met, and what is left of what they were promised.
    pub users: Arc<Shown>,
    /// The certificates of services.
    pub certificates: Arc<Certificates>,
    /// Certificates that are ordered.
    pub ordered: Vec<Row>,
    /// Clients that draining servers still keep.
    pub kept: Arc<HashMap<ServerId, Left>>,
    /// Captures.
    pub captures: capture::Counts,
    /// What a collector was told.
    pub told: telemetry::Counts,
    /// Shared addresses.
    pub vrrp: Arc<vrrp::View>,
    /// Bundles of links.
    pub links: Arc<links::View>,
    /// Uplinks.
    pub uplinks: Arc<uplinks::View>,
    /// Multipath TCP.
    pub mptcp: Arc<mptcp::View>,
    /// The name server.
    pub names: Arc<Shared>,
    /// Memory of all TCP sockets, bytes, as the kernel counts it.
    pub kernel_tcp_bytes: u64,
    /// How much of every limit is in use, and how long it lasts.
    pub headroom: Arc<Vec<headroom::Row>>,
    /// The API.
    pub served: Read,
    /// What the process that handed over to this one has still.
    pub before: Option<Remains>,
}

impl std::fmt::Debug for Vitals {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Vitals").field("access", &self.access).finish_non_exhaustive()
    }
}

impl Vitals {
    /// Looks at everything once.
    pub fn facts(&self, picture: &Picture) -> Facts {
        Facts {
            started_unix_ms: unix_ms(picture.started),
            workers: picture.workers,
            descriptors: descriptors(),
            resident_bytes: resident_bytes(),
            packets: Arc::clone(&self.packets.borrow()),
            vrrp: Arc::clone(&self.vrrp.borrow()),
            links: Arc::clone(&self.links.borrow()),
            uplinks: Arc::clone(&self.uplinks.borrow()),
            mptcp: Arc::clone(&self.mptcp.borrow()),
            names: Arc::clone(&self.names),
            access: self.access.counts(),
            probes: self.probes.read(),
            events_dropped: self.control.events().dropped(),
            events: self.control.events().counts(),
            state_failures: picture.state_failures,
            ports: (self.ports)(),
            open: (self.open)(),
            slow: self.slow.totals(),
            refused_lost: self.refused.look(|kept| kept.lost()),
            insight: self.insight.totals(),
            users: self.users.shown(),
            certificates: Arc::clone(&picture.certificates),
            ordered: self.ordered.read(),
            kept: self.kept.read(),
            captures: self.captures.counts(),
            told: self.told.counts(),
            kernel_tcp_bytes: kernel_tcp_bytes(),
            headroom: self.headroom.rows(),
            served: self.served.read(),
            before: self.before.remains(),
        }
    }

    /// A sample of now.
    pub fn sample(&self, picture: &Picture) -> Sample {
        let before = self.samples.last();
        Sample::take(
            &picture.snapshot,
            self.access.counts().dropped_target,
            Instant::now(),
            before.as_deref(),
        )
    }

    /// Keeps a sample each step until the daemon is gone.
    pub async fn run_samples(self: Arc<Vitals>) {
        let mut pictures = self.control.watch();
        loop {
            let picture = pictures.borrow_and_update().clone();
            self.samples.keep(Arc::new(self.sample(&picture)));
            let next = tokio::time::sleep(step(&picture.snapshot));
            tokio::pin!(next);
            loop {
                tokio::select! {
                    () = &mut next => break,
                    changed = pictures.changed() => if changed.is_err() { return },
                }
            }
        }
    }
}

/// Milliseconds since 1970; 0 for moments before.
pub fn unix_ms(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Since Linux 6.2 the size of the directory is the number of descriptors; before, they are counted.
fn descriptors() -> Descriptors {
    let directory = "/proc/self/fd";
    let size = std::fs::metadata(directory).map(|found| found.len()).unwrap_or(0);
    let counted =
        || std::fs::read_dir(directory).map(|entries| entries.count() as u64).unwrap_or(0);
    Descriptors {
        in_use: if size > 0 { size } else { counted() },
        limit: getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX),
    }
}

/// What TCP sockets hold, from /proc/net/sockstat in pages; 0 where it cannot be read.
fn kernel_tcp_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/net/sockstat").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("TCP: ")).unwrap_or_default();
    let mut words = line.split_whitespace().skip_while(|word| *word != "mem").skip(1);
    let pages: u64 = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    pages * rustix::param::page_size() as u64
}

/// VmRSS of /proc/self/status, which is in KiB (proc(5)); 0 when it cannot be read.
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: u64 =
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0);
    kib.saturating_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_sees_its_own_descriptors_and_memory() {
        let before = descriptors().in_use;
        let files: Vec<_> = (0..50).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        let after = descriptors();
        assert!(
            after.in_use >= before.saturating_sub(20) + 50 && after.limit >= after.in_use,
            "{before} {after:?}"
        );
        drop(files);
        assert!(resident_bytes() > 100_000);
    }
}
