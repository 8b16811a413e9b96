//! The main loop of the VRRP thread: what it waits for, and what follows in which order.

mod macvlan;
mod peer_link;
mod received_frames;
mod takeover;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use files::plain_error::plain_error_text;
use ha::heartbeat::VrrpGroupKey;
use ha::state_machine::{TransitionReason, VrrpState};
use l4::next_hops::NextHopLink;
use model::config::Config;
use model::monotonic_time::MonotonicTime;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior};

use super::address_gate::AddressGates;
use super::address_repair::KernelAddresses;
use super::command::VrrpCommand;
use super::control_liveness::ControlPulse;
use super::group::{GroupContext, VrrpGroup};
use super::heartbeat::HeartbeatSession;
use super::heartbeat::message::{self, HeartbeatMessage};
use super::interface::group_interface;
use super::replication::ReplicationHandle;
use super::rx_socket::{ReceivedFrame, RxSocket};
use super::service_check;
use super::view::VrrpView;
use crate::planes::packets::connection_tables::ReplicationSource;
use crate::planes::packets::netlink::{AssignedAddress, KernelNetlink, NetlinkChange};
use crate::planes::packets::view as packets;
use crate::state::{ControlHandle, StateSnapshot};
use crate::util::event::EventLog;
use crate::util::monotonic_clock::monotonic_now;

/// Between two looks at links, addresses and whether the control lives.
/// A link that went down is noticed by the kernel's message first; this covers a missed one.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Frames that may wait; more stay in the kernel's queue, and are lost there.
const FRAME_QUEUE: usize = 256;

/// Follows snapshots until it is stopped.
pub(super) async fn run(
    control: ControlHandle,
    pulse: ControlPulse,
    packets: watch::Receiver<Arc<packets::PacketPlaneView>>,
    source: ReplicationSource,
    mut orders: mpsc::Receiver<VrrpCommand>,
    show: watch::Sender<Arc<VrrpView>>,
) {
    let mut snapshots = control.watch();
    let (to, mut frames) = mpsc::channel(FRAME_QUEUE);
    let (say, mut words) = mpsc::channel(message::QUEUE_CAPACITY);
    let mut life = VrrpTask::new(control.events().clone(), to, say, source);
    let mut look = tokio::time::interval(POLL_INTERVAL);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut alive = true;
    let mut stale = true;
    let mut states = Vec::new();
    loop {
        let due = life.next_due();
        tokio::select! {
            order = orders.recv() => match order {
                Some(VrrpCommand::ChangeActive { how, group, done }) => {
                    // The requester may have stopped waiting.
                    let _ = done.send(life.change_active(how, group).await);
                }
                Some(VrrpCommand::Shutdown { give, done }) => {
                    if give {
                        life.shut_down().await;
                    }
                    show.send_replace(Arc::new(VrrpView::default()));
                    let _ = done.send(());
                    return;
                }
                None => return,
            },
            heard = frames.recv() => if let Some(heard) = heard { life.handle_frame(&heard).await },
            word = words.recv() => if let Some(word) = word { life.handle_message(word) },
            () = tokio::time::sleep_until(due), if life.is_needed(&snapshots.borrow().config) => {}
            changed = snapshots.changed(), if alive => (alive, stale) = (changed.is_ok(), true),
            news = life.next_change() => life.handle_change(news),
            _ = look.tick(), if life.is_needed(&snapshots.borrow().config) => stale = true,
        }
        let looks = stale || life.network_changed;
        if looks {
            let snapshot = snapshots.borrow_and_update().clone();
            if !life.is_busy() {
                // The control's beat is old where nothing needed it.
                pulse.beat();
            }
            let forwarded = packets.borrow().clone();
            life.apply_state(&snapshot, &pulse, &forwarded).await;
            stale = false;
        }
        life.tick().await;
        let now: Vec<VrrpState> = life.groups.values().map(VrrpGroup::state).collect();
        if looks || now != states {
            show.send_replace(Arc::new(life.view()));
            states = now;
        }
    }
}

