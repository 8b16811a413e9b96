//! What belongs to the process beside the state snapshot: descriptors, memory, the log, probes, source ports, samples.
//!
//! `ReportSources` knows where to look; `ProcessFacts` is what was seen at one moment. It keeps no counter of its own.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use api::types::Descriptors;
use l7::{OpenCounts, PortUse, TimeWaitPorts};
use model::id::ServerId;
use rustix::process::{Resource, getrlimit};

use super::error_window::{ErrorWindow, WindowSummary};
use super::sample::{CounterSample, SampleHistory, next_step};
use super::sampling::wait_next;
use super::state_changes::{StateChanges, count_state_changes};
use crate::observability::access_log::{AccessCounts, AccessLogger};
use crate::observability::capture::{self, CaptureController};
use crate::state::state_snapshot::CertificatesByService;
use crate::state::{ControlHandle, StateSnapshot};
use crate::tls::acme::status::{AcmeOrderStatus, AcmeOrders as Orders};
use model::refused_requests::{LostRefusals, RefusedRequestLog};

use crate::health::adaptive_balancing::decisions::BalancingDecisions;
use crate::health::health_check::counts::{ProbeCounts, ProbeSums};
use crate::health::health_check::evidence_board::EvidenceBoard;
use crate::observability::headroom::{self, Headroom};
use crate::observability::slo::SloLedgers;
use crate::observability::slo::summary::SloSummary;
use crate::observability::slow_exchanges::{SlowExchangeStore, SlowTotals};
use crate::observability::telemetry::{self, SpanQueue};
use crate::planes::draining_clients::counts::{self as kept, RemainingClients};
use crate::planes::flow_samples::{self, FlowSampleCollector};
use crate::planes::links::view as links;
use crate::planes::mptcp::view as mptcp;
use crate::planes::name_server::shared::NameServerState;
use crate::planes::packets::view::PacketPlaneView;
use crate::planes::uplinks::view as uplinks;
use crate::planes::vrrp::view as vrrp;
use crate::state::predecessor::{DrainingConnections, Predecessor};
use crate::util::activity::ActivityMonitor;
use crate::util::admin_listeners::admin_sockets::AdminSockets;
use crate::util::admin_listeners::api_counters::{ApiCounters, ApiCounts};
use crate::util::lasting_faults::LastingFault;
use crate::util::wall_clock::unix_ms;

/// Reads source ports in use; called on a control thread.
pub type PortUsageReader = Box<dyn Fn() -> Vec<PortUse> + Send + Sync>;

/// The sources of all reports.
pub struct ReportSources {
    pub control: ControlHandle,
    pub read_port_usage: PortUsageReader,
    /// Passes the source ports in TIME_WAIT to the workers.
    pub report_time_wait: Box<dyn Fn(&TimeWaitPorts) + Send + Sync>,
    /// Reads the workers' counts of open and idle connections.
    pub read_open_counts: Box<dyn Fn() -> OpenCounts + Send + Sync>,
    /// The access log's writer.
    pub access: Arc<AccessLogger>,
    pub probes: Arc<ProbeCounts>,
    /// The newest evidence of each server.
    pub evidence: Arc<EvidenceBoard>,
    pub packets: tokio::sync::watch::Receiver<Arc<PacketPlaneView>>,
    pub vrrp: tokio::sync::watch::Receiver<Arc<vrrp::VrrpView>>,
    pub links: tokio::sync::watch::Receiver<Arc<links::LinksView>>,
    pub uplinks: tokio::sync::watch::Receiver<Arc<uplinks::UplinksView>>,
    pub mptcp: tokio::sync::watch::Receiver<Arc<mptcp::MptcpView>>,
    pub names: Arc<NameServerState>,
    /// The arithmetic of weights.
    pub balancing_decisions: Arc<BalancingDecisions>,
    /// Exchanges that were measured.
    pub slow_exchanges: Arc<SlowExchangeStore>,
    /// The last refused requests.
    pub refused: Arc<RefusedRequestLog>,
    /// Samples of connections of the packet plane.
    pub flow_samples: Arc<FlowSampleCollector>,
    pub slo: Arc<SloLedgers>,
    /// Certificates that are ordered.
    pub certificate_orders: Arc<Orders>,
    /// Clients that remain on draining servers.
    pub draining_clients: Arc<kept::DrainingClients>,
    /// Captures that rules call for.
    pub captures: CaptureController,
    /// Spans and records for the telemetry collector.
    pub telemetry: Arc<SpanQueue>,
    /// How much of every limit is in use, and how long it lasts.
    pub headroom: Arc<Headroom>,
    /// Earlier samples, from which rates are computed.
    pub samples: SampleHistory,
    /// Errors over a longer time than between two samples.
    pub errors: ErrorWindow,
    pub api_counters: Arc<ApiCounters>,
    /// Where the API and the metrics are listened for over TCP.
    pub admin: Arc<AdminSockets>,
    /// The process that handed over to this one, while it drains.
    pub predecessor: Arc<Predecessor>,
    /// Whether the workers do anything.
    pub activity: Arc<ActivityMonitor>,
}

