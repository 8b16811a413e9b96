//! Health checks of a server: named rows, then random histories against invariants.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test says what it expected and stops")]

use std::time::Duration;

use model::config::{DownAction, InitialState, ProbeConfig, ProbeKind, ProbeTls};
use model::health_check::{
    EvidenceSource, HealthSnapshot, HealthTransition, HealthVerdict, ProbeFailure, ProbeSuccess,
    ServerHealth,
};
use model::load_balancing::Rng;
use model::monotonic_time::MonotonicTime;
use proptest::prelude::*;

fn ms(n: u64) -> MonotonicTime {
    MonotonicTime(n * 1_000_000)
}

fn probe(rise: u8, fall: u8) -> ProbeConfig {
    ProbeConfig {
        kind: ProbeKind::Tcp,
        every: Duration::from_secs(2),
        fast_interval: Duration::from_millis(250),
        timeout: Duration::from_secs(1),
        rise,
        fall,
        jitter: 10,
        port: None,
        tls: None,
        grace: Duration::ZERO,
        on_down: DownAction::Keep,
    }
}

#[test]
fn a_trial_shakes_hands_as_connections_of_the_pool_do() {
    let mut health = ServerHealth::new(InitialState::Up, None, ms(0));
    assert!(health.due_probe().tls.is_none());
    let tls = ProbeTls { verify: true, ..ProbeTls::default() };
    assert!(health.set_trial_tls(Some(tls.clone())), "that is new");
    assert!(!health.set_trial_tls(Some(tls.clone())), "and then it is not");
    assert!(*health.due_probe().kind == ProbeKind::Tcp && health.due_probe().tls == Some(&tls));
    health.update_settings(Some(&probe(1, 1)), ms(1));
    assert!(health.due_probe().tls.is_none(), "a probe has its own settings");
}

fn good() -> Result<ProbeSuccess, ProbeFailure> {
    Ok(ProbeSuccess { text: "connected".to_owned() })
}

fn bad() -> Result<ProbeSuccess, ProbeFailure> {
    Err(ProbeFailure { text: "refused".to_owned() })
}

fn up(from: HealthVerdict) -> Option<HealthTransition> {
    Some(HealthTransition { from, to: HealthVerdict::Up })
}

fn down(from: HealthVerdict) -> Option<HealthTransition> {
    Some(HealthTransition { from, to: HealthVerdict::Down })
}

/// Applies `g` good probe, `b` bad probe, `f` failed connection, `s` successful connection, 100 ms apart; returns the
/// states after each as `U`, `D` and `?`.
fn history(health: &mut ServerHealth, events: &str) -> String {
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
        match health.verdict() {
            HealthVerdict::Up => 'U',
            HealthVerdict::Down => 'D',
            HealthVerdict::Unknown => '?',
        }
    };
    events.chars().map(feed).collect()
}

// Rows: I17
#[test]
fn histories_with_a_probe() {
    let rows = [
        ("the first good result raises", InitialState::Unknown, "g", "U"),
        ("the first bad result takes down", InitialState::Unknown, "b", "D"),
        ("so does a failed connection", InitialState::Unknown, "f", "D"),
        ("a made connection does not raise", InitialState::Unknown, "ssg", "??U"),
        ("three bad in a row", InitialState::Up, "bbgbbb", "UUUUUD"),
        ("failed connections count", InitialState::Up, "fbf", "UUD"),
        ("a made connection forgives connections", InitialState::Up, "ffsff", "UUUUU"),
        ("but no probes", InitialState::Up, "bsbsb", "UUUUD"),
        ("rising by way of unknown", InitialState::Up, "bbbgg", "UUD?U"),
        ("a relapse while rising", InitialState::Up, "bbbgbgg", "UUD?D?U"),
        ("a connection that fails while rising", InitialState::Up, "bbbgfgg", "UUD?D?U"),
        ("begun down: the whole rise first", InitialState::Down, "gbgg", "DDDU"),
        ("a failed connection ends that rise", InitialState::Down, "gfgg", "DDDU"),
        ("then as any other", InitialState::Down, "ggbbbg", "DUUUD?"),
        ("nothing raises but probes", InitialState::Up, "bbbsss", "UUDDDD"),
    ];
    for (case, initial, events, want) in rows {
        let mut health = ServerHealth::new(initial, Some(&probe(2, 3)), ms(0));
        assert_eq!(history(&mut health, events), want, "{case}");
    }
}

