//! What a change touches, and that it touches nothing else.

mod listener_errors;
mod listeners;
mod property;
mod quiesce;
mod server_commands;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::SystemTime;

use model::config::{AdminState, Config, ServerWeight, load};
use model::snapshot::ServerState;

use super::applied_state::AppliedState;
use super::apply::{self, AppliedChange, ReconcileError};
use super::fake::{FakeEngine, RecordedCall};
use crate::state::change::HealthReport;
use crate::state::origin::{ChangeOrigin, ChangeTrigger};
use crate::state::saved_state::SavedState;
use crate::state::server_command::OperatorCommand;
use crate::state::server_state;
use crate::state::state_snapshot::HealthState;
use crate::util::listeners::ListenerSet;

const NOW: SystemTime = SystemTime::UNIX_EPOCH;

fn down_because(reason: &str) -> HealthReport {
    let server = model::id::ServerId(0);
    let health = HealthState::Down;
    HealthReport { server, health, reason: reason.to_owned(), note: None }
}

fn checked(text: &str) -> Config {
    load(text, "test.toml").unwrap_or_else(|findings| panic!("{findings}")).config
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

pub(super) struct ReconcileWorld {
    pub fake: FakeEngine,
    listeners: ListenerSet,
    pub book: AppliedState,
    generation: u64,
}

impl ReconcileWorld {
    pub fn new(text: &str) -> ReconcileWorld {
        let fake = FakeEngine::default();
        let listeners = fake.listeners(2);
        let mut world =
            ReconcileWorld { fake, listeners, book: AppliedState::empty(2), generation: 0 };
        world.change(text).unwrap();
        world.fake.take_calls();
        world
    }

    pub fn change(&mut self, text: &str) -> Result<(), ReconcileError> {
        self.change_to(checked(text))
    }

    fn change_to(&mut self, config: Config) -> Result<(), ReconcileError> {
        let next = self.book.with_config(config, &SavedState::default(), NOW);
        let generation = self.generation + 1;
        let AppliedChange { state: book, confirmed, .. } = run(apply::apply_change(
            &self.fake,
            &mut self.listeners,
            &self.book,
            next,
            generation,
        ))?;
        assert!(confirmed);
        self.book = book;
        self.generation = generation;
        Ok(())
    }

    fn state(&self, pool: &str, name: &str) -> ServerState {
        self.facts(pool, name).state
    }

    fn facts(&self, pool: &str, name: &str) -> &crate::state::state_snapshot::ServerFacts {
        let mut all = self.book.servers.values().map(|entry| &*entry.facts);
        all.find(|it| it.pool_name == pool && it.config.name == name).unwrap()
    }

    fn alter(
        &mut self,
        pool: &str,
        name: &str,
        change: impl FnOnce(
            &crate::state::state_snapshot::ServerFacts,
        ) -> crate::state::state_snapshot::ServerFacts,
    ) {
        let id = self.facts(pool, name).id;
        self.book.change_server(id, change);
    }
}

const TWO: &str = r#"
[service.shop]
listen = "127.0.0.1:8001"
forward = "http"
pool = "web"
[service.mail]
listen = ["127.0.0.1:8002", "[::1]:8002"]
forward = "tcp"
pool = "smtp"
[pool.web]
servers = [{ name = "a", address = "10.0.0.1:80" }, { name = "b", address = "10.0.0.2:80" }]
[pool.smtp]
servers = [{ name = "a", address = "10.0.0.3:25" }]
"#;

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

#[test]
fn the_same_configuration_again_touches_nothing() {
    let mut world = ReconcileWorld::new(TWO);
    let before = world.book.clone();
    world.change(TWO).unwrap();
    assert_eq!(world.fake.take_calls().len(), 1, "a snapshot for the new generation");
    assert!(world.book.is_same_for_workers(&before) && world.book.has_same_facts(&before));
}

#[test]
fn a_change_of_one_service_leaves_the_others_alone() {
    let mut world = ReconcileWorld::new(TWO);
    let before = world.book.clone();
    world.change(&TWO.replace("127.0.0.1:8001", "127.0.0.1:8009")).unwrap();
    let web = &world.book.pools["web"];
    let smtp = &world.book.pools["smtp"];
    assert!(Arc::ptr_eq(web, &before.pools["web"]) && Arc::ptr_eq(smtp, &before.pools["smtp"]));
    assert!(Arc::ptr_eq(&world.book.services["mail"], &before.services["mail"]));
    let old = &before.services["shop"];
    let new = &world.book.services["shop"];
    assert_eq!(old.id, new.id);
    assert!(Arc::ptr_eq(&old.stats, &new.stats), "counters stay");
    let asked = world.fake.take_calls();
    let closed = before.listeners[&at("127.0.0.1:8001")].id;
    let opened = world.book.listeners[&at("127.0.0.1:8009")].id;
    assert!(asked.contains(&RecordedCall::Stop(closed, true)), "{asked:?}");
    assert!(asked.contains(&RecordedCall::Accept(opened, new.id, 2)), "{asked:?}");
    assert_eq!(asked.iter().filter(|it| matches!(it, RecordedCall::Stop(..))).count(), 1);
    assert_eq!(asked.iter().filter(|it| matches!(it, RecordedCall::Accept(..))).count(), 1);
}

#[test]
fn health_words_and_counters_stay_with_a_server() {
    let mut world = ReconcileWorld::new(TWO);
    let down = |facts: &_| server_state::apply_verdict(facts, down_because("refused"), NOW);
    world.alter("web", "a", down);
    let by = ChangeOrigin::new("tester", ChangeTrigger::Api);
    world.alter("web", "b", |facts| {
        server_state::apply_command(facts, OperatorCommand::Drain, by.clone(), NOW)
    });
    let a = world.facts("web", "a").id;
    let b = world.facts("web", "b").id;
    let live = Arc::clone(&world.book.servers[&a].live);
    let text = TWO
        .replace("[pool.web]", "[pool.web]\nretries = 1")
        .replace("address = \"10.0.0.1:80\"", "address = \"10.0.0.1:80\", weight = 9");
    world.change(&text).unwrap();
    assert_eq!((world.facts("web", "a").id, world.facts("web", "b").id), (a, b));
    assert_eq!(world.state("web", "a"), ServerState::Down);
    assert_eq!(world.facts("web", "a").reason, "refused");
    assert_eq!(world.facts("web", "a").weight.get(), 9);
    assert_eq!(world.state("web", "b"), ServerState::Drain);
    assert!(Arc::ptr_eq(&live, &world.book.servers[&a].live));

    world.change(&text.replace("10.0.0.1:80", "10.0.0.9:80")).unwrap();
    assert_ne!(world.facts("web", "a").id, a, "at another address it is another server");
    assert_eq!(world.state("web", "a"), ServerState::Up);
    assert!(!world.book.servers.contains_key(&a));
}

#[test]
fn a_word_holds_until_the_files_own_word_changes() {
    let mut world = ReconcileWorld::new(TWO);
    let by = ChangeOrigin::new("tester", ChangeTrigger::Api);
    let weight = OperatorCommand::Weight(ServerWeight::new(7).unwrap());
    world.alter("web", "a", |facts| {
        server_state::apply_command(facts, OperatorCommand::Disable, by.clone(), NOW)
    });
    world.alter("web", "a", |facts| server_state::apply_command(facts, weight, by.clone(), NOW));
    assert_eq!(world.state("web", "a"), ServerState::Disabled);
    let with = |extra: &str| {
        TWO.replace("address = \"10.0.0.1:80\"", &format!("address = \"10.0.0.1:80\", {extra}"))
    };
    world.change(&with("weight = 3")).unwrap();
    assert_eq!(world.state("web", "a"), ServerState::Disabled, "the file said nothing about it");
    assert_eq!(world.facts("web", "a").weight.get(), 3, "but about this it did");
    world.change(&with("weight = 3, state = \"drain\"")).unwrap();
    assert_eq!(world.state("web", "a"), ServerState::Drain);
    world.alter("web", "a", |facts| {
        server_state::apply_command(facts, OperatorCommand::Enable, by.clone(), NOW)
    });
    assert_eq!(world.state("web", "a"), ServerState::Up);
    world.alter("web", "a", |facts| {
        server_state::apply_command(facts, OperatorCommand::Drain, by.clone(), NOW)
    });
    assert_eq!(
        world.facts("web", "a").overrides.admin,
        None,
        "a word that says what the file says"
    );
}

#[test]
fn words_and_health_are_recalled_by_the_next_process() {
    let mut world = ReconcileWorld::new(TWO);
    let by = ChangeOrigin::new("tester", ChangeTrigger::Api);
    world.alter("web", "b", |facts| {
        server_state::apply_command(facts, OperatorCommand::Drain, by.clone(), NOW)
    });
    let down = |facts: &_| server_state::apply_verdict(facts, down_because("gone"), NOW);
    world.alter("web", "a", down);
    let facts = || world.book.servers.values().map(|entry| &*entry.facts);
    let words = SavedState::persistent(facts());
    let everything = SavedState::full(facts());
    assert_eq!(words.servers.len(), 1);
    let json = serde_json::to_string(&everything).unwrap();
    let everything: SavedState = serde_json::from_str(&json).unwrap();

    let next = |memory: &SavedState, text: &str| {
        let book = AppliedState::empty(1).with_config(checked(text), memory, NOW);
        let state = |name: &str| {
            let mut all = book.servers.values().map(|entry| &entry.facts);
            all.find(|it| it.pool_name == "web" && it.config.name == name).unwrap().state
        };
        (state("a"), state("b"))
    };
    assert_eq!(next(&words, TWO), (ServerState::Up, ServerState::Drain), "health is judged anew");
    assert_eq!(next(&everything, TWO), (ServerState::Down, ServerState::Drain));
    let moved = TWO.replace("10.0.0.2:80", "10.0.0.8:80");
    assert_eq!(next(&words, &moved).1, ServerState::Up, "another server");
    let file = TWO.replace("\"10.0.0.2:80\"", "\"10.0.0.2:80\", state = \"disabled\"");
    assert_eq!(next(&words, &file).1, ServerState::Disabled, "the file's word changed meanwhile");
}

#[test]
fn names_start_unknown_fail_with_their_reason_and_keep_the_last_address() {
    let text = TWO.replace("10.0.0.3:25", "mail.example:25");
    let mut world = ReconcileWorld::new(&text);
    assert_eq!(world.state("smtp", "a"), ServerState::Unknown);
    let failed =
        |facts: &_| server_state::apply_resolution(facts, Err("no such name".to_owned()), NOW);
    world.alter("smtp", "a", failed);
    assert_eq!(world.state("smtp", "a"), ServerState::Down);
    assert_eq!(world.facts("smtp", "a").reason, "no such name");
    world.alter("smtp", "a", |facts| {
        server_state::apply_resolution(facts, Ok(at("10.1.1.1:25")), NOW)
    });
    assert_eq!(world.state("smtp", "a"), ServerState::Up);
    world.alter("smtp", "a", failed);
    assert_eq!(world.book.pools["smtp"].servers[0].address, Some(at("10.1.1.1:25").into()));
}

#[test]
fn a_judgement_changes_one_pool_alone() {
    let mut world = ReconcileWorld::new(TWO);
    let before = world.book.clone();
    world.alter("smtp", "a", |facts| server_state::apply_verdict(facts, down_because("x"), NOW));
    assert!(!world.book.is_same_for_workers(&before));
    assert!(Arc::ptr_eq(&world.book.pools["web"], &before.pools["web"]));
    assert!(Arc::ptr_eq(&world.book.services["mail"], &before.services["mail"]));
    let again = world.book.clone();
    world.alter("smtp", "a", |facts| server_state::apply_verdict(facts, down_because("y"), NOW));
    assert!(world.book.is_same_for_workers(&again), "workers see no difference");
    assert!(!world.book.has_same_facts(&again), "but the reason is another");
}

#[test]
fn evidence_of_a_probe_ends_with_the_probe() {
    let probed = TWO.replace("[pool.smtp]", "[pool.smtp]\nprobe = \"tcp\"");
    let mut world = ReconcileWorld::new(&probed);
    assert_eq!(world.state("smtp", "a"), ServerState::Unknown);
    world.alter("smtp", "a", |facts| server_state::apply_verdict(facts, down_because("x"), NOW));
    world.change(TWO).unwrap();
    assert_eq!(world.state("smtp", "a"), ServerState::Up);
}

#[test]
fn a_drained_server_says_by_whom() {
    let mut world = ReconcileWorld::new(TWO);
    let by = ChangeOrigin::new("uid 7", ChangeTrigger::Api);
    world.alter("web", "a", |facts| {
        server_state::apply_command(facts, OperatorCommand::Drain, by, NOW)
    });
    assert_eq!(world.facts("web", "a").reason, "drained by uid 7 (api)");
    assert_eq!(world.facts("web", "a").overrides.admin.as_ref().unwrap().value, AdminState::Drain);
}
