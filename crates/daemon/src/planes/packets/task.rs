//! The main loop of the packet plane's thread: what it waits for, and what follows in which order.

mod attach_interfaces;
mod datapath_notices;
mod lifecycle;
mod source_addresses;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use files::plain_error::plain_error_text;
use l4::next_hops::{NextHopRequest, ServerRoute};
use l4::plan::facts::HostFacts;
use model::config::{Config, ForwardingMode};
use model::monotonic_time::MonotonicTime;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::MissedTickBehavior;

use super::alarms::PlaneAlarms;
use super::connection_tables::ConnectionTables;
use super::host_facts;
use super::netlink::{
    AssignedAddress, KernelNetlink, NeighbourChange, NetlinkChange, PreferredSource,
};
use super::open_plane::{OpenPlane, error_chain};
use super::order::PlaneCommand;
use super::view::PacketPlaneView;
use crate::planes::flow_samples::FlowSampleCollector;
use crate::state::{ControlHandle, StateSnapshot};
use crate::util::event::EventLog;
use crate::util::local_time::offset_seconds;

/// Between two looks at next hops.
/// Next hops are confirmed each second, so 200 ms is the delay of a change.
const TICK: Duration = Duration::from_millis(200);
/// Ticks between two sweeps.
/// A sweep a second.
const SWEEP_TICKS: u32 = 5;
/// Ticks between two attempts at a plane that could not be opened.
/// Every two seconds: an interface or a right may appear later.
const REOPEN_TICKS: u32 = 10;
/// How long a snapshot may be ahead of the active one.
const EARLY_FORWARD_TIMEOUT: Duration = Duration::from_secs(10);
/// Ticks between two looks at who uses return addresses.
/// Every five seconds; it reads the kernel's table of sockets.
const BUSY: u32 = 25;

/// A snapshot that is forwarded before it is active elsewhere.
struct PendingPlaneState {
    state: Arc<StateSnapshot>,
    done: Option<oneshot::Sender<()>>,
    started_at: Instant,
}

/// Follows snapshots until it is stopped.
pub(super) async fn run(
    control: ControlHandle,
    mut orders: mpsc::Receiver<PlaneCommand>,
    show: watch::Sender<Arc<PacketPlaneView>>,
    give: watch::Sender<Option<Arc<ConnectionTables>>>,
    insight: Arc<FlowSampleCollector>,
) {
    let mut snapshots = control.watch();
    let mut life = PacketPlaneTask::new(control.events().clone(), insight);
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut alive = true;
    let mut ahead: Option<PendingPlaneState> = None;
    let mut last: Option<Arc<StateSnapshot>> = None;
    loop {
        tokio::select! {
            order = orders.recv() => match order {
                Some(PlaneCommand::ForwardEarly { snapshot, config, done }) => {
                    let state = StateSnapshot { snapshot, config, ..(*control.state()).clone() };
                    let (state, started_at) = (Arc::new(state), Instant::now());
                    ahead = Some(PendingPlaneState { state, done: Some(done), started_at });
                    life.needs_update = true;
                }
                Some(PlaneCommand::ChangeHashSecret(secret)) => life.change_hash_secret(&secret),
                Some(PlaneCommand::Shutdown { end, done }) => {
                    give.send_replace(None);
                    life.shut_down(end, &control.state().config);
                    show.send_replace(Arc::new(PacketPlaneView::default()));
                    // The requester may have stopped waiting.
                    let _ = done.send(());
                    return;
                }
                None => return,
            },
            changed = snapshots.changed(), if alive => alive = changed.is_ok(),
            news = life.next_change() => life.handle_change(news),
            _ = tick.tick(), if ahead.is_some() || life.needs_ticks(&snapshots.borrow().config) => life.tick += 1,
        }
        let mut state_snapshot = snapshots.borrow_and_update().clone();
        if last.as_ref().is_none_or(|last| !Arc::ptr_eq(last, &state_snapshot)) {
            life.needs_update = true;
            ahead = None;
            last = Some(Arc::clone(&state_snapshot));
        }
        if let Some(one) = ahead.take_if(|one| one.started_at.elapsed() > EARLY_FORWARD_TIMEOUT) {
            // The requester no longer waits, and the snapshot has not become active.
            drop(one);
            life.needs_update = true;
        }
        if let Some(one) = &ahead {
            state_snapshot = Arc::clone(&one.state);
        }
        if state_snapshot.shutting_down {
            continue;
        }
        if life.step(&state_snapshot).await {
            show.send_replace(Arc::new(life.view.clone()));
        }
        if std::mem::take(&mut life.tables_changed) {
            give.send_replace(life.connection_tables(&state_snapshot.config));
        }
        let waiting = ahead.as_mut().filter(|_| life.is_settled()).and_then(|one| one.done.take());
        if let Some(done) = waiting {
            // A send fails only if the caller stopped waiting after its timeout.
            let _ = done.send(());
        }
    }
}

