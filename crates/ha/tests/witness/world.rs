//! The network between two members and the witness, what fails, and what must hold, in steps of a millisecond.

use std::time::Duration;

use ha::counts::VrrpCounters;
use ha::lease::{LeaseRequest, LeaseTable};
use ha::state_machine::{TransitionReason, VrrpState};
use ha::witness::{WitnessOperation, WitnessReply, WitnessRequest};
use model::monotonic_time::MonotonicTime;

use super::dice::SeededRandom;
use super::member::{MS, WitnessMember, WitnessPacket, settings};

/// How long faults happen, in milliseconds.
const FAULT_PERIOD_MS: u64 = 15_000;
/// Milliseconds without faults afterwards, during which the result must be stable.
const CALM: u64 = 2_000;
/// The longest delay of a packet on a healthy line.
const NORMAL_DELAY_MS: u64 = 10;
/// The longest delay on a faulty line.
const FAULTY_DELAY_MS: u64 = 2_500;
/// Recorded heartbeats that may be replayed: bounds the memory of a run.
const REMEMBERED: usize = 500;
/// How much too fast or too slow clocks may run, in millionths.
const DRIFT: u64 = 20_000;

/// The part of the network that works in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettledOutcome {
    Well,
    /// The witness is down.
    NoWitness,
    /// Members reach only the witness.
    Split,
    /// One member is down.
    OneMember,
}

/// Lines: the service network, the heartbeat's path, and the path to the witness.
const LINES: usize = 3;
const WITNESS: usize = 2;

#[derive(Clone, Copy)]
struct WitnessLine {
    loss: u64,
    duplication: u64,
    delay: u64,
}

const WELL: WitnessLine = WitnessLine { loss: 0, duplication: 0, delay: NORMAL_DELAY_MS };
const CUT: WitnessLine = WitnessLine { loss: 100, duplication: 0, delay: NORMAL_DELAY_MS };

struct WitnessInFlight {
    at: u64,
    from: usize,
    packet: WitnessPacket,
}

struct ReplyInFlight {
    at: u64,
    to: usize,
    number: u64,
    answer: WitnessReply,
}

pub struct WitnessSimulation {
    dice: SeededRandom,
    calm: SettledOutcome,
    now: u64,
    members: Vec<WitnessMember>,
    lines: [[WitnessLine; LINES]; 2],
    back: [WitnessLine; 2],
    flying: Vec<WitnessInFlight>,
    returning: Vec<ReplyInFlight>,
    remembered: Vec<(usize, WitnessPacket)>,
    leases: LeaseTable,
    speed: u64,
    fault_period: bool,
    pub served: u64,
    pub steps: u64,
}

impl WitnessSimulation {
    pub fn new(mut dice: SeededRandom, calm: SettledOutcome) -> WitnessSimulation {
        let interval = MS * u32::try_from(10 * dice.between(5, 20)).unwrap();
        let every = if dice.percent(50) { interval } else { MS * 50 };
        let preempt = dice.percent(70);
        let lease = MS * u32::try_from(dice.between(500, 2_000)).unwrap();
        let mut speed = || dice.between(1_000_000 - DRIFT, 1_000_000 + DRIFT);
        let speeds = [speed(), speed(), speed()];
        let members = (0..2).map(|at| {
            let priority = u8::try_from(dice.between(1, 255)).unwrap();
            let settings = settings(at, priority, interval, preempt);
            let mut member = WitnessMember::new(at, settings, every, lease);
            member.ahead = dice.between(0, 100_000);
            member.speed = speeds[at];
            member
        });
        let mut world = WitnessSimulation {
            members: members.collect(),
            dice,
            calm,
            now: 0,
            lines: [[WELL; LINES]; 2],
            back: [WELL; 2],
            flying: Vec::new(),
            returning: Vec::new(),
            remembered: Vec::new(),
            leases: LeaseTable::new(MonotonicTime(0), false),
            speed: speeds[2],
            fault_period: true,
            served: 0,
            steps: 0,
        };
        (0..2).for_each(|at| world.revive(at));
        world
    }

    pub fn sum(&self, what: impl Fn(&VrrpCounters) -> u64) -> u64 {
        let each = self.members.iter();
        each.flat_map(|one| one.counts.iter().chain([one.machine.counts()])).map(what).sum()
    }

