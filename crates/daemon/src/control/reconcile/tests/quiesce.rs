//! Sticky clients at a server that drains: until when, by whose command, and what ends it. Time is a number here.

use std::time::{Duration, SystemTime};

use model::config::{AdminState, load};
use model::id::{PoolId, ServerId};
use model::snapshot::ServerState;

use crate::state::change::HealthReport;
use crate::state::origin::{ChangeOrigin, ChangeTrigger};
use crate::state::saved_state::{SavedState, restore_overrides, restore_server, saved_overrides};
use crate::state::server_command::OperatorCommand;
use crate::state::server_state::{
    apply_clients_gone, apply_command, apply_tick, apply_verdict, new_server_facts,
};
use crate::state::state_snapshot::{HealthState, ServerFacts};

const MINUTE: u64 = 60;
const LIMIT: Duration = Duration::from_secs(30 * MINUTE);

/// 2026-11-20, a Friday, 22:00.
const EVENING: u64 = 1_795_212_000;

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(EVENING + seconds)
}

fn server(schedule: &str) -> ServerFacts {
    let text = format!(
        "[service.shop]\nlisten = \"127.0.0.1:80\"\nforward = \"http\"\npool = \"web\"\n\
         [pool.web]\nservers = [\"10.0.0.1:80\", \"10.0.0.2:80\"]\n{schedule}\n"
    );
    let config = load(&text, "test.toml").unwrap_or_else(|findings| panic!("{findings}")).config;
    let pool = &config.pools["web"];
    new_server_facts(ServerId(0), PoolId(0), pool, &pool.servers[0], at(0))
}

fn by() -> ChangeOrigin {
    ChangeOrigin::new("tester", ChangeTrigger::Api)
}

fn quiesced() -> ServerFacts {
    let facts = apply_command(&server(""), OperatorCommand::Quiesce(LIMIT), by(), at(0));
    assert_eq!((facts.state, facts.affinity_until), (ServerState::Drain, Some(at(30 * MINUTE))));
    facts
}

/// The wall clock is that of UTC.
fn tick(facts: &ServerFacts, seconds: u64) -> Option<ServerFacts> {
    apply_tick(facts, at(seconds), i64::try_from(EVENING + seconds).unwrap())
}

fn health(facts: &ServerFacts, health: HealthState) -> ServerFacts {
    let reason = "connection refused".to_owned();
    apply_verdict(facts, HealthReport { server: facts.id, health, reason, note: None }, at(MINUTE))
}

fn drained(facts: &ServerFacts) -> bool {
    let word = facts.overrides.admin.as_ref().map(|word| word.value);
    facts.state == ServerState::Drain
        && facts.affinity_until.is_none()
        && facts.overrides.quiesce.is_none()
        && word == Some(AdminState::Drain)
        && facts.reason == "drained by tester (api)"
}

#[test]
fn a_quiesce_keeps_clients_until_its_limit_and_no_longer() {
    let facts = quiesced();
    assert!(facts.reason.contains("may stay until 2026-11-20 22:30:00Z"), "{}", facts.reason);
    assert_eq!(tick(&facts, 30 * MINUTE - 1), None);
    assert!(drained(&tick(&facts, 30 * MINUTE).unwrap()));
    let enabled = apply_command(&facts, OperatorCommand::Enable, by(), at(MINUTE));
    assert_eq!((enabled.state, enabled.affinity_until), (ServerState::Up, None));
    let plain = apply_command(&facts, OperatorCommand::Drain, by(), at(MINUTE));
    assert_eq!((plain.state, plain.affinity_until), (ServerState::Drain, None), "as services say");
    let longer = apply_command(&facts, OperatorCommand::Quiesce(LIMIT), by(), at(MINUTE));
    assert_eq!(longer.affinity_until, Some(at(31 * MINUTE)));
}