struct PacketPlaneTask {
    events: EventLog,
    open_plane: Option<OpenPlane>,
    kernel: Option<KernelNetlink>,
    origin: Instant,
    opened_at: Instant,
    addresses: Vec<AssignedAddress>,
    /// Source addresses of outgoing connections.
    preferred_sources: Vec<PreferredSource>,
    facts: HostFacts,
    view: PacketPlaneView,
    last_error: Option<String>,
    alarms: PlaneAlarms,
    flow_samples: Arc<FlowSampleCollector>,
    /// Connections given up for new ones, at the last sweep.
    evicted: Option<u64>,
    /// Another process has the plane, which it is about to leave.
    is_held_by_other: bool,
    /// The tables, or the meaning of their indexes, may have changed.
    tables_changed: bool,
    /// Something changed that the maps must follow.
    needs_update: bool,
    /// Links, addresses or routes changed.
    network_changed: bool,
    tick: u32,
    done: u32,
}

impl PacketPlaneTask {
    fn new(events: EventLog, insight: Arc<FlowSampleCollector>) -> PacketPlaneTask {
        let now = Instant::now();
        PacketPlaneTask {
            events,
            open_plane: None,
            kernel: None,
            origin: now,
            opened_at: now,
            addresses: Vec::new(),
            preferred_sources: Vec::new(),
            facts: HostFacts::default(),
            view: PacketPlaneView::default(),
            last_error: None,
            alarms: PlaneAlarms::default(),
            flow_samples: insight,
            evicted: None,
            is_held_by_other: false,
            tables_changed: true,
            needs_update: true,
            network_changed: true,
            tick: 0,
            done: 0,
        }
    }

    fn now(&self) -> MonotonicTime {
        MonotonicTime::default() + self.origin.elapsed()
    }

    async fn next_change(&mut self) -> Option<NetlinkChange> {
        match &mut self.kernel {
            Some(kernel) => kernel.next_change().await,
            None => std::future::pending().await,
        }
    }

    fn handle_change(&mut self, news: Option<NetlinkChange>) {
        let now = self.now();
        match (news, &mut self.open_plane) {
            (Some(NetlinkChange::Neighbour(change)), Some(site)) => {
                let NeighbourChange { ifindex, ip, update } = change;
                site.hops.update_neighbour(ifindex, ip, update, now);
                let written = site.write_next_hops();
                self.report_error(written.err().map(|error| error_chain(&error)));
            }
            (Some(NetlinkChange::Neighbour(..)), None) => {}
            (Some(NetlinkChange::Other), _) => self.network_changed = true,
            // The connection is lost, so it is reopened.
            (None, _) => {
                self.kernel = None;
                self.network_changed = true;
            }
        }
    }

    /// Whether nothing is pending: packets are forwarded as requested, or cannot be.
    fn is_settled(&self) -> bool {
        match &self.open_plane {
            Some(_) => !self.needs_update && !self.view.interfaces.is_empty(),
            None => self.view.last_error.is_some(),
        }
    }

    /// Performs the actions that are due. Returns whether the view has changed.
    async fn step(&mut self, snapshot: &StateSnapshot) -> bool {
        let config = &snapshot.config;
        let wanted = config.services.values().any(|service| service.packets.is_some());
        if !wanted {
            return self.remove_leftovers(config);
        }
        self.view.is_wanted = true;
        let fresh = self.tick != self.done;
        self.done = self.tick;
        let again = self.is_held_by_other || self.tick.is_multiple_of(REOPEN_TICKS);
        if self.open_plane.is_none() && (self.needs_update || fresh && again) {
            self.open_plane(config);
        }
        if self.open_plane.is_none() {
            self.needs_update = false;
            return fresh;
        }
        if self.kernel.is_none() {
            match KernelNetlink::connect() {
                Ok(kernel) => self.kernel = Some(kernel),
                Err(error) => {
                    self.report_error(Some(format!("the kernel's routes cannot be read: {error}")))
                }
            }
        }
        let again = fresh && self.tick.is_multiple_of(BUSY);
        if self.network_changed || again || self.needs_update {
            self.refresh_kernel_state(config).await;
            self.report_source_addresses(config);
        }
        let changed = self.needs_update;
        if self.needs_update
            || self.facts.local_minute
                != host_facts::local_minute(SystemTime::now(), offset_seconds)
        {
            self.change(snapshot).await;
        }
        if fresh {
            self.handle_notices(snapshot).await;
            self.send_requests().await;
            self.attach_interfaces(config);
        }
        if fresh && self.tick.is_multiple_of(SWEEP_TICKS) {
            self.sweep(snapshot);
        }
        fresh || changed
    }

