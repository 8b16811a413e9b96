//! Hooks: an empty pool is reported once, and so is its recovery. Hooks that hang, fork or flood are limited, and an
//! exhausted resource is reported once.

use std::os::unix::fs::PermissionsExt;

use api::types::Report;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::tools::curl_text;
use tests::e2e::wait;

// Rows: I14
#[test]
fn a_program_is_started_once_when_a_pool_is_empty_and_once_when_it_is_back() {
    let origins = [origin("a"), origin("b")];
    let setup = BalancerConfig::http(&addresses(&origins));
    let place = CliEnvironment::new(&setup);
    let told = place.dir().join("told");
    let text =
        format!("#!/bin/sh\necho \"$STEELYARD_EVENT $STEELYARD_POOL\" >> {}\n", told.display());
    let hook = place.dir().write("hook", text);
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let hook = format!(
        "[[global.hook]]\nname = \"page\"\nrun = \"{}\"\non = [\"pool-empty\", \"pool-back\"]\nmax-concurrent = 1",
        hook.display()
    );
    place.write(&setup.with_tables(&hook));
    let _process = place.start();
    for _ in 0..2 {
        place.run_verb_ok(&["server", "drain", "web/a"]);
        place.run_verb_ok(&["server", "disable", "web/b"]);
        place.run_verb_ok(&["server", "enable", "web/*"]);
    }
    let expected = "pool-empty web\npool-back web\n".repeat(2);
    let said = || std::fs::read_to_string(&told).unwrap_or_default();
    wait::until("the program was told", || said().len() >= expected.len());
    assert_eq!(said(), expected, "each once, in order");
}

/// The number of processes with this word in their command line.
fn running(word: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok());
    lines.filter(|line| line.split(|b| *b == 0).any(|one| one == word.as_bytes())).count()
}

#[test]
fn programs_that_hang_fork_and_flood_are_held() {
    let origins = [origin("a"), origin("b")];
    let setup = BalancerConfig::http(&addresses(&origins));
    let place = CliEnvironment::new(&setup);
    // An unusual duration, so that the test finds its own processes by it.
    let nap = format!("98{}", 700_000 + std::process::id());
    let mut hooks = String::new();
    for (name, script) in [
        ("hang", format!("exec sleep {nap}")),
        ("fork", format!("sleep {nap} & setsid sleep {nap} < /dev/null > /dev/null 2>&1 & exit 0")),
        ("flood", "exec head -c 50000000 /dev/zero".to_owned()),
    ] {
        let file = place.dir().write(name, format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        hooks.push_str(&format!(
            "[[global.hook]]\nname = \"{name}\"\nrun = \"{}\"\non = [\"server-drain\"]\ntimeout = \"2s\"\n",
            file.display()
        ));
    }
    place.write(&setup.with_tables(&hooks));
    let process = place.start();
    place.run_verb_ok(&["server", "drain", "web/a"]);
    // A child of the hook that forks holds the output open, so this hook reaches the limit too.
    wait::until("two are ended at the limit", || place.count_events("hook-timed-out") == 2);
    wait::until("one has ended by itself", || place.count_events("hook-ran") == 1);
    wait::until("nothing is left of them", || running(&nap) == 0);
    assert!(process.resident_bytes() < 300 << 20);
    place.run_verb_ok(&["server", "enable", "web/a"]);
}

#[test]
fn what_runs_short_is_reported_once_and_once_that_it_does_not() {
    let origins = [origin("a")];
    // All clients of this test share one address.
    let limit = "limit = { connections = 10, connections-per-client = 10 }";
    let setup = BalancerConfig::http(&addresses(&origins)).service(limit);
    let place = CliEnvironment::new(&setup);
    let _process = place.start();
    let client = || std::net::TcpStream::connect(setup.fronts()[0]).unwrap();
    let held: Vec<_> = (0..9).map(|_| client()).collect();
    let about = |what: &str| {
        let events = place.events().events;
        let of = events.into_iter().filter(|event| event.kind == what);
        of.filter(|event| event.about["of"] == "shop").count()
    };
    wait::until("nine of ten", || about("alarm-on") == 1);
    let shop = |report: &Report| {
        report.headroom.iter().find(|one| one.subject == "shop").map(|one| (one.used, one.limit))
    };
    wait::until("the headroom says so", || shop(&place.report()) == Some((9, 10)));
    let report = place.report();
    assert_eq!(report.headroom[0].subject, "shop", "the fullest first: {:?}", report.headroom);
    assert!(report.headroom.iter().any(|one| one.resource == "file descriptors"));
    let scraped = curl_text(&[
        "--unix-socket",
        &place.dir().join("sock").display().to_string(),
        "http://steelyard/v1/metrics",
    ]);
    let row =
        "steelyard_headroom_used_ratios{resource=\"connections\",subject=\"shop\",of=\"shop\"} 0.9";
    assert!(scraped.lines().any(|line| line == row), "{scraped}");
    drop(held);
    wait::until("none of ten", || about("alarm-off") == 1);
    assert_eq!(about("alarm-on"), 1);
}
