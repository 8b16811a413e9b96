//! One VRRP group: its state machine, its socket, its addresses. It carries out the machine's actions, in order.

mod addresses;
mod advertising;
mod duplicate_detection;
mod peer_link;
mod repair;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use ha::advert::{AdvertisementDefect, IpHeader, VrrpAdvertisement};
use ha::duplicate_address::DuplicateDetector;
use ha::state_machine::{
    OrderRejection, TransitionReason, VrrpAction, VrrpState, VrrpStateMachine,
};
use model::config::{EventLevel, VrrpConfig};
use model::monotonic_time::MonotonicTime;
use tokio::sync::mpsc;

use super::address_gate::AddressGates;
use super::address_repair::{AddressRepair, KernelAddresses};
use super::command::TakeoverAction;
use super::heartbeat::events::PeerSummary;
use super::interface::{AddressPlacement, GroupInterface};
use super::rx_socket::{ReceivedFrame, RxSocket};
use super::settings::group_settings;
use super::transition_text;
use super::tx_socket::TxSocket;
use super::view::{VrrpGroupView, VrrpTransition};
use crate::planes::packets::netlink::{AssignedAddress, KernelNetlink};
use crate::util::event::{EventFields, EventLog};
use crate::util::monotonic_clock::monotonic_now;

/// State changes that are stored for `status`.
/// The history of a flapping group; the log has all of them.
const MAX_CHANGES: usize = 8;

/// The context that all groups share.
pub struct GroupContext<'a> {
    pub kernel: &'a KernelNetlink,
    /// The dead man's gate.
    pub gates: &'a mut AddressGates,
    /// The socket of each interface.
    pub rx_sockets: &'a HashMap<u32, RxSocket>,
    pub events: &'a EventLog,
    /// Where receive sockets send frames.
    pub frames: &'a mpsc::Sender<ReceivedFrame>,
}

pub struct VrrpGroup {
    pub config: Arc<VrrpConfig>,
    machine: VrrpStateMachine,
    interface: Option<GroupInterface>,
    tx_socket: Option<TxSocket>,
    problem: Option<String>,
    /// Why it cannot do all of its work.
    service_obstacle: Option<String>,
    /// Until when the sent advertisements allow this member to use the addresses.
    leased_until: MonotonicTime,
    /// The other member of the heartbeat.
    peers: Arc<PeerSummary>,
    /// The macvlan that was made for the group.
    macvlan: Option<u32>,
    /// The addresses existed before this daemon, which must not remove them.
    has_preexisting_addresses: bool,
    /// Others have to agree before it is active.
    needs_quorum: bool,
    /// Detects the addresses on other hosts.
    duplicates: DuplicateDetector,
    arp_sockets: Vec<RxSocket>,
    /// Addresses that another program removed, and addresses that cannot be set.
    repair: AddressRepair,
    since: SystemTime,
    reason: String,
    dropped: BTreeMap<&'static str, u64>,
    changes: VecDeque<VrrpTransition>,
}

impl VrrpGroup {
    /// One that has not begun.
    pub fn new(config: Arc<VrrpConfig>) -> VrrpGroup {
        let machine = VrrpStateMachine::new(group_settings(&config, IpAddr::from([0; 4])));
        VrrpGroup {
            machine,
            config,
            interface: None,
            tx_socket: None,
            problem: None,
            service_obstacle: None,
            leased_until: MonotonicTime::default(),
            peers: Default::default(),
            macvlan: None,
            has_preexisting_addresses: false,
            needs_quorum: false,
            duplicates: DuplicateDetector::default(),
            arp_sockets: Vec::new(),
            repair: AddressRepair::default(),
            since: SystemTime::now(),
            reason: "it has not begun".to_owned(),
            dropped: BTreeMap::new(),
            changes: VecDeque::new(),
        }
    }

    /// When something is due.
    pub fn next_due(&self) -> MonotonicTime {
        self.machine.next_due().min(self.duplicates.next_probe())
    }

    pub fn state(&self) -> VrrpState {
        self.machine.state()
    }

    /// Takes a changed configuration up where that is possible without leaving; `false`: it must be made anew.
    pub fn update_config(&mut self, config: &Arc<VrrpConfig>) -> bool {
        let old = &self.config;
        let new = config;
        let same = old.interface == new.interface
            && (old.id, old.version) == (new.id, new.version)
            && (&old.addresses, &old.also) == (&new.addresses, &new.also)
            && (old.source, &old.peers) == (new.source, &new.peers)
            && old.link_address == new.link_address
            && old.fencing_timeout.is_some() == new.fencing_timeout.is_some();
        if same {
            self.config = Arc::clone(config);
            let source = self.machine.settings().source;
            self.machine.update_settings(group_settings(config, source));
        }
        same
    }

