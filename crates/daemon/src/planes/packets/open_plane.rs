//! The open packet plane with everything that keeps it true: planner, next hops, interfaces, sweep.
//!
//! It is driven by `task`; each method does one thing now.

mod attach_mode;
mod replication_source;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use bpf::{BpfAttachMode, Dispatcher, DispatcherSlot, PinDirectory};
use l4::abi::Notice;
use l4::connection_counts::ConnectionCounts;
use l4::counts::{PacketOutcomes, PlaneCounters};
use l4::events::EventReader;
use l4::flow_samples::FlowSampler;
use l4::map_write::MapWrite;
use l4::next_hops::{NextHopRequest, NextHopTable};
use l4::plan::{MapPlanner, ReclaimedServers, facts::HostFacts};
use l4::replica::ReplicaTables;
use l4::sweeper::TableSweeper;
use l4::{PacketDatapath, TableSizes, abi, apply};
use model::config::Config;
use model::flow_samples::FlowTracker;
use model::monotonic_time::MonotonicTime;
use model::snapshot::WorkerSnapshot;

use super::fragmenter::{FragmentTotals, Fragmenter, FragmenterError};
use super::view::{FlowSampleReading, FlowSampleView, PlaneInterfaceView};
use crate::util::bpf_pins;
use crate::util::event::EventLog;

/// How the plane is attached to an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PlaneAttachment {
    mode: BpfAttachMode,
    ifindex: u32,
}

/// Interfaces that use generic mode instead of native mode.
#[derive(Clone, Debug)]
struct GenericFallback {
    interfaces: BTreeSet<String>,
    /// Why, in a sentence.
    reason: String,
}

pub struct OpenPlane {
    pin_directory: PinDirectory,
    dispatcher: Dispatcher,
    plane: PacketDatapath,
    sweeper: TableSweeper,
    /// For replication, once there is a heartbeat.
    replica: OnceCell<Arc<ReplicaTables>>,
    watcher: FlowSampler,
    accumulated: FlowTracker,
    notices: EventReader,
    fragmenter: Option<Fragmenter>,
    /// Packets of services and servers that were removed since this process began, and before.
    removed: PacketOutcomes,
    removed_before: Option<u64>,
    is_installed: bool,
    sizes: TableSizes,
    /// How to change the maps.
    pub planner: MapPlanner,
    pub hops: NextHopTable,
    /// The counts of the last sweep.
    pub connection_counts: ConnectionCounts,
    /// Clients with affinity to draining servers, by index, as of the last sweep.
    pub sticky_clients: HashMap<u32, u32>,
    /// Services that are not forwarded, and why.
    pub obstacles: BTreeMap<String, String>,
    known_next_hops: BTreeMap<IpAddr, abi::NextHop>,
    attached: BTreeMap<String, PlaneAttachment>,
    generic_fallback: Option<GenericFallback>,
    /// Interfaces from which another program had detached the BPF program.
    pub detached: Vec<String>,
    written_interfaces: HashMap<u32, abi::Interface>,
    /// Interfaces whose drivers lose redirected frames, by index; `None`: unchanged since the previous process.
    lossy_interfaces: Option<BTreeSet<u32>>,
}

