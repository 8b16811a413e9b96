//! Hooks against real programs: told, failing, hanging, shouting, too many, and none for trouble of their own.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, configure_capability_in_ambient_set,
    set_capabilities,
};

use super::*;
use crate::util::scratch_dir::Scratch;

fn script(scratch: &Scratch, name: &str, text: &str) -> PathBuf {
    let path = scratch.path().join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

async fn ran(scratch: &Scratch, text: &str, limit: Duration) -> HookOutcome {
    let path = script(scratch, "hook", text);
    let environment = [("STEELYARD_EVENT".to_owned(), "server-down".to_owned())].into();
    child::run(&path, &environment, limit, random_seed()).await
}

const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_program_is_run_as_it_is_and_its_end_is_known() {
    let scratch = Scratch::new("hook").unwrap();
    let done = ran(&scratch, "echo \"$STEELYARD_EVENT $HOME\"", LONG).await;
    assert!(matches!(&done, HookOutcome::Done { said } if said == b"server-down \n"), "{done:?}");
    let failed = ran(&scratch, "echo no >&2; exit 3", LONG).await;
    let HookOutcome::Failed { why, said } = failed else { panic!("{failed:?}") };
    assert!(why.contains('3') && said == b"no\n", "{why}");
    let none =
        child::run(&scratch.path().join("none"), &BTreeMap::new(), LONG, random_seed()).await;
    assert!(matches!(none, HookOutcome::Failed { .. }));
}

#[tokio::test]
async fn what_hangs_is_killed_with_all_that_it_started() {
    let scratch = Scratch::new("hook").unwrap();
    let file = scratch.path().join("pid");
    let text = format!("sleep 600 &\necho $! > {}\nwait", file.display());
    let began = Instant::now();
    let ended = ran(&scratch, &text, Duration::from_millis(800)).await;
    assert!(matches!(ended, HookOutcome::TooLong { .. }), "{ended:?}");
    assert!(began.elapsed() < LONG);
    gone(&file).await;
}

#[tokio::test]
async fn what_forks_into_a_session_of_its_own_is_found() {
    let scratch = Scratch::new("hook").unwrap();
    let file = scratch.path().join("pid");
    let child = format!("echo \\$\\$ > {}; exec sleep 600", file.display());
    let text = format!(
        "setsid sh -c \"{child}\" < /dev/null > /dev/null 2>&1 &\nwhile [ ! -s {} ]; do :; done\nexit 0",
        file.display()
    );
    let ended = ran(&scratch, &text, LONG).await;
    assert!(matches!(ended, HookOutcome::Done { .. }), "{ended:?}");
    gone(&file).await;
}

/// Waits until the process whose number the file holds is no more.
async fn gone(file: &std::path::Path) {
    let pid = std::fs::read_to_string(file).unwrap();
    let alive = || {
        std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
            .is_ok_and(|stat| !stat.contains(") Z "))
    };
    for _ in 0..500 {
        if !alive() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{pid} lives");
}

#[tokio::test]
async fn what_shouts_is_heard_in_part() {
    let scratch = Scratch::new("hook").unwrap();
    let done = ran(&scratch, "head -c 3000000 /dev/zero", LONG).await;
    assert!(matches!(&done, HookOutcome::Done { said } if said.len() == 16 * 1024), "{done:?}");
}

#[tokio::test]
async fn what_is_too_much_is_dropped_and_reported() {
    let events = EventLog::quiet();
    let hook = EventHook {
        name: "h".into(),
        run: "/bin/true".into(),
        on: vec!["all"],
        timeout: LONG,
        at_once: 1,
        queue: 1,
    };
    events.info("server-down", "x");
    let event = Arc::new(events.recent()[0].clone());
    let mut bench = HookQueue::default();
    let mut running = JoinSet::new();
    for _ in 0..3 {
        enqueue_event(&events, &hook, &mut bench, Arc::clone(&event), &mut running);
    }
    assert_eq!((bench.running, bench.waiting.len()), (1, 1));
    let last = events.recent().pop().unwrap();
    assert_eq!(last.kind, "hook-dropped");
    assert!(wants(&hook, &event) && !wants(&hook, &last), "no hook about hooks");
    assert_eq!(events.counts(), [("hook-dropped", 1), ("server-down", 1)].into());
    while running.join_next().await.is_some() {}
}

#[tokio::test]
async fn a_program_inherits_no_capability() {
    // As a unit with AmbientCapabilities does, for this thread, which starts the program.
    let held = capabilities(None).unwrap();
    let given = CapabilitySet::NET_BIND_SERVICE;
    if !held.permitted.contains(given) {
        assert!(
            std::env::var("CI").is_err(),
            "skipped, which the gate does not accept: needs root"
        );
        return;
    }
    set_capabilities(None, CapabilitySets { inheritable: given, ..held }).unwrap();
    configure_capability_in_ambient_set(given, true).unwrap();
    let scratch = Scratch::new("hook").unwrap();
    let done =
        ran(&scratch, "while read -r line; do echo \"$line\"; done < /proc/self/status", LONG)
            .await;
    let HookOutcome::Done { said } = done else { panic!("{done:?}") };
    let said = String::from_utf8(said).unwrap();
    for set in ["CapInh", "CapAmb"] {
        let line = said.lines().find(|line| line.starts_with(set)).unwrap();
        assert!(line.ends_with("\t0000000000000000"), "{line}");
    }
    let ours = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    assert!(!ours.contains("CapAmb:\t0000000000000000"), "the daemon keeps its own");
}