struct VrrpTask {
    events: EventLog,
    kernel: Option<KernelNetlink>,
    gates: AddressGates,
    groups: BTreeMap<String, VrrpGroup>,
    rx_sockets: HashMap<u32, RxSocket>,
    frames: mpsc::Sender<ReceivedFrame>,
    heartbeat: Option<HeartbeatSession>,
    /// The replication task, if something is replicated.
    replication: Option<ReplicationHandle>,
    source: ReplicationSource,
    /// Heartbeats that were begun.
    heartbeats_started: u64,
    messages: mpsc::Sender<HeartbeatMessage>,
    links: HashMap<u32, NextHopLink>,
    addresses: Vec<AssignedAddress>,
    /// Links or addresses changed.
    network_changed: bool,
    /// Packets that belong to no group, by defect.
    dropped: BTreeMap<&'static str, u64>,
    last_error: Option<String>,
}

impl VrrpTask {
    fn new(
        events: EventLog,
        frames: mpsc::Sender<ReceivedFrame>,
        words: mpsc::Sender<HeartbeatMessage>,
        source: ReplicationSource,
    ) -> VrrpTask {
        VrrpTask {
            events,
            kernel: None,
            gates: AddressGates::default(),
            groups: BTreeMap::new(),
            rx_sockets: HashMap::new(),
            frames,
            heartbeat: None,
            replication: None,
            source,
            heartbeats_started: 0,
            messages: words,
            links: HashMap::new(),
            addresses: Vec::new(),
            network_changed: true,
            dropped: BTreeMap::new(),
            last_error: None,
        }
    }

    fn next_due(&self) -> Instant {
        let now = monotonic_now();
        let groups = self.groups.values().map(VrrpGroup::next_due);
        let beats = self.heartbeat.iter().map(HeartbeatSession::next_due);
        let due = groups.chain(beats).min().unwrap_or(MonotonicTime::NEVER);
        Instant::now() + due.since(now).min(POLL_INTERVAL)
    }

    async fn next_change(&mut self) -> Option<NetlinkChange> {
        match &mut self.kernel {
            Some(kernel) => kernel.next_change().await,
            None => std::future::pending().await,
        }
    }

    fn handle_change(&mut self, news: Option<NetlinkChange>) {
        match news {
            Some(NetlinkChange::Neighbour(..)) => {}
            Some(NetlinkChange::Other) => self.network_changed = true,
            // The connection is lost, so it is reopened.
            None => (self.kernel, self.network_changed) = (None, true),
        }
    }

    /// Has the groups of this snapshot, each on its ground.
    async fn apply_state(
        &mut self,
        snapshot: &StateSnapshot,
        pulse: &ControlPulse,
        packets: &packets::PacketPlaneView,
    ) {
        let config = &snapshot.config;
        if !self.is_needed(config) {
            return;
        }
        if !self.refresh_kernel_state().await {
            return;
        }
        self.update_heartbeat(snapshot);
        if config.vrrp.values().any(|group| group.fencing_timeout.is_some()) {
            self.gates.open(config, &self.events);
        }
        self.gates.follow_packet_plane(config);
        self.replace(config).await;
        let gated = self.groups.values().flat_map(VrrpGroup::gated_addresses);
        self.gates.retain(&gated.collect());
        let shared: BTreeSet<IpAddr> = config
            .vrrp
            .values()
            .flat_map(|group| group.floating_addresses().map(|(ip, _)| ip))
            .collect();
        let hangs = pulse
            .hanging_since(monotonic_now())
            .map(|time| format!("the daemon's control has been hanging for {} s", time.as_secs()));
        let mut seatless = self.update_macvlans(config).await;
        let names: Vec<String> = self.groups.keys().cloned().collect();
        for name in names {
            let Some(mut group) = self.groups.remove(&name) else { continue };
            group.set_needs_quorum(
                self.heartbeat.as_ref().is_some_and(HeartbeatSession::needs_quorum),
            );
            group.set_service_obstacle(
                service_check::service_obstacle(&group.config, snapshot, packets),
                &self.events,
            );
            let stands = group_interface(&group.config, &self.links, &self.addresses, &shared);
            let stands = seatless.remove(&name).map_or(stands, Err);
            let stands = hangs.clone().map_or(stands, Err);
            for place in stands.iter().flat_map(|ground| &ground.placements) {
                self.open_rx_sockets(place.port);
            }
            let addresses = std::mem::take(&mut self.addresses);
            let links = std::mem::take(&mut self.links);
            if let Some(mut tools) = self.group_context() {
                let here = KernelAddresses { addresses: &addresses, links: &links };
                group.set_interface(stands, here, &mut tools).await;
            }
            self.addresses = addresses;
            self.links = links;
            self.groups.insert(name, group);
        }
        if config.vrrp.is_empty() {
            self.gates.remove(self.links.values().map(|link| link.name.clone()));
        }
        self.report_gate_error();
    }

