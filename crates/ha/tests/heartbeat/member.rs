//! A member: its state machine, heartbeat, clock and kernel state. It acts as the daemon's thread does.

use std::net::IpAddr;
use std::time::Duration;

use ha::advert::{GROUP_V4, HOPS, IpHeader, VrrpVersion, emit, parse};
use ha::counts::VrrpCounters;
use ha::heartbeat::{self, ConfigDigest, GroupClaim, PeerHeartbeat, ReachScore};
use ha::keys::ClusterKeys;
use ha::peer_link::{self, PeerLink};
use ha::reach::ReachComparison;
use ha::settings::VrrpSettings;
use ha::state_machine::{PeerView, VrrpAction, VrrpState, VrrpStateMachine};
use model::monotonic_time::MonotonicTime;

pub const MS: Duration = Duration::from_millis(1);
/// Heartbeat paths beside the service network.
pub const PATHS: usize = 2;
pub const TARGETS: u16 = 2;
const GROUP: u8 = 7;

/// A packet of a member.
#[derive(Clone)]
pub enum HeartbeatPacket {
    Advert(Vec<u8>),
    Beat(usize, Vec<u8>),
}

pub struct HeartbeatMember {
    pub machine: VrrpStateMachine,
    pub settings: VrrpSettings,
    pub peer_link: PeerLink,
    reach_comparison: ReachComparison,
    keys: ClusterKeys,
    name: &'static str,
    beats: peer_link::PeerLinkSettings,
    pub settle: Duration,
    /// Targets that the member reaches; `None`: not known yet.
    pub reach: Option<u16>,
    /// How far this clock is ahead of the simulation's, in milliseconds.
    pub ahead: u64,
    pub alive: bool,
    /// Stopped by a signal until this time.
    pub stopped: u64,
    /// The kernel's address, which outlives the process.
    pub address: bool,
    pub lease_until: MonotonicTime,
    reported_state: VrrpState,
    pub counts: Vec<VrrpCounters>,
    pub out: Vec<HeartbeatPacket>,
    pub refused: u64,
}

impl HeartbeatMember {
    pub fn new(
        at: usize,
        settings: VrrpSettings,
        every: Duration,
        session: u64,
    ) -> HeartbeatMember {
        let names = ["left", "right"];
        let name = names[at];
        let peer = names[1 - at];
        let beats = peer_link::PeerLinkSettings {
            peer: peer.to_owned(),
            interval: every,
            timeout: every * 3,
            paths: PATHS,
        };
        HeartbeatMember {
            machine: VrrpStateMachine::new(settings.clone()),
            peer_link: PeerLink::new(beats.clone(), session, MonotonicTime(0)),
            reach_comparison: ReachComparison::default(),
            keys: ClusterKeys::parse(&format!("1 {}", "k".repeat(40))).unwrap(),
            settings,
            name,
            beats,
            settle: MS * 300,
            reach: None,
            ahead: 0,
            alive: false,
            stopped: 0,
            address: false,
            lease_until: MonotonicTime::default(),
            reported_state: VrrpState::Idle,
            counts: Vec::new(),
            out: Vec::new(),
            refused: 0,
        }
    }

    /// Starts a process, which reads the state that the previous process left.
    pub fn start(&mut self, now: MonotonicTime, session: u64) {
        self.alive = true;
        self.stopped = 0;
        self.machine = VrrpStateMachine::new(self.settings.clone());
        self.peer_link = PeerLink::new(self.beats.clone(), session, now);
        self.reach_comparison = ReachComparison::default();
        self.reported_state = VrrpState::Idle;
        let held = self.address && now < self.lease_until;
        self.address &= held;
        self.consult(now);
        self.act(now, |machine, now, out| machine.start(now, held, out));
    }

    /// SIGKILL: the address stays on the machine.
    pub fn kill(&mut self) {
        self.counts.push(self.machine.counts().clone());
        self.alive = false;
        self.machine = VrrpStateMachine::new(self.settings.clone());
    }