#[test]
fn a_server_that_is_down_keeps_nobody_until_it_is_up() {
    let down = health(&quiesced(), HealthState::Down);
    assert_eq!((down.state, down.affinity_until), (ServerState::Drain, None));
    assert!(down.reason.ends_with("and keeps none: connection refused"), "{}", down.reason);
    assert_eq!(health(&down, HealthState::Up).affinity_until, Some(at(30 * MINUTE)));
    assert!(drained(&tick(&down, 30 * MINUTE).unwrap()), "the limit stands");
}

#[test]
fn a_restart_knows_the_limit_and_one_after_it_drains() {
    let memory = SavedState::persistent([&quiesced()].into_iter());
    let text = serde_json::to_string(&memory).unwrap();
    let memory: SavedState = serde_json::from_str(&text).unwrap();
    let mut soon = server("");
    restore_server(&mut soon, &memory, at(10 * MINUTE));
    assert_eq!((soon.state, soon.affinity_until), (ServerState::Drain, Some(at(30 * MINUTE))));
    let mut late = server("");
    restore_server(&mut late, &memory, at(40 * MINUTE));
    assert_eq!((late.state, late.affinity_until), (ServerState::Drain, None));
    assert!(drained(&tick(&late, 40 * MINUTE).unwrap()));
}

#[test]
fn the_last_client_ends_it_early_and_that_can_be_taken_back() {
    let facts = quiesced();
    let after = apply_clients_gone(&facts, at(MINUTE)).unwrap();
    assert!(drained(&after), "{after:?}");
    assert_eq!(apply_clients_gone(&after, at(MINUTE)), None);
    assert_eq!(apply_clients_gone(&server(""), at(MINUTE)), None, "nobody quiesced it");
    let back = restore_overrides(&after, &saved_overrides(&facts), at(2 * MINUTE));
    assert_eq!((back.state, back.affinity_until), (ServerState::Drain, Some(at(30 * MINUTE))));
    let back = restore_overrides(&facts, &saved_overrides(&server("")), at(2 * MINUTE));
    assert_eq!((back.state, back.affinity_until), (ServerState::Up, None));
}

#[test]
fn a_scheduled_drain_keeps_clients_for_the_time_it_names() {
    let facts = server("schedule = [{ drain = \"22:00-06:00\", sticky = \"30m\" }]");
    let open = tick(&facts, 10 * MINUTE).unwrap();
    assert_eq!((open.state, open.affinity_until), (ServerState::Drain, Some(at(30 * MINUTE))));
    assert!(open.reason.ends_with("may stay until 2026-11-20 22:30:00Z"), "{}", open.reason);
    assert_eq!(tick(&open, 30 * MINUTE - 1), None, "each tick comes to the same moment");
    let over = tick(&open, 30 * MINUTE).unwrap();
    assert_eq!((over.state, over.affinity_until), (ServerState::Drain, None));
    assert_eq!(over.reason, "drained by schedule 22:00-06:00");
    let against = apply_command(&open, OperatorCommand::Enable, by(), at(11 * MINUTE));
    assert_eq!((against.state, against.affinity_until), (ServerState::Up, None));
    // A new process finds the window open, and its limit where it was.
    assert_eq!(tick(&facts, 29 * MINUTE).unwrap().affinity_until, Some(at(30 * MINUTE)));
    assert_eq!(tick(&facts, 8 * 3_600 - 1).unwrap().affinity_until, None);
    let ended = tick(&open, 8 * 3_600).unwrap();
    assert_eq!((ended.state, ended.affinity_until), (ServerState::Up, None));
    let plain = server("schedule = [{ drain = \"22:00-06:00\" }]");
    assert_eq!(tick(&plain, MINUTE).unwrap().affinity_until, None);
    let by_hand = apply_command(&open, OperatorCommand::Quiesce(LIMIT), by(), at(20 * MINUTE));
    assert_eq!(by_hand.affinity_until, Some(at(50 * MINUTE)), "what an operator says counts");
}
