//! Clients that are kept at a server that drains: until when, by whose word, and what ends it. Time is a number here.

use std::time::{Duration, SystemTime};

use model::config::{Admin, load};
use model::id::{PoolId, ServerId};
use model::snapshot::ServerState;

use crate::control::order::Verdict;
use crate::control::origin::{Origin, Way};
use crate::control::picture::{Judgement, ServerFacts};
use crate::control::word::ServerWord;
use crate::reconcile::memory::{Memory, recall, restore, words_of};
use crate::reconcile::server::{emptied, judged, new, ticked, told};

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
    new(ServerId(0), PoolId(0), pool, &pool.servers[0], at(0))
}

fn by() -> Origin {
    Origin::new("tester", Way::Api)
}

fn quiesced() -> ServerFacts {
    let facts = told(&server(""), ServerWord::Quiesce(LIMIT), by(), at(0));
    assert_eq!((facts.state, facts.keeps), (ServerState::Drain, Some(at(30 * MINUTE))));
    facts
}

/// The wall clock is that of UTC.
fn tick(facts: &ServerFacts, seconds: u64) -> Option<ServerFacts> {
    ticked(facts, at(seconds), i64::try_from(EVENING + seconds).unwrap())
}

fn health(facts: &ServerFacts, health: Judgement) -> ServerFacts {
    let reason = "connection refused".to_owned();
    judged(facts, Verdict { server: facts.id, health, reason, note: None }, at(MINUTE))
}

fn drained(facts: &ServerFacts) -> bool {
    let word = facts.hand.admin.as_ref().map(|word| word.value);
    facts.state == ServerState::Drain
        && facts.keeps.is_none()
        && facts.hand.quiesce.is_none()
        && word == Some(Admin::Drain)
        && facts.reason == "drained by tester (api)"
}

#[test]
fn a_quiesce_keeps_clients_until_its_limit_and_no_longer() {
    let facts = quiesced();
    assert!(facts.reason.contains("may stay until 2026-11-20 22:30:00Z"), "{}", facts.reason);
    assert_eq!(tick(&facts, 30 * MINUTE - 1), None);
    assert!(drained(&tick(&facts, 30 * MINUTE).unwrap()));
    let enabled = told(&facts, ServerWord::Enable, by(), at(MINUTE));
    assert_eq!((enabled.state, enabled.keeps), (ServerState::Up, None));
    let plain = told(&facts, ServerWord::Drain, by(), at(MINUTE));
    assert_eq!((plain.state, plain.keeps), (ServerState::Drain, None), "as services say");
    let longer = told(&facts, ServerWord::Quiesce(LIMIT), by(), at(MINUTE));
    assert_eq!(longer.keeps, Some(at(31 * MINUTE)));
}

#[test]
fn a_server_that_is_down_keeps_nobody_until_it_is_up() {
    let down = health(&quiesced(), Judgement::Down);
    assert_eq!((down.state, down.keeps), (ServerState::Drain, None));
    assert!(down.reason.ends_with("and keeps none: connection refused"), "{}", down.reason);
    assert_eq!(health(&down, Judgement::Up).keeps, Some(at(30 * MINUTE)));
    assert!(drained(&tick(&down, 30 * MINUTE).unwrap()), "the limit stands");
}

#[test]
fn a_restart_knows_the_limit_and_one_after_it_drains() {
    let memory = Memory::words([&quiesced()].into_iter());
    let text = serde_json::to_string(&memory).unwrap();
    let memory: Memory = serde_json::from_str(&text).unwrap();
    let mut soon = server("");
    recall(&mut soon, &memory, at(10 * MINUTE));
    assert_eq!((soon.state, soon.keeps), (ServerState::Drain, Some(at(30 * MINUTE))));
    let mut late = server("");
    recall(&mut late, &memory, at(40 * MINUTE));
    assert_eq!((late.state, late.keeps), (ServerState::Drain, None));
    assert!(drained(&tick(&late, 40 * MINUTE).unwrap()));
}

#[test]
fn the_last_client_ends_it_early_and_that_can_be_taken_back() {
    let facts = quiesced();
    let after = emptied(&facts, at(MINUTE)).unwrap();
    assert!(drained(&after), "{after:?}");
    assert_eq!(emptied(&after, at(MINUTE)), None);
    assert_eq!(emptied(&server(""), at(MINUTE)), None, "nobody quiesced it");
    let back = restore(&after, &words_of(&facts), at(2 * MINUTE));
    assert_eq!((back.state, back.keeps), (ServerState::Drain, Some(at(30 * MINUTE))));
    let back = restore(&facts, &words_of(&server("")), at(2 * MINUTE));
    assert_eq!((back.state, back.keeps), (ServerState::Up, None));
}

#[test]
fn a_scheduled_drain_keeps_clients_for_the_time_it_names() {
    let facts = server("schedule = [{ drain = \"22:00-06:00\", sticky = \"30m\" }]");
    let open = tick(&facts, 10 * MINUTE).unwrap();
    assert_eq!((open.state, open.keeps), (ServerState::Drain, Some(at(30 * MINUTE))));
    assert!(open.reason.ends_with("may stay until 2026-11-20 22:30:00Z"), "{}", open.reason);
    assert_eq!(tick(&open, 30 * MINUTE - 1), None, "each tick comes to the same moment");
    let over = tick(&open, 30 * MINUTE).unwrap();
    assert_eq!((over.state, over.keeps), (ServerState::Drain, None));
    assert_eq!(over.reason, "drained by schedule 22:00-06:00");
    let against = told(&open, ServerWord::Enable, by(), at(11 * MINUTE));
    assert_eq!((against.state, against.keeps), (ServerState::Up, None));
    // A new process finds the window open, and its limit where it was.
    assert_eq!(tick(&facts, 29 * MINUTE).unwrap().keeps, Some(at(30 * MINUTE)));
    assert_eq!(tick(&facts, 8 * 3_600 - 1).unwrap().keeps, None);
    let ended = tick(&open, 8 * 3_600).unwrap();
    assert_eq!((ended.state, ended.keeps), (ServerState::Up, None));
    let plain = server("schedule = [{ drain = \"22:00-06:00\" }]");
    assert_eq!(tick(&plain, MINUTE).unwrap().keeps, None);
    let by_hand = told(&open, ServerWord::Quiesce(LIMIT), by(), at(20 * MINUTE));
    assert_eq!(by_hand.keeps, Some(at(50 * MINUTE)), "what an operator says counts");
}
