//! The ledgers over synthetic counters and virtual time: what survives a restart, alarms and their ends, networks.

use std::time::Duration;

use model::cause::Cause;
use model::config::ServiceObjective;
use model::slo::outcome::EndedOperation;
use model::slo::outcome_counts::outcome_indices;
use model::slo::series::SloCounts;

use super::past_outcomes::PastOutcomes;
use super::*;
use crate::observability::report::fixture;
use crate::state::StateSnapshot;

const START: u64 = 1_800_000_000;

fn text(objective: &str) -> String {
    format!(
        "[service.shop]\nlisten = \"127.0.0.1:1\"\nforward = \"http\"\npool = \"web\"\n{objective}\n\
         [pool.web]\nservers = [\"127.0.0.1:2\"]\n"
    )
}

fn state_snapshot(objective: &str) -> StateSnapshot {
    fixture::state_snapshot(&text(objective), 2)
}

fn view(snapshot: &StateSnapshot) -> &Arc<ServiceView> {
    snapshot.snapshot.services.values().next().unwrap()
}

/// Records this many operations of a client, with their duration.
fn meet(snapshot: &StateSnapshot, client: [u8; 4], many: u64, cause: Option<Cause>, millis: u64) {
    let view = view(snapshot);
    let took = Duration::from_millis(millis);
    let ended = EndedOperation { cause, by_us: false, status: 200, duration: took };
    let fast = view.config.objective.as_ref().and_then(|it: &ServiceObjective| it.fast);
    for _ in 0..many {
        view.slo.as_ref().unwrap().record(1, client.into(), outcome_indices(&ended, fast));
        if let Some(cause) = cause {
            view.stats.slots[1].causes[cause as usize].add(1);
        }
    }
}

fn begun(snapshot: &StateSnapshot, past: &[PastOutcomes]) -> SloLedgers {
    let users = SloLedgers::default();
    let new = users.services_without_ledger(&snapshot.snapshot);
    users.add_ledgers(&new, &[("shop".to_owned(), past.to_vec())].into());
    assert!(users.services_without_ledger(&snapshot.snapshot).is_empty());
    users
}

fn explained(
    users: &SloLedgers,
    snapshot: &StateSnapshot,
    now: u64,
) -> api::types::ServiceObjectives {
    let mut found = users.explain(&snapshot.snapshot, Some("shop"), now * 1000).unwrap();
    assert_eq!(found.services.len(), 1);
    found.services.remove(0)
}

#[test]
fn an_outage_raises_an_alarm_that_says_why_and_recovery_ends_it() {
    let snapshot = state_snapshot(
        "objective = { availability = \"99%\", latency = \"100ms\", latency-target = \"90%\" }",
    );
    let users = begun(&snapshot, &[]);
    let events = EventLog::quiet();
    meet(&snapshot, [192, 0, 2, 7], 60, None, 10);
    users.update(&snapshot.snapshot, &events, START);
    assert!(events.recent().is_empty());
    meet(&snapshot, [192, 0, 2, 7], 10, None, 10);
    meet(&snapshot, [198, 51, 100, 7], 30, Some(Cause::ServerRefused), 1);
    users.update(&snapshot.snapshot, &events, START + 2);
    let told = events.recent();
    let names: Vec<_> =
        told.iter().map(|it| (it.kind, &*it.about["objective"], &*it.about["alarm"])).collect();
    // Of a tenth that may be slow no burn is above ten.
    let both = [("budget-burning", "availability", "1h"), ("budget-burning", "availability", "6h")];
    assert_eq!(names, both);
    for part in [
        "30 of 100 requests missed it",
        "mostly server-refused (30 ",
        "worst for 198.51.100.0/24 (30 of 30)",
    ] {
        assert!(told[0].text.contains(part), "{part} in {}", told[0].text);
    }
    let found = explained(&users, &snapshot, START + 2);
    let available = &found.objectives[0];
    assert_eq!((available.kind.as_str(), available.good_percent), ("availability", Some(70.0)));
    assert!((available.budget_remaining_percent + 2900.0).abs() < 1e-6, "{available:?}");
    assert_eq!(available.alarms[0].since_unix_ms, Some((START + 2) * 1000));
    assert!(available.alarms[0].reason.as_ref().unwrap().contains("server-refused"));
    assert_eq!(found.objectives[1].alarms[0].since_unix_ms, None);
    assert_eq!(users.summary().objectives(view(&snapshot).id), found.objectives);
    users.update(&snapshot.snapshot, &events, START + 4);
    assert_eq!(events.recent().len(), 2, "told once");
    // Six minutes later only good ones are within the short span of the first.
    meet(&snapshot, [198, 51, 100, 7], 5, None, 10);
    users.update(&snapshot.snapshot, &events, START + 362);
    let last = events.recent().pop().unwrap();
    assert_eq!(
        (last.kind, &*last.about["alarm"], events.recent().len()),
        ("budget-burn-ended", "1h", 3)
    );
    let found = explained(&users, &snapshot, START + 362);
    assert_eq!(found.objectives[0].alarms[0].reason, None);
    assert!(found.objectives[0].alarms[1].reason.is_some());
}

