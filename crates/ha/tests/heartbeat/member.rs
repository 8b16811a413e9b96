//! A member: its machine, its heartbeat, its clock, and what its kernel holds. It acts as the daemon's thread does.

use std::net::IpAddr;
use std::time::Duration;

use ha::advert::{Envelope, GROUP_V4, HOPS, Version, emit, parse};
use ha::beat::{self, Beat, Claim, Digest, Score};
use ha::counts::Counts;
use ha::hearing::{self, Hearing};
use ha::keys::Keys;
use ha::machine::{Action, Machine, Peer, State};
use ha::reach::Standing;
use ha::settings::Settings;
use model::moment::Moment;

pub const MS: Duration = Duration::from_millis(1);
/// Ways between both beside the service network.
pub const PATHS: usize = 2;
/// Targets of each.
pub const TARGETS: u16 = 2;
const GROUP: u8 = 7;

/// What a member sends.
#[derive(Clone)]
pub enum Packet {
    Advert(Vec<u8>),
    Beat(usize, Vec<u8>),
}

pub struct Member {
    pub machine: Machine,
    pub settings: Settings,
    pub hearing: Hearing,
    standing: Standing,
    keys: Keys,
    name: &'static str,
    beats: hearing::Settings,
    pub settle: Duration,
    /// Targets that it reaches; `None`: it does not know yet.
    pub reach: Option<u16>,
    /// Ahead of the world's clock, in milliseconds.
    pub ahead: u64,
    pub alive: bool,
    /// Stopped by a signal until then.
    pub stopped: u64,
    /// What the kernel holds, whoever lives.
    pub address: bool,
    pub hold: Moment,
    said: State,
    pub counts: Vec<Counts>,
    pub out: Vec<Packet>,
    pub refused: u64,
}

impl Member {
    pub fn new(at: usize, settings: Settings, every: Duration, session: u64) -> Member {
        let names = ["left", "right"];
        let (name, peer) = (names[at], names[1 - at]);
        let beats =
            hearing::Settings { peer: peer.to_owned(), every, timeout: every * 3, paths: PATHS };
        Member {
            machine: Machine::new(settings.clone()),
            hearing: Hearing::new(beats.clone(), session, Moment(0)),
            standing: Standing::default(),
            keys: Keys::parse(&format!("1 {}", "k".repeat(40))).unwrap(),
            settings,
            name,
            beats,
            settle: MS * 300,
            reach: None,
            ahead: 0,
            alive: false,
            stopped: 0,
            address: false,
            hold: Moment::default(),
            said: State::Idle,
            counts: Vec::new(),
            out: Vec::new(),
            refused: 0,
        }
    }

    /// A process that finds what the one before it left.
    pub fn start(&mut self, now: Moment, session: u64) {
        (self.alive, self.stopped) = (true, 0);
        self.machine = Machine::new(self.settings.clone());
        self.hearing = Hearing::new(self.beats.clone(), session, now);
        (self.standing, self.said) = (Standing::default(), State::Idle);
        let held = self.address && now < self.hold;
        self.address &= held;
        self.consult(now);
        self.act(now, |machine, now, out| machine.begin(now, held, out));
    }

    /// SIGKILL: the address stays where it is.
    pub fn kill(&mut self) {
        self.counts.push(self.machine.counts().clone());
        self.alive = false;
        self.machine = Machine::new(self.settings.clone());
    }

    pub fn act(&mut self, now: Moment, what: impl FnOnce(&mut Machine, Moment, &mut Vec<Action>)) {
        let mut out = Vec::new();
        what(&mut self.machine, now, &mut out);
        for action in out {
            match action {
                Action::Take => self.address = true,
                Action::Give => self.address = false,
                Action::Send(advert) => {
                    let bytes = emit(&advert, self.settings.source, GROUP_V4.into());
                    self.out.push(Packet::Advert(bytes));
                }
                Action::Announce
                | Action::OtherAddresses { .. }
                | Action::Changed { .. }
                | Action::Withheld(_) => {}
            }
        }
        self.hold = self.machine.hold();
    }

    pub fn receive(&mut self, now: Moment, packet: &Packet, from: IpAddr) {
        match packet {
            Packet::Advert(bytes) => {
                let envelope = Envelope { source: from, destination: GROUP_V4.into(), hops: HOPS };
                let advert = parse(bytes, &envelope).unwrap();
                self.act(now, |machine, now, out| machine.receive(now, from, &advert, out));
            }
            Packet::Beat(path, bytes) => {
                let heard = beat::parse(bytes, &self.keys)
                    .and_then(|beat| self.hearing.hear(now, *path, beat, &mut Vec::new()));
                self.refused += u64::from(heard.is_err());
            }
        }
        self.tick(now);
    }

    pub fn tick(&mut self, now: Moment) {
        self.consult(now);
        if self.machine.due() <= now {
            self.act(now, Machine::tick);
        }
        self.speak(now);
    }

    /// What the heartbeat says of the other one.
    fn consult(&mut self, now: Moment) {
        self.hearing.pass(now, &mut Vec::new());
        let theirs = self.hearing.peer().and_then(|beat| beat.reach);
        self.standing.compare(now, self.score(), theirs, self.settle);
        let claimed = self.hearing.claimed(GROUP, false);
        let active = claimed.filter(|one| one.claim.state == State::Active);
        let peer = Peer {
            alive: self.hearing.peer().is_some(),
            unsure: self.hearing.unsure(now),
            active: active.map(|one| (one.claim.source, one.claim.priority)),
            knows: active.is_some_and(|one| one.knows),
            wants: None,
            ahead: self.standing.behind()
                && claimed.is_some_and(|one| one.claim.state != State::Idle),
        };
        self.act(now, |machine, now, out| machine.advise(now, peer, out));
    }

    fn score(&self) -> Option<Score> {
        self.reach.map(|reached| Score { reached, of: TARGETS })
    }

    fn speak(&mut self, now: Moment) {
        let state = self.machine.state();
        if state != self.said {
            self.said = state;
            self.hearing.urge(now);
        }
        let priority = self.machine.priority();
        let source = self.settings.source;
        let claims =
            vec![Claim { id: GROUP, v6: false, fit: true, state, priority, source, vote: None }];
        let Some(round) = self.hearing.round(now, &claims) else { return };
        for (path, echo) in round.echoes.into_iter().enumerate() {
            let beat = Beat {
                version: beat::VERSION,
                session: self.hearing.session(),
                number: round.number,
                echo,
                name: self.name.to_owned(),
                product: String::new(),
                config: Digest::default(),
                reach: self.score(),
                heard: None,
                claims: claims.clone(),
            };
            self.out.push(Packet::Beat(path, beat::emit(&beat, &self.keys)));
        }
    }
}

pub fn settings(at: usize, priority: u8, interval: Duration, preempt: bool) -> Settings {
    Settings {
        version: Version::Three,
        group: GROUP,
        priority,
        interval,
        preempt,
        preempt_delay: Duration::ZERO,
        addresses: vec![[192, 0, 2, 10].into()],
        source: [192, 0, 2, u8::try_from(at + 1).unwrap()].into(),
        dead_man: interval * 5 / 2,
        refresh: None,
        virtual_link: false,
    }
}
