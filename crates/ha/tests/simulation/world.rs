//! Members, their clocks and the network between them, in steps of a millisecond.

mod announced;
mod faults;

use std::net::IpAddr;
use std::time::Duration;

use ha::advert::{GROUP_V4, GROUP_V6, HOPS, IpHeader, emit, parse};
use ha::counts::VrrpCounters;
use ha::state_machine::{VrrpAction, VrrpStateMachine};
use model::monotonic_time::MonotonicTime;

use super::dice::SeededRandom;
use super::member::SimulatedMember;
use super::neighbours::NeighbourTables;

const MS: Duration = Duration::from_millis(1);
/// Makes a different run of the same seed where only members fail.
pub const MEMBERS_FAIL: u64 = 0x5eed;
/// How long faults happen, in milliseconds.
const FAULT_PERIOD_MS: u64 = 20_000;
/// Milliseconds without faults afterwards, during which the result must be stable.
const CALM: u64 = 8_000;
/// The second announcement follows the first after a tenth of a second: by then a rival's packets have arrived.
const SECOND: u64 = 200;
/// The longest delay of a packet on a healthy network.
const NORMAL_DELAY_MS: u64 = 10;
/// The longest delay on a faulty network.
const FAULTY_DELAY_MS: u64 = 400;

struct VrrpPacket {
    at: u64,
    from: usize,
    to: usize,
    bytes: Vec<u8>,
}

/// The quality of one direction.
#[derive(Clone, Copy)]
struct VrrpLine {
    loss: u64,
    duplication: u64,
    delay: u64,
}

const WELL: VrrpLine = VrrpLine { loss: 0, duplication: 0, delay: NORMAL_DELAY_MS };

pub struct VrrpSimulation {
    dice: SeededRandom,
    now: u64,
    network_fails: bool,
    refresh: Option<Duration>,
    members: Vec<SimulatedMember>,
    lines: Vec<Vec<VrrpLine>>,
    packets: Vec<VrrpPacket>,
    /// How long each pair has answered together while hearing each other.
    together: Vec<Vec<u64>>,
    /// How often a member of each pair was killed or stopped meanwhile. Each time, the other member may miss
    /// advertisements.
    blows: Vec<Vec<u64>>,
    splits: u64,
    neighbours: NeighbourTables,
}

impl VrrpSimulation {
    /// Random members. `refresh`: the interval of announcements of an active member.
    pub fn new(
        mut dice: SeededRandom,
        network_fails: bool,
        refresh: Option<Duration>,
    ) -> VrrpSimulation {
        let count = if dice.percent(60) { 2 } else { 3 };
        let v6 = dice.percent(30);
        let interval = MS * u32::try_from(10 * dice.between(5, 60)).unwrap();
        let preempt = dice.percent(70);
        let members = (0..count)
            .map(|at| SimulatedMember::new(at, v6, (interval, refresh), preempt, &mut dice));
        let members = Vec::from_iter(members);
        let mut world = VrrpSimulation {
            dice,
            now: 0,
            network_fails,
            refresh,
            members,
            lines: vec![vec![WELL; count]; count],
            packets: Vec::new(),
            together: vec![vec![0; count]; count],
            blows: vec![vec![0; count]; count],
            splits: 0,
            neighbours: NeighbourTables::new(count),
        };
        for at in 0..count {
            world.act(at, |machine, now, out| machine.start(now, false, out));
        }
        world
    }

    pub fn splits(&self) -> u64 {
        self.splits
    }

    /// The sum of a counter over all members and their earlier processes.
    pub fn sum(&self, what: impl Fn(&VrrpCounters) -> u64) -> u64 {
        let each = self.members.iter();
        each.flat_map(|one| one.counts.iter().chain([one.machine.counts()])).map(what).sum()
    }

    pub fn run(&mut self) {
        while self.now < FAULT_PERIOD_MS {
            self.trouble();
            self.step();
        }
        self.settle();
    }

    /// All members are separated, so that each becomes active. Then the links are restored, at any point of their
    /// intervals.
    pub fn run_split(&mut self) {
        let apart = self.settling();
        let healed = apart * 2 + self.dice.between(0, 2_000);
        while self.now < healed {
            if self.now == apart {
                self.lines.iter_mut().for_each(|from| from.fill(VrrpLine { loss: 100, ..WELL }));
                self.splits += 1;
            }
            if self.now > apart && self.dice.between(0, 5_000) == 0 {
                let at = self.member();
                self.blow(at);
                self.members[at].stopped = self.now + self.dice.between(10, 5_000);
            }
            self.step();
        }
        self.settle();
    }

    /// The network heals. After the stated time one member holds the address, and a little later all neighbours use it.
    fn settle(&mut self) {
        self.heal();
        let settled = self.now + self.settling();
        let refresh = self.refresh.map_or(0, |every| u64::try_from(every.as_millis()).unwrap());
        let believed = settled + refresh + SECOND;
        let mut holder = None;
        while self.now < settled + CALM {
            self.step();
            if self.now >= settled {
                let holders = self.holders();
                assert_eq!(
                    holders.len(),
                    1,
                    "{}: holders {holders:?} at {}",
                    self.place(),
                    self.now
                );
                let first = *holder.get_or_insert(holders[0]);
                assert_eq!(first, holders[0], "{}: it moved in calm at {}", self.place(), self.now);
                let astray = self.neighbours.astray(first);
                assert!(
                    self.now < believed || astray.is_empty(),
                    "{}: {first} holds at {}, and it is not believed: {astray:?}",
                    self.place(),
                    self.now
                );
            }
        }
        self.best(holder.unwrap());
    }

