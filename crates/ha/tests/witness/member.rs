//! A member with votes, as the daemon's thread acts: it hears, asks who agrees, lets time pass, and speaks.

use std::net::IpAddr;
use std::time::Duration;

use ha::advert::{Envelope, GROUP_V4, HOPS, Version, emit, parse};
use ha::beat::{self, Beat, Claim, Digest, Echo};
use ha::counts::Counts;
use ha::hearing::{self, Hearing};
use ha::keys::Keys;
use ha::machine::{Action, Machine, Peer, State};
use ha::settings::Settings;
use ha::witness::{Answer, Ask, Votes};
use model::moment::Moment;

pub const MS: Duration = Duration::from_millis(1);
const GROUP: u8 = 7;

/// What a member sends.
#[derive(Clone, Debug)]
pub enum Packet {
    Advert(Vec<u8>),
    Beat(Vec<u8>),
    Ask(Ask),
}

pub struct Member {
    pub machine: Machine,
    pub settings: Settings,
    pub lease: Duration,
    hearing: Hearing,
    votes: Option<Votes>,
    keys: Keys,
    pub name: &'static str,
    beats: hearing::Settings,
    /// This member's clock: what it showed at the start, and its speed in millionths.
    pub ahead: u64,
    pub speed: u64,
    pub alive: bool,
    /// Stopped by a signal until then.
    pub stopped: u64,
    /// What the kernel holds, whoever lives.
    pub address: bool,
    pub hold: Moment,
    said: (State, bool, bool),
    pub counts: Vec<Counts>,
    pub out: Vec<Packet>,
}

impl Member {
    pub fn new(at: usize, settings: Settings, every: Duration, lease: Duration) -> Member {
        let names = ["left", "right"];
        let (name, peer) = (names[at], names[1 - at].to_owned());
        let beats = hearing::Settings { peer, every, timeout: every * 3, paths: 1 };
        Member {
            machine: Machine::new(settings.clone()),
            hearing: Hearing::new(beats.clone(), 1, Moment(0)),
            votes: None,
            keys: Keys::parse(&format!("1 {}", "k".repeat(40))).unwrap(),
            settings,
            lease,
            name,
            beats,
            ahead: 0,
            speed: 1_000_000,
            alive: false,
            stopped: 0,
            address: false,
            hold: Moment::default(),
            said: (State::Idle, false, false),
            counts: Vec::new(),
            out: Vec::new(),
        }
    }

    /// A process that finds what the one before it left.
    pub fn start(&mut self, now: Moment, session: u64) {
        (self.alive, self.stopped) = (true, 0);
        self.machine = Machine::new(self.settings.clone());
        self.hearing = Hearing::new(self.beats.clone(), session, now);
        let held = (self.address && now < self.hold).then_some(self.hold);
        self.address &= held.is_some();
        self.votes = None;
        let mut out = Vec::new();
        self.machine.permit(now, Some(held.unwrap_or_default()), &mut out);
        self.act(now, |machine, now, out| machine.begin(now, held.is_some(), out));
    }

    /// How it stands, for messages.
    pub fn place(&self, now: Moment) -> String {
        let ms = |at: Moment| format!("{} ms", at.since(now).as_millis());
        let votes = self.votes.as_ref().map(|votes| {
            format!(
                "given {}, leased {}, lent {}",
                ms(votes.given()),
                ms(votes.leased()),
                ms(votes.lent())
            )
        });
        let (state, wants) = (self.machine.state(), self.machine.wants());
        let alive = self.alive;
        format!(
            "alive {alive}, {state:?}, wants {wants}, priority {}, {votes:?}",
            self.machine.priority()
        )
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
            Packet::Beat(bytes) => {
                let heard = beat::parse(bytes, &self.keys)
                    .and_then(|beat| self.hearing.hear(now, 0, beat, &mut Vec::new()));
                let ours = (self.machine.priority(), self.settings.source);
                if let (Ok(true), Some(votes)) = (heard, &mut self.votes) {
                    votes.listen(now, &self.hearing, (GROUP, false), ours);
                }
            }
            Packet::Ask(_) => {}
        }
        self.tick(now);
    }

    pub fn answered(&mut self, now: Moment, number: u64, answer: Answer) {
        if let Some(votes) = &mut self.votes {
            votes.answer(now, number, answer);
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

    /// Who agrees, and what the heartbeat says of the other one.
    fn consult(&mut self, now: Moment) {
        self.permit(now);
        self.hearing.pass(now, &mut Vec::new());
        let claimed = self.hearing.claimed(GROUP, false);
        let active = claimed.filter(|one| one.claim.state == State::Active);
        let wants = claimed.filter(|one| one.knows && one.claim.vote.is_some_and(|it| it.wants));
        let peer = Peer {
            alive: self.hearing.peer().is_some(),
            unsure: self.hearing.unsure(now),
            active: active.map(|one| (one.claim.source, one.claim.priority)),
            knows: active.is_some_and(|one| one.knows),
            wants: wants.map(|one| (one.claim.source, one.claim.priority)),
            ahead: false,
        };
        self.act(now, |machine, now, out| machine.advise(now, peer, out));
    }

    fn permit(&mut self, now: Moment) {
        let (active, wants) = (self.machine.state() == State::Active, self.machine.wants());
        let held = self.machine.leave().filter(|_| active);
        let (lease, session) = (self.lease, self.hearing.session());
        let votes = self.votes.get_or_insert_with(|| Votes::new(now, lease, session, held));
        votes.follow(now, active, wants);
        let leave = votes.leave(now);
        self.act(now, |machine, now, out| machine.permit(now, Some(leave), out));
    }

    fn speak(&mut self, now: Moment) {
        let state = self.machine.state();
        let wants = self.machine.wants();
        let Some(votes) = &mut self.votes else { return };
        votes.follow(now, state == State::Active, wants);
        let said = (state, wants, votes.would_say(now).lends.is_some());
        if said != self.said {
            self.said = said;
            self.hearing.urge(now);
        }
        self.out.extend(votes.ask(now).map(Packet::Ask));
        let priority = self.machine.priority();
        let source = self.settings.source;
        let claim = Claim { id: GROUP, v6: false, fit: true, state, priority, source, vote: None };
        if let Some(round) = self.hearing.round(now, &[claim]) {
            let vote = Some(votes.say(now, round.number));
            for echo in round.echoes {
                let beat = self.beat(round.number, echo, Claim { vote, ..claim });
                self.out.push(Packet::Beat(beat::emit(&beat, &self.keys)));
            }
        }
        self.permit(now);
    }

    fn beat(&self, number: u64, echo: Echo, claim: Claim) -> Beat {
        Beat {
            version: beat::VERSION,
            session: self.hearing.session(),
            number,
            echo,
            name: self.name.to_owned(),
            product: String::new(),
            config: Digest::default(),
            reach: None,
            heard: self.hearing.newest(),
            claims: vec![claim],
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