    /// Sets the group's interface, or a fault if there is none. `here`: addresses of this host.
    pub async fn set_interface(
        &mut self,
        ground: Result<GroupInterface, String>,
        here: KernelAddresses<'_>,
        tools: &mut GroupContext<'_>,
    ) {
        let ground = match self.repair.refusal(monotonic_now()).map_or(ground, Err) {
            Ok(ground) => ground,
            Err(problem) => return self.fail(problem, tools).await,
        };
        if self.needs_quorum && tools.gates.last_error.is_some() {
            let text = "fencing does not run, and a group with a quorum needs it".to_owned();
            return self.fail(text, tools).await;
        }
        if self.state() != VrrpState::Idle && self.interface.as_ref() == Some(&ground) {
            return self.restore_addresses(here, tools).await;
        }
        if self.state() != VrrpState::Idle {
            self.fail("its interface or address changed".to_owned(), tools).await;
        }
        match TxSocket::open(&self.config.interface, ground.ifindex, ground.source) {
            Ok(mouth) => self.tx_socket = Some(mouth),
            Err(error) => {
                let text = format!("no socket for advertisements: {error}");
                return self.fail(text, tools).await;
            }
        }
        if ground.placements.iter().any(|place| !tools.rx_sockets.contains_key(&place.port)) {
            return self.fail("no socket for frames".to_owned(), tools).await;
        }
        self.start(ground, here.addresses, tools).await;
    }

    async fn start(
        &mut self,
        ground: GroupInterface,
        addresses: &[AssignedAddress],
        tools: &mut GroupContext<'_>,
    ) {
        self.problem = None;
        self.machine.update_settings(group_settings(&self.config, ground.source));
        self.macvlan = ground.macvlan;
        self.interface = Some(ground);
        if self.config.fencing_timeout.is_some() {
            self.attach_gate(tools);
        }
        let places = self.placements().to_vec();
        let here = |place: &AddressPlacement| addresses.iter().any(|one| one.ip == place.ip);
        let present = places.iter().all(here);
        let now = monotonic_now();
        let owner = self.config.priority == ha::advert::OWNER;
        let moves: Vec<IpAddr> = places.iter().map(|place| place.ip).collect();
        let held = present && !owner && tools.gates.are_leased(&moves, now);
        self.await_permission(held.then(|| tools.gates.leased_until(&moves)), now);
        // Addresses that an earlier process left behind when it crashed.
        let left: Vec<AddressPlacement> =
            places.iter().filter(|place| here(place)).copied().collect();
        self.has_preexisting_addresses = owner && present;
        if !held && !self.has_preexisting_addresses {
            if !left.is_empty() {
                self.machine.release_found_addresses();
            }
            self.remove_addresses(&left, tools).await;
        }
        let mut actions = Vec::new();
        self.machine.start(now, held, &mut actions);
        self.run_actions(actions, tools).await;
        self.remove_interface_addresses(addresses, tools).await;
    }

    /// Cannot do its work now.
    pub async fn fail(&mut self, problem: String, tools: &mut GroupContext<'_>) {
        if self.state() == VrrpState::Idle {
            self.reason.clone_from(&problem);
            self.problem = Some(problem);
            return;
        }
        self.problem = Some(problem);
        self.shut_down(TransitionReason::Fault, tools).await;
    }

    /// Ends the group; an active member announces that and releases the addresses.
    pub async fn shut_down(&mut self, why: TransitionReason, tools: &mut GroupContext<'_>) {
        let mut actions = Vec::new();
        self.machine.stop(monotonic_now(), why, &mut actions);
        self.run_actions(actions, tools).await;
        if why == TransitionReason::Stopped {
            self.forget_macvlan(tools).await;
        }
        self.tx_socket = None;
        self.interface = None;
    }

    /// Follows an order; whether that changed anything.
    ///
    /// # Errors
    /// It cannot.
    pub async fn move_(
        &mut self,
        how: TakeoverAction,
        tools: &mut GroupContext<'_>,
    ) -> Result<bool, OrderRejection> {
        let now = monotonic_now();
        let mut actions = Vec::new();
        let moved = match how {
            TakeoverAction::TakeOver => self.machine.order_active(now, &mut actions).map(|()| true),
            TakeoverAction::HandOver { .. } => {
                self.machine.hand_over(now, &mut actions).map(|()| true)
            }
            TakeoverAction::Release => Ok(self.machine.release_order()),
        };
        self.run_actions(actions, tools).await;
        moved
    }