    /// Reads the kernel's state if it has changed.
    async fn refresh_kernel_state(&mut self) -> bool {
        if self.kernel.is_none() {
            self.kernel = KernelNetlink::connect().ok();
        }
        let Some(kernel) = &self.kernel else { return false };
        if self.network_changed {
            let (Ok(links), Ok(addresses)) = (kernel.links().await, kernel.addresses().await)
            else {
                return false;
            };
            self.links = links;
            self.addresses = addresses;
            self.network_changed = false;
            let links = &self.links;
            self.rx_sockets.retain(|ifindex, ear| links.contains_key(ifindex) && ear.is_alive());
        }
        true
    }

    /// Removed and recreated groups release their addresses; new groups have not begun.
    async fn replace(&mut self, config: &Config) {
        let names: Vec<String> = self.groups.keys().cloned().collect();
        for name in names {
            let Some(mut group) = self.groups.remove(&name) else { continue };
            match config.vrrp.get(&name) {
                Some(wanted) if Arc::ptr_eq(wanted, &group.config) || *wanted == group.config => {
                    self.groups.insert(name, group);
                }
                Some(wanted) if group.update_config(wanted) => {
                    self.groups.insert(name, group);
                }
                _ => {
                    if let Some(mut tools) = self.group_context() {
                        group.shut_down(TransitionReason::Stopped, &mut tools).await;
                    }
                    self.network_changed = true;
                }
            }
        }
        for (name, wanted) in &config.vrrp {
            let new = || VrrpGroup::new(Arc::clone(wanted));
            self.groups.entry(name.clone()).or_insert_with(new);
        }
    }

    async fn tick(&mut self) {
        self.update_permissions().await;
        self.update_peer_views().await;
        let now = monotonic_now();
        let due = self.groups.iter().filter(|(_, group)| group.next_due() <= now);
        let names: Vec<String> = due.map(|(name, _)| name.clone()).collect();
        for name in names {
            let Some(mut group) = self.groups.remove(&name) else { continue };
            if let Some(mut tools) = self.group_context() {
                group.tick(&mut tools).await;
            }
            self.groups.insert(name, group);
        }
        self.update_permissions().await;
        self.send_heartbeat();
        self.update_permissions().await;
    }

    /// Gives everything up and leaves no trace.
    async fn shut_down(&mut self) {
        let mut parting = Vec::new();
        for (_, mut group) in std::mem::take(&mut self.groups) {
            if let Some(mut tools) = self.group_context() {
                group.shut_down(TransitionReason::Stopped, &mut tools).await;
            }
            parting
                .push(ha::heartbeat::GroupClaim { state: VrrpState::Idle, ..group.build_claim() });
            if let Some(heartbeat) = &mut self.heartbeat {
                let key = VrrpGroupKey { id: group.config.id, v6: group.config.is_ipv6() };
                heartbeat.permitted_until(key, VrrpState::Idle, false, None);
            }
        }
        if let Some(heartbeat) = &mut self.heartbeat {
            heartbeat.send_due(parting);
            heartbeat.release_leases().await;
        }
        self.gates.remove(self.links.values().map(|link| link.name.clone()));
    }

    /// The context of groups. `None` without a connection to the kernel.
    fn group_context(&mut self) -> Option<GroupContext<'_>> {
        let kernel = self.kernel.as_ref()?;
        let ears = &self.rx_sockets;
        let events = &self.events;
        let frames = &self.frames;
        Some(GroupContext { kernel, gates: &mut self.gates, rx_sockets: ears, events, frames })
    }

    /// Logs an error of the gate once.
    fn report_gate_error(&mut self) {
        if let Some(text) = self.gates.last_error.clone() {
            self.gate_error(format!("fencing does not run: {text}"));
        }
    }

    fn gate_error(&mut self, text: String) {
        let text = plain_error_text(text);
        if self.last_error.as_ref() != Some(&text) {
            self.events.warn("vrrp-trouble", text.clone());
            self.last_error = Some(text);
        }
    }

    fn view(&self) -> VrrpView {
        let groups = self.groups.iter().map(|(name, group)| (name.clone(), group.view()));
        VrrpView {
            groups: groups.collect(),
            heartbeats: self.heartbeat_views(),
            dropped: self.dropped.clone(),
            blocked_packets: self.gates.blocked_packets(),
            last_error: self.gates.last_error.clone(),
        }
    }
}