#[test]
fn histories_without_a_probe() {
    let rows = [
        ("three failed in a row", InitialState::Up, "ffsfff", "UUUUUD"),
        ("a trial raises", InitialState::Up, "fffg", "UUDU"),
        ("a trial that fails does not", InitialState::Up, "fffbbg", "UUDDDU"),
        ("a client that got through raises", InitialState::Up, "fffs", "UUDU"),
        ("unknown until something is seen", InitialState::Unknown, "s", "U"),
        ("a late trial counts like a connection", InitialState::Up, "fffsbff", "UUDUUUD"),
        ("or tried", InitialState::Unknown, "b", "D"),
    ];
    for (case, initial, events, want) in rows {
        assert_eq!(history(&mut ServerHealth::new(initial, None, ms(0)), events), want, "{case}");
    }
}

#[test]
fn nothing_is_up_without_evidence() {
    let health = ServerHealth::new(InitialState::Unknown, Some(&probe(2, 3)), ms(5));
    assert_eq!((health.verdict(), health.since()), (HealthVerdict::Unknown, ms(5)));
    assert_eq!(health.evidence().basis, EvidenceSource::Assumed);
    let mut assumed = ServerHealth::new(InitialState::Up, None, ms(5));
    assert_eq!(assumed.evidence().text, "no evidence yet");
    assert_eq!(assumed.connect_failed(ms(9), "no route"), None);
    let evidence = assumed.evidence();
    assert_eq!(
        (evidence.basis, evidence.good, evidence.at),
        (EvidenceSource::Passive, false, ms(9))
    );
    assert_eq!((evidence.text.as_str(), evidence.streak), ("no route", 1));
}

#[test]
fn changes_are_reported_once_with_their_time() {
    let mut health = ServerHealth::new(InitialState::Unknown, Some(&probe(1, 2)), ms(0));
    assert_eq!(health.probe_result(ms(1), good()), up(HealthVerdict::Unknown));
    assert_eq!(health.probe_result(ms(2), good()), None);
    assert_eq!(health.since(), ms(1));
    assert_eq!((health.evidence().streak, health.evidence().at), (2, ms(2)));
    assert_eq!(health.connect_failed(ms(3), "x"), None);
    assert_eq!(health.connect_failed(ms(4), "x"), down(HealthVerdict::Up));
    assert_eq!(health.connect_failed(ms(5), "x"), None);
    assert_eq!(health.since(), ms(4));
    assert_eq!(health.probe_result(ms(6), good()), up(HealthVerdict::Down));
}

/// When the next probe is due, without its random share.
fn next(health: &ServerHealth, now: MonotonicTime, nothing_up: bool) -> MonotonicTime {
    health.next_probe(now, 0, nothing_up)
}

#[test]
fn the_pace_follows_the_doubt() {
    let mut health = ServerHealth::new(InitialState::Up, Some(&probe(2, 3)), ms(0));
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
    let mut health = ServerHealth::new(InitialState::Up, Some(&probe(2, 3)), ms(0));
    health.probe_result(ms(100), good());
    health.connect_failed(ms(1000), "refused");
    assert_eq!(next(&health, ms(1000), false), ms(1000));
    health.probe_result(ms(1001), good());
    health.connect_failed(ms(1002), "refused");
    assert_eq!(next(&health, ms(1002), false), ms(1251), "a doubt interval after the last");
}

// Rows: Z04
#[test]
fn without_a_probe_trials_come_after_a_back_off_that_doubles() {
    let mut health = ServerHealth::new(InitialState::Up, None, ms(0));
    assert_eq!(next(&health, ms(0), false), MonotonicTime::NEVER);
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
    assert_eq!(health.probe_result(now, good()), up(HealthVerdict::Down));
    assert_eq!(next(&health, now, false), MonotonicTime::NEVER);
    // A relapse at once continues the back-off. After a long good time it starts anew.
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
    let mut health = ServerHealth::new(InitialState::Up, None, ms(0));
    history(&mut health, "fff");
    for at in [550, 800, 1050] {
        health.probe_result(ms(at), bad());
    }
    assert_eq!(next(&health, ms(1050), false), ms(2050));
}

