//! The Autobahn test suite for WebSockets through the balancer: the suite's client in front, and an echo server of the
//! same library behind.
//!
//! The suite is written in Python 2, which current systems lack, and takes minutes. It therefore runs only on request:
//! `tests/prove autobahn` installs an interpreter and runs the cases `*`. The gate runs the cases of
//! `tests/traffic/frames.rs` instead.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "the whole program is a test, which the lints cannot see"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tests::e2e::balancer::{TestBalancer, figure};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::dir::TestDir;
use tests::e2e::process::ChildProcess;
use tests::e2e::servers::reserve_port;
use tests::e2e::target::tool;
use tests::e2e::tools::program;
use tests::e2e::wait;

#[test]
fn every_case_ends_as_it_does_without_us() {
    let Ok(asked) = std::env::var("STEELYARD_AUTOBAHN") else {
        println!("not asked for: tests/prove autobahn");
        return;
    };
    let cases: Vec<&str> = asked.split(',').collect();
    let dir = TestDir::new();
    let through = reserve_port();
    let direct = reserve_port();
    let setup = BalancerConfig::http(&[through.address()]).quiet();
    let front = setup.fronts()[0];
    let mut command = Command::new(tool("autobahn/bin/python"));
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/websockets.py"));
    command.args([through.address(), front, direct.address()].map(|at| at.port().to_string()));
    let mut server = ChildProcess::start(command);
    for port in [&through, &direct] {
        wait::until("the echo server accepts", || {
            assert!(server.try_wait().is_none(), "{}", server.output());
            std::net::TcpStream::connect(port.address()).is_ok()
        });
    }
    let balancer = TestBalancer::start(&setup);
    let spec = json!({
        "outdir": dir.join("report"),
        "servers": [
            { "agent": "through", "url": format!("ws://{front}") },
            { "agent": "direct", "url": format!("ws://{}", direct.address()) },
        ],
        "cases": cases, "exclude-cases": [], "exclude-agent-cases": {},
    });
    let file = dir.write("spec.json", spec.to_string());
    // The fuzzing client ends together with this test.
    let mut command = Command::new(program("setpriv"));
    command.args(["--pdeathsig", "KILL"]).arg(tool("autobahn/bin/wstest"));
    let output = command.args(["-m", "fuzzingclient", "-s"]).arg(file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let index = std::fs::read_to_string(dir.join("report/index.json")).unwrap();
    let index: Value = serde_json::from_str(&index).unwrap();
    let of = |agent: &str| -> BTreeMap<String, (String, String)> {
        let cases = index[agent].as_object().unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let both = |case: &Value| (text(&case["behavior"]), text(&case["behaviorClose"]));
        cases.iter().map(|(name, case)| (name.clone(), both(case))).collect()
    };
    let through = of("through");
    let direct = of("direct");
    let mut sums: BTreeMap<&str, usize> = BTreeMap::new();
    for (behaviour, _) in through.values() {
        *sums.entry(behaviour).or_default() += 1;
    }
    figure(format_args!("autobahn: {} cases through us: {sums:?}", through.len()));
    let differ: Vec<_> =
        through.iter().filter(|(name, ended)| direct.get(*name) != Some(ended)).collect();
    figure(format_args!("autobahn: {} end otherwise than without us {differ:?}", differ.len()));
    let failed = |ended: &(String, String)| ended.0 == "FAILED" || ended.1 == "FAILED";
    let worse = differ.iter().filter(|(_, ended)| failed(ended)).count();
    assert!(!through.is_empty() && worse == 0, "{differ:?}");
    assert_eq!(balancer.report_when_settled().total.requests.unaccounted, 0);
}
