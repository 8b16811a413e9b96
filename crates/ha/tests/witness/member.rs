//! A member with votes. It acts as the daemon's thread does: receive, request votes, handle time, send.

use std::net::IpAddr;
use std::time::Duration;

use ha::advert::{GROUP_V4, HOPS, IpHeader, VrrpVersion, emit, parse};
use ha::counts::VrrpCounters;
use ha::heartbeat::{self, ConfigDigest, GroupClaim, HeartbeatEcho, PeerHeartbeat, VrrpGroupKey};
use ha::keys::ClusterKeys;
use ha::peer_link::{self, PeerLink};
use ha::settings::VrrpSettings;
use ha::state_machine::{MemberPrecedence, PeerView, VrrpAction, VrrpState, VrrpStateMachine};
use ha::witness::{QuorumVotes, WitnessReply, WitnessRequest};
use model::monotonic_time::MonotonicTime;

pub const MS: Duration = Duration::from_millis(1);
const GROUP: u8 = 7;

/// A packet of a member.
#[derive(Clone, Debug)]
pub enum WitnessPacket {
    Advert(Vec<u8>),
    Beat(Vec<u8>),
    Ask(WitnessRequest),
}

pub struct WitnessMember {
    pub machine: VrrpStateMachine,
    pub settings: VrrpSettings,
    pub lease: Duration,
    peer_link: PeerLink,
    votes: Option<QuorumVotes>,
    keys: ClusterKeys,
    pub name: &'static str,
    beats: peer_link::PeerLinkSettings,
    /// This member's clock: its offset at the start, and its speed in millionths.
    pub ahead: u64,
    pub speed: u64,
    pub alive: bool,
    /// Stopped by a signal until this time.
    pub stopped: u64,
    /// The kernel's address, which outlives the process.
    pub address: bool,
    pub lease_until: MonotonicTime,
    reported_state: (VrrpState, bool, bool),
    pub counts: Vec<VrrpCounters>,
    pub out: Vec<WitnessPacket>,
}

impl WitnessMember {
    pub fn new(
        at: usize,
        settings: VrrpSettings,
        every: Duration,
        lease: Duration,
    ) -> WitnessMember {
        let names = ["left", "right"];
        let name = names[at];
        let peer = names[1 - at].to_owned();
        let beats =
            peer_link::PeerLinkSettings { peer, interval: every, timeout: every * 3, paths: 1 };
        WitnessMember {
            machine: VrrpStateMachine::new(settings.clone()),
            peer_link: PeerLink::new(beats.clone(), 1, MonotonicTime(0)),
            votes: None,
            keys: ClusterKeys::parse(&format!("1 {}", "k".repeat(40))).unwrap(),
            settings,
            lease,
            name,
            beats,
            ahead: 0,
            speed: 1_000_000,
            alive: false,
            stopped: 0,
            address: false,
            lease_until: MonotonicTime::default(),
            reported_state: (VrrpState::Idle, false, false),
            counts: Vec::new(),
            out: Vec::new(),
        }
    }

    /// Starts a process, which reads the state that the previous process left.
    pub fn start(&mut self, now: MonotonicTime, session: u64) {
        self.alive = true;
        self.stopped = 0;
        self.machine = VrrpStateMachine::new(self.settings.clone());
        self.peer_link = PeerLink::new(self.beats.clone(), session, now);
        let held = (self.address && now < self.lease_until).then_some(self.lease_until);
        self.address &= held.is_some();
        self.votes = None;
        let mut out = Vec::new();
        self.machine.set_permission(now, Some(held.unwrap_or_default()), &mut out);
        self.act(now, |machine, now, out| machine.start(now, held.is_some(), out));
    }

