//! Pools whose servers respond as each row specifies, and properties over many seeds.

use super::*;
use crate::load_balancing::Rng;

const LOOK: Duration = Duration::from_millis(100);

/// Longer than any test.
const FOREVER: Duration = Duration::from_secs(100_000);

/// A pool whose counters the test changes.
struct OutlierSimulation {
    court: OutlierDetector,
    terms: OutlierDetectionConfig,
    now: MonotonicTime,
    seen: Vec<OutlierObservation>,
    rng: Rng,
}

impl OutlierSimulation {
    fn of(servers: u32) -> OutlierSimulation {
        let observation = |id| OutlierObservation {
            id: ServerId(id),
            eligibility: ServerEligibility::Available,
            counts: OutlierCounts::default(),
            consecutive_failures: 0,
        };
        OutlierSimulation {
            court: OutlierDetector::default(),
            terms: OutlierDetectionConfig::default(),
            now: MonotonicTime(1),
            seen: (0..servers).map(observation).collect(),
            rng: Rng::new(1),
        }
    }

    fn answers(&mut self, at: usize, good: u64, bad: u64, cut: u64) {
        let seen = &mut self.seen[at];
        seen.counts =
            seen.counts.plus(OutlierCounts { successes: good, failures: bad, truncations: cut });
        seen.consecutive_failures =
            if good > 0 { bad.min(1) } else { seen.consecutive_failures + bad };
    }

    fn look(&mut self) -> Vec<OutlierAction> {
        self.now = self.now + LOOK;
        let rng = &mut self.rng;
        let orders = self.court.evaluate_pool(&self.terms, self.now, &self.seen, || rng.next());
        for order in &orders {
            if let OutlierAction::Readmit { id, .. } = order {
                self.seen[id.0 as usize].consecutive_failures = 0;
            }
        }
        orders
    }

    /// Evaluates until a command is returned; `None`: none within this many evaluations.
    fn until(
        &mut self,
        looks: u32,
        mut each: impl FnMut(&mut OutlierSimulation),
    ) -> Option<(u32, Vec<OutlierAction>)> {
        (1..=looks).find_map(|look| {
            each(self);
            let orders = self.look();
            (!orders.is_empty()).then_some((look, orders))
        })
    }

    fn verdict(&self, at: u32) -> OutlierDecision {
        self.court.evaluation(ServerId(at)).unwrap().decision
    }
}

fn ejects(orders: &[OutlierAction], at: u32, ground: EjectionReason) -> bool {
    matches!(orders, [OutlierAction::Eject { id, sum, .. }] if *id == ServerId(at) && sum.decision == OutlierDecision::Ejected(ground))
}

#[test]
fn each_ground_puts_out_the_one_server_that_fails() {
    // Successful, failed and truncated responses of the first server in a tenth of a second; the others have ten
    // successful ones.
    let rows = [
        ("all fail", (0, 10, 0), Some((1, EjectionReason::Failures))),
        ("one in a second, all fail", (0, 0, 0), None),
        ("half fail", (5, 5, 0), Some((1, EjectionReason::Rate))),
        ("half of a few fail", (1, 1, 0), Some((6, EjectionReason::Rate))),
        ("two of five fail", (6, 4, 0), None),
        ("one of ten is cut", (9, 1, 1), Some((3, EjectionReason::Truncations))),
        ("one of fifty is cut", (49, 1, 1), None),
        ("all good", (10, 0, 0), None),
    ];
    for (case, (good, bad, cut), want) in rows {
        let mut world = OutlierSimulation::of(3);
        world.look();
        let got = world.until(30, |world| {
            world.answers(0, good, bad, cut);
            world.answers(1, 10, 0, 0);
            world.answers(2, 10, 0, 0);
        });
        match want {
            None => assert_eq!(got, None, "{case}"),
            Some((most, ground)) => {
                let (looks, orders) = got.unwrap_or_else(|| panic!("{case}: nothing"));
                assert!(looks <= most && ejects(&orders, 0, ground), "{case}: {looks} {orders:?}");
            }
        }
    }
}

#[test]
fn what_all_suffer_puts_nobody_out() {
    let mut world = OutlierSimulation::of(4);
    world.look();
    let none = world.until(50, |world| (0..4).for_each(|at| world.answers(at, 5, 5, 0)));
    assert_eq!(none, None);
    assert_eq!(world.verdict(2), OutlierDecision::AllFail(EjectionReason::Rate));
    let mut world = OutlierSimulation::of(4);
    world.look();
    // Too few for a rate, so only consecutive failures count.
    let none = world.until(50, |world| (0..4).for_each(|at| world.answers(at, 0, 1, 0)));
    assert_eq!(none, None);
    assert!(matches!(world.verdict(0), OutlierDecision::AllFail(_)));
}

