//! Changes of the configuration at run time: several at once, of one object, saved in the file or beside it.

use std::sync::atomic::{AtomicUsize, Ordering};

use model::config::PatchError;
use model::config::patch::ConfigObject;
use model::config::patch::object_edit::{ObjectEdit, ObjectPut};
use serde_json::json;

use super::*;

/// Who write at once.
const WRITERS: usize = 60;

fn patch(object: ConfigObject, patch: serde_json::Value) -> ConfigPatch {
    ConfigPatch { object, edit: ObjectEdit::Merge(patch), origin: by(), expect: None, save: None }
}

fn server(name: &str) -> ConfigObject {
    ConfigObject::Server { pool: "web".into(), name: name.into() }
}

#[tokio::test]
async fn of_many_writers_none_loses_what_it_wrote_and_none_mixes_two() {
    let world = ControlFixture::start(TEXT, None).await;
    let refused = Arc::new(AtomicUsize::new(0));
    let mut tasks = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let control = world.control.clone();
        let refused = Arc::clone(&refused);
        tasks.spawn(async move {
            let pool = format!("[pool.w{writer}]\nservers = [\"10.1.0.1:80\"]\n");
            if writer % 2 == 0 {
                let key = format!("w{writer}");
                let new = json!({ "pool": { key: { "servers": ["10.1.0.1:80"] } } });
                return control.patch(patch(ConfigObject::Root, new)).await.unwrap().generation;
            }
            loop {
                // The change names the generation that it is based on, and is rejected if another one is active.
                let snapshot = control.state();
                let text = format!("{}{pool}", snapshot.text);
                let change = ConfigChange { expect: Some(snapshot.generation), ..change(&text) };
                match control.apply(change).await {
                    Ok(applied) => return applied.generation,
                    Err(ApplyError::Stale { .. }) => {
                        refused.fetch_add(1, Ordering::Relaxed);
                        tokio::task::yield_now().await;
                    }
                    Err(error) => panic!("{error}"),
                }
            }
        });
    }
    let mut generations = tasks.join_all().await;
    generations.sort_unstable();
    let expected: Vec<u64> = (2..).take(WRITERS).collect();
    assert_eq!(generations, expected, "each has a generation of its own");
    let snapshot = world.control.state();
    assert_eq!(snapshot.generation, expected[WRITERS - 1]);
    for writer in 0..WRITERS {
        assert!(snapshot.config.pools.contains_key(&format!("w{writer}")), "{writer} was lost");
    }
    assert_eq!(snapshot.config.pools.len(), WRITERS + 1);
    assert!(refused.load(Ordering::Relaxed) > 0, "nobody met another: nothing was shown");
}

#[tokio::test]
async fn a_patch_is_checked_like_the_file_and_touches_its_object_alone() {
    let world = ControlFixture::start(TEXT, None).await;
    let before = world.control.state();
    let done = world.control.patch(patch(server("a"), json!({ "weight": 7 }))).await.unwrap();
    assert_eq!((done.generation, done.saved), (2, None));
    let after = world.control.state();
    assert_eq!(after.server("web", "a").unwrap().weight.get(), 7);
    assert_eq!(after.server("web", "a").unwrap().id, before.server("web", "a").unwrap().id);
    assert!(Arc::ptr_eq(&before.config.services["shop"], &after.config.services["shop"]));
    let same = world.control.patch(patch(server("a"), json!({ "weight": 7 }))).await.unwrap();
    assert!(same.generation == 2 && same.diff.is_empty());
    let wrong = world.control.patch(patch(server("a"), json!({ "weigth": 7 }))).await;
    let Err(ApplyError::Invalid(findings)) = wrong else { panic!("{wrong:?}") };
    assert!(findings.to_string().contains("weight"), "{findings}");
    let stale = ConfigPatch { expect: Some(1), ..patch(server("a"), json!({ "weight": 8 })) };
    let stale = world.control.patch(stale).await;
    assert!(matches!(stale, Err(ApplyError::Stale { expected: 1, found: 2 })), "{stale:?}");
    let none = world.control.patch(patch(server("z"), json!({ "weight": 8 }))).await;
    assert!(matches!(none, Err(ApplyError::Patch(PatchError::Unknown { .. }))), "{none:?}");
    let records = world.control.read_audit(0).await.unwrap().records;
    assert_eq!((records.len(), records[0].who.as_str()), (1, "tester"));
}

