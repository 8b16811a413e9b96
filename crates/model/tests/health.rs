//! Judging a server: rows by name, then random histories against invariants.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test says what it expected and stops")]

use std::time::Duration;

use model::config::{Initial, OnDown, Probe, ProbeKind, ProbeTls};
use model::health::{Basis, Carried, Change, Failed, Health, Judged, Seen};
use model::moment::Moment;
use model::pick::Rng;
use proptest::prelude::*;

fn ms(n: u64) -> Moment {
    Moment(n * 1_000_000)
}

fn probe(rise: u8, fall: u8) -> Probe {
    Probe {
        kind: ProbeKind::Tcp,
        every: Duration::from_secs(2),
        doubt: Duration::from_millis(250),
        timeout: Duration::from_secs(1),
        rise,
        fall,
        jitter: 10,
        port: None,
        tls: None,
        grace: Duration::ZERO,
        on_down: OnDown::Keep,
    }
}

#[test]
fn a_trial_shakes_hands_as_connections_of_the_pool_do() {
    let mut health = Health::new(Initial::Up, None, ms(0));
    assert!(health.due().tls.is_none());
    let tls = ProbeTls { verify: true, ..ProbeTls::default() };
    assert!(health.try_over(Some(tls.clone())), "that is new");
    assert!(!health.try_over(Some(tls.clone())), "and then it is not");
    assert!(*health.due().kind == ProbeKind::Tcp && health.due().tls == Some(&tls));
    health.carry(Some(&probe(1, 1)), ms(1));
    assert!(health.due().tls.is_none(), "a probe has its own settings");
}

fn good() -> Result<Seen, Failed> {
    Ok(Seen { text: "connected".to_owned() })
}

fn bad() -> Result<Seen, Failed> {
    Err(Failed { text: "refused".to_owned() })
}

fn up(from: Judged) -> Option<Change> {
    Some(Change { from, to: Judged::Up })
}

fn down(from: Judged) -> Option<Change> {
    Some(Change { from, to: Judged::Down })
}

/// Feeds `g` good probe, `b` bad probe, `f` failed connection, `s` connection made, 100 ms apart; the states after
/// each as `U`, `D` and `?`.
fn history(health: &mut Health, events: &str) -> String {
    let mut now = health.since();
    let feed = |event| {
        now = now + Duration::from_millis(100);
        match event {
            'g' => health.probe_result(now, good()),
            'b' => health.probe_result(now, bad()),
            'f' => health.connect_failed(now, "refused"),
            's' => health.connect_succeeded(now),
            other => panic!("{other}"),
        };
        match health.state() {
            Judged::Up => 'U',
            Judged::Down => 'D',
            Judged::Unknown => '?',
        }
    };
    events.chars().map(feed).collect()
}

#[test]
fn histories_with_a_probe() {
    let rows = [
        ("the first good result raises", Initial::Unknown, "g", "U"),
        ("the first bad result takes down", Initial::Unknown, "b", "D"),
        ("so does a failed connection", Initial::Unknown, "f", "D"),
        ("a made connection does not raise", Initial::Unknown, "ssg", "??U"),
        ("three bad in a row", Initial::Up, "bbgbbb", "UUUUUD"),
        ("failed connections count", Initial::Up, "fbf", "UUD"),
        ("a made connection forgives connections", Initial::Up, "ffsff", "UUUUU"),
        ("but no probes", Initial::Up, "bsbsb", "UUUUD"),
        ("rising by way of unknown", Initial::Up, "bbbgg", "UUD?U"),
        ("a relapse while rising", Initial::Up, "bbbgbgg", "UUD?D?U"),
        ("a connection that fails while rising", Initial::Up, "bbbgfgg", "UUD?D?U"),
        ("begun down: the whole rise first", Initial::Down, "gbgg", "DDDU"),
        ("a failed connection ends that rise", Initial::Down, "gfgg", "DDDU"),
        ("then as any other", Initial::Down, "ggbbbg", "DUUUD?"),
        ("nothing raises but probes", Initial::Up, "bbbsss", "UUDDDD"),
    ];
    for (what, initial, events, want) in rows {
        let mut health = Health::new(initial, Some(&probe(2, 3)), ms(0));
        assert_eq!(history(&mut health, events), want, "{what}");
    }
}