    /// The member's state, for messages.
    pub fn place(&self, now: MonotonicTime) -> String {
        let ms = |at: MonotonicTime| format!("{} ms", at.since(now).as_millis());
        let votes = self.votes.as_ref().map(|votes| {
            format!(
                "given {}, leased {}, lent {}",
                ms(votes.peer_vote_until()),
                ms(votes.lease_until()),
                ms(votes.granted_until())
            )
        });
        let state = self.machine.state();
        let wants = self.machine.wants_permission();
        let alive = self.alive;
        format!(
            "alive {alive}, {state:?}, wants {wants}, priority {}, {votes:?}",
            self.machine.priority()
        )
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
                    self.out.push(WitnessPacket::Advert(bytes));
                }
                VrrpAction::Announce
                | VrrpAction::OtherAddresses { .. }
                | VrrpAction::Changed { .. }
                | VrrpAction::ActivationBlocked(_) => {}
            }
        }
        self.lease_until = self.machine.lease_until();
    }

    pub fn receive(&mut self, now: MonotonicTime, packet: &WitnessPacket, from: IpAddr) {
        match packet {
            WitnessPacket::Advert(bytes) => {
                let envelope = IpHeader { source: from, destination: GROUP_V4.into(), hops: HOPS };
                let advert = parse(bytes, &envelope).unwrap();
                self.act(now, |machine, now, out| machine.receive(now, from, &advert, out));
            }
            WitnessPacket::Beat(bytes) => {
                let heard = heartbeat::parse(bytes, &self.keys).and_then(|beat| {
                    self.peer_link.receive_heartbeat(now, 0, beat, &mut Vec::new())
                });
                let ours = MemberPrecedence {
                    priority: self.machine.priority(),
                    source: self.settings.source,
                };
                let group = VrrpGroupKey { id: GROUP, v6: false };
                if let (Ok(true), Some(votes)) = (heard, &mut self.votes) {
                    votes.receive_heartbeat(now, &self.peer_link, group, ours);
                }
            }
            WitnessPacket::Ask(_) => {}
        }
        self.tick(now);
    }

    pub fn answered(&mut self, now: MonotonicTime, number: u64, answer: WitnessReply) {
        if let Some(votes) = &mut self.votes {
            votes.handle_reply(now, number, answer);
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

    /// Updates the votes, and the view of the peer from its heartbeat.
    fn consult(&mut self, now: MonotonicTime) {
        self.permit(now);
        self.peer_link.handle_timeouts(now, &mut Vec::new());
        let claimed = self.peer_link.peer_claim(GROUP, false);
        let active = claimed.filter(|one| one.claim.state == VrrpState::Active);
        let wants = claimed
            .filter(|one| one.knows_our_claim && one.claim.vote.is_some_and(|it| it.wants_vote));
        let peer = PeerView {
            alive: self.peer_link.peer().is_some(),
            undecided: self.peer_link.is_undecided(now),
            active: active.map(|one| one.claim.precedence()),
            knows_conflict: active.is_some_and(|one| one.knows_our_claim),
            wants_vote: wants.map(|one| one.claim.precedence()),
            ahead: false,
        };
        self.act(now, |machine, now, out| machine.update_peer(now, peer, out));
    }

    fn permit(&mut self, now: MonotonicTime) {
        let active = self.machine.state() == VrrpState::Active;
        let wants = self.machine.wants_permission();
        let held = self.machine.permitted_until().filter(|_| active);
        let lease = self.lease;
        let session = self.peer_link.session();
        let votes = self.votes.get_or_insert_with(|| QuorumVotes::new(now, lease, session, held));
        votes.set_group_state(now, active, wants);
        let leave = votes.permitted_until(now);
        self.act(now, |machine, now, out| machine.set_permission(now, Some(leave), out));
    }

    fn speak(&mut self, now: MonotonicTime) {
        let state = self.machine.state();
        let wants = self.machine.wants_permission();
        let Some(votes) = &mut self.votes else { return };
        votes.set_group_state(now, state == VrrpState::Active, wants);
        let sent_vote = (state, wants, votes.next_vote(now).grants_for.is_some());
        if sent_vote != self.reported_state {
            self.reported_state = sent_vote;
            self.peer_link.request_round(now);
        }
        self.out.extend(votes.take_request(now).map(WitnessPacket::Ask));
        let priority = self.machine.priority();
        let source = self.settings.source;
        let claim = GroupClaim {
            id: GROUP,
            v6: false,
            is_capable: true,
            state,
            priority,
            source,
            vote: None,
        };
        if let Some(round) = self.peer_link.take_round(now, &[claim]) {
            let vote = Some(votes.take_vote(now, round.number));
            for echo in round.echoes {
                let beat = self.beat(round.number, echo, GroupClaim { vote, ..claim });
                self.out.push(WitnessPacket::Beat(heartbeat::emit(&beat, &self.keys)));
            }
        }
        self.permit(now);
    }

    fn beat(&self, number: u64, echo: HeartbeatEcho, claim: GroupClaim) -> PeerHeartbeat {
        PeerHeartbeat {
            version: heartbeat::VERSION,
            session: self.peer_link.session(),
            number,
            echo,
            name: self.name.to_owned(),
            product: String::new(),
            config: ConfigDigest::default(),
            reach: None,
            last_received: self.peer_link.newest_heartbeat(),
            claims: vec![claim],
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
