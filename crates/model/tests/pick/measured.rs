//! Policies that use measurements: times, bytes, loads, exact counts, bounds.

use std::net::IpAddr;
use std::time::Duration;

use model::config::BalancePolicy;
use model::load_balancing::{PickRequest, PickResult, Rng, ServerPicker};
use model::load_report::{LoadSource, UtilizationReport};
use model::monotonic_time::MonotonicTime;
use model::snapshot::PoolView;

use super::{client, tally, view::pool};

const CHOICES: u32 = 4000;

fn at(millis: u64) -> MonotonicTime {
    MonotonicTime(millis * 1_000_000)
}

fn counts(view: &PoolView) -> Vec<u64> {
    tally(&mut ServerPicker::new(view, 1), view, CHOICES, &mut Rng::new(1))
}

fn fly(view: &PoolView, server: usize, exchanges: u32) {
    for _ in 0..exchanges {
        view.servers[server].stats.in_flight.increment();
    }
}

fn answers(view: &PoolView, times: &[u64]) {
    for (server, millis) in view.servers.iter().zip(times) {
        server.stats.latency.record_answer(Duration::from_millis(*millis), at(0));
    }
}

// Rows: C09
#[test]
fn quick_servers_are_preferred_and_slow_ones_are_not_forgotten() {
    for balance in [BalancePolicy::Fastest, BalancePolicy::PeakEwma, BalancePolicy::Prequal] {
        let view = pool(balance, &[1; 4]);
        answers(&view, &[10, 10, 10, 80]);
        for server in &view.servers {
            server.stats.in_flight.increment();
        }
        let counts = counts(&view);
        assert!(counts[3] < 300, "{balance:?}: {counts:?}");
        if balance != BalancePolicy::PeakEwma {
            // It needs no exploration: without responses the measured time shrinks.
            assert!(counts[3] > 30, "{balance:?}: {counts:?}");
        }
    }
}

#[test]
fn times_that_hardly_differ_are_equal() {
    let view = pool(BalancePolicy::Fastest, &[1; 4]);
    answers(&view, &[100, 95, 104, 99]);
    let counts = counts(&view);
    assert!(counts.iter().all(|n| (850..1150).contains(n)), "{counts:?}");
}

#[test]
fn a_peak_keeps_clients_away_until_it_fades() {
    let view = pool(BalancePolicy::PeakEwma, &[1; 2]);
    answers(&view, &[10, 10]);
    view.servers[1].stats.latency.record_answer_peak(Duration::from_secs(3), at(1));
    for server in &view.servers {
        server.stats.in_flight.increment();
    }
    let mut chooser = ServerPicker::new(&view, 1);
    let mut rng = Rng::new(1);
    let chosen = |now: MonotonicTime, chooser: &mut ServerPicker, rng: &mut Rng| {
        (0..200)
            .filter(|number| {
                let ask = PickRequest::first_attempt(client(*number), now);
                // The other server continues to respond.
                view.servers[0].stats.latency.record_answer_peak(Duration::from_millis(10), now);
                chooser.pick(&view, &ask, rng) == PickResult::Server(1)
            })
            .count()
    };
    assert_eq!(chosen(at(100), &mut chooser, &mut rng), 0);
    assert!(chosen(at(60_000), &mut chooser, &mut rng) > 50, "a peak of a minute ago is forgiven");
}

#[test]
fn prequal_sets_the_busy_aside_however_quick_they_are() {
    let view = pool(BalancePolicy::Prequal, &[1; 20]);
    answers(&view, &[vec![1], vec![10; 19]].concat());
    fly(&view, 0, 50);
    let counts = counts(&view);
    assert!(counts[0] < 60, "{counts:?}");
    assert!(counts[0] > 2, "it is looked at now and then: {counts:?}");
}

#[test]
fn a_server_without_a_measurement_is_tried_but_not_flooded() {
    for balance in [BalancePolicy::Fastest, BalancePolicy::PeakEwma, BalancePolicy::Prequal] {
        let view = pool(balance, &[1; 4]);
        answers(&view, &[10, 10, 10]);
        let mut chooser = ServerPicker::new(&view, 1);
        let mut rng = Rng::new(1);
        let mut given = 0;
        for number in 0..400 {
            let ask = PickRequest::first_attempt(client(number), at(1));
            if chooser.pick(&view, &ask, &mut rng) == PickResult::Server(3) {
                view.servers[3].stats.in_flight.increment();
                given += 1;
            }
        }
        let most = if balance == BalancePolicy::Fastest { 160 } else { 40 };
        assert!((1..=most).contains(&given), "{balance:?}: {given}");
    }
}

