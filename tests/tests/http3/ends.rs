//! How connections end: gracefully when the program stops or hands over, and at their limits.

use rustix::process::Signal;
use serde_json::json;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::servers::{self, addresses};

use crate::authority::{Http3Authority, Http3Client};

/// The last stream that a client could open.
const LAST: u64 = (1 << 62) - 4;

/// Starts a request and orders a shutdown. Checks that the request is answered and that the client receives both
/// GOAWAYs.
fn in_two_steps(client: &mut Http3Client, order: impl FnOnce()) {
    let stream = client.does(json!({ "do": "begin", "path": "/echo" }));
    // This later request was answered, so the balancer has received the earlier one too.
    assert_eq!(client.get("/")["status"], 200);
    order();
    let told = client.does(json!({ "do": "goaways", "count": 2 }));
    assert_eq!(told, json!([LAST, stream.as_u64().unwrap() + 8]), "two were taken");
    let order = json!({ "do": "finish", "stream": stream, "body": "the rest" });
    let answer = client.does(order);
    assert_eq!((&answer["status"], &answer["text"]), (&json!(200), &json!("the rest")), "{answer}");
    assert_eq!(client.ended(), 0x100, "no error");
}

#[test]
fn a_drain_is_announced_in_two_steps() {
    let ours = Http3Authority::new();
    let origins = [servers::origin("a")];
    let balancer = TestBalancer::start(&ours.setup(&addresses(&origins), ""));
    let mut client = ours.client(balancer.front());
    in_two_steps(&mut client, || balancer.sigterm());
    drop(client);
    assert_eq!(balancer.wait_for_exit().code, Some(0));
}

#[test]
fn an_old_connection_is_ended_in_order() {
    let ours = Http3Authority::new();
    let origins = [servers::origin("a")];
    let balancer = TestBalancer::start(&ours.setup(&addresses(&origins), ", age = \"1s\""));
    in_two_steps(&mut ours.client(balancer.front()), || {});
    balancer.report_when("counted", |report| {
        report.total.limits.iter().any(|one| one.name == "http3-aged" && one.count.total == 1)
    });
}

#[test]
fn a_takeover_breaks_no_request() {
    let ours = Http3Authority::new();
    let origins = [servers::origin("a")];
    let setup = ours.setup(&addresses(&origins), "").global("drain = \"1m\"\nworkers = 2\n");
    let front = setup.fronts()[0];
    let place = CliEnvironment::new(&setup);
    let mut old = place.start();
    let mut client = ours.client(front);
    let mut successor = None;
    in_two_steps(&mut client, || {
        old.signal(Signal::USR2);
        successor = Some(place.wait_for_other_pid(old.pid()));
        // The new process has the sockets, and passes the packets of the old process's connections on to it.
        assert_eq!(ours.client(front).get("/")["status"], 200);
    });
    drop(client);
    assert!(old.wait().success(), "{}", old.output());
    assert_eq!(ours.client(front).get("/")["status"], 200);
    successor.unwrap().end();
}

#[test]
fn a_reload_leaves_connections_alone() {
    let ours = Http3Authority::new();
    let origins = [servers::origin("a"), servers::origin("b")];
    let mut balancer = TestBalancer::start(&ours.setup(&[origins[0].address()], ""));
    let mut client = ours.client(balancer.front());
    assert_eq!(client.get("/")["head"]["x-origin"], "a");
    let changed = balancer.setup().without_server("a").server("b", origins[1].address(), "");
    balancer.reload(&changed);
    assert_eq!(client.get("/")["head"]["x-origin"], "b");
    assert_eq!(client.does(json!({ "do": "goaways", "count": 0 })), json!([]));
}