#[derive(Clone, Debug, Default)]
pub struct ProcessFacts {
    /// When the process began.
    pub started_unix_ms: u64,
    pub workers: usize,
    pub descriptors: Descriptors,
    pub resident_bytes: u64,
    pub access: AccessCounts,
    pub probes: ProbeSums,
    /// Lines about the daemon itself that were not written.
    pub events_dropped: u64,
    pub events: BTreeMap<&'static str, u64>,
    /// Faults that events began, and that are not over.
    pub faults: Vec<LastingFault>,
    /// Failed attempts to store generations or server commands on disk.
    pub state_failures: u64,
    pub port_usage: Vec<PortUse>,
    /// The workers' counts of open and idle connections.
    pub open_counts: OpenCounts,
    pub packets: Arc<PacketPlaneView>,
    /// Time of measured exchanges, by service.
    pub slow_exchanges: SlowTotals,
    /// Refused requests that were evicted.
    pub refused_lost: LostRefusals,
    /// Samples of connections of the packet plane, by service.
    pub flow_samples: flow_samples::FlowSampleTotals,
    /// SLO outcomes and the remaining error budgets.
    pub slo: Arc<SloSummary>,
    /// The certificates of services.
    pub certificates: Arc<CertificatesByService>,
    /// Certificates that are ordered.
    pub certificate_orders: Vec<AcmeOrderStatus>,
    /// Clients that remain on draining servers.
    pub draining_clients: Arc<HashMap<ServerId, RemainingClients>>,
    pub captures: capture::CaptureCounts,
    /// Spans and records by result of the export.
    pub telemetry: telemetry::ExportCounts,
    pub vrrp: Arc<vrrp::VrrpView>,
    pub links: Arc<links::LinksView>,
    pub uplinks: Arc<uplinks::UplinksView>,
    pub mptcp: Arc<mptcp::MptcpView>,
    pub names: Arc<NameServerState>,
    /// Memory of all TCP sockets, bytes, as the kernel counts it.
    pub kernel_tcp_bytes: u64,
    /// How much of every limit is in use, and how long it lasts.
    pub headroom: Arc<Vec<headroom::HeadroomRow>>,
    pub served: ApiCounts,
    /// Errors of the last seconds.
    pub errors: Arc<WindowSummary>,
    /// Changes of servers' states within the last seconds.
    pub state_changes: StateChanges,
    /// The connections that the previous process still drains.
    pub before: Option<DrainingConnections>,
}

impl std::fmt::Debug for ReportSources {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Vitals").field("access", &self.access).finish_non_exhaustive()
    }
}

impl ReportSources {
    /// Looks at everything once.
    pub fn collect(&self, snapshot: &StateSnapshot) -> ProcessFacts {
        ProcessFacts {
            started_unix_ms: unix_ms(snapshot.started),
            workers: snapshot.workers,
            descriptors: descriptors(),
            resident_bytes: resident_bytes(),
            packets: Arc::clone(&self.packets.borrow()),
            vrrp: Arc::clone(&self.vrrp.borrow()),
            links: Arc::clone(&self.links.borrow()),
            uplinks: Arc::clone(&self.uplinks.borrow()),
            mptcp: Arc::clone(&self.mptcp.borrow()),
            names: Arc::clone(&self.names),
            access: self.access.counts(),
            probes: self.probes.totals(),
            events_dropped: self.control.events().dropped(),
            events: self.control.events().counts(),
            faults: self.control.events().faults().list(),
            state_failures: snapshot.state_failures,
            port_usage: (self.read_port_usage)(),
            open_counts: (self.read_open_counts)(),
            slow_exchanges: self.slow_exchanges.totals(),
            refused_lost: self.refused.with_ring(|kept| kept.lost_counts()),
            flow_samples: self.flow_samples.totals(),
            slo: self.slo.summary(),
            certificates: Arc::clone(&snapshot.certificates),
            certificate_orders: self.certificate_orders.statuses(),
            draining_clients: self.draining_clients.read(),
            captures: self.captures.counts(),
            telemetry: self.telemetry.counts(),
            kernel_tcp_bytes: kernel_tcp_bytes(),
            headroom: self.headroom.rows(),
            served: self.api_counters.snapshot(),
            errors: self.errors.summary(),
            state_changes: count_state_changes(
                &self.control.events().recent(),
                unix_ms(SystemTime::now()),
            ),
            before: self.predecessor.draining(),
        }
    }

    /// A sample of now.
    pub fn take_sample(&self, snapshot: &StateSnapshot) -> CounterSample {
        let before = self.samples.last();
        CounterSample::read(
            &snapshot.snapshot,
            self.access.counts().dropped_target,
            Instant::now(),
            before.as_deref(),
        )
    }

    /// Stores a sample at each step until the daemon stops, and none while nothing changes.
    pub async fn run_sampler(self: Arc<ReportSources>) {
        let mut follower = self.activity.follow();
        loop {
            let snapshot = self.control.state();
            let sample = Arc::new(self.take_sample(&snapshot));
            self.errors.update(&sample, SystemTime::now());
            self.samples.push(sample);
            let step = next_step(&snapshot.snapshot);
            wait_next(&mut follower, &self.samples, &self.errors, step).await;
        }
    }
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

/// The memory of TCP sockets, from /proc/net/sockstat in pages; 0 if it cannot be read.
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
