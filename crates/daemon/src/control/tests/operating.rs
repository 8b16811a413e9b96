//! Server commands: added, removed, maintained, saved, undone and rejected.

use std::time::SystemTime;

use super::*;

fn add(address: &str) -> OperatorCommand {
    OperatorCommand::Add { address: address.to_owned(), weight: None }
}

async fn ticked(world: &ControlFixture, what: &str, so: impl Fn(&ControlFixture) -> bool) {
    for _ in 0..500 {
        world.control.tick().await;
        world.control.generations().await.unwrap();
        if so(world) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what}");
}

#[tokio::test]
async fn servers_come_and_go_without_touching_the_others_and_over_restarts() {
    let scratch = Scratch::new("operating").unwrap();
    {
        let world = ControlFixture::start(TEXT, Some(scratch.path())).await;
        let before = world.control.state();
        let id = |name: &str| before.server("web", name).unwrap().id;
        let done = world.order("-", add("10.0.0.3:80")).await.unwrap();
        assert_eq!(done.facts.config.name, "10-0-0-3-80");
        world.order("b", OperatorCommand::Remove).await.unwrap();
        assert_eq!(world.names(), ["a", "10-0-0-3-80"]);
        let after = world.control.state();
        assert_eq!((after.generation, after.server("web", "a").unwrap().id), (1, id("a")));
        assert!(world.fake.take_calls().iter().all(|it| matches!(it, RecordedCall::Install(_))));
        let applied = world.apply(TEXT).await.unwrap();
        assert!(applied.diff.is_empty(), "the file did not change");
    }
    let world = ControlFixture::start(TEXT, Some(scratch.path())).await;
    assert_eq!(world.names(), ["a", "10-0-0-3-80"]);
    world.control.undo(None, by()).await.unwrap();
    assert_eq!(world.names(), ["a", "b", "10-0-0-3-80"]);
    world.control.undo(None, by()).await.unwrap();
    assert_eq!(world.names(), ["a", "b"]);
    assert!(matches!(world.control.undo(None, by()).await, Err(UndoError::Nothing)));
    let kept = world.control.read_audit(0).await.unwrap().records;
    let actions: Vec<&str> = kept.iter().map(|record| record.action.as_str()).collect();
    assert_eq!(
        actions,
        ["add 10.0.0.3:80", "remove", "undo", "undo"].map(|it| { it.split(' ').next().unwrap() })
    );
    assert_eq!((kept[0].who.as_str(), kept[1].after.as_str()), ("tester", "not there"));
    assert_eq!(kept[2].undoes, Some(2));
}