/// Why the plane is not open.
#[derive(Debug, thiserror::Error)]
pub enum PlaneOpenError {
    /// Rights, kernel or the directory for pins.
    #[error(transparent)]
    Home(#[from] bpf::PinDirectoryError),
    #[error(transparent)]
    Attach(#[from] bpf::AttachError),
    #[error(transparent)]
    Plane(#[from] l4::DatapathError),
    /// The maps cannot be read.
    #[error(transparent)]
    Table(#[from] bpf::MapError),
    /// The tables cannot be laid into memory.
    #[error("the tables of connections cannot be laid into memory: {0}")]
    Map(#[source] io::Error),
}

impl OpenPlane {
    /// Opens the plane for a configuration, or takes over the running plane.
    ///
    /// # Errors
    /// See `PlaneOpenError`; a running plane continues.
    pub fn open(config: &Config) -> Result<OpenPlane, PlaneOpenError> {
        let home = bpf_pins::PinnedPlane::Packets.claim(config)?;
        let dispatcher = Dispatcher::open(&home)?;
        let sizes = TableSizes::from_config(config);
        let plane = PacketDatapath::open(&home, &sizes, false)?;
        let mut planner = MapPlanner::new(&apply::capacity(&plane));
        let mut known = BTreeMap::new();
        if plane.is_adopted() {
            let found = apply::read_maps(&plane)?;
            known = apply::read_next_hops(&plane, &found)?;
            planner.recover(found);
        }
        let sweeper = TableSweeper::new(&plane).map_err(PlaneOpenError::Map)?;
        let watcher = FlowSampler::new(&plane).map_err(PlaneOpenError::Map)?;
        let notices = EventReader::open(&plane).map_err(l4::DatapathError::from)?;
        let gone_before = (!plane.is_adopted()).then_some(0);
        Ok(OpenPlane {
            pin_directory: home,
            dispatcher,
            plane,
            sweeper,
            replica: OnceCell::new(),
            watcher,
            accumulated: FlowTracker::default(),
            notices,
            fragmenter: None,
            removed: PacketOutcomes::new(),
            removed_before: gone_before,
            is_installed: false,
            sizes,
            planner,
            hops: NextHopTable::default(),
            connection_counts: ConnectionCounts::default(),
            sticky_clients: HashMap::new(),
            obstacles: BTreeMap::new(),
            known_next_hops: known,
            attached: BTreeMap::new(),
            generic_fallback: None,
            detached: Vec::new(),
            written_interfaces: HashMap::new(),
            lossy_interfaces: None,
        })
    }

    /// Whether the tables were there before.
    pub fn is_adopted(&self) -> bool {
        self.plane.is_adopted()
    }

    /// Logs a warning if the tables will not outlive the process.
    pub fn warn_if_not_persistent(&self, events: &EventLog) {
        bpf_pins::PinnedPlane::Packets.warn_if_not_persistent(&self.pin_directory, events);
    }

    /// Bytes that the tables take.
    pub fn memory_bytes(&self) -> u64 {
        self.sizes.memory_bytes()
    }

    /// Starts or stops sending fragments of packets that are too large for a tunnel.
    ///
    /// # Errors
    /// No ring, socket or thread could be made: senders get ICMP errors for such packets, and everything else works.
    pub fn set_fragmenting(&mut self, wanted: bool) -> Result<(), FragmenterError> {
        if !wanted {
            self.fragmenter = None;
        } else if self.fragmenter.is_none() {
            self.fragmenter = Some(Fragmenter::start(self.plane.oversized()?)?);
        }
        Ok(())
    }

    /// Packets to be fragmented, by result, since the fragmenter was started.
    pub fn fragment_totals(&self) -> FragmentTotals {
        self.fragmenter.as_ref().map(Fragmenter::totals).unwrap_or_default()
    }

    /// Updates the maps to a snapshot.
    ///
    /// # Errors
    /// A map rejected a write; earlier writes stay.
    pub fn apply_plan(
        &mut self,
        snapshot: &WorkerSnapshot,
        config: &Config,
        facts: &HostFacts,
    ) -> Result<(), bpf::MapError> {
        let change = self.planner.plan_change(snapshot, &config.packets, facts);
        self.write_maps(&change.writes)?;
        let packets = |name: &String| {
            config.services.get(name).is_some_and(|service| service.packets.is_some())
        };
        // An active service no longer has an obstacle. The obstacle of a service that was not checked stays.
        self.obstacles
            .retain(|name, _| packets(name) && self.planner.service_index(name).is_none());
        self.obstacles.extend(change.obstacles);
        if let Some(ways) = self.planner.take_next_hops() {
            self.hops.set_servers(&ways, &self.known_next_hops);
        }
        Ok(())
    }

    /// Writes ways that changed.
    ///
    /// # Errors
    /// A map refused.
    pub fn write_next_hops(&mut self) -> Result<(), bpf::MapError> {
        let writes: Vec<MapWrite> = self
            .hops
            .take_changes()
            .into_iter()
            .map(|hop| MapWrite::NextHop(hop.index, hop.next_hop))
            .collect();
        apply::apply(&self.plane, &writes)
    }

    /// Next hops to be requested.
    pub fn next_hop_requests(&mut self, now: MonotonicTime) -> Vec<NextHopRequest> {
        self.hops.tick(now)
    }

    /// Replaces the running program by that of this build; once, after the maps are right.
    fn install(&mut self) -> Result<(), PlaneOpenError> {
        if self.is_installed {
            return Ok(());
        }
        let program = self.plane.program().map_err(l4::DatapathError::from)?;
        self.dispatcher.install(DispatcherSlot::Balance, &program)?;
        self.is_installed = true;
        Ok(())
    }

    fn describe(&mut self, index: u32, value: abi::Interface) -> Result<(), bpf::MapError> {
        if self.written_interfaces.get(&index) != Some(&value) {
            self.plane.interfaces.set(&index, &value)?;
            self.written_interfaces.insert(index, value);
        }
        Ok(())
    }

    /// New samples of connections, one in `sample`; `None`: sampling is off.
    ///
    /// # Errors
    /// A map refused.
    pub fn read_flow_samples(
        &mut self,
        sample: Option<u32>,
        now: u64,
    ) -> Result<FlowSampleReading, bpf::MapError> {
        if l4::flow_samples::set_sampling(&self.plane, &self.watcher, sample)? {
            self.accumulated.clear();
        }
        let seen = if sample.is_some() { self.watcher.read_samples() } else { Vec::new() };
        let deltas = self.accumulated.diff_samples(seen, now);
        let outcomes = l4::flow_samples::sampling_counters(&self.plane)?;
        let watched = self.accumulated.tracked_count();
        Ok(FlowSampleReading { deltas, view: FlowSampleView { sample, watched, outcomes } })
    }

    /// Counts connections, and clients with affinity to the servers of these indexes. Frees the entries of removed
    /// servers.
    ///
    /// # Errors
    /// A map refused.
    pub fn sweep(
        &mut self,
        tick: u32,
        services: &[u32],
        keeping: &BTreeSet<u32>,
    ) -> Result<(), bpf::MapError> {
        self.sticky_clients = self.sweeper.count_sticky_clients(keeping, tick);
        let census = self.sweeper.count_connections(tick);
        let owners = self.planner.server_services();
        let arrivals = l4::sweeper::write_gauges(&self.plane, &census, &owners, services)?;
        let ReclaimedServers { change, released } =
            self.planner.reclaim_drained(&census, &arrivals);
        self.sweeper.forget_sticky_clients(&released);
        self.write_maps(&change.writes)?;
        self.connection_counts = census;
        Ok(())
    }

    /// Carries out writes; counts of removed services and servers are added to the totals.
    fn write_maps(&mut self, writes: &[MapWrite]) -> Result<(), bpf::MapError> {
        let mut services = Vec::new();
        let mut servers = Vec::new();
        for write in writes {
            match write {
                MapWrite::DropService(at) => services.push(*at),
                MapWrite::DropServer(at) => servers.push(*at),
                _ => {}
            }
        }
        if !services.is_empty() || !servers.is_empty() {
            let counts = l4::counts::read_counters(&self.plane, &services, &servers)?;
            l4::counts::add_outcomes(&mut self.removed, &counts.service_packets());
        }
        apply::apply(&self.plane, writes)
    }

    /// Reads the counters of these services and of all servers, with the services of each server.
    ///
    /// # Errors
    /// A map cannot be read.
    pub fn read_counters(&mut self, services: &[u32]) -> Result<PlaneCounters, bpf::MapError> {
        let owners = self.planner.server_services();
        let servers: BTreeSet<u32> = owners.keys().copied().collect();
        let services: BTreeSet<u32> = services.iter().chain(owners.values()).copied().collect();
        let services: Vec<u32> = services.into_iter().collect();
        let servers: Vec<u32> = servers.into_iter().collect();
        let mut counts = l4::counts::read_counters(&self.plane, &services, &servers)?;
        counts.removed_servers = self.removed.clone();
        let missing = counts.received.saturating_sub(counts.accounted());
        counts.removed_before = *self.removed_before.get_or_insert(missing);
        Ok(counts)
    }

    /// The datapath's notices since the last call.
    pub fn take_notices(&self) -> Vec<Notice> {
        self.notices.take_events()
    }

    /// Removes every trace: interfaces, programs, tables.
    ///
    /// # Errors
    /// A pin cannot be removed.
    pub fn remove_all(self) -> Result<(), PlaneOpenError> {
        remove_plane(&self.dispatcher, &self.pin_directory)
    }
}

/// Removes every trace of a plane that is not open here, if there is one.
///
/// # Errors
/// A pin cannot be removed.
pub fn remove_pinned(config: &Config) -> Result<bool, PlaneOpenError> {
    let there = config.packets.pins.join(l4::datapath::TENANT).exists();
    // Another daemon's pins stay, even if that daemon is not running.
    if !there || !bpf_pins::PinnedPlane::Packets.is_own(config) {
        return Ok(false);
    }
    let home = bpf_pins::PinnedPlane::Packets.claim(config)?;
    remove_plane(&Dispatcher::open(&home)?, &home)?;
    Ok(true)
}

fn remove_plane(dispatcher: &Dispatcher, home: &PinDirectory) -> Result<(), PlaneOpenError> {
    for name in dispatcher.interfaces()? {
        dispatcher.detach(&name)?;
    }
    dispatcher.uninstall(DispatcherSlot::Balance)?;
    home.clear()?;
    Ok(())
}

fn plane_error(name: &str, problem: &str) -> PlaneInterfaceView {
    PlaneInterfaceView { name: name.to_owned(), mode: None, last_error: Some(problem.to_owned()) }
}

/// An error with its sources.
pub fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let more = inner.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        source = inner.source();
    }
    text
}
