//! How connections end: gracefully in two steps, or at their limits.

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::frames::{END, FrameClient, Http2Frame, WHOLE, head, kind};
use tests::e2e::servers::{self, addresses};

/// The last stream that a GOAWAY names.
fn last(frame: &Http2Frame) -> u32 {
    frame.payload[..4].iter().fold(0, |last, byte| last << 8 | u32::from(*byte)) & 0x7fff_ffff
}

/// Checks both steps of a graceful shutdown while the body of stream 1 is incomplete. `stop` starts the shutdown.
fn in_two_steps(balancer: &TestBalancer, stop: impl FnOnce(&TestBalancer)) {
    let mut client = FrameClient::connect(balancer.front());
    client.send(kind::HEADERS, WHOLE, 1, &head("POST", "/echo", &[]));
    balancer.report_when("under way", |report| report.total.requests.in_flight == 1);
    stop(balancer);
    let first = client.next_of(kind::GOAWAY).unwrap();
    assert_eq!((last(&first), first.code()), (0x7fff_ffff, 0), "no stream is lost yet");
    // A request that was sent before the client had seen the first GOAWAY.
    client.get(3, "/");
    let mut second = None;
    let mut answered = 0;
    while let Some(frame) = client.next_frame() {
        match frame.kind {
            kind::PING if frame.flags & END == 0 => {
                client.send(kind::PING, END, 0, &frame.payload);
            }
            kind::GOAWAY => {
                second = Some(last(&frame));
                client.send(kind::DATA, END, 1, b"the rest");
            }
            kind::DATA | kind::HEADERS if frame.flags & END == END => answered += 1,
            _ => {}
        }
    }
    assert_eq!(second, Some(3), "both were taken");
    assert_eq!(answered, 2, "and both were answered");
}

#[test]
fn a_drain_is_announced_in_two_steps() {
    let origins = [servers::origin("a")];
    let setup = BalancerConfig::http(&addresses(&origins)).service("http2 = \"always\"\n");
    let balancer = TestBalancer::start(&setup);
    in_two_steps(&balancer, TestBalancer::sigterm);
    assert_eq!(balancer.wait_for_exit().code, Some(0));
}

#[test]
fn an_old_connection_is_ended_in_order() {
    let origins = [servers::origin("a")];
    let lines = "http2 = { offer = \"always\", max-age = \"1s\" }\n";
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)).service(lines));
    in_two_steps(&balancer, |_| {});
    balancer.report_when("counted", |report| {
        report.total.limits.iter().any(|one| one.name == "http2-aged" && one.count.total == 1)
    });
}

#[test]
fn an_idle_connection_ends_at_its_limit() {
    let origins = [servers::origin("a")];
    let lines = "http2 = \"always\"\ntimeout = { idle = \"300ms\", header = \"300ms\" }\n";
    let balancer = TestBalancer::start(&BalancerConfig::http(&addresses(&origins)).service(lines));
    let mut client = FrameClient::connect(balancer.front());
    client.get(1, "/");
    let rest = client.read_to_end();
    assert!(rest.iter().any(|frame| frame.kind == kind::GOAWAY && frame.code() == 0), "{rest:?}");
    // The client sends no frame after the preface.
    let mut client = FrameClient::connect(balancer.front());
    assert!(client.read_to_end().iter().any(|frame| frame.kind == kind::GOAWAY));
    balancer.report_when("two", |report| {
        report.total.limits.iter().any(|one| one.name == "idle-closed" && one.count.total == 2)
    });
}
