//! Automatic captures: with a slow server, the capture appears, and `explain trace` names the server.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use api::types::Captures;
use tests::e2e::balancer::{figure, is_long};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::client::HttpClient;
use tests::e2e::{load, servers, wait};
use tests::skip::skip;

use super::setup::server;

/// A secret that no file may contain.
const SECRET: &str = "c2VjcmV0LW9mLXRoZS10ZXN0";

fn captures(place: &CliEnvironment) -> Captures {
    let said = place.run_verb_ok(&["capture", "list", "--json"]);
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

/// The only capture of a rule, once it exists.
fn captured(place: &CliEnvironment, rule: &str) -> (PathBuf, String) {
    wait::until_some(&format!("a capture by {rule}"), || {
        let found = captures(place);
        assert_eq!(found.problem, None);
        let of_rule =
            found.captures.into_iter().find(|one| one.rule == rule && !one.reason.is_empty())?;
        Some((of_rule.file.into(), of_rule.reason))
    })
}

fn ask(client: &mut HttpClient, target: &str) -> u16 {
    client.send(format!(
        "GET {target} HTTP/1.1\r\nHost: shop.example\r\nAuthorization: Basic {SECRET}\r\nCookie: a={SECRET}\r\n\r\n"
    ));
    client.read_answer().status()
}

/// The result of `explain trace`: each connection's server address, and the owner and code of its most significant
/// cause.
fn explained(place: &CliEnvironment, file: &Path) -> Vec<(String, String, String)> {
    let said = place.run_verb_ok(&["explain", "trace", "--json", file.to_str().unwrap()]);
    let report: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let connections = report["connections"].as_array().unwrap();
    let each = connections.iter().map(|one| {
        let at = format!("{}:{}", text(&one["server"]["address"]), one["server"]["port"]);
        let first = &one["verdict"]["most_significant"];
        (at, text(&first["owner"]), text(&first["code"]))
    });
    each.collect()
}

#[test]
fn a_slow_server_is_captured_on_both_sides_and_named() {
    if !rustix::process::geteuid().is_root() {
        return skip("packet sockets take the right CAP_NET_RAW");
    }
    let slow = server();
    let quick = server();
    let rules = "[capture.slow]\nlatency = \"400ms\"\ncause = \"SERVER_THINK\"\ntime = \"300ms\"\npayload = \"2KiB\"\n\
                 [capture.failing]\nservice = \"shop\"\nerrors = 50\ntime = \"100ms\"\n";
    let setup = BalancerConfig::http(&[slow.address(), quick.address()])
        .global("workers = 1")
        .pool("balance = \"round-robin\"")
        .with_tables(rules);
    let place = CliEnvironment::new(&setup);
    let _process = place.start();
    let front = setup.fronts()[0];
    // Other traffic, which must not be in the capture. It opens both server connections, so the slow exchange uses a
    // connection whose SYN may be missing from the capture.
    let mut other = HttpClient::connect(front);
    for _ in 0..2 {
        assert_eq!(ask(&mut other, "/100"), 200);
    }
    wait::until("packets are kept", || {
        assert_eq!(ask(&mut other, "/100"), 200);
        captures(&place).packets_recorded > 0
    });
    assert!(captures(&place).captures.is_empty(), "nothing was slow yet");
    let mut client = HttpClient::connect(front);
    assert_eq!(ask(&mut client, "/100/900"), 200);
    let (file, about) = captured(&place, "slow");
    let by =
        [slow.address(), quick.address()].into_iter().find(|at| about.contains(&at.to_string()));
    let by = by.unwrap_or_else(|| panic!("{about}"));
    assert!(about.starts_with("slow: most of an exchange's time was SERVER_THINK"), "{about}");
    let found = explained(&place, &file);
    for at in [front, by] {
        let mine: Vec<_> = found.iter().filter(|one| one.0 == at.to_string()).collect();
        assert_eq!(mine.len(), 1, "both sides of one exchange: {found:?}");
        assert_eq!((mine[0].1.as_str(), mine[0].2.as_str()), ("server", "SERVER_THINK"));
    }
    joined(&place, &file);
    let bytes = std::fs::read(&file).unwrap();
    let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(
        has("exchange ") && has("GET /100/900"),
        "the exchange is named, and its head is there"
    );
    assert!(!has(SECRET) && !has("c2VjcmV0"), "no secret is stored");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    wait::until("it is told", || place.count_events("capture-made") == 1);
    assert_eq!(ask(&mut client, "/100/900"), 200);
    assert_eq!(captures(&place).captures.len(), 1, "the next one waits");
    by_hand_and_by_failures(&place, &setup);
}

/// Both connections are joined: the time that the client's side attributes to the server belongs to the server, not to
/// the balancer.
fn joined(place: &CliEnvironment, file: &Path) {
    let said = place.run_verb_ok(&["explain", "trace", "--json", "--join", file.to_str().unwrap()]);
    let story: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let all = story["transactions"].as_array().unwrap();
    assert_eq!((all.len(), &story["unmatched"]), (1, &0.into()), "{story:#}");
    let owner = |name: &str| all[0]["owners"][name].as_f64().unwrap();
    // The server's first acknowledgement may be delayed, by up to 200 ms: where it is the only one, that is nobody's.
    let others = owner("network") + owner("balancer") + owner("client");
    assert!(owner("server") >= 0.65 && others <= 0.15, "{story:#}");
    assert_eq!(all[0]["title"], "GET /100/900", "{story:#}");
}

/// Two more captures: one started by an operator, and one because no server is available.
fn by_hand_and_by_failures(place: &CliEnvironment, setup: &BalancerConfig) {
    let said = place.run_verb(&["capture", "start", "slwo"]);
    assert!(said.code == 1 && said.stderr.contains("there are failing, slow"), "{said:?}");
    place.run_verb_ok(&["capture", "start", "slow"]);
    wait::until("the one that was ordered", || captures(place).captures.len() == 2);
    let shown = place.run_verb_ok(&["capture", "show"]).stdout;
    assert!(shown.contains("slow: ordered by uid 0") && shown.contains("explain trace"), "{shown}");
    place.run_verb_ok(&["server", "disable", "web/*"]);
    let front = setup.fronts()[0];
    wait::until("a capture of failures", || {
        for _ in 0..10 {
            assert_eq!(HttpClient::connect(front).get("/100").status(), 503);
        }
        captures(place).captures.iter().any(|one| one.rule == "failing")
    });
    let (_, about) = captured(place, "failing");
    assert!(about.contains("exchanges failed in 10 s, above 50 %"), "{about}");
}

/// The processor time of the thread of this name, in nanoseconds.
fn ran(pid: u32, name: &str) -> Option<u64> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let mut of_name = tasks.filter(|task| {
        let comm = std::fs::read_to_string(task.path().join("comm"));
        comm.is_ok_and(|comm| comm.trim() == name)
    });
    let stat = std::fs::read_to_string(of_name.next()?.path().join("schedstat")).ok()?;
    stat.split(' ').next()?.parse().ok()
}

