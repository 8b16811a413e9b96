//! Commands to the actor, over a recording engine.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use model::snapshot::ServerState;

use super::actor::start::StartedControl;
use super::actor::{ActorParts, ControlActor};
use crate::control::reconcile::fake::{FakeEngine, RecordedCall};
use crate::state::saved_state::PredecessorState;
use crate::state::{
    ApplyError, ApplyOutcome, ChangeOrigin, ChangeTrigger, ConfigChange, ConfigPatch,
    ControlHandle, HealthReport, HealthState, OperatorCommand, OperatorOverrides, RollbackError,
    SaveError, ServerCommandError, ServerCommandOutcome, ServerCommandRequest, ShutdownRequest,
    UndoError,
};
use crate::util::event::EventLog;
use crate::util::scratch_dir::Scratch;

mod changing;
mod operating;
mod reaching;

const TEXT: &str = r#"
[service.shop]
listen = "127.0.0.1:8001"
forward = "http"
pool = "web"
[pool.web]
servers = [{ name = "a", address = "10.0.0.1:80" }, { name = "b", address = "10.0.0.2:80" }]
"#;

struct ControlFixture {
    fake: FakeEngine,
    control: ControlHandle,
    events: EventLog,
}

impl ControlFixture {
    async fn start(text: &str, state: Option<&Path>) -> ControlFixture {
        ControlFixture::start_after(text, state, None).await
    }

    async fn start_after(
        text: &str,
        state: Option<&Path>,
        before: Option<PredecessorState>,
    ) -> ControlFixture {
        ControlFixture::start_at(text, state, before, None).await
    }

    async fn start_at(
        text: &str,
        state: Option<&Path>,
        before: Option<PredecessorState>,
        file: Option<PathBuf>,
    ) -> ControlFixture {
        let fake = FakeEngine::default();
        let events = EventLog::quiet();
        let parts = ActorParts {
            engine: Arc::new(fake.clone()),
            listeners: fake.listeners(2),
            workers: 2,
            state: state.map(PathBuf::from),
            file,
            predecessor: before,
            events: events.clone(),
        };
        let StartedControl { control, actor } =
            ControlActor::start(parts, change(text)).await.unwrap();
        tokio::spawn(actor.run());
        fake.take_calls();
        ControlFixture { fake, control, events }
    }

    async fn order(
        &self,
        name: &str,
        word: OperatorCommand,
    ) -> Result<ServerCommandOutcome, ServerCommandError> {
        let pool = "web".to_owned();
        let name = name.to_owned();
        let origin = by();
        self.control
            .run_server_command(ServerCommandRequest {
                pool,
                name,
                command: word,
                save: None,
                part_of: None,
                origin,
            })
            .await
    }

    fn names(&self) -> Vec<String> {
        let snapshot = self.control.state();
        snapshot.config.pools["web"].servers.iter().map(|server| server.name.clone()).collect()
    }

    async fn apply(&self, text: &str) -> Result<ApplyOutcome, ApplyError> {
        self.control.apply(change(text)).await
    }

    fn state(&self, name: &str) -> ServerState {
        self.control.state().server("web", name).unwrap().state
    }

    async fn say(&self, name: &str, word: OperatorCommand) {
        self.control.command_server("web", name, word, by()).await.unwrap();
    }

    fn whats(&self) -> Vec<&'static str> {
        self.events.recent().iter().map(|event| event.kind).collect()
    }
}

fn by() -> ChangeOrigin {
    ChangeOrigin::new("tester", ChangeTrigger::Api)
}

fn change(text: &str) -> ConfigChange {
    ConfigChange::new(text, "t.toml", by())
}

fn drained() -> String {
    TEXT.replace("\"10.0.0.1:80\"", "\"10.0.0.1:80\", state = \"drain\"")
}

#[tokio::test]
async fn a_change_is_published_after_the_workers_act_on_it() {
    let world = ControlFixture::start(TEXT, None).await;
    let mut snapshots = world.control.watch();
    assert_eq!(snapshots.borrow_and_update().generation, 1);
    let applied = world.apply(&drained()).await.unwrap();
    assert_eq!((applied.generation, applied.confirmed), (2, true));
    assert_eq!(applied.diff.pools.changed.len(), 1);
    assert!(applied.diff.services.is_empty());
    let snapshot = snapshots.borrow_and_update().clone();
    assert_eq!((snapshot.generation, snapshot.snapshot.generation), (2, 2));
    assert_eq!(world.fake.snapshot().unwrap().version, snapshot.snapshot.version);
    assert_eq!(snapshot.listeners.len(), 1);
    assert_eq!(world.state("a"), ServerState::Drain);
}

