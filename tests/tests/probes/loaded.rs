//! Loads that servers report shift traffic, through the balancing policy or the weight controller, in every format of
//! the report.

use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use lab::origin::{OriginKind, OriginOptions, TestOrigin};
use serde_json::Value;
use tests::e2e::balancer::{TestBalancer, program};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::dir::TestDir;
use tests::e2e::nginx::Nginx;
use tests::e2e::process::ChildProcess;
use tests::e2e::servers::{origin, start_with};
use tests::e2e::wait;

use super::fake_servers::{FakeBehaviour, FakeServer};

/// Two origins on separate addresses, and an agent beside each on a common port.
struct AgentOrigins {
    _origins: [TestOrigin; 2],
    agents: [FakeServer; 2],
    balancer: TestBalancer,
}

fn loaded(pool: &str) -> AgentOrigins {
    let at = |last: u8, port: u16| SocketAddr::from(([127, 0, 0, last], port));
    let origins = [("a", 1), ("b", 2)].map(|(name, last)| {
        start_with(OriginOptions {
            listen: at(last, 0),
            ..OriginOptions::new(name, OriginKind::Http { body: 8 })
        })
    });
    let first = FakeServer::start_at(at(1, 0), says(50));
    let second = FakeServer::start_at(at(2, first.address().port()), says(50));
    let agent = format!(
        "agent = {{ kind = \"text\", port = {}, interval = \"100ms\", timeout = \"100ms\", age = \"2s\" }}",
        first.address().port()
    );
    let setup = BalancerConfig::http(&[origins[0].address(), origins[1].address()]);
    let balancer = TestBalancer::start(&setup.pool(&format!("{pool}\n{agent}")));
    AgentOrigins { _origins: origins, agents: [first, second], balancer }
}

/// An agent that reports its free capacity in percent.
fn says(percent: u32) -> FakeBehaviour {
    FakeBehaviour::Greet(format!("{percent}% up ready\n").into_bytes())
}

/// The servers in the output of `explain server`.
fn explained(balancer: &TestBalancer) -> Vec<Value> {
    let mut command = Command::new(program());
    command.args(["explain", "server", "web", "--json", "--socket"]);
    let output = command.arg(balancer.dir().join("sock")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let whole: Value = serde_json::from_slice(&output.stdout).unwrap();
    whole["servers"].as_array().unwrap().clone()
}

/// Waits until the known loads are about these, in percent. `None`: unknown.
fn known(balancer: &TestBalancer, loads: [Option<f64>; 2]) {
    wait::until(&format!("loads {loads:?}"), || {
        let seen = explained(balancer);
        seen.iter().zip(loads).all(|(server, load)| match (server["load"].as_f64(), load) {
            (Some(seen), Some(load)) => (seen * 100.0 - load).abs() < 2.0,
            (seen, load) => seen.is_none() && load.is_none(),
        })
    });
}

/// The number of 400 requests that `a` answers.
fn answered_by_a(balancer: &TestBalancer) -> usize {
    let mut client = balancer.client();
    (0..400).filter(|_| client.get("/").field("x-origin").as_deref() == Some("a")).count()
}

// Rows: I19
#[test]
fn a_loaded_agent_sends_traffic_elsewhere_and_a_lost_one_means_nothing() {
    let AgentOrigins { _origins, agents, balancer } = loaded("balance = \"least-loaded\"");
    for (of_a, of_b) in [(10, 90), (90, 10)] {
        agents[0].change(says(of_a));
        agents[1].change(says(of_b));
        known(&balancer, [of_a, of_b].map(|free| Some(100.0 - f64::from(free))));
        let a = answered_by_a(&balancer);
        assert!(if of_a < of_b { a < 80 } else { a > 320 }, "{of_a} % free: {a} of 400");
    }
    agents[0].change(FakeBehaviour::Hang);
    agents[1].change(FakeBehaviour::Hang);
    known(&balancer, [None, None]);
    let a = answered_by_a(&balancer);
    assert!((100..300).contains(&a), "nobody is known to be loaded: {a} of 400");
}

#[test]
fn the_weight_controller_takes_weight_from_who_says_that_it_is_loaded() {
    let judge = "balance = \"round-robin\"\n\
                 dynamic-weights = { active = 0, new = 0, latency = 0, agent = 100, interval = \"100ms\" }";
    let AgentOrigins { _origins, agents, balancer } = loaded(judge);
    agents[0].change(says(5));
    agents[1].change(says(95));
    let weights = || (balancer.server("a").weight, balancer.server("b").weight);
    wait::until("a weighs at most half of b", || weights().0 * 2 <= weights().1);
    let a = answered_by_a(&balancer);
    assert!(a < 150, "{a} of 400");
    let row = &explained(&balancer)[0]["weight"]["controller"];
    assert_eq!(row["proportions"], serde_json::json!([0, 0, 0, 100]), "{row}");
    assert!(row["calculation"]["ratios"][3].as_f64().unwrap() < 1.0, "{row}");
}

#[test]
fn answers_bring_the_load() {
    let report = "add_header endpoint-load-metrics \"TEXT cpu_utilization=0.9\" always;";
    let nginx = Nginx::with("loaded", report);
    let setup = BalancerConfig::http(&[nginx.address()]).pool("agent = { kind = \"responses\" }");
    let balancer = TestBalancer::start(&setup);
    assert_eq!(explained(&balancer)[0]["load"], Value::Null);
    balancer.client().get("/");
    wait::until("the load is known", || {
        let server = &explained(&balancer)[0];
        server["load"].as_f64().is_some_and(|load| (load - 0.9).abs() < 0.01)
            && server["load-source"] == "answer"
    });
}

// Rows: I19
#[test]
fn our_own_agent_is_understood() {
    let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let dir = TestDir::new();
    let line = free();
    let http = free();
    let script = dir.write("queue", "#!/bin/sh\necho 97\n");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(program());
    command.args(["agent", "--interval", "100ms", "--text", &line.to_string()]);
    command.args(["--http", &http.to_string(), "--script"]);
    let _agent = ChildProcess::start({
        command.arg(format!("queue={}", script.display()));
        command
    });
    let origins = [origin("a")];
    for agent in [
        format!(
            "{{ kind = \"text\", port = {}, interval = \"100ms\", timeout = \"100ms\" }}",
            line.port()
        ),
        format!(
            "{{ kind = \"orca\", port = {}, interval = \"100ms\", timeout = \"100ms\" }}",
            http.port()
        ),
    ] {
        let setup = BalancerConfig::http(&[origins[0].address()]).pool(&format!("agent = {agent}"));
        let balancer = TestBalancer::start(&setup);
        wait::until(&agent, || {
            explained(&balancer)[0]["load"].as_f64().is_some_and(|load| load > 0.96)
        });
    }
}
