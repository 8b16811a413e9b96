//! The network between two members, what fails, and what must hold, in steps of a millisecond.

use std::time::Duration;

use ha::counts::VrrpCounters;
use ha::state_machine::{TransitionReason, VrrpState};
use model::monotonic_time::MonotonicTime;

use super::dice::SeededRandom;
use super::member::{HeartbeatMember, HeartbeatPacket, MS, PATHS, TARGETS, settings};

/// How long faults happen, in milliseconds.
const FAULT_PERIOD_MS: u64 = 15_000;
/// Milliseconds without faults afterwards, during which the result must be stable.
const CALM: u64 = 4_000;
/// The longest delay of a packet on a healthy path.
const NORMAL_DELAY_MS: u64 = 10;
/// The longest delay on a faulty path.
const FAULTY_DELAY_MS: u64 = 400;
/// Index of the service network; the paths follow.
const SERVICE: usize = 0;
/// Recorded packets that may be replayed: bounds the memory of a run.
const REMEMBERED: usize = 4_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    Everything,
    Service,
    Reach,
}

#[derive(Clone, Copy)]
struct HeartbeatLine {
    loss: u64,
    duplication: u64,
    delay: u64,
}

const WELL: HeartbeatLine = HeartbeatLine { loss: 0, duplication: 0, delay: NORMAL_DELAY_MS };

struct HeartbeatInFlight {
    at: u64,
    from: usize,
    packet: HeartbeatPacket,
}

pub struct HeartbeatSimulation {
    dice: SeededRandom,
    kind: FailureKind,
    now: u64,
    members: Vec<HeartbeatMember>,
    /// By sender, then the service network and the paths.
    lines: [[HeartbeatLine; 1 + PATHS]; 2],
    flying: Vec<HeartbeatInFlight>,
    remembered: Vec<(usize, HeartbeatPacket)>,
    together: u64,
    blows: u64,
    holder: Option<usize>,
    pub replayed: u64,
}

impl HeartbeatSimulation {
    pub fn new(mut dice: SeededRandom, kind: FailureKind) -> HeartbeatSimulation {
        let interval = MS * u32::try_from(10 * dice.between(5, 40)).unwrap();
        let every = if dice.percent(50) { interval } else { MS * 50 };
        let preempt = dice.percent(70);
        let members = (0..2).map(|at| {
            let priority = u8::try_from(dice.between(1, 255)).unwrap();
            let mut member =
                HeartbeatMember::new(at, settings(at, priority, interval, preempt), every, 1);
            member.ahead = dice.between(0, 100_000);
            member.reach = Some(TARGETS);
            member
        });
        let mut world = HeartbeatSimulation {
            members: members.collect(),
            dice,
            kind,
            now: 0,
            lines: [[WELL; 1 + PATHS]; 2],
            flying: Vec::new(),
            remembered: Vec::new(),
            together: 0,
            blows: 0,
            holder: None,
            replayed: 0,
        };
        (0..2).for_each(|at| world.revive(at));
        world
    }

    pub fn sum(&self, what: impl Fn(&VrrpCounters) -> u64) -> u64 {
        let each = self.members.iter();
        each.flat_map(|one| one.counts.iter().chain([one.machine.counts()])).map(what).sum()
    }