#[test]
fn histories_without_a_probe() {
    let rows = [
        ("three failed in a row", Initial::Up, "ffsfff", "UUUUUD"),
        ("a trial raises", Initial::Up, "fffg", "UUDU"),
        ("a trial that fails does not", Initial::Up, "fffbbg", "UUDDDU"),
        ("a client that got through raises", Initial::Up, "fffs", "UUDU"),
        ("unknown until something is seen", Initial::Unknown, "s", "U"),
        ("a late trial counts like a connection", Initial::Up, "fffsbff", "UUDUUUD"),
        ("or tried", Initial::Unknown, "b", "D"),
    ];
    for (what, initial, events, want) in rows {
        assert_eq!(history(&mut Health::new(initial, None, ms(0)), events), want, "{what}");
    }
}

#[test]
fn nothing_is_green_without_evidence_that_says_so() {
    let health = Health::new(Initial::Unknown, Some(&probe(2, 3)), ms(5));
    assert_eq!((health.state(), health.since()), (Judged::Unknown, ms(5)));
    assert_eq!(health.evidence().basis, Basis::Assumed);
    let mut assumed = Health::new(Initial::Up, None, ms(5));
    assert_eq!(assumed.evidence().text, "no evidence yet");
    assert_eq!(assumed.connect_failed(ms(9), "no route"), None);
    let evidence = assumed.evidence();
    assert_eq!((evidence.basis, evidence.good, evidence.at), (Basis::Passive, false, ms(9)));
    assert_eq!((evidence.text.as_str(), evidence.streak), ("no route", 1));
}

#[test]
fn changes_are_told_once_with_their_time() {
    let mut health = Health::new(Initial::Unknown, Some(&probe(1, 2)), ms(0));
    assert_eq!(health.probe_result(ms(1), good()), up(Judged::Unknown));
    assert_eq!(health.probe_result(ms(2), good()), None);
    assert_eq!(health.since(), ms(1));
    assert_eq!((health.evidence().streak, health.evidence().at), (2, ms(2)));
    assert_eq!(health.connect_failed(ms(3), "x"), None);
    assert_eq!(health.connect_failed(ms(4), "x"), down(Judged::Up));
    assert_eq!(health.connect_failed(ms(5), "x"), None);
    assert_eq!(health.since(), ms(4));
    assert_eq!(health.probe_result(ms(6), good()), up(Judged::Down));
}

/// When the next probe is wanted, without its random share.
fn next(health: &Health, now: Moment, nothing_up: bool) -> Moment {
    health.next_probe(now, 0, nothing_up)
}

#[test]
fn the_pace_follows_the_doubt() {
    let mut health = Health::new(Initial::Up, Some(&probe(2, 3)), ms(0));
    assert_eq!(
        next(&health, ms(0), false),
        ms(250),
        "the first ones are spread over one short interval"
    );
    assert!(health.next_probe(ms(0), u64::MAX, false) < ms(1));
    health.probe_result(ms(100), good());
    assert_eq!(next(&health, ms(100), false), ms(2100));
    assert_eq!(health.next_probe(ms(100), 1 << 63, false), ms(2000), "half of ten percent");
    health.probe_result(ms(2100), bad());
    assert_eq!(next(&health, ms(2100), false), ms(2350), "falling");
    health.probe_result(ms(2350), bad());
    health.probe_result(ms(2600), bad());
    assert_eq!(next(&health, ms(2600), false), ms(2850), "freshly down");
    health.probe_result(ms(70_000), bad());
    assert_eq!(next(&health, ms(70_000), false), ms(72_000), "down for long");
    assert_eq!(next(&health, ms(70_000), true), ms(70_250), "but nothing else is up");
    health.probe_result(ms(72_000), good());
    assert_eq!(next(&health, ms(72_000), false), ms(72_250), "rising");
}