/// Prints the cost per packet. The only assertion is that packets were captured.
#[test]
fn what_keeping_a_packet_costs() {
    if !rustix::process::geteuid().is_root() {
        return skip("packet sockets take the right CAP_NET_RAW");
    }
    let origins = [servers::origin("a")];
    let rule = "[capture.slow]\nlatency = \"1h\"\n";
    let setup = BalancerConfig::http(&servers::addresses(&origins)).with_tables(rule);
    let place = CliEnvironment::new(&setup);
    let process = place.start();
    let mut client = HttpClient::connect(setup.fronts()[0]);
    wait::until("packets are kept", || {
        client.get("/");
        captures(&place).packets_recorded > 0
    });
    let requests = if is_long() { 200_000 } else { 500 };
    let pid = process.pid();
    let before = captures(&place).packets_recorded;
    let began = ran(pid, "capture").unwrap();
    let load = load::start(load::paced(
        load::get_plan(setup.fronts()[0], "/", 8),
        Duration::ZERO,
        requests,
    ));
    assert_eq!(load.wait().answered, requests);
    wait::until("the last packets are kept", || {
        captures(&place).packets_recorded + captures(&place).packets_dropped
            >= before + 4 * requests
    });
    let kept = captures(&place).packets_recorded - before;
    let nanos = ran(pid, "capture").unwrap() - began;
    assert!(kept > 0);
    figure(format_args!(
        "keeping packets of {requests} requests: {kept} kept, {} lost, {} ns of its thread each",
        captures(&place).packets_dropped,
        nanos / kept,
    ));
}
