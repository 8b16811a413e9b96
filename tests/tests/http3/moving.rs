//! Validation of a client's address: an unvalidated address is not used, whether it is forged on the wire or between
//! processes.

use std::net::Ipv4Addr;
use std::process::Command;

use serde_json::{Value, json};
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::recording_server::RecordingServer;
use tests::e2e::servers::{self, addresses, reserve_port_at};
use tests::e2e::tools::program;
use tests::skip::skip;

use crate::authority::{Http3Authority, Http3Client};

/// A service whose rule treats clients from 127.0.0.77 as administrators.
fn guarded(ours: &Http3Authority, recorder: &RecordingServer) -> BalancerConfig {
    let rule = "rule = [\n\
        { name = \"admin\", when = { path = \"/admin\", not = { client = \"127.0.0.77\" } }, deny = true }]\n";
    let setup = ours.setup_with(&[recorder.address()], "", rule);
    setup.listen(vec![reserve_port_at(Ipv4Addr::LOCALHOST.into())])
}

fn asks(client: &mut Http3Client, path: &str) -> Value {
    client.get(path)["status"].clone()
}

/// The clients' addresses in the log's lines for a path.
fn logged(balancer: &TestBalancer, path: &str, count: usize) -> Vec<String> {
    let of = |line: &Value| line["target"] == path;
    balancer.wait_for_log_line(path, |line| {
        of(line) && balancer.log().iter().filter(|one| of(one)).count() == count
    });
    let lines = balancer.log();
    lines.iter().filter(|line| of(line)).map(|line| line["client"].to_string()).collect()
}

#[test]
fn a_forged_source_is_seen_by_no_rule_no_log_and_no_server() {
    let ours = Http3Authority::new();
    let recorder = RecordingServer::start();
    let balancer = TestBalancer::start(&guarded(&ours, &recorder));
    let mut client = ours.client(balancer.front());
    assert_eq!(asks(&mut client, "/admin"), 403);
    let forge = |path: &str| json!({ "do": "forge", "from": "127.0.0.77", "path": path });
    // The second request arrives after QUIC has followed the first one to the forged address.
    let streams = ["/first", "/admin", "/last"].map(|path| client.does(forge(path)));
    let ends = streams.map(|stream| {
        let answer = client.does(json!({ "do": "wait-answer", "stream": stream }));
        answer["status"].clone()
    });
    assert_eq!(ends, [json!(200), json!(403), json!(200)]);
    for path in ["/first", "/last"] {
        let told = logged(&balancer, path, 1);
        assert!(told[0].starts_with("\"127.0.0.1:"), "{told:?}");
    }
    let seen = recorder.so_far().requests;
    assert!(seen.iter().all(|one| one.field("x-forwarded-for").as_deref() == Some("127.0.0.1")));
    let metrics = balancer.metrics();
    let moved =
        metrics.lines().find(|line| line.starts_with("steelyard_service_http3_moved_total{"));
    assert!(moved.is_some_and(|line| line.ends_with(" 0")), "{moved:?}");
}

#[test]
fn a_client_that_has_moved_is_known_by_its_new_port_once_it_has_answered_there() {
    let ours = Http3Authority::new();
    let origins = [servers::origin("a")];
    let balancer = TestBalancer::start(&ours.setup(&addresses(&origins), ""));
    let mut client = ours.client(balancer.front());
    let begun = client.does(json!({ "do": "begin", "path": "/echo?begun" }));
    let port = client.does(json!({ "do": "move" }));
    // The first responses on the new path validate the new port.
    for _ in 0..3 {
        assert_eq!(asks(&mut client, "/bytes/5000"), 200);
    }
    assert_eq!(asks(&mut client, "/?after"), 200);
    let finish = json!({ "do": "finish", "stream": begun, "body": "x" });
    assert_eq!(client.does(finish)["status"], 200);
    let new = format!(":{port}\"");
    assert!(logged(&balancer, "/?after", 1)[0].ends_with(&new));
    let begun = logged(&balancer, "/echo?begun", 1);
    assert!(
        !begun[0].ends_with(&new),
        "a request keeps the address with which it began: {begun:?}"
    );
}

/// Names of the sockets through which this process receives packets from other processes.
fn relays(pid: u32) -> Vec<String> {
    let own: Vec<String> = std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .filter_map(|file| std::fs::read_link(file.ok()?.path()).ok()?.to_str().map(str::to_owned))
        .collect();
    let all = std::fs::read_to_string("/proc/net/unix").unwrap();
    all.lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace().skip(6);
            let inode = words.next()?;
            let name = words.next()?;
            let ours = own.contains(&format!("socket:[{inode}]"));
            (ours && name.starts_with("@steelyard-quic-")).then(|| name[1..].to_owned())
        })
        .collect()
}

#[test]
fn packets_that_another_user_hands_over_are_refused_and_counted() {
    if !rustix::process::geteuid().is_root() {
        return skip("another user can be had by root alone");
    }
    let ours = Http3Authority::new();
    let origins = [servers::origin("a")];
    let balancer = TestBalancer::start(&ours.setup(&addresses(&origins), ""));
    let names = relays(balancer.process().pid());
    assert!(!names.is_empty());
    let script = "import os,socket,sys\n\
        os.setuid(65534)\n\
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n\
        [s.sendto(bytes(1300), '\\0' + name) for name in sys.argv[1:]]\n";
    let mut command = Command::new(program("python3"));
    assert!(command.args(["-c", script]).args(&names).status().unwrap().success());
    balancer.report_when("refused", |report| {
        let mut limits = report.total.limits.iter();
        limits.any(|one| one.name == "quic-refused" && one.count.total == names.len() as u64)
    });
    assert_eq!(ours.client(balancer.front()).get("/")["status"], 200);
}