#[test]
fn no_more_than_the_share_is_out_and_those_that_are_down_count() {
    for (servers, share, down, want) in [
        (1, 50, 0, 0),
        (1, 100, 0, 1),
        (2, 50, 0, 1),
        (3, 50, 0, 1),
        (4, 50, 0, 2),
        (4, 50, 1, 1),
        (10, 10, 0, 1),
        (10, 9, 0, 0),
    ] {
        let mut world = OutlierSimulation::of(servers);
        world.terms.share = share;
        world.terms.time = FOREVER;
        world.terms.most = FOREVER;
        (0..down).for_each(|at| world.seen[at].eligibility = ServerEligibility::Down);
        world.look();
        let mut ejected = 0;
        // One server after the other begins to fail.
        for bad in down..(servers as usize) {
            for _ in 0..15 {
                for at in 0..servers as usize {
                    let fails = at >= down && at <= bad;
                    world.answers(at, if fails { 0 } else { 20 }, if fails { 5 } else { 0 }, 0);
                }
                let orders = world.look();
                ejected += orders
                    .iter()
                    .filter(|order| matches!(order, OutlierAction::Eject { .. }))
                    .count();
            }
            if bad + 2 > servers as usize / 2 + down {
                break;
            }
        }
        // A single ejected server is readmitted at once, because no other is up.
        let ejected = if servers == 1 { ejected.min(1) } else { ejected };
        assert_eq!(ejected, want, "{servers} servers, {share} %, {down} down");
    }
}

#[test]
fn the_time_doubles_to_its_most_and_is_forgiven() {
    let mut world = OutlierSimulation::of(3);
    world.terms.most = Duration::from_secs(30);
    let mut times = Vec::new();
    for _ in 0..5 {
        let (_, orders) = world
            .until(20, |world| {
                world.answers(0, 0, 10, 0);
                world.answers(1, 10, 0, 0);
                world.answers(2, 10, 0, 0);
            })
            .unwrap_or_else(|| panic!("{times:?} {:?}", world.court.evaluation(ServerId(0))));
        let OutlierAction::Eject { time, .. } = &orders[0] else { panic!("{orders:?}") };
        times.push(time.as_secs_f64());
        let out = *time;
        let (looks, orders) = world.until(400, |world| world.answers(1, 10, 0, 0)).unwrap();
        assert!(matches!(orders[..], [OutlierAction::Readmit { needed: false, .. }]), "{orders:?}");
        assert!(LOOK * looks >= out && LOOK * (looks - 1) <= out, "{looks} for {out:?}");
    }
    for (time, whole) in times.iter().zip([5.0, 10.0, 20.0, 30.0, 30.0]) {
        assert!(*time <= whole && *time >= whole * 0.9, "{times:?}");
    }
    assert_eq!(world.until(6 * 600, |world| world.answers(0, 10, 0, 0)), None);
    let seat = &world.court.servers[&ServerId(0)];
    assert_eq!((seat.ejections, seat.good_since), (0, None));
}

#[test]
fn when_nothing_else_is_up_they_come_back_at_once() {
    let mut world = OutlierSimulation::of(2);
    world
        .until(20, |world| {
            world.answers(0, 0, 10, 0);
            world.answers(1, 20, 0, 0);
        })
        .unwrap();
    world.seen[1].eligibility = ServerEligibility::Down;
    let orders = world.look();
    assert!(
        matches!(orders[..], [OutlierAction::Readmit { id: ServerId(0), needed: true, .. }]),
        "{orders:?}"
    );
}

#[test]
fn a_server_that_is_taken_away_is_forgotten_and_one_that_is_drained_comes_in() {
    let mut world = OutlierSimulation::of(3);
    world
        .until(20, |world| {
            world.answers(0, 0, 10, 0);
            world.answers(1, 20, 0, 0);
        })
        .unwrap();
    world.seen[0].eligibility = ServerEligibility::Excluded;
    assert!(matches!(world.look()[..], [OutlierAction::Readmit { .. }]));
    world.seen.remove(0);
    world.look();
    assert!(world.court.evaluation(ServerId(0)).is_none());
    assert_eq!(world.court.ejected_servers().count(), 0);
}

#[test]
fn whatever_servers_do_the_share_holds_and_orders_alternate() {
    for seed in 1..=60 {
        let servers = 1 + (seed % 9) as u32;
        let mut world = OutlierSimulation::of(servers);
        world.rng = Rng::new(seed);
        world.terms.share = world.rng.below(101) as u8;
        world.terms.time = Duration::from_millis(300);
        world.terms.most = Duration::from_secs(3);
        let mut fails: Vec<u64> = (0..servers).map(|_| world.rng.below(101)).collect();
        for step in 0..600 {
            if step % 40 == 0 {
                fails = (0..servers).map(|_| world.rng.below(3) * 50).collect();
                for seen in &mut world.seen {
                    seen.eligibility = [
                        ServerEligibility::Available,
                        ServerEligibility::Available,
                        ServerEligibility::Available,
                        ServerEligibility::Down,
                        ServerEligibility::Excluded,
                    ][world.rng.below(5) as usize];
                }
            }
            for (at, fails) in fails.iter().enumerate() {
                let all = world.rng.below(12);
                let bad = (0..all).filter(|_| world.rng.below(100) < *fails).count() as u64;
                let cut = world.rng.below(bad + 1);
                world.answers(at, all - bad, bad, cut);
            }
            let before: Vec<ServerId> = world.court.ejected_servers().collect();
            for order in world.look() {
                match order {
                    OutlierAction::Eject { id, time, sum } => {
                        assert!(
                            !before.contains(&id) || time >= Duration::from_millis(270),
                            "seed {seed}"
                        );
                        assert!(sum.unavailable < sum.max_unavailable, "seed {seed}: {sum}");
                    }
                    OutlierAction::Readmit { id, .. } => {
                        assert!(before.contains(&id), "seed {seed}")
                    }
                }
            }
        }
    }
}