    pub fn run(&mut self) {
        while self.now < FAULT_PERIOD_MS {
            self.trouble();
            self.step();
        }
        self.fault_period = false;
        self.heal();
        let settled = self.now + self.settling();
        let mut holder = None;
        while self.now < settled + CALM {
            self.step();
            if self.now >= settled {
                let holders = self.holders();
                assert_eq!(holders.len(), 1, "{}: {holders:?} at {}", self.place(), self.now);
                let first = *holder.get_or_insert(holders[0]);
                assert_eq!(first, holders[0], "{}: it moved in calm at {}", self.place(), self.now);
            }
        }
        self.best(holder.unwrap());
    }

    /// The member that hears the other one and may preempt is active.
    fn best(&self, holder: usize) {
        let ours = &self.members[holder];
        let theirs = &self.members[1 - holder];
        let hear = matches!(self.calm, SettledOutcome::Well | SettledOutcome::NoWitness);
        if !ours.settings.preempt || !hear || theirs.machine.is_by_order() {
            return;
        }
        assert!(
            ours.machine.priority() >= theirs.machine.priority(),
            "{}: not the best one",
            self.place()
        );
    }

    /// The delays, twice a silence and twice a lease.
    fn settling(&self) -> u64 {
        let of = |one: &WitnessMember| {
            one.settings.active_down_interval(1, one.settings.interval) * 3 + one.lease * 3
        };
        millis(self.members.iter().map(of).max().unwrap()) + FAULTY_DELAY_MS + 1_000
    }

    fn place(&self) -> String {
        let members = [0, 1].map(|at| self.members[at].place(self.clock(at)));
        format!("seed {} of {:?}: {members:?}", self.dice.seed, self.calm)
    }

    fn trouble(&mut self) {
        if self.dice.percent(99) || self.dice.percent(70) {
            return;
        }
        let at = usize::try_from(self.dice.between(0, 2)).unwrap();
        match self.dice.between(0, 14) {
            0 => self.members[at].kill(),
            1 | 2 => self.revive(at),
            3 => self.members[at].stopped = self.now + self.dice.between(10, 3_000),
            4 => {
                let now = self.clock(at);
                let fault = self.dice.percent(50);
                if self.runs(at) {
                    self.members[at].act(now, |machine, now, out| match (fault, machine.state()) {
                        (true, _) => machine.stop(now, TransitionReason::Fault, out),
                        (false, VrrpState::Idle) => machine.start(now, false, out),
                        (false, VrrpState::Active) => drop(machine.hand_over(now, out)),
                        (false, VrrpState::Standby) => drop(machine.order_active(now, out)),
                    });
                }
            }
            5 => self.repeat(),
            6 if self.calm == SettledOutcome::NoWitness => {
                // The witness loses its leases. Its successor must assume that leases exist.
                self.leases = LeaseTable::new(self.witness(), true);
            }
            _ => self.disturb(),
        }
    }

    fn disturb(&mut self) {
        let line = match self.dice.between(0, 5) {
            0 => CUT,
            1 => WitnessLine {
                loss: self.dice.between(1, 60),
                duplication: 20,
                delay: FAULTY_DELAY_MS,
            },
            _ => WELL,
        };
        let at = usize::try_from(self.dice.between(0, LINES as u64)).unwrap();
        let which = self.dice.between(0, 3);
        for from in 0..2 {
            if which == 2 || which == from as u64 {
                self.lines[from][at] = line;
                if at == WITNESS && self.dice.percent(50) {
                    self.back[from] = line;
                }
            }
        }
        if self.dice.percent(10) {
            // The members are cut off from each other completely.
            for from in 0..2 {
                self.lines[from][..WITNESS].fill(CUT);
            }
        }
    }

    /// Replays a recorded packet.
    fn repeat(&mut self) {
        for _ in 0..20.min(self.remembered.len()) {
            let which = self.dice.between(0, self.remembered.len() as u64);
            let (from, packet) = self.remembered[usize::try_from(which).unwrap()].clone();
            self.flying.push(WitnessInFlight { at: self.now, from, packet });
        }
    }

    fn heal(&mut self) {
        for at in 0..2 {
            self.members[at].stopped = 0;
            self.revive(at);
            let now = self.clock(at);
            self.members[at].act(now, |machine, now, out| machine.start(now, false, out));
            self.lines[at] = [WELL; LINES];
            self.back[at] = WELL;
        }
        match self.calm {
            SettledOutcome::Well => {}
            SettledOutcome::NoWitness => (0..2).for_each(|at| self.lines[at][WITNESS] = CUT),
            SettledOutcome::Split => (0..2).for_each(|at| self.lines[at][..WITNESS].fill(CUT)),
            SettledOutcome::OneMember => self.members[0].kill(),
        }
    }