#[test]
fn a_failed_connection_asks_for_a_probe_at_once_but_not_without_end() {
    let mut health = Health::new(Initial::Up, Some(&probe(2, 3)), ms(0));
    health.probe_result(ms(100), good());
    health.connect_failed(ms(1000), "refused");
    assert_eq!(next(&health, ms(1000), false), ms(1000));
    health.probe_result(ms(1001), good());
    health.connect_failed(ms(1002), "refused");
    assert_eq!(next(&health, ms(1002), false), ms(1251), "a doubt interval after the last");
}

#[test]
fn without_a_probe_trials_come_after_a_back_off_that_doubles() {
    let mut health = Health::new(Initial::Up, None, ms(0));
    assert_eq!(next(&health, ms(0), false), Moment::NEVER);
    assert_eq!(history(&mut health, "fff"), "UUD");
    let mut now = ms(300);
    for seconds in [1, 2, 4, 8, 16, 30, 30] {
        let trial = next(&health, now, false);
        assert_eq!(trial, now + Duration::from_secs(seconds));
        assert!(
            health.next_probe(now, u64::MAX, false) >= now + Duration::from_millis(seconds * 900)
        );
        assert!(next(&health, now, true) <= now + Duration::from_millis(250), "nothing else is up");
        health.probe_result(trial, bad());
        now = trial;
    }
    now = next(&health, now, false);
    assert_eq!(health.probe_result(now, good()), up(Judged::Down));
    assert_eq!(next(&health, now, false), Moment::NEVER);
    // It relapses at once: the back-off goes on where it was. After a long good time it begins anew.
    for (rest, seconds) in [(1, 30), (31, 1)] {
        now = now + Duration::from_secs(rest);
        for _ in 0..3 {
            health.connect_failed(now, "refused");
        }
        assert_eq!(next(&health, now, false), now + Duration::from_secs(seconds));
        now = now + Duration::from_secs(seconds);
        health.probe_result(now, good());
    }
}

#[test]
fn urgent_trials_do_not_lengthen_the_back_off() {
    let mut health = Health::new(Initial::Up, None, ms(0));
    history(&mut health, "fff");
    for at in [550, 800, 1050] {
        health.probe_result(ms(at), bad());
    }
    assert_eq!(next(&health, ms(1050), false), ms(2050));
}

#[test]
fn a_reload_keeps_what_was_judged() {
    let mut health = Health::new(Initial::Unknown, Some(&probe(2, 3)), ms(0));
    history(&mut health, "gbb");
    let before = format!("{health:?}");
    health.carry(Some(&probe(2, 3)), ms(400));
    assert_eq!(format!("{health:?}"), before, "nothing changed");
    health.carry(Some(&probe(2, 2)), ms(400));
    assert_eq!(
        (health.state(), health.since(), health.evidence().streak),
        (Judged::Up, ms(100), 2)
    );
    assert_eq!(next(&health, ms(400), false), ms(650), "a probe comes soon");
    assert_eq!(history(&mut health, "bb"), "UD", "counting began anew");
    health.carry(None, ms(900));
    assert_eq!((health.state(), next(&health, ms(900), false)), (Judged::Down, ms(1900)));
    health.carry(Some(&probe(2, 2)), ms(1000));
    assert_eq!(history(&mut health, "gg"), "?U");
}