    /// Where preemption is on, the best member holds the address.
    fn best(&self, holder: usize) {
        let rank = |one: &SimulatedMember| (one.machine.priority(), one.settings.source);
        let best = self.members.iter().map(rank).max().unwrap();
        let ours = &self.members[holder];
        if ours.settings.preempt {
            assert_eq!(rank(ours).0, best.0, "{}: not the best one holds", self.place());
        }
    }

    /// The time after healing until one member must answer: the slowest silence, twice where one member preempts
    /// another, and delays.
    fn settling(&self) -> u64 {
        let of = |one: &SimulatedMember| {
            one.settings.active_down_interval(1, one.settings.interval) + one.settings.preempt_delay
        };
        let longest = self.members.iter().map(of).max().unwrap();
        u64::try_from((longest * 2).as_millis()).unwrap() + 4 * NORMAL_DELAY_MS + FAULTY_DELAY_MS
    }

    fn place(&self) -> String {
        format!(
            "seed {}{}",
            if self.network_fails { self.dice.seed } else { self.dice.seed ^ MEMBERS_FAIL },
            if self.network_fails { "" } else { " (members fail)" }
        )
    }

    fn member(&mut self) -> usize {
        usize::try_from(self.dice.between(0, self.members.len() as u64)).unwrap()
    }

    fn clock(&self, at: usize) -> MonotonicTime {
        MonotonicTime(1_000_000_000)
            + MS * u32::try_from(self.now + self.members[at].ahead).unwrap()
    }

    fn runs(&self, at: usize) -> bool {
        self.members[at].alive && self.members[at].stopped <= self.now
    }

    fn act(
        &mut self,
        at: usize,
        what: impl FnOnce(&mut VrrpStateMachine, MonotonicTime, &mut Vec<VrrpAction>),
    ) {
        if !self.runs(at) {
            return;
        }
        let now = self.clock(at);
        let mut out = Vec::new();
        what(&mut self.members[at].machine, now, &mut out);
        for action in out {
            match action {
                VrrpAction::AddAddresses => self.members[at].address = true,
                VrrpAction::RemoveAddresses => self.members[at].address = false,
                VrrpAction::Send(advert) => {
                    let source = self.members[at].settings.source;
                    self.send(at, &emit(&advert, source, group(source)));
                }
                VrrpAction::Announce => self.announce(at),
                VrrpAction::OtherAddresses { .. } => unreachable!("all have the same"),
                VrrpAction::Changed { .. } | VrrpAction::ActivationBlocked(_) => {}
            }
        }
        self.members[at].lease_until = self.members[at].machine.lease_until();
    }

    fn send(&mut self, from: usize, bytes: &[u8]) {
        for to in (0..self.members.len()).filter(|to| *to != from) {
            let line = self.lines[from][to];
            let copies = 1 + u64::from(self.dice.percent(line.duplication));
            for _ in 0..copies {
                if !self.dice.percent(line.loss) {
                    let at = self.now + self.dice.between(0, line.delay);
                    self.packets.push(VrrpPacket { at, from, to, bytes: bytes.to_vec() });
                }
            }
        }
    }

    fn step(&mut self) {
        let due: Vec<VrrpPacket> = self.packets.extract_if(.., |one| one.at <= self.now).collect();
        for packet in due {
            let source = self.members[packet.from].settings.source;
            let envelope = IpHeader { source, destination: group(source), hops: HOPS };
            let advert = parse(&packet.bytes, &envelope).unwrap();
            self.act(packet.to, |machine, now, out| machine.receive(now, source, &advert, out));
        }
        for at in 0..self.members.len() {
            if self.runs(at) && self.members[at].machine.next_due() <= self.clock(at) {
                self.act(at, VrrpStateMachine::tick);
            }
        }
        self.ask();
        self.neighbours.hear(self.now);
        self.check_invariants();
        self.now += 1;
    }

    /// The members that answer for the address.
    fn holders(&self) -> Vec<usize> {
        let answers = |at: &usize| {
            self.members[*at].address && self.clock(*at) < self.members[*at].lease_until
        };
        (0..self.members.len()).filter(answers).collect()
    }

    fn check_invariants(&mut self) {
        let holders = self.holders();
        for one in 0..self.members.len() {
            for other in 0..one {
                let both = holders.contains(&one) && holders.contains(&other);
                let well = |line: VrrpLine| line.loss == 0 && line.delay == NORMAL_DELAY_MS;
                let hear = well(self.lines[one][other]) && well(self.lines[other][one]);
                let time = &mut self.together[one][other];
                *time = if both && hear { *time + 1 } else { 0 };
                if *time == 0 {
                    self.blows[one][other] = 0;
                }
                let longest = self.longest(one, other) * (1 + self.blows[one][other]);
                let time = self.together[one][other];
                assert!(
                    time <= longest,
                    "{}: {one} and {other} for {time} ms at {}",
                    self.place(),
                    self.now
                );
            }
        }
    }

    /// How long two members may answer together while they hear each other. A new active member advertises at once.
    /// After a split the next advertisement resolves it, and a stopped member loses its hold.
    fn longest(&self, one: usize, other: usize) -> u64 {
        let settings = &self.members[one].settings;
        let hold = u64::try_from(settings.fencing_timeout.as_millis()).unwrap();
        let calm = self.runs(one) && self.runs(other);
        let interval = u64::try_from(settings.interval.as_millis()).unwrap();
        if calm && self.network_fails {
            interval + hold + 2 * NORMAL_DELAY_MS
        } else {
            hold + 2 * NORMAL_DELAY_MS
        }
    }
}

fn group(source: IpAddr) -> IpAddr {
    if source.is_ipv4() { GROUP_V4.into() } else { GROUP_V6.into() }
}