    pub async fn tick(&mut self, tools: &mut GroupContext<'_>) {
        let now = monotonic_now();
        let mut actions = Vec::new();
        if self.machine.next_due() <= now {
            self.machine.tick(now, &mut actions);
            self.run_actions(actions, tools).await;
        }
        self.probe_duplicates(tools);
    }

    /// Whether advertisements of this number on this interface belong to this group.
    pub fn matches(&self, ifindex: u32, id: u8, v6: bool) -> bool {
        let there = self.interface.as_ref().is_some_and(|ground| ground.ifindex == ifindex);
        there && self.config.id == id && self.config.is_ipv6() == v6
    }

    /// An advertisement of this group arrived.
    pub async fn receive_advertisement(
        &mut self,
        from: &IpHeader,
        advert: &VrrpAdvertisement,
        tools: &mut GroupContext<'_>,
    ) {
        let source = from.source;
        if self.interface.as_ref().is_some_and(|ground| ground.source == source) {
            return self.count("own-address");
        }
        if !self.config.accepts_source(source) {
            return self.count("source-not-allowed");
        }
        // Members that were named may be behind routers.
        if !from.is_link_local() && self.config.peers.is_empty() {
            return self.count(AdvertisementDefect::Hops.name());
        }
        let mut actions = Vec::new();
        self.machine.receive(monotonic_now(), source, advert, &mut actions);
        self.run_actions(actions, tools).await;
    }

    fn count(&mut self, what: &'static str) {
        *self.dropped.entry(what).or_default() += 1;
    }

    pub fn view(&self) -> VrrpGroupView {
        VrrpGroupView {
            interface: self.config.interface.clone(),
            id: self.config.id,
            addresses: self.config.addresses.clone(),
            state: self.state(),
            since: self.since,
            reason: self.state_reason(),
            priority: self.machine.priority(),
            active_member: self.machine.active_member(),
            counts: self.duplicate_counts(),
            dropped: self.dropped.clone(),
            changes: self.changes.iter().cloned().collect(),
        }
    }

    async fn run_actions(&mut self, actions: Vec<VrrpAction>, tools: &mut GroupContext<'_>) {
        for action in actions {
            match action {
                VrrpAction::Send(advert) => self.send(&advert, tools),
                VrrpAction::AddAddresses => {
                    self.add_addresses(tools).await;
                    self.watch_duplicates(tools);
                }
                VrrpAction::RemoveAddresses if self.has_preexisting_addresses => {
                    self.unwatch_duplicates()
                }
                VrrpAction::RemoveAddresses => {
                    self.unwatch_duplicates();
                    let places = self.placements().to_vec();
                    self.remove_addresses(&places, tools).await;
                }
                VrrpAction::Announce => self.announce_addresses(tools),
                VrrpAction::OtherAddresses { source, addresses, foreign } => {
                    self.report_conflict(source, &addresses, foreign, tools);
                }
                VrrpAction::ActivationBlocked(why) => self.report_blocked(why, tools),
                VrrpAction::Changed { from, to, why } => self.record_change(from, to, why, tools),
            }
        }
    }

    fn record_change(
        &mut self,
        from: VrrpState,
        to: VrrpState,
        why: TransitionReason,
        tools: &GroupContext<'_>,
    ) {
        let transition_text::TransitionEvent { level, kind } = transition_text::event_kind(to, why);
        self.since = SystemTime::now();
        let detail = match why {
            TransitionReason::PeerAhead => Some(self.peers.reach.as_str()),
            _ => self.problem.as_deref(),
        };
        self.reason = transition_text::transition_reason(why, detail);
        if self.changes.len() == MAX_CHANGES {
            self.changes.pop_front();
        }
        let reason = self.reason.clone();
        self.changes.push_back(VrrpTransition { at: self.since, to, reason });
        let from = super::view::state_name(from);
        let to = super::view::state_name(to);
        let text = format!("group {} is {to}, was {from}: {}", self.config.name, self.reason);
        let shared: Vec<String> =
            self.config.floating_addresses().map(|(ip, _)| ip.to_string()).collect();
        let about = EventFields::from([
            ("group", self.config.name.clone()),
            ("interface", self.config.interface.clone()),
            ("addresses", shared.join(" ")),
            ("state", to.to_owned()),
            ("was", from.to_owned()),
        ]);
        let level = if from == "idle" && to == "standby" { EventLevel::Info } else { level };
        tools.events.emit(level, kind, text, about);
    }
}
