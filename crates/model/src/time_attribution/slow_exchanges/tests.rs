//! The sample of exchanges: what is stored, what it represents, and what counts as slow.

use std::net::IpAddr;

use super::super::wait_times::WaitReason;
use super::*;
use crate::limit::TimeOwner;
use crate::load_balancing::Rng;

const MS: u64 = 1_000_000;

fn facts(total: u64) -> ExchangeMeasurement {
    ExchangeMeasurement::from_total(IpAddr::from([192, 0, 2, 7]), total * MS)
}

fn waited(mut facts: ExchangeMeasurement, whom: WaitReason, millis: u64) -> ExchangeMeasurement {
    facts.wait_times.set(whom, millis * MS);
    facts
}

fn whole(share: f64) -> SlowExchangeFilter {
    SlowExchangeFilter { service: 0, servers: None, from: None, share, since: 0 }
}

#[test]
fn the_slowest_are_found_by_weight() {
    let mut pile = ExchangeReservoir::default();
    // Of 1,000 exchanges 990 take 1 ms, of which one in a hundred is measured, and 10 wait 500 ms for the server.
    for at in 0..20u64 {
        let slow = at >= 10;
        let mut exchange = facts(if slow { 500 } else { 1 });
        if slow {
            exchange = waited(exchange, WaitReason::ServerResponse, 499);
        }
        exchange.ended_at = at * MS;
        exchange.id = at;
        exchange.server = Some(at as u32 % 2);
        exchange.flags.slow = slow;
        exchange.weight = if slow { 1.0 } else { 99.0 };
        pile.add(exchange, at);
    }
    let slow = pile.slowest(&whole(0.01), PendingCounts::default());
    assert_eq!(
        (slow.all, slow.chosen, slow.measured, slow.threshold),
        (1_000.0, 10.0, 10, 500 * MS)
    );
    assert_eq!(slow.breakdown.largest().unwrap().owner, Some(TimeOwner::Server));
    assert_eq!(slow.breakdown.total(), 5_000 * MS);
    assert_eq!((slow.servers.len(), slow.networks.len(), slow.examples.len()), (2, 1, 5));
    assert_eq!(pile.slowest(&whole(1.0), PendingCounts::default()).measured, 20);
    let only_server = SlowExchangeFilter { servers: Some(vec![1]), ..whole(1.0) };
    assert_eq!(pile.slowest(&only_server, PendingCounts::default()).measured, 10);
    let elsewhere =
        SlowExchangeFilter { from: Some("198.51.100.0/24".parse().unwrap()), ..whole(1.0) };
    assert_eq!(pile.slowest(&elsewhere, PendingCounts::default()), SlowExchangeReport::default());
    assert_eq!((pile.services(0), pile.slow_threshold(7, MS)), (vec![0], DEFAULT_SLOW_THRESHOLD));
    assert_eq!(pile.slow_threshold(0, MS), DEFAULT_SLOW_THRESHOLD, "what is slow is seldom");
}

#[test]
fn a_pile_stays_small_and_knows_how_many_came() {
    let mut pile = ExchangeReservoir::default();
    let mut rng = Rng::new(7);
    let mut come = |from: u64, services: u64| {
        for at in from..from + 100_000 {
            let mut exchange = facts(200);
            exchange.ended_at = at * MS;
            exchange.id = at;
            exchange.service = (at % services) as u32;
            exchange.flags.slow = at % 2 == 0;
            pile.add(exchange, rng.next());
            assert!(pile.exchange_count() <= 32_768 + services as usize * 320);
        }
        pile.slowest(
            &SlowExchangeFilter { since: from * MS, ..whole(1.0) },
            PendingCounts::default(),
        )
    };
    let few = come(0, 2);
    assert!((few.all - 50_000.0).abs() < 1.0, "{}", few.all);
    assert_eq!(few.measured, 10 * 256);
    let many = come(100_000, 400);
    assert!(many.all > 0.0 && many.measured < 250, "the oldest went: {}", many.measured);
    let mut late = facts(200);
    late.ended_at = 5_000_000 * MS;
    pile.add(late, 0);
    assert_eq!(pile.exchange_count(), 1, "what is older than an hour is gone");
}

#[test]
fn a_service_with_many_slow_exchanges_has_its_bound_raised() {
    let mut pile = ExchangeReservoir::default();
    let mut rng = Rng::new(8);
    for at in 0..10_000u64 {
        let mut exchange = facts(100 + at % 100);
        exchange.ended_at = at * MS;
        exchange.id = at;
        exchange.flags.slow = true;
        pile.add(exchange, rng.next());
    }
    let bound = pile.slow_threshold(0, 10_000 * MS) / MS;
    assert!((185..200).contains(&bound), "{bound}");
}
