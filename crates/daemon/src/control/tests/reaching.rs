//! What the API may not set: programs, files of secrets that are sent, the access log's file, who may order.

use serde_json::json;

use super::*;
use model::config::patch::ConfigObject;
use model::config::patch::object_edit::ObjectEdit;

fn with(more: &str) -> String {
    format!("{TEXT}{more}\n")
}

fn global(rest: &str) -> String {
    format!("[global]\n{rest}\n{TEXT}")
}

const PROGRAM: &str = "probe = { program = \"/bin/true\" }";
const HOOK: &str = "hook = [{ name = \"h\", run = \"/bin/true\", on = [\"all\"] }]";
const ALLOW: &str = "control = { allow-programs = true }";

fn refused(result: Result<ApplyOutcome, ApplyError>, key: &str) {
    match result {
        Err(error @ ApplyError::NotPermitted { .. }) => {
            let said = error.to_string();
            assert!(said.starts_with(key) && said.contains("allow-programs"), "{said}");
        }
        other => panic!("{key}: {other:?}"),
    }
}

async fn patched(
    world: &ControlFixture,
    object: ConfigObject,
    patch: serde_json::Value,
) -> Result<ApplyOutcome, ApplyError> {
    let order = ConfigPatch {
        object,
        edit: ObjectEdit::Merge(patch),
        origin: by(),
        expect: None,
        save: None,
    };
    world.control.patch(order).await
}

#[tokio::test]
async fn the_api_sets_no_program_no_secret_and_no_log_by_any_way() {
    let world = ControlFixture::start(TEXT, None).await;
    for (text, key) in [
        (with(PROGRAM), "pool.web.probe.program"),
        (
            with("probe = { ldap = true, user = \"cn=x\", secret-file = \"/etc/shadow\" }"),
            "pool.web.probe.secret-file",
        ),
        (global(HOOK), "global.hook h"),
        (global("access-log = \"/etc/cron.d/x\""), "global.access-log.target"),
    ] {
        refused(world.apply(&text).await, key);
    }
    let server = ConfigObject::Server { pool: "web".into(), name: "a".into() };
    let probe = json!({"probe": {"program": "/bin/true"}});
    refused(patched(&world, server, probe.clone()).await, "pool.web.server.a.probe.program");
    refused(
        patched(&world, ConfigObject::Pool("web".into()), probe).await,
        "pool.web.probe.program",
    );
    let hook = json!({"global": {"hook": [{"name": "h", "run": "/bin/true", "on": ["all"]}]}});
    refused(patched(&world, ConfigObject::Root, hook).await, "global.hook h");
    for text in [global(ALLOW), global(&format!("{ALLOW}\n{HOOK}"))] {
        let error = world.apply(&text).await.unwrap_err();
        assert!(
            matches!(error, ApplyError::PermissionChanged { found: true, stays: false }),
            "{error}"
        );
    }
    assert_eq!(world.control.state().generation, 1, "nothing has changed");
    let audit = world.control.read_audit(0).await.unwrap();
    assert_eq!(audit.records.len(), 9, "each is in the record");
    assert!(audit.records.iter().all(|one| one.action == "refused" && !one.reversible));
    assert!(world.whats().contains(&"program-not-allowed"));
}

#[tokio::test]
async fn the_api_neither_shrinks_the_record_of_orders_nor_says_who_may_order() {
    let first = format!("[global]\ncontrol = {{ audit = \"1MiB\" }}\n{TEXT}");
    let world = ControlFixture::start(&first, None).await;
    for (keys, key) in [
        ("audit = \"64KiB\"", "global.control.audit"),
        ("", "global.control.audit"),
        ("audit = \"1MiB\", state = \"/tmp/other\"", "global.control.state"),
        ("audit = \"1MiB\", socket = \"/tmp/sock\"", "global.control.socket"),
        ("audit = \"1MiB\", mode = \"0666\"", "global.control.mode"),
        (
            "audit = \"1MiB\", listen = \"127.0.0.1:1\", tokens = \"/tmp/tokens\"",
            "global.control.tokens",
        ),
    ] {
        refused(world.apply(&global(&format!("control = {{ {keys} }}"))).await, key);
    }
    let patch = json!({"global": {"control": {"audit": "64KiB"}}});
    refused(patched(&world, ConfigObject::Root, patch).await, "global.control.audit");
    assert_eq!(world.control.state().generation, 1, "nothing has changed");
    assert_eq!(world.control.read_audit(0).await.unwrap().records.len(), 7);
    // The rest of it is the API's.
    world.apply(&global("control = { audit = \"1MiB\", generations = 7 }")).await.unwrap();
    let reload = ConfigChange {
        origin: ChangeOrigin::new("SIGHUP", ChangeTrigger::Reload),
        ..change(&global("control = { audit = \"2MiB\" }"))
    };
    world.control.apply(reload).await.unwrap();
    world.apply(&first).await.unwrap();
}