/// A daemon with a file that sets how changes are saved.
async fn start_with_write_back(scratch: &Scratch, how: &str) -> (ControlFixture, PathBuf, String) {
    let file = scratch.path().join("t.toml");
    let state = scratch.path().join("state");
    let text = format!(
        "# shop\n{TEXT}[global]\ncontrol = {{ state = \"{}\", write-back = \"{how}\" }}\n",
        state.display()
    );
    std::fs::write(&file, &text).unwrap();
    (again(scratch, &file).await, file, text)
}

/// The daemon started from its file, as `run` does it.
async fn again(scratch: &Scratch, file: &Path) -> ControlFixture {
    let text = std::fs::read_to_string(file).unwrap();
    let events = EventLog::quiet();
    let laid = crate::control::config_overlay::apply_overlay(&text, "t.toml", &events);
    let base = Some(text.as_str().into());
    let fake = FakeEngine::default();
    let parts = ActorParts {
        engine: Arc::new(fake.clone()),
        listeners: fake.listeners(2),
        workers: 2,
        state: Some(scratch.path().join("state")),
        file: Some(file.to_owned()),
        predecessor: None,
        events: events.clone(),
    };
    let change = ConfigChange { base, ..change(&laid) };
    let StartedControl { control, actor } = ControlActor::start(parts, change).await.unwrap();
    tokio::spawn(actor.run());
    ControlFixture { fake, control, events }
}

#[tokio::test]
async fn into_the_file_go_changes_with_its_comments_and_come_out_with_an_undo() {
    let scratch = Scratch::new("changing").unwrap();
    let (world, file, text) = start_with_write_back(&scratch, "file").await;
    let written = || std::fs::read_to_string(&file).unwrap();
    let done = world.control.patch(patch(server("b"), json!({ "weight": 2 }))).await.unwrap();
    assert_eq!(done.saved.as_deref(), file.canonicalize().unwrap().to_str());
    assert_eq!(written(), text.replace("10.0.0.2:80\"", "10.0.0.2:80\", weight = 2"));
    assert_eq!(world.control.state().drift, None);
    world.control.undo(None, by()).await.unwrap();
    assert_eq!(written(), text);
    world.control.rollback(Some(2), None, by()).await.unwrap();
    assert!(written().contains("weight = 2"));
    let aside = ConfigPatch { save: Some(false), ..patch(server("b"), json!({ "weight": 3 })) };
    assert_eq!(world.control.patch(aside).await.unwrap().saved, None);
    assert!(written().contains("weight = 2"));
    let drift = world.control.state().drift.clone().unwrap();
    assert_eq!(
        (drift.keys.join(" "), drift.edited, drift.saved),
        ("pool.web.servers".into(), false, false)
    );
    // Changes that another program made meanwhile are not overwritten.
    std::fs::write(&file, format!("{}# by hand\n", written())).unwrap();
    let differs = world.control.patch(patch(server("b"), json!({ "weight": 4 }))).await;
    assert!(matches!(differs, Err(ApplyError::FileDiffers(_))), "{differs:?}");
    assert_eq!(world.control.state().server("web", "b").unwrap().weight.get(), 3);
    // Applying the file's own text writes nothing.
    world.apply(&written()).await.unwrap();
    assert_eq!(
        (world.control.state().drift.clone(), written().ends_with("# by hand\n")),
        (None, true)
    );
}