#[test]
fn what_clients_spoil_burns_nothing() {
    let snapshot = state_snapshot("objective = { availability = \"99%\", latency = \"100ms\" }");
    let users = begun(&snapshot, &[]);
    let events = EventLog::quiet();
    meet(&snapshot, [192, 0, 2, 7], 50, None, 10);
    for cause in Cause::ALL.iter().filter(|cause| cause.side() == model::cause::Side::Client) {
        meet(&snapshot, [192, 0, 2, 7], 50, Some(*cause), 500);
    }
    users.update(&snapshot.snapshot, &events, START);
    let found = explained(&users, &snapshot, START);
    assert!(events.recent().is_empty());
    assert!(
        found
            .objectives
            .iter()
            .all(|it| it.operations == 50 && it.budget_remaining_percent == 100.0),
        "{found:?}"
    );
    assert_eq!(
        (found.hour.aborted, found.hour.aborted_late),
        (found.hour.aborted_late, found.hour.aborted)
    );
    assert!(found.hour.aborted > 500 && found.hour.tcp_errors["aborted-by-client"] == 150);
    assert!(found.causes.is_empty());
}

#[test]
fn slow_operations_burn_the_promise_of_speed_alone() {
    let snapshot = state_snapshot("objective = { latency = \"100ms\", latency-target = \"99%\" }");
    let users = begun(&snapshot, &[]);
    let events = EventLog::quiet();
    meet(&snapshot, [192, 0, 2, 7], 50, None, 101);
    meet(&snapshot, [192, 0, 2, 7], 50, None, 100);
    users.update(&snapshot.snapshot, &events, START);
    let found = explained(&users, &snapshot, START);
    let bad: Vec<_> = found.objectives.iter().map(|it| (it.kind.as_str(), it.bad)).collect();
    assert_eq!(bad, [("availability", 0), ("latency", 50)]);
    assert!(events.recent().iter().all(|it| it.about["objective"] == "latency"));
    assert_eq!(events.recent().len(), 2);
}

#[test]
fn what_was_before_the_start_is_part_of_it() {
    let snapshot = state_snapshot("objective = \"99%\"");
    let day = 86_400;
    let good = SloCounts { fast: 1_000, ..SloCounts::default() };
    let bad = SloCounts { fast: 980, failed: 20, ..SloCounts::default() };
    let past = [
        PastOutcomes { at: START - 40 * day, counts: bad },
        PastOutcomes { at: START - 20 * day, counts: good },
        PastOutcomes { at: START - 10 * day, counts: bad },
    ];
    let users = begun(&snapshot, &past);
    meet(&snapshot, [192, 0, 2, 7], 1_000, None, 1);
    users.update(&snapshot.snapshot, &EventLog::quiet(), START);
    let promise = &explained(&users, &snapshot, START).objectives[0];
    assert_eq!((promise.operations, promise.bad), (3_000, 20), "the oldest is beyond the window");
    assert!((promise.budget_remaining_percent - 100.0 / 3.0).abs() < 1e-6, "{promise:?}");
    assert_eq!(promise.since_unix_ms, Some((START - 30 * day) * 1000));
}

#[test]
fn networks_beyond_the_limit_are_counted_together() {
    let snapshot = state_snapshot("objective = { networks = 2, mask4 = 16 }");
    let users = begun(&snapshot, &[]);
    let events = EventLog::quiet();
    for network in 0..4 {
        meet(&snapshot, [10, network, 1, 1], 10, None, 1);
        meet(&snapshot, [10, network, 2, 1], 10, None, 1);
    }
    users.update(&snapshot.snapshot, &events, START);
    let found = explained(&users, &snapshot, START);
    let names: Vec<_> =
        found.networks.iter().map(|it| (it.network.as_str(), it.counts.fast)).collect();
    assert_eq!(names, [("10.0.0.0/16", 20), ("10.1.0.0/16", 20)]);
    assert_eq!((found.others.fast, found.max_networks), (40, 2));
    // After an hour the others have the room.
    for minute in 1..80 {
        meet(&snapshot, [10, 3, 1, 1], 1, None, 1);
        users.update(&snapshot.snapshot, &events, START + minute * 60);
    }
    let found = explained(&users, &snapshot, START + 79 * 60);
    let names: Vec<_> = found.networks.iter().map(|it| it.network.as_str()).collect();
    assert_eq!(names, ["10.3.0.0/16"]);
    let shown = users.summary();
    let service = shown.find_service(view(&snapshot).id).unwrap();
    assert!(service.networks.iter().any(|it| it.network == "10.3.0.0/16"), "{service:?}");
    assert!(service.networks.len() <= 2);
}