#[test]
fn a_judgement_travels_to_another_process() {
    let mut health = Health::new(Initial::Unknown, Some(&probe(2, 1)), ms(0));
    history(&mut health, "gb");
    let text = serde_json::to_string(&health.carried(ms(1200))).unwrap();
    let carried: Carried = serde_json::from_str(&text).unwrap();
    let mut there = Health::restore(&carried, Some(&probe(2, 1)), ms(50_000));
    assert_eq!((there.state(), there.since()), (Judged::Down, ms(49_000)));
    assert_eq!(there.evidence().text, "refused");
    assert_eq!(there.evidence().at, ms(49_000));
    assert_eq!(there.carried(ms(50_000)), carried);
    assert_eq!(history(&mut there, "gg"), "?U");
}

/// While nothing is up the next probe is near, and no server that needs one waits long.
fn soon_enough(health: &mut Health, now: Moment, draw: u64, probed: bool, context: &str) {
    let after = health.state();
    let wanted = health.next_probe(now, draw, true);
    let urgent = probed || after != Judged::Up;
    assert!(!urgent || wanted <= now + Duration::from_secs(2), "{context}: next probe far away");
    assert!(
        after == Judged::Up || wanted <= now + Duration::from_millis(250),
        "{context}: nothing is up and the next probe is not near"
    );
}

/// One random history: what came in, and what was judged.
fn simulate(seed: u64, rise: u8, fall: u8, probed: bool) {
    let mut rng = Rng::new(seed);
    let settings = probe(rise, fall);
    let probe = probed.then_some(&settings);
    let initial = [Initial::Up, Initial::Unknown, Initial::Down][rng.below(3) as usize];
    let mut health = Health::new(initial, probe, ms(0));
    let (rise, fall) = if probed { (u32::from(rise), u32::from(fall)) } else { (1, 3) };
    let (mut good_row, mut bad_since_good) = (0, 0);
    let mut alive = rng.below(2) == 0;
    let mut now = ms(0);
    for step in 0..400 {
        let before = health.state();
        let learned = health.evidence().clone();
        if rng.below(12) == 0 {
            alive = !alive;
        }
        now = now + Duration::from_millis(rng.below(400));
        let due = health.next_probe(now, rng.next(), rng.below(2) == 0);
        let passive = due > now && rng.below(2) == 0;
        let change = match (passive, alive) {
            (true, true) => {
                if !probed {
                    (good_row, bad_since_good) = (1, 0);
                }
                health.connect_succeeded(now)
            }
            (true, false) => {
                bad_since_good += 1;
                good_row = 0;
                health.connect_failed(now, "refused")
            }
            (false, _) => {
                now = if due == Moment::NEVER { now } else { due.max(now) };
                (good_row, bad_since_good) =
                    if alive { (good_row + 1, 0) } else { (0, bad_since_good + 1) };
                health.probe_result(now, if alive { good() } else { bad() })
            }
        };
        let after = health.state();
        let context = format!("seed {seed} step {step}: {before:?} to {after:?}");
        assert_eq!(
            change,
            (before != after).then_some(Change { from: before, to: after }),
            "{context}"
        );
        match (before, after) {
            (Judged::Up, Judged::Down) if probed || passive => {
                assert!(bad_since_good >= fall, "{context}")
            }
            (Judged::Down, Judged::Up) => assert!(good_row >= rise, "{context}"),
            (Judged::Unknown, Judged::Up) => {
                assert!(good_row >= rise || learned.basis == Basis::Assumed, "{context}");
            }
            (Judged::Up, Judged::Unknown) => panic!("{context}"),
            (_, Judged::Unknown) => assert!(alive && probed || before == after, "{context}"),
            _ => {}
        }
        if after == Judged::Up && initial != Initial::Up {
            assert_ne!(health.evidence().basis, Basis::Assumed, "{context}");
        }
        assert!(health.since() <= now && health.evidence().at <= now, "{context}");
        soon_enough(&mut health, now, rng.next(), probed, &context);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn random_histories_keep_the_rules(seed: u64, rise in 1..6u8, fall in 1..6u8, probed: bool) {
        simulate(seed, rise, fall, probed);
    }
}