// Rows: C09
#[test]
fn loads_that_servers_report_steer_and_a_lost_agent_is_neutral() {
    let view = pool(BalancePolicy::LeastLoaded, &[1; 3]);
    let say = |server: usize, value: f64| {
        let report = UtilizationReport { value, at: at(0), source: LoadSource::Agent };
        view.servers[server].stats.load.store(report);
    };
    say(0, 0.9);
    say(1, 0.2);
    say(2, 0.22);
    let steered = counts(&view);
    assert!(steered[0] < 200 && steered[0] > 30, "{steered:?}");
    assert!(steered[1].abs_diff(steered[2]) < 300, "two hundredths are nothing: {steered:?}");
    view.servers[0].stats.load.expire_older_than(at(100_000), Duration::from_secs(1));
    let lost = counts(&view);
    assert!(lost[0] > 1000, "not idle, not loaded: {lost:?}");
}

#[test]
fn the_fewest_of_all_are_found_by_weight() {
    let view = pool(BalancePolicy::LeastConnections, &[1, 1, 4]);
    for (server, flying) in [(0, 3), (1, 2), (2, 7)] {
        fly(&view, server, flying);
    }
    // (7 + 1) / 4 is less than (2 + 1) / 1.
    assert_eq!(counts(&view), [0, 0, u64::from(CHOICES)]);
    fly(&view, 2, 8);
    assert_eq!(counts(&view), [0, u64::from(CHOICES), 0]);
}

// Rows: C09
#[test]
fn bytes_that_flow_elsewhere_are_seen() {
    let view = pool(BalancePolicy::LeastBandwidth, &[1; 3]);
    let mut chooser = ServerPicker::new(&view, 1);
    let mut rng = Rng::new(1);
    let mut counts = [0; 3];
    for number in 0..8000u32 {
        // A millisecond each; server 0 also streams to another client.
        view.servers[0].stats.slots[0].counters.bytes_in.add(100_000);
        let ask = PickRequest::first_attempt(client(number), at(u64::from(number)));
        let PickResult::Server(chosen) = chooser.pick(&view, &ask, &mut rng) else { panic!() };
        let counters = &view.servers[chosen].stats.slots[0].counters;
        counters.bytes_in.add(10_000);
        counters.requests.add(1);
        counts[chosen] += 1;
    }
    assert!(counts[0] < 1200 && counts[0] > 50, "{counts:?}");
    assert!(i32::abs(counts[1] - counts[2]) < 800, "{counts:?}");
}

#[test]
fn a_popular_key_overflows_to_the_next_and_only_so_far() {
    let view = pool(BalancePolicy::BoundedHash { size: 251, load_factor: 125 }, &[1; 10]);
    let mut chooser = ServerPicker::new(&view, 1);
    let mut rng = Rng::new(1);
    let hot = |chooser: &mut ServerPicker, rng: &mut Rng| {
        let ask = PickRequest {
            hash_key: Some(77),
            ..PickRequest::first_attempt(IpAddr::from([0; 4]), at(0))
        };
        chooser.pick(&view, &ask, rng)
    };
    let home = hot(&mut chooser, &mut rng);
    assert_eq!(home, hot(&mut chooser, &mut rng), "while there is room a key has one server");
    for _ in 0..400 {
        let PickResult::Server(at) = hot(&mut chooser, &mut rng) else { panic!() };
        view.servers[at].stats.in_flight.increment();
    }
    let most = view.servers.iter().map(|server| server.stats.in_flight.get()).max().unwrap();
    assert!(most <= 51, "{most} of 400 at one of ten, 125 % of the share is 50");
}

#[test]
fn equal_keys_meet_equal_servers_whatever_the_address() {
    for balance in [
        BalancePolicy::Maglev { size: 251 },
        BalancePolicy::BoundedHash { size: 251, load_factor: 125 },
    ] {
        let view = pool(balance, &[1; 5]);
        let mut chooser = ServerPicker::new(&view, 1);
        let mut rng = Rng::new(1);
        for key in 0..50 {
            let of = |number: u32, chooser: &mut ServerPicker, rng: &mut Rng| {
                let ask = PickRequest {
                    hash_key: Some(key * 1009),
                    ..PickRequest::first_attempt(client(number), at(0))
                };
                chooser.pick(&view, &ask, rng)
            };
            assert_eq!(of(1, &mut chooser, &mut rng), of(2, &mut chooser, &mut rng));
        }
    }
}