#[test]
fn a_promise_that_is_taken_back_ends_its_alarms() {
    let before = state_snapshot("objective = \"99%\"");
    let users = begun(&before, &[]);
    let events = EventLog::quiet();
    meet(&before, [192, 0, 2, 7], 50, Some(Cause::NoServer), 1);
    users.update(&before.snapshot, &events, START);
    assert_eq!(events.recent().len(), 2);
    let after = state_snapshot("");
    users.update(&after.snapshot, &events, START + 2);
    let told = events.recent();
    assert!(
        told[2..].iter().all(|it| it.kind == "budget-burn-ended") && told.len() == 4,
        "{told:?}"
    );
    assert!(told[3].text.contains("objective was removed"));
    let why = users.explain(&after.snapshot, Some("shop"), START * 1000).unwrap_err();
    assert!(why.contains("has no objective"), "{why}");
    let why = users.explain(&after.snapshot, Some("nobody"), START * 1000).unwrap_err();
    assert!(why.contains("there are shop"), "{why}");
    assert!(users.explain(&after.snapshot, None, START * 1000).unwrap().services.is_empty());
}

#[test]
fn other_networks_begin_anew_and_what_was_counted_stays() {
    let before = state_snapshot("objective = { availability = \"99%\", networks = 4 }");
    let users = begun(&before, &[]);
    let events = EventLog::quiet();
    meet(&before, [192, 0, 2, 7], 50, None, 1);
    users.update(&before.snapshot, &events, START);
    meet(&before, [192, 0, 2, 7], 5, None, 1);
    let after =
        state_snapshot("objective = { availability = \"99%\", networks = 8, window = \"7d\" }");
    meet(&after, [192, 0, 2, 7], 500, None, 1);
    users.update(&after.snapshot, &events, START + 2);
    assert_eq!(explained(&users, &after, START + 2).objectives[0].operations, 555);
}

#[test]
fn a_scrape_shows_ends_budgets_and_no_more_networks_than_are_distinguished() {
    let snapshot = state_snapshot("objective = { availability = \"99%\", networks = 2 }");
    let users = begun(&snapshot, &[]);
    for network in 0..9 {
        meet(&snapshot, [10, 0, network, 1], 10, None, 1);
    }
    meet(&snapshot, [10, 0, 0, 1], 10, Some(Cause::ConnectTimeout), 1);
    meet(&snapshot, [10, 0, 0, 1], 7, Some(Cause::ClientReset), 1);
    users.update(&snapshot.snapshot, &EventLog::quiet(), START);
    let facts = crate::observability::report::report_sources::ProcessFacts {
        slo: users.summary(),
        ..Default::default()
    };
    let scrape = crate::observability::metrics::ScrapeInput {
        snapshot: Arc::clone(&snapshot.snapshot),
        facts,
        now: 0,
    };
    let text = crate::observability::metrics::encode_metrics(scrape).unwrap();
    for line in [
        "steelyard_slo_operations_total{service=\"shop\",outcome=\"fast\"} 90",
        "steelyard_slo_operations_total{service=\"shop\",outcome=\"failed\"} 10",
        "steelyard_slo_operations_total{service=\"shop\",outcome=\"aborted\"} 7",
        "steelyard_slo_tcp_errors_total{service=\"shop\",kind=\"timed-out\"} 10",
        "steelyard_slo_network_operations_total{service=\"shop\",network=\"10.0.0.0/24\",outcome=\"failed\"} 10",
        "steelyard_slo_network_operations_total{service=\"shop\",network=\"other\",outcome=\"fast\"} 70",
        "steelyard_slo_network_tcp_errors_total{service=\"shop\",network=\"10.0.0.0/24\",kind=\"aborted-by-client\"} 7",
        "steelyard_slo_target_ratio{service=\"shop\",objective=\"availability\"} 0.99",
        "steelyard_slo_good_ratio{service=\"shop\",objective=\"availability\"} 0.9",
        "steelyard_slo_burn_rate{service=\"shop\",objective=\"availability\",span_seconds=\"300\"} 9.99",
        "steelyard_slo_alarm{service=\"shop\",objective=\"availability\",alarm=\"6h\"} 1",
        "steelyard_slo_alarm{service=\"shop\",objective=\"availability\",alarm=\"1h\"} 0",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    let networks = text.matches("end=\"fast\"").count();
    assert_eq!(networks, 1 + 2 + 1, "the service, two networks, and the others");
}