    pub fn run(&mut self) {
        let calm_first = self.settling();
        while self.now < calm_first + FAULT_PERIOD_MS {
            if self.now >= calm_first {
                self.trouble();
            }
            self.step();
            if self.kind == FailureKind::Service && self.now >= calm_first {
                self.nothing_moved();
            }
        }
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

    /// The member that reaches more holds the address; with equal reach, the one of higher priority where preemption is
    /// on.
    fn best(&self, holder: usize) {
        let ours = &self.members[holder];
        let other = &self.members[1 - holder];
        let ordered = ours.machine.is_ordered();
        assert!(
            ordered || ours.reach >= other.reach,
            "{}: the other one reaches more",
            self.place()
        );
        let rank = |one: &HeartbeatMember| (one.machine.priority(), one.settings.source);
        if ours.reach == other.reach && ours.settings.preempt {
            assert!(rank(ours).0 >= rank(other).0, "{}: not the best one", self.place());
        }
    }

    fn nothing_moved(&mut self) {
        let holders = self.holders();
        assert!(holders.len() == 1, "{}: {holders:?} at {}", self.place(), self.now);
        let first = *self.holder.get_or_insert(holders[0]);
        assert_eq!(first, holders[0], "{}: it moved at {}", self.place(), self.now);
    }

    fn settling(&self) -> u64 {
        let of = |one: &HeartbeatMember| {
            one.settings.active_down_interval(1, one.settings.interval) * 2 + one.settle * 2
        };
        let longest = self.members.iter().map(of).max().unwrap();
        millis(longest) + FAULTY_DELAY_MS + 4 * NORMAL_DELAY_MS + 1_000
    }

    fn place(&self) -> String {
        format!("seed {} of {:?}", self.dice.seed, self.kind)
    }

    fn trouble(&mut self) {
        if self.dice.percent(99) || self.dice.percent(50) {
            return;
        }
        let at = usize::try_from(self.dice.between(0, 2)).unwrap();
        match (self.kind, self.dice.between(0, 12)) {
            (FailureKind::Service, _) => self.disturb(SERVICE),
            (FailureKind::Reach, _) | (_, 0) => {
                let reached = self.dice.between(0, 1 + u64::from(TARGETS));
                self.members[at].reach = Some(u16::try_from(reached).unwrap());
            }
            (_, 1) => {
                self.blows += 1;
                self.members[at].kill();
            }
            (_, 2 | 3) => self.revive(at),
            (_, 4) => {
                self.blows += 1;
                self.members[at].stopped = self.now + self.dice.between(10, 3_000);
            }
            (_, 5) => self.members[at].ahead += self.dice.between(1, 2_000),
            (_, 6) => {
                self.blows += 1;
                let now = self.clock(at);
                let fault = self.dice.percent(50);
                if self.runs(at) {
                    self.members[at].act(now, |machine, now, out| match (fault, machine.state()) {
                        (true, _) => machine.stop(now, TransitionReason::Fault, out),
                        (false, VrrpState::Idle) => machine.start(now, false, out),
                        (false, _) => drop(machine.order_active(now, out)),
                    });
                }
            }
            (_, 7) => self.repeat(),
            _ => {
                let line = usize::try_from(self.dice.between(0, 1 + PATHS as u64)).unwrap();
                self.disturb(line);
            }
        }
    }

    /// Changes one direction of a line, or both.
    fn disturb(&mut self, at: usize) {
        let line = match self.dice.between(0, 4) {
            0 => HeartbeatLine { loss: 100, ..WELL },
            1 => HeartbeatLine {
                loss: self.dice.between(1, 60),
                duplication: 20,
                delay: FAULTY_DELAY_MS,
            },
            _ => WELL,
        };
        let which = self.dice.between(0, 3);
        for (from, lines) in self.lines.iter_mut().enumerate() {
            if which == 2 || which == from as u64 {
                lines[at] = line;
            }
        }
    }

    /// Replays a recorded packet over any path.
    fn repeat(&mut self) {
        for _ in 0..20.min(self.remembered.len()) {
            let which = self.dice.between(0, self.remembered.len() as u64);
            let (from, packet) = self.remembered[usize::try_from(which).unwrap()].clone();
            if let HeartbeatPacket::Beat(_, bytes) = packet {
                let path = usize::try_from(self.dice.between(0, PATHS as u64)).unwrap();
                self.replayed += 1;
                self.flying.push(HeartbeatInFlight {
                    at: self.now,
                    from,
                    packet: HeartbeatPacket::Beat(path, bytes),
                });
            }
        }
    }

    fn heal(&mut self) {
        for at in 0..2 {
            self.members[at].stopped = 0;
            self.revive(at);
            let now = self.clock(at);
            self.members[at].act(now, |machine, now, out| machine.start(now, false, out));
            self.lines[at] = [WELL; 1 + PATHS];
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
        MonotonicTime(1_000_000_000)
            + MS * u32::try_from(self.now + self.members[at].ahead).unwrap()
    }

    fn runs(&self, at: usize) -> bool {
        self.members[at].alive && self.members[at].stopped <= self.now
    }

    fn step(&mut self) {
        let now = self.now;
        // Packets for a stopped member wait in its sockets.
        let stopped = [0, 1].map(|at| self.members[at].alive && !self.runs(at));
        let due = |one: &mut HeartbeatInFlight| one.at <= now && !stopped[1 - one.from];
        let due: Vec<HeartbeatInFlight> = self.flying.extract_if(.., due).collect();
        for at in 0..2 {
            if self.runs(at) {
                let clock = self.clock(at);
                self.members[at].tick(clock);
            }
        }
        for HeartbeatInFlight { from, packet, .. } in due {
            let to = 1 - from;
            if self.runs(to) {
                let clock = self.clock(to);
                let source = self.members[from].settings.source;
                self.members[to].receive(clock, &packet, source);
            }
        }
        (0..2).for_each(|at| self.post(at));
        self.check_invariants();
        self.now += 1;
    }

    fn post(&mut self, from: usize) {
        for packet in std::mem::take(&mut self.members[from].out) {
            let line = match packet {
                HeartbeatPacket::Advert(_) => self.lines[from][SERVICE],
                HeartbeatPacket::Beat(path, _) => self.lines[from][1 + path],
            };
            if self.remembered.len() < REMEMBERED || self.dice.percent(10) {
                self.remembered.truncate(REMEMBERED - 1);
                self.remembered.push((from, packet.clone()));
            }
            let copies = 1 + u64::from(self.dice.percent(line.duplication));
            for _ in 0..copies {
                if !self.dice.percent(line.loss) {
                    let at = self.now + self.dice.between(0, line.delay);
                    self.flying.push(HeartbeatInFlight { at, from, packet: packet.clone() });
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

    /// Checks that two members answer together only as long as a message takes over a line that works both ways.
    fn check_invariants(&mut self) {
        let both = self.holders().len() == 2;
        let well = |from: usize, line: usize| {
            self.lines[from][line].loss == 0 && self.lines[from][line].delay == NORMAL_DELAY_MS
        };
        let hear = (0..1 + PATHS).any(|line| well(0, line) && well(1, line));
        self.together = if both && hear { self.together + 1 } else { 0 };
        if self.together == 0 {
            self.blows = 0;
        }
        let longest = self.longest() * (1 + self.blows);
        let time = self.together;
        assert!(time <= longest, "{}: both for {time} ms at {}", self.place(), self.now);
    }

    /// A heartbeat and its reply where a path has just healed, an advertisement, and the hold of a stopped member.
    fn longest(&self) -> u64 {
        let of = |one: &HeartbeatMember| {
            let every = one.settings.interval.max(MS * 50);
            one.settings.fencing_timeout + one.settings.interval + every * 4
        };
        millis(self.members.iter().map(of).max().unwrap()) + FAULTY_DELAY_MS + 8 * NORMAL_DELAY_MS
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap()
}