#[tokio::test]
async fn a_name_by_which_cookies_name_another_server_is_refused() {
    let text = TEXT.replace("{ name = \"a\",", "{ name = \"a\", cookie-value = \"c\",");
    let world = ControlFixture::start(&text, None).await;
    let error = world.order("c", add("10.0.0.3:80")).await.unwrap_err();
    assert!(matches!(error, ServerCommandError::Invalid(_)), "{error}");
    assert!(error.to_string().contains("cookies name server `a` by 'c'"), "{error}");
    world.order("d", add("10.0.0.3:80")).await.unwrap();
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused() {
    let world = ControlFixture::start(TEXT, None).await;
    let now = SystemTime::now();
    let window = |from, until| OperatorCommand::Maintain { from, until, reason: String::new() };
    for (name, word) in [
        ("c", add("10.0.0.3")),
        ("C_", add("10.0.0.3:80")),
        ("c", add("rubbish address:80")),
        ("a", OperatorCommand::Quiesce(Duration::ZERO)),
        ("a", OperatorCommand::Quiesce(Duration::from_secs(u64::MAX / 4))),
        ("a", window(None, Some(now - Duration::from_secs(1)))),
        ("a", window(Some(now + Duration::from_secs(9)), Some(now + Duration::from_secs(8)))),
    ] {
        let error = world.order(name, word.clone()).await.unwrap_err();
        assert!(matches!(error, ServerCommandError::Invalid(_)), "{word:?}: {error}");
    }
    for (name, address) in [("a", "1.2.3.4:5"), ("c", "10.0.0.1:80")] {
        let told = world.order(name, add(address)).await.unwrap_err().to_string();
        assert_eq!(told, "there is a server 'web/a' already: at 10.0.0.1:80");
    }
    assert_eq!(world.names(), ["a", "b"]);
    world.order("b", OperatorCommand::Remove).await.unwrap();
    let last = world.order("a", OperatorCommand::Remove).await;
    assert!(matches!(last, Err(ServerCommandError::LastServer { .. })));
    let save = |command| ServerCommandRequest {
        pool: "web".into(),
        name: "a".into(),
        command,
        part_of: None,
        save: Some(true),
        origin: by(),
    };
    let none = world.control.run_server_command(save(OperatorCommand::Drain)).await;
    assert!(matches!(none, Err(ServerCommandError::Save(SaveError::NoFile))));
    let none = world.control.run_server_command(save(OperatorCommand::Cut)).await;
    assert!(matches!(none, Err(ServerCommandError::Save(SaveError::NotExpressible("cut")))));
    assert_eq!(world.state("a"), ServerState::Up);
}

#[tokio::test]
async fn windows_open_and_close_and_a_quiesce_becomes_a_drain() {
    let world = ControlFixture::start(TEXT, None).await;
    let soon = Some(SystemTime::now() + Duration::from_millis(200));
    let maintain = OperatorCommand::Maintain { from: None, until: soon, reason: "disks".into() };
    world.order("a", maintain).await.unwrap();
    assert_eq!(world.state("a"), ServerState::Disabled);
    let reason = world.control.state().server("web", "a").unwrap().reason.clone();
    assert!(reason.ends_with("disks") && reason.contains("tester"), "{reason}");
    world.order("b", OperatorCommand::Quiesce(Duration::from_millis(200))).await.unwrap();
    assert_eq!(world.state("b"), ServerState::Drain);
    ticked(&world, "the window closes", |world| world.state("a") == ServerState::Up).await;
    let drained = |world: &ControlFixture| {
        let facts = world.control.state().server("web", "b").unwrap().clone();
        facts.overrides.quiesce.is_none() && facts.state == ServerState::Drain
    };
    ticked(&world, "the quiesce ends", drained).await;
    let kept = world.control.read_audit(0).await.unwrap().records;
    let clock = kept.iter().filter(|record| record.way == "clock").count();
    assert_eq!(clock, 2, "{kept:?}");
    world.order("b", OperatorCommand::Enable).await.unwrap();
    assert_eq!(world.state("b"), ServerState::Up);
}

#[tokio::test]
async fn a_cut_takes_the_server_out_and_ends_what_it_has() {
    let world = ControlFixture::start(TEXT, None).await;
    let id = world.control.state().server("web", "a").unwrap().id;
    world.order("a", OperatorCommand::Cut).await.unwrap();
    assert!(world.fake.take_calls().contains(&RecordedCall::ResetServer(id)));
    assert_eq!(world.state("a"), ServerState::Disabled);
    for before in [
        OperatorCommand::Drain,
        OperatorCommand::Quiesce(Duration::from_secs(60)),
        OperatorCommand::Disable,
    ] {
        world.order("a", OperatorCommand::Enable).await.unwrap();
        world.order("a", before.clone()).await.unwrap();
        let state = world.state("a");
        world.fake.take_calls();
        let cut = world.order("a", OperatorCommand::Cut).await.unwrap().audit_id;
        assert!(world.fake.take_calls().contains(&RecordedCall::ResetServer(id)), "{before:?}");
        assert_eq!(world.state("a"), ServerState::Disabled, "after {before:?}");
        if before != OperatorCommand::Disable {
            world.control.undo(Some(cut), by()).await.unwrap();
            assert_eq!(world.state("a"), state, "what was ordered before stands again");
        }
    }
}

#[tokio::test]
async fn an_order_is_taken_back_only_while_it_stands() {
    let world = ControlFixture::start(TEXT, None).await;
    let first = world.order("a", OperatorCommand::Drain).await.unwrap().audit_id;
    let second = world.order("a", OperatorCommand::Disable).await.unwrap().audit_id;
    let moved = world.control.undo(Some(first), by()).await;
    assert!(matches!(moved, Err(UndoError::Moved(..))));
    world.control.undo(Some(second), by()).await.unwrap();
    assert_eq!(world.state("a"), ServerState::Drain);
    world.control.undo(Some(first), by()).await.unwrap();
    assert_eq!(world.state("a"), ServerState::Up);
    assert!(matches!(world.control.undo(Some(77), by()).await, Err(UndoError::Unknown(77))));
    world.apply(&drained()).await.unwrap();
    world.control.undo(None, by()).await.unwrap();
    assert_eq!((world.state("a"), world.control.state().generation), (ServerState::Up, 3));
}

#[tokio::test]
async fn a_command_about_several_servers_is_taken_back_whole_in_the_file_too() {
    for write_back in ["", "[global]\ncontrol = { write-back = \"file\" }\n"] {
        let scratch = Scratch::new("operating").unwrap();
        let file = scratch.path().join("t.toml");
        let text = format!("{TEXT}{write_back}");
        std::fs::write(&file, &text).unwrap();
        let world =
            ControlFixture::start_at(&text, Some(scratch.path()), None, Some(file.clone())).await;
        let order = |name: &str, part_of, origin| ServerCommandRequest {
            pool: "web".into(),
            name: name.into(),
            command: OperatorCommand::Drain,
            save: None,
            part_of,
            origin,
        };
        let first =
            world.control.run_server_command(order("a", None, by())).await.unwrap().audit_id;
        world.control.run_server_command(order("b", Some(first), by())).await.unwrap();
        let stranger = ChangeOrigin::new("stranger", ChangeTrigger::Api);
        for (part_of, origin) in [(first, stranger), (first + 1, by()), (77, by())] {
            let refused = world.control.run_server_command(order("b", Some(part_of), origin)).await;
            assert!(matches!(refused, Err(ServerCommandError::Invalid(_))), "{refused:?}");
        }
        let undone = world.control.undo(None, by()).await.unwrap();
        let orders: Vec<&str> =
            undone.undone.iter().map(|order| order.undoes.target.as_str()).collect();
        assert_eq!((orders, undone.failed.is_none()), (vec!["web/b", "web/a"], true));
        assert_eq!((world.state("a"), world.state("b")), (ServerState::Up, ServerState::Up));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        assert!(matches!(world.control.undo(None, by()).await, Err(UndoError::Nothing)));
    }
}

#[tokio::test]
async fn one_rollback_after_another_leads_further_back() {
    let world = ControlFixture::start(TEXT, None).await;
    let weight =
        |weight: u32| TEXT.replace("10.0.0.2:80\"", &format!("10.0.0.2:80\", weight = {weight}"));
    for number in [2, 3] {
        world.apply(&weight(number)).await.unwrap();
    }
    for older in [2, 1] {
        let applied = world.control.rollback(None, None, by()).await.unwrap();
        assert_eq!(applied.repeats, Some(older));
    }
    assert_eq!(world.control.state().server("web", "b").unwrap().weight.get(), 1);
    let refused = world.control.rollback(None, None, by()).await;
    assert!(matches!(refused, Err(RollbackError::NonePrevious)), "{refused:?}");
    world.apply(&weight(9)).await.unwrap();
    let applied = world.control.rollback(None, None, by()).await.unwrap();
    assert_eq!((applied.generation, applied.repeats), (7, Some(5)));
}

#[tokio::test]
async fn an_order_is_saved_into_the_file_and_taken_out_again() {
    let scratch = Scratch::new("operating").unwrap();
    let file = scratch.path().join("t.toml");
    let text = format!("# shop\n{TEXT}[global]\ncontrol = {{ write-back = \"file\" }} # all\n");
    std::fs::write(&file, &text).unwrap();
    let world =
        ControlFixture::start_at(&text, Some(scratch.path()), None, Some(file.clone())).await;
    let written = || std::fs::read_to_string(&file).unwrap();
    let done = world.order("a", OperatorCommand::Drain).await.unwrap();
    assert_eq!(done.saved.as_deref(), file.canonicalize().unwrap().to_str());
    assert_eq!(
        written(),
        text.replace("\"10.0.0.1:80\" }", "\"10.0.0.1:80\", state = \"drain\" }")
    );
    let facts = world.control.state().server("web", "a").unwrap().clone();
    assert_eq!(
        (facts.state, facts.overrides == OperatorOverrides::default()),
        (ServerState::Drain, true)
    );
    world.order("c", add("10.0.0.3:80")).await.unwrap();
    assert!(written().contains("name = \"c\""));
    world.control.undo(None, by()).await.unwrap();
    world.order("a", OperatorCommand::Enable).await.unwrap();
    assert_eq!(written(), text);
    std::fs::write(&file, format!("{text}# by hand\n")).unwrap();
    let differs = world.order("a", OperatorCommand::Drain).await;
    assert!(matches!(differs, Err(ServerCommandError::Save(SaveError::Differs(_)))), "{differs:?}");
    assert_eq!(world.state("a"), ServerState::Up);
}