#[test]
fn a_reload_keeps_the_verdict() {
    let mut health = ServerHealth::new(InitialState::Unknown, Some(&probe(2, 3)), ms(0));
    history(&mut health, "gbb");
    let before = format!("{health:?}");
    health.update_settings(Some(&probe(2, 3)), ms(400));
    assert_eq!(format!("{health:?}"), before, "nothing changed");
    health.update_settings(Some(&probe(2, 2)), ms(400));
    assert_eq!(
        (health.verdict(), health.since(), health.evidence().streak),
        (HealthVerdict::Up, ms(100), 2)
    );
    assert_eq!(next(&health, ms(400), false), ms(650), "a probe comes soon");
    assert_eq!(history(&mut health, "bb"), "UD", "counting began anew");
    health.update_settings(None, ms(900));
    assert_eq!((health.verdict(), next(&health, ms(900), false)), (HealthVerdict::Down, ms(1900)));
    health.update_settings(Some(&probe(2, 2)), ms(1000));
    assert_eq!(history(&mut health, "gg"), "?U");
}

#[test]
fn a_verdict_is_passed_to_another_process() {
    let mut health = ServerHealth::new(InitialState::Unknown, Some(&probe(2, 1)), ms(0));
    history(&mut health, "gb");
    let text = serde_json::to_string(&health.to_snapshot(ms(1200))).unwrap();
    let carried: HealthSnapshot = serde_json::from_str(&text).unwrap();
    let mut there = ServerHealth::from_snapshot(&carried, Some(&probe(2, 1)), ms(50_000));
    assert_eq!((there.verdict(), there.since()), (HealthVerdict::Down, ms(49_000)));
    assert_eq!(there.evidence().text, "refused");
    assert_eq!(there.evidence().at, ms(49_000));
    assert_eq!(there.to_snapshot(ms(50_000)), carried);
    assert_eq!(history(&mut there, "gg"), "?U");
}

/// While nothing is up the next probe is soon, and no server that needs one waits long.
fn soon_enough(
    health: &mut ServerHealth,
    now: MonotonicTime,
    draw: u64,
    probed: bool,
    context: &str,
) {
    let after = health.verdict();
    let wanted = health.next_probe(now, draw, true);
    let urgent = probed || after != HealthVerdict::Up;
    assert!(!urgent || wanted <= now + Duration::from_secs(2), "{context}: next probe far away");
    assert!(
        after == HealthVerdict::Up || wanted <= now + Duration::from_millis(250),
        "{context}: nothing is up and the next probe is not near"
    );
}

/// One random history: probe results, and the verdicts that follow.
fn simulate(seed: u64, rise: u8, fall: u8, probed: bool) {
    let mut rng = Rng::new(seed);
    let settings = probe(rise, fall);
    let probe = probed.then_some(&settings);
    let initial =
        [InitialState::Up, InitialState::Unknown, InitialState::Down][rng.below(3) as usize];
    let mut health = ServerHealth::new(initial, probe, ms(0));
    let (rise, fall) = if probed { (u32::from(rise), u32::from(fall)) } else { (1, 3) };
    let mut good_row = 0;
    let mut bad_since_good = 0;
    let mut alive = rng.below(2) == 0;
    let mut now = ms(0);
    for step in 0..400 {
        let before = health.verdict();
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
                    good_row = 1;
                    bad_since_good = 0;
                }
                health.connect_succeeded(now)
            }
            (true, false) => {
                bad_since_good += 1;
                good_row = 0;
                health.connect_failed(now, "refused")
            }
            (false, _) => {
                now = if due == MonotonicTime::NEVER { now } else { due.max(now) };
                (good_row, bad_since_good) =
                    if alive { (good_row + 1, 0) } else { (0, bad_since_good + 1) };
                health.probe_result(now, if alive { good() } else { bad() })
            }
        };
        let after = health.verdict();
        let context = format!("seed {seed} step {step}: {before:?} to {after:?}");
        assert_eq!(
            change,
            (before != after).then_some(HealthTransition { from: before, to: after }),
            "{context}"
        );
        match (before, after) {
            (HealthVerdict::Up, HealthVerdict::Down) if probed || passive => {
                assert!(bad_since_good >= fall, "{context}")
            }
            (HealthVerdict::Down, HealthVerdict::Up) => assert!(good_row >= rise, "{context}"),
            (HealthVerdict::Unknown, HealthVerdict::Up) => {
                assert!(good_row >= rise || learned.basis == EvidenceSource::Assumed, "{context}");
            }
            (HealthVerdict::Up, HealthVerdict::Unknown) => panic!("{context}"),
            (_, HealthVerdict::Unknown) => assert!(alive && probed || before == after, "{context}"),
            _ => {}
        }
        if after == HealthVerdict::Up && initial != InitialState::Up {
            assert_ne!(health.evidence().basis, EvidenceSource::Assumed, "{context}");
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
