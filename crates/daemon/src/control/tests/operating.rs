//! Orders about servers: what is added, removed, maintained, saved and taken back, and what is refused.

use std::time::SystemTime;

use super::*;

fn add(address: &str) -> ServerWord {
    ServerWord::Add { address: address.to_owned(), weight: None }
}

async fn ticked(world: &World, what: &str, so: impl Fn(&World) -> bool) {
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
        let world = World::start(TEXT, Some(scratch.path())).await;
        let before = world.control.picture();
        let id = |name: &str| before.server("web", name).unwrap().id;
        let done = world.order("-", add("10.0.0.3:80")).await.unwrap();
        assert_eq!(done.facts.config.name, "10-0-0-3-80");
        world.order("b", ServerWord::Remove).await.unwrap();
        assert_eq!(world.names(), ["a", "10-0-0-3-80"]);
        let after = world.control.picture();
        assert_eq!((after.generation, after.server("web", "a").unwrap().id), (1, id("a")));
        assert!(world.fake.take().iter().all(|it| matches!(it, Asked::Install(_))));
        let applied = world.apply(TEXT).await.unwrap();
        assert!(applied.diff.is_empty(), "the file did not change");
    }
    let world = World::start(TEXT, Some(scratch.path())).await;
    assert_eq!(world.names(), ["a", "10-0-0-3-80"]);
    world.control.undo(None, by()).await.unwrap();
    assert_eq!(world.names(), ["a", "b", "10-0-0-3-80"]);
    world.control.undo(None, by()).await.unwrap();
    assert_eq!(world.names(), ["a", "b"]);
    assert!(matches!(world.control.undo(None, by()).await, Err(UndoError::Nothing)));
    let kept = world.control.audit(0).await.unwrap().records;
    let actions: Vec<&str> = kept.iter().map(|record| record.action.as_str()).collect();
    assert_eq!(
        actions,
        ["add 10.0.0.3:80", "remove", "undo", "undo"].map(|it| { it.split(' ').next().unwrap() })
    );
    assert_eq!((kept[0].who.as_str(), kept[1].after.as_str()), ("tester", "not there"));
    assert_eq!(kept[2].undoes, Some(2));
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused() {
    let world = World::start(TEXT, None).await;
    let now = SystemTime::now();
    let window = |from, until| ServerWord::Maintain { from, until, reason: String::new() };
    for (name, word) in [
        ("c", add("10.0.0.3")),
        ("C_", add("10.0.0.3:80")),
        ("c", add("rubbish address:80")),
        ("a", ServerWord::Quiesce(Duration::ZERO)),
        ("a", ServerWord::Quiesce(Duration::from_secs(u64::MAX / 4))),
        ("a", window(None, Some(now - Duration::from_secs(1)))),
        ("a", window(Some(now + Duration::from_secs(9)), Some(now + Duration::from_secs(8)))),
    ] {
        let error = world.order(name, word.clone()).await.unwrap_err();
        assert!(matches!(error, SetServerError::Wrong(_)), "{word:?}: {error}");
    }
    for (name, address) in [("a", "1.2.3.4:5"), ("c", "10.0.0.1:80")] {
        let told = world.order(name, add(address)).await.unwrap_err().to_string();
        assert_eq!(told, "there is a server 'web/a' already: at 10.0.0.1:80");
    }
    assert_eq!(world.names(), ["a", "b"]);
    world.order("b", ServerWord::Remove).await.unwrap();
    let last = world.order("a", ServerWord::Remove).await;
    assert!(matches!(last, Err(SetServerError::Last { .. })));
    let save = |word| Operate {
        pool: "web".into(),
        name: "a".into(),
        word,
        save: Some(true),
        origin: by(),
    };
    let none = world.control.operate(save(ServerWord::Drain)).await;
    assert!(matches!(none, Err(SetServerError::Save(SaveError::NoFile))));
    let none = world.control.operate(save(ServerWord::Cut)).await;
    assert!(matches!(none, Err(SetServerError::Save(SaveError::NoWord("cut")))));
    assert_eq!(world.state("a"), ServerState::Up);
}