    fn revive(&mut self, at: usize) {
        let now = self.clock(at);
        let session = self.dice.between(1, u64::MAX);
        if !self.members[at].alive {
            self.members[at].start(now, session);
        }
    }

    fn clock(&self, at: usize) -> MonotonicTime {
        let one = &self.members[at];
        MonotonicTime(1_000_000_000 + one.ahead * 1_000_000 + self.now * one.speed)
    }

    fn witness(&self) -> MonotonicTime {
        MonotonicTime(5_000_000_000 + self.now * self.speed)
    }

    fn runs(&self, at: usize) -> bool {
        self.members[at].alive && self.members[at].stopped <= self.now
    }

    fn step(&mut self) {
        let now = self.now;
        // Packets for a stopped member wait in its sockets.
        let stopped = [0, 1].map(|at| self.members[at].alive && !self.runs(at));
        let for_whom = |one: &WitnessInFlight| {
            !matches!(one.packet, WitnessPacket::Ask(_)) && stopped[1 - one.from]
        };
        let due: Vec<WitnessInFlight> =
            self.flying.extract_if(.., |one| one.at <= now && !for_whom(one)).collect();
        let back: Vec<ReplyInFlight> =
            self.returning.extract_if(.., |one| one.at <= now && !stopped[one.to]).collect();
        for at in 0..2 {
            if self.runs(at) {
                let clock = self.clock(at);
                self.members[at].tick(clock);
            }
        }
        for WitnessInFlight { from, packet, .. } in due {
            if let WitnessPacket::Ask(ask) = packet {
                self.decide(from, ask);
            } else if self.runs(1 - from) {
                let clock = self.clock(1 - from);
                let source = self.members[from].settings.source;
                self.members[1 - from].receive(clock, &packet, source);
            }
        }
        for ReplyInFlight { to, number, answer, .. } in back {
            if self.runs(to) {
                let clock = self.clock(to);
                self.members[to].answered(clock, number, answer);
            }
        }
        (0..2).for_each(|at| self.post(at));
        let holders = self.holders();
        assert!(holders.len() < 2, "{}: two at {}", self.place(), self.now);
        if self.fault_period {
            self.steps += 1;
            self.served += holders.len() as u64;
        }
        self.now += 1;
    }

    /// The witness decides when a request arrives, which may be long after it was sent.
    fn decide(&mut self, from: usize, ask: WitnessRequest) {
        let (holds, length) = match ask.operation {
            WitnessOperation::Acquire { is_holder: holds } => (holds, self.members[from].lease),
            WitnessOperation::Release => (false, Duration::ZERO),
        };
        let holder = self.members[from].name;
        let request = LeaseRequest { holder, ticket: ask.ticket, is_holder: holds, length };
        let answer = match self.leases.request_lease(self.witness(), "a", request) {
            Ok(length) if length.is_zero() => WitnessReply::Released,
            Ok(length) => WitnessReply::Granted(length),
            Err(_) => WitnessReply::Refused,
        };
        let line = self.back[from];
        if !self.dice.percent(line.loss) {
            let at = self.now + self.dice.between(0, line.delay);
            self.returning.push(ReplyInFlight { at, to: from, number: ask.number, answer });
        }
    }

    fn post(&mut self, from: usize) {
        for packet in std::mem::take(&mut self.members[from].out) {
            let line = match packet {
                WitnessPacket::Advert(_) => self.lines[from][0],
                WitnessPacket::Beat(_) => self.lines[from][1],
                WitnessPacket::Ask(_) => self.lines[from][WITNESS],
            };
            if matches!(packet, WitnessPacket::Beat(_)) && self.dice.percent(30) {
                self.remembered.truncate(REMEMBERED - 1);
                self.remembered.insert(0, (from, packet.clone()));
            }
            let copies = 1 + u64::from(self.dice.percent(line.duplication));
            for _ in 0..copies {
                if !self.dice.percent(line.loss) {
                    let at = self.now + self.dice.between(0, line.delay);
                    self.flying.push(WitnessInFlight { at, from, packet: packet.clone() });
                }
            }
        }
    }

    /// The members that answer for the address.
    fn holders(&self) -> Vec<usize> {
        let answers = |at: &usize| {
            self.members[*at].address && self.clock(*at) < self.members[*at].lease_until
        };
        (0..2).filter(answers).collect()
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap()
}
