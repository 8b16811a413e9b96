//! Cases of peers that stop: the behaviour, the cause that the exchange must end with, and when.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use model::cause::Cause;
use model::id::ServiceId;

use super::harness::{WorkerHarness, addresses, setting};
use super::raw::RawPeer;
use super::server::{ServerLedger, SimServer};
use super::world::ConnectReaction;

/// What is behind the server's address.
#[derive(Clone, Copy, Debug)]
enum UpstreamBehaviour {
    /// A server that behaves as requested.
    Server,
    /// A server that accepts and reads nothing.
    NotReading,
    /// No server: handshakes are not answered.
    NoListener,
}

struct SlowCase {
    name: &'static str,
    request: String,
    reads: bool,
    behind: UpstreamBehaviour,
    whole: Option<Duration>,
    cause: Cause,
    idle_after: Duration,
}

fn get(mode: &str) -> String {
    format!("GET /{mode}/200000/1 HTTP/1.1\r\nHost: shop\r\n\r\n")
}

fn put(length: usize, sent: usize) -> String {
    let head = format!("PUT /plain/1/1 HTTP/1.1\r\nHost: shop\r\nContent-Length: {length}\r\n\r\n");
    head + &"x".repeat(sent)
}

fn rows() -> Vec<SlowCase> {
    let row = |name, request: String, behind, cause, seconds| SlowCase {
        name,
        request,
        reads: true,
        behind,
        whole: None,
        cause,
        idle_after: Duration::from_secs(seconds),
    };
    let two = Some(Duration::from_secs(2));
    let half = "GET / HTTP/1.1\r\nHost".to_string();
    use UpstreamBehaviour::{NoListener, NotReading, Server};
    vec![
        SlowCase {
            reads: false,
            ..row("client reads nothing", get("plain"), Server, Cause::ClientReadTimeout, 10)
        },
        row("server stops in the body", get("stall"), Server, Cause::ServerBodyTimeout, 10),
        row("server never answers", get("silent"), Server, Cause::FirstByteTimeout, 20),
        row("client stops in the body", put(1000, 10), Server, Cause::ClientBodyTimeout, 10),
        row("client stops in the head", half, Server, Cause::ClientHeaderTimeout, 10),
        row(
            "server reads nothing",
            put(200_000, 200_000),
            NotReading,
            Cause::ServerWriteTimeout,
            10,
        ),
        row("no handshake", get("plain"), NoListener, Cause::ConnectTimeout, 3),
        SlowCase {
            whole: two,
            ..row("whole, no answer", get("silent"), Server, Cause::WholeTimeout, 2)
        },
        SlowCase {
            whole: two,
            ..row("whole, no handshake", get("plain"), NoListener, Cause::WholeTimeout, 2)
        },
    ]
}

#[test]
fn peers_that_stop_end_with_their_cause_in_their_time() {
    for row in rows() {
        let whole = row.whole;
        let address = addresses(1);
        let snapshot = setting(
            &address,
            |service| service.timeout.whole = whole,
            |pool| pool.retries = 0,
            |_| (),
        );
        let stage = WorkerHarness::new(1, 4096, snapshot);
        let ledger = Rc::new(RefCell::new(ServerLedger::default()));
        match row.behind {
            UpstreamBehaviour::Server => {
                stage.serve(address[0], move || SimServer::new(ledger.clone(), None));
            }
            UpstreamBehaviour::NotReading => stage.serve(address[0], || RawPeer::new("", false)),
            UpstreamBehaviour::NoListener => stage.sim.reach(address[0], ConnectReaction::Silent),
        }
        let door = stage.open(ServiceId(0));
        stage.client(&door, 1, Duration::ZERO, RawPeer::new(row.request, row.reads));
        stage.pass(row.idle_after - Duration::from_millis(10), |_| ());
        assert_eq!(stage.causes(), [], "{}: too early", row.name);
        stage.pass(Duration::from_millis(200), |_| ());
        assert_eq!(stage.causes(), [row.cause], "{}", row.name);
        stage.until(|| stage.connections() == 0);
        stage.finish();
    }
}

/// A stream of events or messages may be silent for longer than other responses, regardless of `between-bytes`.
#[test]
fn streams_of_events_and_messages_may_pause() {
    let chunked = "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
    let get = "GET / HTTP/1.1\r\nHost: shop\r\n\r\n".to_owned();
    let call =
        format!("POST / HTTP/1.1\r\nHost: shop\r\nContent-Type: application/grpc\r\n{chunked}");
    for (media, request, seconds) in [
        ("text/event-stream; charset=utf-8", &get, 40),
        ("application/grpc+proto", &call, 40),
        ("application/json", &get, 10),
    ] {
        let address = addresses(1);
        let snapshot = setting(
            &address,
            |_| (),
            |pool| (pool.retries, pool.timeout.stream) = (0, Duration::from_secs(40)),
            |_| (),
        );
        let stage = WorkerHarness::new(1, 4096, snapshot);
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Type: {media}\r\n{chunked}");
        stage.serve(address[0], move || RawPeer::new(answer.clone(), true));
        let door = stage.open(ServiceId(0));
        stage.client(&door, 1, Duration::ZERO, RawPeer::new(request.clone(), true));
        let after = Duration::from_secs(seconds);
        stage.pass(after - Duration::from_millis(10), |_| ());
        assert_eq!(stage.causes(), [], "{media}: too early");
        stage.pass(Duration::from_millis(200), |_| ());
        assert_eq!(stage.causes().len(), 1, "{media}");
        stage.until(|| stage.connections() == 0);
        stage.finish();
    }
}
