//! Reports of slow exchanges: by the command, in the API, in the metrics, and in the log under the same IDs.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tests::e2e::balancer::{TestBalancer, program};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::wait;

use super::setup::{logged, server};

fn explain(balancer: &TestBalancer, arguments: &[&str]) -> (bool, String) {
    let socket = balancer.dir().join("sock");
    let mut command = Command::new(program());
    command.args(["explain", "slow", "--socket"]).arg(socket).args(arguments);
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn the_slowest_are_explained_with_examples() {
    let quick = server();
    let slow = server();
    let setup = BalancerConfig::http(&[quick.address()]).server("slow", slow.address(), "");
    let balancer = TestBalancer::start(&setup.global("sample = 4"));
    let mut client = balancer.client();
    for _ in 0..60 {
        assert_eq!(client.get("/5").status(), 200);
    }
    assert_eq!(client.get("/5/300").status(), 200);
    let line = logged(&balancer, "/5/300", 1).remove(0);
    let json = wait::until_some("the slow exchange is explained", || {
        let (good, text) = explain(&balancer, &["shop", "--json", "--share", "2"]);
        assert!(good, "{text}");
        let value: Value = serde_json::from_str(&text).unwrap();
        (value["services"][0]["examples"][0]["id"] == line["id"]).then_some(value)
    });
    let service = &json["services"][0];
    assert_eq!(service["reasons"][0]["limit"], "SERVER_THINK", "{service:#}");
    assert_eq!(service["examples"][0]["server"], line["server"]);
    assert!(service["exchanges"].as_f64().unwrap() >= 40.0, "{service:#}");
    let seconds = service["seconds"].as_f64().unwrap();
    for parts in ["owners", "reasons"] {
        let all = service[parts].as_array().unwrap();
        let sum: f64 = all.iter().map(|part| part["seconds"].as_f64().unwrap()).sum();
        assert!((sum - seconds).abs() < 1e-6, "{parts} sum to {sum} of {seconds}: {service:#}");
    }
    let (_, text) = explain(&balancer, &["--since", "1m"]);
    for part in
        ["shop: the slowest 1 %", "SERVER_THINK", "127.0.0.0/24", line["id"].as_str().unwrap()]
    {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let (_, text) = explain(&balancer, &["--from", "192.0.2.0/24"]);
    assert!(text.contains("No exchange was measured"), "{text}");
    let (good, text) = explain(&balancer, &["shop", "--server", "web/nobody"]);
    assert!(!good && text.contains("web/nobody"), "{text}");
    let (good, text) = explain(&balancer, &["nobody"]);
    assert!(!good && text.contains("there are shop"), "{text}");
}

#[test]
fn a_connection_without_http_is_explained_as_a_whole() {
    let origin = server();
    let balancer = TestBalancer::start(&BalancerConfig::tcp(&[origin.address()]));
    let mut client = balancer.client();
    wait::linger(Duration::from_millis(300));
    assert_eq!(client.get("/5/400").status(), 200);
    drop(client);
    let line = balancer.wait_for_log_line("the connection", |line| line["protocol"] == "TCP");
    assert_eq!(
        (&line["owner"], &line["limit"]),
        (&"server".into(), &"SERVER_THINK".into()),
        "{line:#}"
    );
}

#[test]
fn nothing_is_measured_where_it_is_off() {
    let origin = server();
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&[origin.address()]).global("sample = \"off\""));
    assert_eq!(balancer.client().get("/5/200").status(), 200);
    let line = logged(&balancer, "/5/200", 1).remove(0);
    assert_eq!(line["owner"], Value::Null, "{line:#}");
    let (good, text) = explain(&balancer, &[]);
    assert!(good && text.contains("Nothing is measured"), "{text}");
}
