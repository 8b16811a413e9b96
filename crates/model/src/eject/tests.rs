//! Looks at pools whose servers answer as each row says, and what holds over many seeds.

use super::*;
use crate::pick::Rng;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// Longer than any test.
const FOREVER: Duration = Duration::from_secs(100_000);

/// A pool whose counters a test moves.
struct World {
    court: Court,
    terms: Eject,
    now: Moment,
    seen: Vec<Seen>,
    rng: Rng,
}

impl World {
    fn of(servers: u32) -> World {
        let one = |id| Seen {
            id: ServerId(id),
            standing: Standing::In,
            tally: Tally::default(),
            in_a_row: 0,
        };
        World {
            court: Court::default(),
            terms: Eject::default(),
            now: Moment(1),
            seen: (0..servers).map(one).collect(),
            rng: Rng::new(1),
        }
    }

    fn answers(&mut self, at: usize, good: u64, bad: u64, cut: u64) {
        let seen = &mut self.seen[at];
        seen.tally = seen.tally.plus(Tally { good, bad, cut });
        seen.in_a_row = if good > 0 { bad.min(1) } else { seen.in_a_row + bad };
    }

    fn look(&mut self) -> Vec<Order> {
        self.now = self.now + LOOK;
        let rng = &mut self.rng;
        let orders = self.court.look(&self.terms, self.now, &self.seen, || rng.next());
        for order in &orders {
            if let Order::Readmit { id, .. } = order {
                self.seen[id.0 as usize].in_a_row = 0;
            }
        }
        orders
    }

    /// Looks until something is ordered; `None`: nothing was within so many looks.
    fn until(&mut self, looks: u32, mut each: impl FnMut(&mut World)) -> Option<(u32, Vec<Order>)> {
        (1..=looks).find_map(|look| {
            each(self);
            let orders = self.look();
            (!orders.is_empty()).then_some((look, orders))
        })
    }

    fn verdict(&self, at: u32) -> Verdict {
        self.court.arithmetic(ServerId(at)).unwrap().verdict
    }
}

fn ejects(orders: &[Order], at: u32, ground: Ground) -> bool {
    matches!(orders, [Order::Eject { id, sum, .. }] if *id == ServerId(at) && sum.verdict == Verdict::Ejected(ground))
}

#[test]
fn each_ground_puts_out_the_one_server_that_fails() {
    // Good, bad and cut answers of the first server in a tenth of a second; the others give ten good ones.
    let rows = [
        ("all fail", (0, 10, 0), Some((1, Ground::Failures))),
        ("one in a second, all fail", (0, 0, 0), None),
        ("half fail", (5, 5, 0), Some((1, Ground::Rate))),
        ("half of a few fail", (1, 1, 0), Some((6, Ground::Rate))),
        ("two of five fail", (6, 4, 0), None),
        ("one of ten is cut", (9, 1, 1), Some((3, Ground::Cuts))),
        ("one of fifty is cut", (49, 1, 1), None),
        ("all good", (10, 0, 0), None),
    ];
    for (what, (good, bad, cut), want) in rows {
        let mut world = World::of(3);
        world.look();
        let got = world.until(30, |world| {
            world.answers(0, good, bad, cut);
            world.answers(1, 10, 0, 0);
            world.answers(2, 10, 0, 0);
        });
        match want {
            None => assert_eq!(got, None, "{what}"),
            Some((most, ground)) => {
                let (looks, orders) = got.unwrap_or_else(|| panic!("{what}: nothing"));
                assert!(looks <= most && ejects(&orders, 0, ground), "{what}: {looks} {orders:?}");
            }
        }
    }
}

#[test]
fn what_all_suffer_puts_nobody_out() {
    let mut world = World::of(4);
    world.look();
    let none = world.until(50, |world| (0..4).for_each(|at| world.answers(at, 5, 5, 0)));
    assert_eq!(none, None);
    assert_eq!(world.verdict(2), Verdict::AllFail(Ground::Rate));
    let mut world = World::of(4);
    world.look();
    // So few that no rate says anything: all of them fail in a row.
    let none = world.until(50, |world| (0..4).for_each(|at| world.answers(at, 0, 1, 0)));
    assert_eq!(none, None);
    assert!(matches!(world.verdict(0), Verdict::AllFail(_)));
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
        let mut world = World::of(servers);
        world.terms.share = share;
        (world.terms.time, world.terms.most) = (FOREVER, FOREVER);
        (0..down).for_each(|at| world.seen[at].standing = Standing::Down);
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
                ejected += orders.iter().filter(|it| matches!(it, Order::Eject { .. })).count();
            }
            if bad + 2 > servers as usize / 2 + down {
                break;
            }
        }
        // One server alone that is put out comes back at once: nothing else is up.
        let ejected = if servers == 1 { ejected.min(1) } else { ejected };
        assert_eq!(ejected, want, "{servers} servers, {share} %, {down} down");
    }
}