#[tokio::test]
async fn what_would_end_everything_without_saying_so_is_known() {
    let begun = "# written by nobody yet\n";
    let world = ControlFixture::start(begun, None).await;
    assert!(
        !world.control.would_remove_everything("") && !world.control.would_remove_everything(begun)
    );
    world.apply(TEXT).await.unwrap();
    assert!(
        world.control.would_remove_everything("") && world.control.would_remove_everything(begun)
    );
    assert!(
        !world.control.would_remove_everything("[global]")
            && !world.control.would_remove_everything(TEXT)
    );
}

#[tokio::test]
async fn mistakes_and_refusals_change_nothing() {
    let world = ControlFixture::start(TEXT, None).await;
    let before = world.control.state();
    let error = world.apply("[service.x]\nlisten = 3\n").await.unwrap_err();
    assert!(matches!(error, ApplyError::Invalid(_)));
    let stale = ConfigChange { expect: Some(7), ..change(&drained()) };
    let error = world.control.apply(stale).await.unwrap_err();
    assert!(matches!(error, ApplyError::Stale { expected: 7, found: 1 }));
    world.fake.occupy_address("127.0.0.1:8009".parse().unwrap());
    let error = world.apply(&TEXT.replace("8001", "8009")).await.unwrap_err();
    assert!(matches!(error, ApplyError::Listen(_)), "{error}");
    assert!(Arc::ptr_eq(&before, &world.control.state()));
    assert!(!world.fake.take_calls().iter().any(|it| matches!(it, RecordedCall::Install(_))));
    assert_eq!(world.control.generations().await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_same_text_is_the_same_generation() {
    let world = ControlFixture::start(TEXT, None).await;
    let applied = world.apply(TEXT).await.unwrap();
    assert_eq!(applied.generation, 1);
    assert!(applied.diff.is_empty());
    assert!(world.fake.take_calls().is_empty());
}

#[tokio::test]
async fn a_plan_reports_and_does_nothing() {
    let world = ControlFixture::start(TEXT, None).await;
    let text = TEXT.replace("8001", "8005") + "[global]\nworkers = 9\n";
    let planned = world.control.plan(text, "t.toml".into()).await.unwrap().unwrap();
    assert_eq!(planned.generation, 1);
    assert_eq!(planned.needs_restart, ["global.workers"]);
    assert_eq!(planned.listeners.len(), 2, "{:?}", planned.listeners);
    assert!(planned.listeners.iter().any(|line| line == "open 127.0.0.1:8005"));
    assert!(world.fake.take_calls().is_empty());
    assert!(world.control.plan("x".into(), "t.toml".into()).await.unwrap().is_err());
}

#[tokio::test]
async fn what_cannot_change_while_running_is_reported() {
    let world = ControlFixture::start(TEXT, None).await;
    let text = format!("{TEXT}[global]\nworkers = 9\n");
    assert_eq!(world.apply(&text).await.unwrap().needs_restart, ["global.workers"]);
    assert!(world.whats().contains(&"needs-restart"));
    assert_eq!(world.control.state().needs_restart, ["global.workers"]);
    assert_eq!(world.control.state().workers, 2);
    assert!(world.apply(TEXT).await.unwrap().needs_restart.is_empty());
}

#[tokio::test]
async fn rollback_is_a_new_generation_with_an_old_text() {
    let world = ControlFixture::start(TEXT, None).await;
    let none = world.control.rollback(None, None, by()).await.unwrap_err();
    assert!(matches!(none, RollbackError::NonePrevious));
    world.apply(&drained()).await.unwrap();
    let back = world.control.rollback(None, None, by()).await.unwrap();
    assert_eq!(back.generation, 3);
    assert_eq!(world.state("a"), ServerState::Up);
    let kept = world.control.generations().await.unwrap();
    assert_eq!(kept.last().unwrap().repeats, Some(1));
    assert_eq!(kept.last().unwrap().origin.way, ChangeTrigger::Rollback);
    assert_eq!(world.control.rollback(Some(2), None, by()).await.unwrap().generation, 4);
    assert_eq!(world.state("a"), ServerState::Drain);
    let unknown = world.control.rollback(Some(77), None, by()).await.unwrap_err();
    assert!(unknown.to_string().contains("kept are 1, 2, 3, 4"), "{unknown}");
    assert_eq!(world.control.generation_text(1).await.unwrap().as_deref(), Some(TEXT));
}

#[tokio::test]
async fn verdicts_that_wait_make_one_snapshot() {
    let world = ControlFixture::start(TEXT, None).await;
    let snapshot = world.control.state();
    for (name, health) in [
        ("a", HealthState::Down),
        ("b", HealthState::Down),
        ("a", HealthState::Up),
        ("b", HealthState::Up),
    ] {
        let server = snapshot.server("web", name).unwrap().id;
        world
            .control
            .report_health(HealthReport { server, health, reason: "because".into(), note: None })
            .await;
    }
    let unknown = model::id::ServerId(999);
    let health = HealthState::Down;
    world
        .control
        .report_health(HealthReport { server: unknown, health, reason: String::new(), note: None })
        .await;
    // Answered behind them.
    world.control.generations().await.unwrap();
    assert!(matches!(world.fake.take_calls()[..], [RecordedCall::Install(_)]));
    assert_eq!(world.control.state().server("web", "a").unwrap().reason, "because");
    let of = |what: &str| world.whats().iter().filter(|it| **it == what).count();
    assert_eq!((of("server-down"), of("server-up")), (2, 2));
    assert_eq!((of("pool-empty"), of("pool-back")), (1, 1), "each once");
}

#[tokio::test]
async fn words_outlive_the_process_until_the_file_says_otherwise() {
    let scratch = Scratch::new("words").unwrap();
    {
        let world = ControlFixture::start(TEXT, Some(scratch.path())).await;
        world.say("a", OperatorCommand::Disable).await;
        world.say("b", OperatorCommand::Weight(model::config::ServerWeight::new(5).unwrap())).await;
        assert_eq!(world.state("a"), ServerState::Disabled);
        let error = world.control.command_server("web", "zz", OperatorCommand::Drain, by()).await;
        assert!(error.unwrap_err().to_string().contains("web/a, web/b"));
        let error = world.control.command_server("no", "a", OperatorCommand::Drain, by()).await;
        assert!(error.unwrap_err().to_string().contains("pool web"));
    }
    let world = ControlFixture::start(TEXT, Some(scratch.path())).await;
    assert_eq!(world.control.state().generation, 1, "the same text after a restart");
    assert_eq!(world.state("a"), ServerState::Disabled);
    assert_eq!(world.control.state().server("web", "b").unwrap().weight.get(), 5);
    world.apply(&drained()).await.unwrap();
    assert_eq!(world.state("a"), ServerState::Drain);
    drop(world);
    let world = ControlFixture::start(TEXT, Some(scratch.path())).await;
    assert_eq!(world.state("a"), ServerState::Up, "the word ended with the file's change");
    assert_eq!(world.control.state().generation, 3);
}

#[tokio::test]
async fn state_that_cannot_be_read_is_set_aside_and_keeping_goes_on() {
    let scratch = Scratch::new("garbage").unwrap();
    let state = scratch.path();
    {
        let world = ControlFixture::start(TEXT, Some(state)).await;
        assert!(world.order("a", OperatorCommand::Drain).await.unwrap().unsaved.is_empty());
    }
    let garbage = b"\xff\x00 neither JSON nor text {";
    for name in ["servers.json", "generations/00000001.json"] {
        std::fs::write(state.join(name), garbage).unwrap();
    }
    // A directory where a file is to be, and the other way round.
    std::fs::remove_file(state.join("audit.jsonl")).unwrap();
    std::fs::create_dir(state.join("audit.jsonl")).unwrap();
    let names = |of: &std::path::Path| -> Vec<String> {
        let entries = std::fs::read_dir(of).unwrap().map(|it| it.unwrap().file_name());
        entries.map(|name| name.into_string().unwrap()).collect()
    };
    {
        let world = ControlFixture::start(TEXT, Some(state)).await;
        let whats = world.whats();
        let aside = whats.iter().filter(|what| **what == "state-set-aside").count();
        assert_eq!(aside, 3, "{whats:?}");
        let done = world.order("b", OperatorCommand::Drain).await.unwrap();
        assert_eq!(done.unsaved, Vec::<String>::new());
        assert!(world.apply(&drained()).await.unwrap().unsaved.is_empty());
    }
    let found = [names(state), names(&state.join("generations"))].concat();
    for name in ["servers.json", "audit.jsonl", "00000001.json"] {
        let damaged = format!("{name}.damaged-");
        assert!(found.iter().any(|it| it.starts_with(&damaged)), "{name}: {found:?}");
    }
    let world = ControlFixture::start(TEXT, Some(state)).await;
    assert_eq!(world.state("b"), ServerState::Drain, "what was ordered since is kept");
    assert!(world.control.state().generation > 2, "no number is given twice");
}

#[tokio::test]
async fn a_state_directory_that_cannot_be_written_is_reported_and_counted() {
    let scratch = Scratch::new("words").unwrap();
    let file = scratch.path().join("file");
    std::fs::write(&file, "").unwrap();
    let world = ControlFixture::start(TEXT, Some(&file)).await;
    let done = world.order("a", OperatorCommand::Drain).await.unwrap();
    assert_eq!(done.unsaved.len(), 2, "the order, and its record: {:?}", done.unsaved);
    assert!(done.unsaved[0].contains("a restart forgets it"), "{:?}", done.unsaved);
    let applied = world.apply(&drained()).await.unwrap();
    assert!(applied.unsaved[0].contains("no restart can go back to it"), "{:?}", applied.unsaved);
    assert_eq!(world.control.rollback(None, None, by()).await.unwrap().generation, 3);
    assert!(world.control.state().state_failures >= 4);
    let whats = world.whats();
    assert!(
        whats.contains(&"server-commands-not-saved") && whats.contains(&"generations-not-saved")
    );
}

#[tokio::test]
async fn while_another_process_takes_over_nothing_changes() {
    let world = ControlFixture::start(TEXT, None).await;
    world.say("a", OperatorCommand::Drain).await;
    let handed = world.control.hand_over().await.unwrap();
    assert_eq!((handed.generation, &*handed.text), (1, TEXT));
    assert_eq!(handed.sockets.len(), 2, "one a worker");
    assert!(matches!(world.apply(&drained()).await, Err(ApplyError::HandingOver)));
    assert!(matches!(world.control.hand_over().await, Err(ApplyError::HandingOver)));
    let word = world.control.command_server("web", "a", OperatorCommand::Enable, by()).await;
    assert!(matches!(word, Err(ServerCommandError::HandingOver)));
    world.control.cancel_hand_over().await;
    world.apply(&drained()).await.unwrap();
    let before = PredecessorState { generation: 41, saved: handed.memory };
    let next = ControlFixture::start_after(TEXT, None, Some(before)).await;
    assert_eq!(next.control.state().generation, 41);
    assert_eq!(next.state("a"), ServerState::Drain);
    assert_eq!(next.apply(&drained()).await.unwrap().generation, 42);
}

#[tokio::test]
async fn leaving_stops_listeners_and_refuses_changes() {
    for (handed, rest) in [(false, true), (true, false)] {
        let world = ControlFixture::start(TEXT, None).await;
        let limit = Some(Duration::from_secs(7));
        let given = world
            .control
            .begin_shutdown(ShutdownRequest { handed_over: handed, limit, detach: false })
            .await
            .unwrap();
        assert_eq!(given, Duration::from_secs(7));
        let asked = world.fake.take_calls();
        assert!(
            matches!(asked[0], RecordedCall::Stop(_, accept_rest) if accept_rest == rest),
            "{asked:?}"
        );
        assert_eq!(asked[1], RecordedCall::Drain(given));
        assert!(world.control.state().shutting_down && world.control.state().listeners.is_empty());
        assert!(matches!(world.apply(&drained()).await, Err(ApplyError::Stopping(_))));
        assert!(!world.control.generations().await.unwrap().is_empty(), "looking is possible");
    }
}