    /// Reads links, addresses and neighbours, and requests every next hop.
    async fn refresh_kernel_state(&mut self, config: &Config) {
        let (Some(kernel), Some(site)) = (&self.kernel, &mut self.open_plane) else { return };
        let shared = host_facts::shared_addresses(config);
        if shared != *self.facts.shared_addresses {
            self.facts.shared_addresses = Arc::new(shared);
            self.needs_update = true;
        }
        let returns = host_facts::return_addresses(config);
        let busy = host_facts::addresses_in_use(&returns);
        if busy != self.facts.used_addresses {
            self.facts.used_addresses = busy;
            self.needs_update = true;
        }
        if !self.network_changed {
            return;
        }
        self.network_changed = false;
        let read =
            async { Ok::<_, std::io::Error>((kernel.links().await?, kernel.addresses().await?)) };
        match read.await {
            Ok((links, addresses)) => {
                let local = Arc::new(addresses.iter().map(|one| one.ip).collect());
                if local != self.facts.local_addresses {
                    self.facts.local_addresses = local;
                    self.needs_update = true;
                }
                self.addresses = addresses;
                let names = links.iter().map(|(index, link)| (*index, link.name.clone())).collect();
                self.preferred_sources = kernel.preferred_sources(&names).await.unwrap_or_default();
                site.hops.set_links(links);
            }
            Err(error) => self.events.warn("packets-kernel", error.to_string()),
        }
        let requests = site.hops.reroute();
        self.carry_out(requests).await;
    }

    /// Brings the maps to the snapshot, and learns the ways that it needs.
    async fn change(&mut self, snapshot: &StateSnapshot) {
        self.facts.local_minute = host_facts::local_minute(SystemTime::now(), offset_seconds);
        self.facts.unavailable = None;
        self.facts.has_peer = !snapshot.config.heartbeats.is_empty();
        self.tables_changed = true;
        // The second pass uses the addresses that the first one requested. More would repeat the same requests.
        for _ in 0..2 {
            self.needs_update = false;
            let Some(site) = &mut self.open_plane else { return };
            let before = site.obstacles.clone();
            match site.apply_plan(&snapshot.snapshot, &snapshot.config, &self.facts) {
                Ok(()) => self.view.generation = snapshot.generation,
                Err(error) => self.report_error(Some(error_chain(&error))),
            }
            self.publish_obstacles(&before, snapshot);
            self.update_fragmenting(&snapshot.config);
            // Ways may bring news that the plan needs: our address towards a server.
            self.send_requests().await;
            if !self.needs_update {
                break;
            }
        }
    }

    /// Makes fragments while some service's packets go through tunnels.
    fn update_fragmenting(&mut self, config: &Config) {
        let Some(site) = &mut self.open_plane else { return };
        let wanted =
            config.services.values().any(|service| service.forward == ForwardingMode::Tunnel);
        if let Err(error) = site.set_fragmenting(wanted) {
            let why = error_chain(&error);
            self.report_error(Some(format!(
                "packets that do not fit a tunnel are not sent on as fragments, their senders get ICMP errors instead: {why}"
            )));
        }
    }

    /// Sends requests that are due, and writes changed next hops.
    async fn send_requests(&mut self) {
        let now = self.now();
        let Some(site) = &mut self.open_plane else { return };
        let mut requests = site.next_hop_requests(now);
        self.carry_out(std::mem::take(&mut requests)).await;
        let now = self.now();
        if let (Some(kernel), Some(site)) = (&self.kernel, &mut self.open_plane)
            && (self.tick.is_multiple_of(SWEEP_TICKS)
                || !self.view.is_adopted && self.view.interfaces.is_empty())
            && let Ok(all) = kernel.neighbours().await
        {
            // Notifications may be lost under load; the table has the same content.
            for NeighbourChange { ifindex, ip, update } in all {
                site.hops.update_neighbour(ifindex, ip, update, now);
            }
        }
        let Some(site) = &mut self.open_plane else { return };
        let written = site.write_next_hops();
        self.report_error(written.err().map(|error| error_chain(&error)));
    }

    async fn carry_out(&mut self, requests: Vec<NextHopRequest>) {
        let Some(kernel) = &self.kernel else { return };
        let mut routed = false;
        for request in requests {
            let NextHopRequest::Route(ip) = request else {
                kernel.request_neighbour(request).await;
                continue;
            };
            let route = kernel.route(ip).await;
            let Some(site) = &mut self.open_plane else { return };
            routed = true;
            site.hops.set_route(ip, route);
        }
        let Some(site) = self.open_plane.as_mut().filter(|_| routed) else { return };
        let source = |ip: IpAddr| match site.hops.route(ip)? {
            ServerRoute::Via { source, .. } => Some((ip, (*source)?)),
            ServerRoute::Local | ServerRoute::None(_) => None,
        };
        let sources = Arc::new(site.hops.servers().filter_map(source).collect());
        let gateway = |ip: &IpAddr| matches!(site.hops.route(*ip), Some(ServerRoute::Via { next, .. }) if next != ip);
        let routed = Arc::new(site.hops.servers().filter(gateway).collect());
        if sources != self.facts.source_addresses || routed != self.facts.routed_servers {
            self.facts.source_addresses = sources;
            self.facts.routed_servers = routed;
            self.needs_update = true;
        }
    }

    /// Logs an error once, until there is another one or none.
    fn report_error(&mut self, trouble: Option<String>) {
        let trouble = trouble.map(plain_error_text);
        let Some(text) = trouble.as_ref().filter(|_| self.last_error != trouble) else { return };
        self.events.error("packets-failed", text.clone());
        self.last_error = trouble;
    }
}