#[tokio::test]
async fn beside_the_file_changes_outlive_restarts_until_the_file_has_another_word() {
    let scratch = Scratch::new("changing").unwrap();
    let (world, file, text) = start_with_write_back(&scratch, "overlay").await;
    let mine = json!({ "balance": "random", "timeout": { "idle": "9s" } });
    world.control.patch(patch(ConfigObject::Pool("web".into()), mine)).await.unwrap();
    let drift = world.control.state().drift.clone().unwrap();
    assert!(
        drift.saved && !drift.edited && drift.keys == ["pool.web.balance", "pool.web.timeout"],
        "{drift:?}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "the file is the tool's");
    let in_force = world.control.state().text.clone();
    let world = again(&scratch, &file).await;
    assert_eq!((&*world.control.state().text, world.control.state().generation), (&*in_force, 2));
    // The tool writes another balance.
    let other = text.replace("[pool.web]", "[pool.web]\nbalance = \"source\"");
    std::fs::write(&file, &other).unwrap();
    ticked(&world, |world| world.control.state().drift.as_ref().is_some_and(|it| it.edited)).await;
    let world = again(&scratch, &file).await;
    let config = world.control.state().config.clone();
    assert_eq!(config.pools["web"].timeout.idle, Duration::from_secs(9));
    assert_eq!(world.control.state().drift.clone().unwrap().keys, ["pool.web.timeout"]);
    assert!(world.whats().contains(&"overlay-ended"));
    // The file takes it back: the text that it once replaced does not return.
    std::fs::write(&file, &text).unwrap();
    let world = again(&scratch, &file).await;
    assert_eq!(world.control.state().drift.clone().unwrap().keys, ["pool.web.timeout"]);
    // A configuration that equals the file's leaves no overlay.
    world.apply(&text).await.unwrap();
    assert!(!scratch.path().join("state/overlay.json").exists());
    assert_eq!(world.control.state().drift, None);
}

async fn ticked(world: &ControlFixture, so: impl Fn(&ControlFixture) -> bool) {
    for _ in 0..500 {
        world.control.tick().await;
        world.control.generations().await.unwrap();
        if so(world) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it did not come");
}

#[tokio::test]
async fn objects_are_made_replaced_and_removed_by_name() {
    let world = ControlFixture::start(TEXT, None).await;
    let order = |object, edit| ConfigPatch { edit, ..patch(object, json!({})) };
    let put = |value, must_be_new| {
        ObjectEdit::Put(ObjectPut { value, must_be_new, ..ObjectPut::default() })
    };
    let address = json!({ "address": "127.0.0.1:9" });
    let made = order(server("fresh"), put(address.clone(), true));
    let done = world.control.patch(made.clone()).await.unwrap();
    assert!(done.created && done.confirmed, "{done:?}");
    assert!(world.control.state().server("web", "fresh").is_some());
    let again = world.control.patch(made).await.unwrap_err();
    assert!(matches!(again, ApplyError::Patch(PatchError::Exists { .. })), "{again:?}");
    let weight = json!({ "address": "127.0.0.1:9", "weight": 7 });
    let done = world.control.patch(order(server("fresh"), put(weight, false))).await.unwrap();
    assert!(!done.created);
    let stale = ConfigPatch { expect: Some(1), ..order(server("fresh"), ObjectEdit::Remove) };
    let refused = world.control.patch(stale).await;
    assert!(matches!(refused, Err(ApplyError::Stale { .. })), "{refused:?}");
    world.control.patch(order(server("fresh"), ObjectEdit::Remove)).await.unwrap();
    assert!(world.control.state().server("web", "fresh").is_none());
    // A pool that a service needs stays.
    let needed = order(ConfigObject::Pool("web".into()), ObjectEdit::Remove);
    let refused = world.control.patch(needed).await;
    assert!(matches!(refused, Err(ApplyError::Invalid(_))), "{refused:?}");
}