#[tokio::test]
async fn a_configuration_that_leaves_out_who_may_order_is_refused() {
    let all = "socket = \"/tmp/sock\", state = \"/tmp/state\", listen = \"127.0.0.1:1\", \
               certificate = \"/tmp/cert\", tokens = \"/tmp/tokens\", client-authorities = \"/tmp/ca\"";
    let first = global(&format!("control = {{ {all} }}"));
    let world = ControlFixture::start(&first, None).await;
    for (key, left_out) in [
        ("socket", "socket = \"/tmp/sock\", "),
        ("state", "state = \"/tmp/state\", "),
        ("client-authorities", ", client-authorities = \"/tmp/ca\""),
        ("tokens", ", tokens = \"/tmp/tokens\", client-authorities = \"/tmp/ca\""),
    ] {
        let text = first.replace(left_out, "");
        assert_ne!(text, first, "{left_out}");
        refused(world.apply(&text).await, &format!("global.control.{key}"));
    }
    refused(world.apply(TEXT).await, "global.control.socket");
    let patch = json!({"global": {"control": null}});
    refused(patched(&world, ConfigObject::Root, patch).await, "global.control.socket");
    assert_eq!(world.control.state().generation, 1, "nothing has changed");
    world.apply(&first.replace("10.0.0.1:80", "10.0.0.9:80")).await.unwrap();
}

#[tokio::test]
async fn what_the_file_had_goes_on_and_may_go_and_come_again() {
    let first = format!("[global]\n{HOOK}\n{TEXT}{PROGRAM}\n");
    let world = ControlFixture::start(&first, None).await;
    let other = first.replace("10.0.0.1:80", "10.0.0.9:80");
    world.apply(&other).await.unwrap();
    // Removes the objects and adds them with a new text or a rollback.
    world.apply(TEXT).await.unwrap();
    world.control.rollback(Some(1), None, by()).await.unwrap();
    world.apply(TEXT).await.unwrap();
    world.apply(&first).await.unwrap();
    for (from, to, key) in [
        (
            "program = \"/bin/true\"",
            "program = \"/bin/true\", args = [\"x\"]",
            "pool.web.probe.program",
        ),
        ("run = \"/bin/true\"", "run = \"/bin/false\"", "global.hook h"),
    ] {
        refused(world.apply(&first.replace(from, to)).await, key);
    }
}

#[tokio::test]
async fn a_rollback_brings_back_no_program_that_no_file_of_this_process_had() {
    let scratch = Scratch::new("reach").unwrap();
    let state = scratch.path().join("state");
    // The process before this one allowed it.
    let before = ControlFixture::start(&global(ALLOW), Some(&state)).await;
    before.apply(&format!("[global]\n{ALLOW}\n{HOOK}\n{TEXT}")).await.unwrap();
    drop(before);
    let world = ControlFixture::start(TEXT, Some(&state)).await;
    let error = world.control.rollback(Some(2), None, by()).await.unwrap_err().to_string();
    assert!(error.contains("allow-programs"), "{error}");
}

#[tokio::test]
async fn the_file_may_set_them_and_may_let_the_api() {
    let world = ControlFixture::start(TEXT, None).await;
    let reload = |text: String| ConfigChange {
        origin: ChangeOrigin::new("SIGHUP", ChangeTrigger::Reload),
        ..change(&text)
    };
    world.control.apply(reload(with(PROGRAM))).await.unwrap();
    refused(world.apply(&global(HOOK)).await, "global.hook h");
    world.control.apply(reload(global(ALLOW))).await.unwrap();
    world.apply(&format!("[global]\n{ALLOW}\n{HOOK}\n{TEXT}")).await.unwrap();
    // The key is the file's, both ways.
    let error = world.apply(&global(HOOK)).await.unwrap_err();
    assert!(
        matches!(error, ApplyError::PermissionChanged { found: false, stays: true }),
        "{error}"
    );
}