#[tokio::test]
async fn windows_open_and_close_and_a_quiesce_becomes_a_drain() {
    let world = World::start(TEXT, None).await;
    let soon = Some(SystemTime::now() + Duration::from_millis(200));
    let maintain = ServerWord::Maintain { from: None, until: soon, reason: "disks".into() };
    world.order("a", maintain).await.unwrap();
    assert_eq!(world.state("a"), ServerState::Disabled);
    let reason = world.control.picture().server("web", "a").unwrap().reason.clone();
    assert!(reason.ends_with("disks") && reason.contains("tester"), "{reason}");
    world.order("b", ServerWord::Quiesce(Duration::from_millis(200))).await.unwrap();
    assert_eq!(world.state("b"), ServerState::Drain);
    ticked(&world, "the window closes", |world| world.state("a") == ServerState::Up).await;
    let drained = |world: &World| {
        let facts = world.control.picture().server("web", "b").unwrap().clone();
        facts.hand.quiesce.is_none() && facts.state == ServerState::Drain
    };
    ticked(&world, "the quiesce ends", drained).await;
    let kept = world.control.audit(0).await.unwrap().records;
    let clock = kept.iter().filter(|record| record.way == "clock").count();
    assert_eq!(clock, 2, "{kept:?}");
    world.order("b", ServerWord::Enable).await.unwrap();
    assert_eq!(world.state("b"), ServerState::Up);
}

#[tokio::test]
async fn a_cut_takes_the_server_out_and_ends_what_it_has() {
    let world = World::start(TEXT, None).await;
    let id = world.control.picture().server("web", "a").unwrap().id;
    world.order("a", ServerWord::Cut).await.unwrap();
    assert!(world.fake.take().contains(&Asked::Cut(id)));
    assert_eq!(world.state("a"), ServerState::Disabled);
    for before in
        [ServerWord::Drain, ServerWord::Quiesce(Duration::from_secs(60)), ServerWord::Disable]
    {
        world.order("a", ServerWord::Enable).await.unwrap();
        world.order("a", before.clone()).await.unwrap();
        let state = world.state("a");
        world.fake.take();
        let cut = world.order("a", ServerWord::Cut).await.unwrap().audit;
        assert!(world.fake.take().contains(&Asked::Cut(id)), "{before:?}");
        assert_eq!(world.state("a"), ServerState::Disabled, "after {before:?}");
        if before != ServerWord::Disable {
            world.control.undo(Some(cut), by()).await.unwrap();
            assert_eq!(world.state("a"), state, "what was ordered before stands again");
        }
    }
}

#[tokio::test]
async fn an_order_is_taken_back_only_while_it_stands() {
    let world = World::start(TEXT, None).await;
    let first = world.order("a", ServerWord::Drain).await.unwrap().audit;
    let second = world.order("a", ServerWord::Disable).await.unwrap().audit;
    let moved = world.control.undo(Some(first), by()).await;
    assert!(matches!(moved, Err(UndoError::Moved(..))));
    world.control.undo(Some(second), by()).await.unwrap();
    assert_eq!(world.state("a"), ServerState::Drain);
    world.control.undo(Some(first), by()).await.unwrap();
    assert_eq!(world.state("a"), ServerState::Up);
    assert!(matches!(world.control.undo(Some(77), by()).await, Err(UndoError::Unknown(77))));
    world.apply(&drained()).await.unwrap();
    world.control.undo(None, by()).await.unwrap();
    assert_eq!((world.state("a"), world.control.picture().generation), (ServerState::Up, 3));
}

#[tokio::test]
async fn an_order_is_saved_into_the_file_and_taken_out_again() {
    let scratch = Scratch::new("operating").unwrap();
    let file = scratch.path().join("t.toml");
    let text = format!("# shop\n{TEXT}[global]\ncontrol = {{ write-back = \"file\" }} # all\n");
    std::fs::write(&file, &text).unwrap();
    let world = World::start_at(&text, Some(scratch.path()), None, Some(file.clone())).await;
    let written = || std::fs::read_to_string(&file).unwrap();
    let done = world.order("a", ServerWord::Drain).await.unwrap();
    assert_eq!(done.saved.as_deref(), file.canonicalize().unwrap().to_str());
    assert_eq!(
        written(),
        text.replace("\"10.0.0.1:80\" }", "\"10.0.0.1:80\", state = \"drain\" }")
    );
    let facts = world.control.picture().server("web", "a").unwrap().clone();
    assert_eq!((facts.state, facts.hand == Hand::default()), (ServerState::Drain, true));
    world.order("c", add("10.0.0.3:80")).await.unwrap();
    assert!(written().contains("name = \"c\""));
    world.control.undo(None, by()).await.unwrap();
    world.order("a", ServerWord::Enable).await.unwrap();
    assert_eq!(written(), text);
    std::fs::write(&file, format!("{text}# by hand\n")).unwrap();
    let differs = world.order("a", ServerWord::Drain).await;
    assert!(matches!(differs, Err(SetServerError::Save(SaveError::Differs(_)))), "{differs:?}");
    assert_eq!(world.state("a"), ServerState::Up);
}