#[test]
fn the_time_doubles_to_its_most_and_is_forgiven() {
    let mut world = World::of(3);
    world.terms.most = Duration::from_secs(30);
    let mut times = Vec::new();
    for _ in 0..5 {
        let (_, orders) = world
            .until(20, |world| {
                world.answers(0, 0, 10, 0);
                world.answers(1, 10, 0, 0);
                world.answers(2, 10, 0, 0);
            })
            .unwrap_or_else(|| panic!("{times:?} {:?}", world.court.arithmetic(ServerId(0))));
        let Order::Eject { time, .. } = &orders[0] else { panic!("{orders:?}") };
        times.push(time.as_secs_f64());
        let out = *time;
        let (looks, orders) = world.until(400, |world| world.answers(1, 10, 0, 0)).unwrap();
        assert!(matches!(orders[..], [Order::Readmit { needed: false, .. }]), "{orders:?}");
        assert!(LOOK * looks >= out && LOOK * (looks - 1) <= out, "{looks} for {out:?}");
    }
    for (time, whole) in times.iter().zip([5.0, 10.0, 20.0, 30.0, 30.0]) {
        assert!(*time <= whole && *time >= whole * 0.9, "{times:?}");
    }
    assert_eq!(world.until(6 * 600, |world| world.answers(0, 10, 0, 0)), None);
    let seat = &world.court.seats[&ServerId(0)];
    assert_eq!((seat.times, seat.good_since), (0, None));
}

#[test]
fn when_nothing_else_is_up_they_come_back_at_once() {
    let mut world = World::of(2);
    world
        .until(20, |world| {
            world.answers(0, 0, 10, 0);
            world.answers(1, 20, 0, 0);
        })
        .unwrap();
    world.seen[1].standing = Standing::Down;
    let orders = world.look();
    assert!(
        matches!(orders[..], [Order::Readmit { id: ServerId(0), needed: true, .. }]),
        "{orders:?}"
    );
}

#[test]
fn a_server_that_is_taken_away_is_forgotten_and_one_that_is_drained_comes_in() {
    let mut world = World::of(3);
    world
        .until(20, |world| {
            world.answers(0, 0, 10, 0);
            world.answers(1, 20, 0, 0);
        })
        .unwrap();
    world.seen[0].standing = Standing::Out;
    assert!(matches!(world.look()[..], [Order::Readmit { .. }]));
    world.seen.remove(0);
    world.look();
    assert!(world.court.arithmetic(ServerId(0)).is_none());
    assert_eq!(world.court.ejected().count(), 0);
}

#[test]
fn whatever_servers_do_the_share_holds_and_orders_alternate() {
    for seed in 1..=60 {
        let servers = 1 + (seed % 9) as u32;
        let mut world = World::of(servers);
        world.rng = Rng::new(seed);
        world.terms.share = world.rng.below(101) as u8;
        world.terms.time = Duration::from_millis(300);
        world.terms.most = Duration::from_secs(3);
        let mut fails: Vec<u64> = (0..servers).map(|_| world.rng.below(101)).collect();
        for step in 0..600 {
            if step % 40 == 0 {
                fails = (0..servers).map(|_| world.rng.below(3) * 50).collect();
                for seen in &mut world.seen {
                    seen.standing =
                        [Standing::In, Standing::In, Standing::In, Standing::Down, Standing::Out]
                            [world.rng.below(5) as usize];
                }
            }
            for (at, fails) in fails.iter().enumerate() {
                let all = world.rng.below(12);
                let bad = (0..all).filter(|_| world.rng.below(100) < *fails).count() as u64;
                let cut = world.rng.below(bad + 1);
                world.answers(at, all - bad, bad, cut);
            }
            let before: Vec<ServerId> = world.court.ejected().collect();
            for order in world.look() {
                match order {
                    Order::Eject { id, time, sum } => {
                        assert!(
                            !before.contains(&id) || time >= Duration::from_millis(270),
                            "seed {seed}"
                        );
                        assert!(sum.out < sum.allowed, "seed {seed}: {sum}");
                    }
                    Order::Readmit { id, .. } => assert!(before.contains(&id), "seed {seed}"),
                }
            }
        }
    }
}