    pub fn act(
        &mut self,
        now: MonotonicTime,
        what: impl FnOnce(&mut VrrpStateMachine, MonotonicTime, &mut Vec<VrrpAction>),
    ) {
        let mut out = Vec::new();
        what(&mut self.machine, now, &mut out);
        for action in out {
            match action {
                VrrpAction::AddAddresses => self.address = true,
                VrrpAction::RemoveAddresses => self.address = false,
                VrrpAction::Send(advert) => {
                    let bytes = emit(&advert, self.settings.source, GROUP_V4.into());
                    self.out.push(HeartbeatPacket::Advert(bytes));
                }
                VrrpAction::Announce
                | VrrpAction::OtherAddresses { .. }
                | VrrpAction::Changed { .. }
                | VrrpAction::ActivationBlocked(_) => {}
            }
        }
        self.lease_until = self.machine.lease_until();
    }

    pub fn receive(&mut self, now: MonotonicTime, packet: &HeartbeatPacket, from: IpAddr) {
        match packet {
            HeartbeatPacket::Advert(bytes) => {
                let envelope = IpHeader { source: from, destination: GROUP_V4.into(), hops: HOPS };
                let advert = parse(bytes, &envelope).unwrap();
                self.act(now, |machine, now, out| machine.receive(now, from, &advert, out));
            }
            HeartbeatPacket::Beat(path, bytes) => {
                let heard = heartbeat::parse(bytes, &self.keys).and_then(|beat| {
                    self.peer_link.receive_heartbeat(now, *path, beat, &mut Vec::new())
                });
                self.refused += u64::from(heard.is_err());
            }
        }
        self.tick(now);
    }

    pub fn tick(&mut self, now: MonotonicTime) {
        self.consult(now);
        if self.machine.next_due() <= now {
            self.act(now, VrrpStateMachine::tick);
        }
        self.speak(now);
    }

    /// Updates the view of the peer from its heartbeat.
    fn consult(&mut self, now: MonotonicTime) {
        self.peer_link.handle_timeouts(now, &mut Vec::new());
        let theirs = self.peer_link.peer().and_then(|beat| beat.reach);
        self.reach_comparison.compare(now, self.score(), theirs, self.settle);
        let claimed = self.peer_link.peer_claim(GROUP, false);
        let active = claimed.filter(|one| one.claim.state == VrrpState::Active);
        let peer = PeerView {
            alive: self.peer_link.peer().is_some(),
            undecided: self.peer_link.is_undecided(now),
            active: active.map(|one| one.claim.precedence()),
            knows_conflict: active.is_some_and(|one| one.knows_our_claim),
            wants_vote: None,
            ahead: self.reach_comparison.is_behind()
                && claimed.is_some_and(|one| one.claim.state != VrrpState::Idle),
        };
        self.act(now, |machine, now, out| machine.update_peer(now, peer, out));
    }

    fn score(&self) -> Option<ReachScore> {
        self.reach.map(|reached| ReachScore { reached, total: TARGETS })
    }

    fn speak(&mut self, now: MonotonicTime) {
        let state = self.machine.state();
        if state != self.reported_state {
            self.reported_state = state;
            self.peer_link.request_round(now);
        }
        let priority = self.machine.priority();
        let source = self.settings.source;
        let claims = vec![GroupClaim {
            id: GROUP,
            v6: false,
            is_capable: true,
            state,
            priority,
            source,
            vote: None,
        }];
        let Some(round) = self.peer_link.take_round(now, &claims) else { return };
        for (path, echo) in round.echoes.into_iter().enumerate() {
            let beat = PeerHeartbeat {
                version: heartbeat::VERSION,
                session: self.peer_link.session(),
                number: round.number,
                echo,
                name: self.name.to_owned(),
                product: String::new(),
                config: ConfigDigest::default(),
                reach: self.score(),
                last_received: None,
                claims: claims.clone(),
            };
            self.out.push(HeartbeatPacket::Beat(path, heartbeat::emit(&beat, &self.keys)));
        }
    }
}

pub fn settings(at: usize, priority: u8, interval: Duration, preempt: bool) -> VrrpSettings {
    VrrpSettings {
        version: VrrpVersion::V3,
        group: GROUP,
        priority,
        interval,
        preempt,
        preempt_delay: Duration::ZERO,
        addresses: vec![[192, 0, 2, 10].into()],
        source: [192, 0, 2, u8::try_from(at + 1).unwrap()].into(),
        fencing_timeout: interval * 5 / 2,
        refresh: None,
        virtual_link: false,
    }
}
