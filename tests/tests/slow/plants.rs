//! Causes on the servers' side and at the balancer itself, in the clear, over TLS and over HTTP/2 to the server: a server
//! that reads slowly, a full link towards the balancer, and a balancer without its processor.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lab::link_emulation::{CLIENT, EmulatedLink, LinkShape, SERVER};
use lab::port::ReservedPort;
use rustix::net::sockopt::set_socket_recv_buffer_size;
use serde_json::Value;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::wait::{self, DEADLINE};
use tests::skip::skip;

use super::line::far;
use super::setup::{blamed, logged, server, times};
use super::upstream::{ReadingPace, UpstreamRoute, UpstreamTransport};

/// Sends a request with a body of so many bytes, and reads the whole response.
fn upload(front: SocketAddr, target: &str, bytes: usize) -> usize {
    let mut stream = TcpStream::connect(front).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.set_write_timeout(Some(DEADLINE)).unwrap();
    let head = format!(
        "POST {target} HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\nContent-Length: {bytes}\r\n\r\n"
    );
    stream.write_all(&[head.into_bytes(), vec![b'u'; bytes]].concat()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    answer.len()
}

fn named(what: &str, route: &UpstreamRoute, lines: &[Value], owner: &str) {
    blamed(&format!("{what} {}", route.name()), lines, owner);
}

fn limits(lines: &[Value], expected: &[&str]) {
    let right = lines.iter().filter(|line| expected.iter().any(|limit| line["limit"] == *limit));
    let right = right.count();
    assert!(
        right * 100 >= lines.len() * 95,
        "{right} of {} are {expected:?}: {lines:#?}",
        lines.len()
    );
}

/// A server that reads a long request slowly.
fn reads_slowly(
    what: &str,
    kind: UpstreamTransport,
    pace: ReadingPace,
    bytes: usize,
    limit: &[&str],
) {
    let route = UpstreamRoute::new(kind);
    let at = "127.0.0.1:0".parse().unwrap();
    let origin = route.start(at, pace, |stream| {
        set_socket_recv_buffer_size(stream, 64 * 1024).unwrap();
    });
    let setup = BalancerConfig::http(&[origin.address()])
        .pool(&format!("{}limit.idle = 0\n", route.pool()));
    let balancer = TestBalancer::start(&setup);
    for _ in 0..times() {
        assert!(upload(balancer.front(), "/take", bytes) > 0);
    }
    let lines = logged(&balancer, "/take", times());
    named(what, &route, &lines, "server");
    limits(&lines, limit);
}

const SLOWLY: Duration = Duration::from_millis(15);

fn whole_upload(kind: UpstreamTransport) {
    let pace = ReadingPace { pause: SLOWLY, ..ReadingPace::default() };
    let limit = ["RWND", "ZERO_WINDOW", "STREAM_WINDOW"];
    reads_slowly("a server that reads an upload slowly", kind, pace, 6_000_000, &limit);
}

#[test]
fn a_server_that_reads_an_upload_slowly() {
    whole_upload(UpstreamTransport::Clear);
}

#[test]
fn a_server_that_reads_an_upload_slowly_over_tls() {
    whole_upload(UpstreamTransport::Tls);
}

#[test]
fn a_server_that_reads_an_upload_slowly_over_http_2() {
    whole_upload(UpstreamTransport::Http2);
}

/// The request fits into the balancer's send buffer, so only the kernel knows that it waits there.
fn buffered_upload(kind: UpstreamTransport) {
    let pace = ReadingPace { pause: Duration::from_millis(40), ..ReadingPace::default() };
    let what = "a server that reads slowly what our buffer holds";
    reads_slowly(what, kind, pace, 1_000_000, &["RWND", "ZERO_WINDOW"]);
}

#[test]
fn a_server_that_reads_slowly_what_our_buffer_holds() {
    buffered_upload(UpstreamTransport::Clear);
}

#[test]
fn a_server_that_reads_slowly_what_our_buffer_holds_over_tls() {
    buffered_upload(UpstreamTransport::Tls);
}

#[test]
fn a_server_of_http_2_whose_stream_window_is_full() {
    let pace = ReadingPace { pause: SLOWLY, stream_window: 65_535, ..ReadingPace::default() };
    let what = "a full window of a stream";
    reads_slowly(what, UpstreamTransport::Http2, pace, 2_000_000, &["STREAM_WINDOW"]);
}

#[test]
fn a_server_of_http_2_whose_connection_window_is_full() {
    let pace = ReadingPace { pause: SLOWLY, connection_window: 65_535, ..ReadingPace::default() };
    let what = "a full window of the connection";
    reads_slowly(what, UpstreamTransport::Http2, pace, 2_000_000, &["STREAM_WINDOW"]);
}

/// Four megabits a second with a queue of an eighth of a second, and ten milliseconds to the other end.
fn narrow() -> LinkShape {
    LinkShape {
        delay: Duration::from_millis(10),
        bits_per_second: 4_000_000,
        queue_bytes: 400_000,
        ..LinkShape::default()
    }
}

/// The server sends its answer over a link that is full.
fn full_link_from_the_server(kind: UpstreamTransport) {
    let Some(line) = far(narrow()) else { return };
    let route = UpstreamRoute::new(kind);
    let pace = ReadingPace { answer: 300_000, ..ReadingPace::default() };
    let origin = line.server.run_inside(|| route.start(SocketAddr::new(SERVER, 0), pace, |_| ()));
    let origin = origin.unwrap();
    let port = line.client.run_inside(|| ReservedPort::new(CLIENT).unwrap()).unwrap();
    let setup = BalancerConfig::http(&[origin.address()]).listen(vec![port]);
    let pool = format!("{}probe = \"off\"\nlimit.idle = 0\n", route.pool());
    let balancer = TestBalancer::start_at(&line.client, &setup.pool(&pool));
    let front = balancer.front();
    for _ in 0..times() {
        assert!(line.client.run_inside(|| upload(front, "/answer", 10)).unwrap() > 300_000);
    }
    let lines = logged(&balancer, "/answer", times());
    named("a full link from the server", &route, &lines, "network");
    limits(&lines, &["LINK_RATE", "LOSS"]);
}

#[test]
fn a_full_link_from_the_server() {
    full_link_from_the_server(UpstreamTransport::Clear);
}

#[test]
fn a_full_link_from_the_server_over_tls() {
    full_link_from_the_server(UpstreamTransport::Tls);
}

#[test]
fn a_full_link_from_the_server_over_http_2() {
    full_link_from_the_server(UpstreamTransport::Http2);
}

#[test]
fn a_full_link_from_the_client() {
    let back = LinkShape { delay: narrow().delay, ..LinkShape::default() };
    let line = match EmulatedLink::open(narrow(), back) {
        Ok(line) => line,
        Err(error) => return skip(&format!("no line: {error}")),
    };
    let route = UpstreamRoute::new(UpstreamTransport::Clear);
    let start = || {
        let at = "127.0.0.1:0".parse().unwrap();
        (route.start(at, ReadingPace::default(), |_| ()), ReservedPort::new(SERVER).unwrap())
    };
    let (origin, port) = line.server.run_inside(start).unwrap();
    let setup = BalancerConfig::http(&[origin.address()]).listen(vec![port]);
    let balancer = TestBalancer::start_at(&line.server, &setup);
    let front = balancer.front();
    for _ in 0..times() {
        line.client.run_inside(|| upload(front, "/take", 300_000)).unwrap();
    }
    let lines = logged(&balancer, "/take", times());
    named("a full link from the client", &route, &lines, "network");
    limits(&lines, &["LINK_RATE", "LOSS"]);
}

/// A quota of the processor for a process, by a cgroup of its own.
struct ProcessorQuota {
    directory: String,
}

/// Two percent of a processor, in periods longer than what counts as slow.
const QUOTA: &str = r#"
for base in /sys/fs/cgroup/cpu /sys/fs/cgroup; do
    directory=$base/steelyard-test-$0
    mkdir "$directory" 2>/dev/null || continue
    if [ -e "$directory/cpu.cfs_quota_us" ]; then
        echo 300000 >"$directory/cpu.cfs_period_us" && echo 6000 >"$directory/cpu.cfs_quota_us"
    elif [ -e "$directory/cpu.max" ]; then
        echo '6000 300000' >"$directory/cpu.max"
    else
        false
    fi && echo "$0" >"$directory/cgroup.procs" && echo "$directory" && exit 0
    rmdir "$directory"
done
exit 1
"#;

/// Gives the process back to the group above, whose own quota is none.
const NO_QUOTA: &str = r#"
echo "$1" >"${0%/*}/cgroup.procs"
rmdir "$0"
"#;

impl ProcessorQuota {
    /// `None`: no such group can be made here.
    fn limit(process: u32) -> Option<ProcessorQuota> {
        let output = Command::new("sh").args(["-c", QUOTA, &process.to_string()]).output().unwrap();
        let directory = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(ProcessorQuota { directory })
    }

    fn lift(self, process: u32) {
        let process = process.to_string();
        let arguments = ["-c", NO_QUOTA, &self.directory, &process];
        assert!(Command::new("sh").args(arguments).status().unwrap().success());
    }
}

fn without_processor(kind: UpstreamTransport) {
    let route = UpstreamRoute::new(kind);
    let at = "127.0.0.1:0".parse().unwrap();
    let origin = route.start(at, ReadingPace::default(), |_| ());
    let setup = BalancerConfig::http(&[origin.address()]).global("workers = 1");
    let balancer = TestBalancer::start(&setup.pool(&route.pool()));
    let process = balancer.process().pid();
    let Some(quota) = ProcessorQuota::limit(process) else {
        return skip("no cgroup with a quota of the processor can be made");
    };
    let mut client = balancer.client();
    // Most requests are quick; the one at which the quota ends waits for the next period. A pause between the requests,
    // such as to read a long log, would leave a fast machine within its quota: the log is read after slow ones alone.
    for number in 1..=times() {
        wait::until("one more exchange that was slow", || {
            until_slow(&mut client);
            slow_lines(&balancer).len() >= number
        });
    }
    quota.lift(process);
    let lines = slow_lines(&balancer);
    named("a balancer without its processor", &route, &lines, "balancer");
    limits(&lines, &["BALANCER_CPU", "BALANCER_HOLD"]);
    let cpu = lines.iter().filter(|line| line["limit"] == "BALANCER_CPU").count();
    assert!(cpu * 2 > lines.len(), "{lines:#?}");
}

/// Requests without a pause, up to one that took long.
fn until_slow(client: &mut HttpClient) {
    let begun = Instant::now();
    while begun.elapsed() < DEADLINE {
        let sent = Instant::now();
        assert_eq!(client.get("/").status(), 200);
        if sent.elapsed() >= SLOW {
            return;
        }
    }
    panic!("within {:?} no request waited for the processor", DEADLINE);
}

/// What counts as slow here: less than the period of the quota.
const SLOW: Duration = Duration::from_millis(100);

fn is_slow(line: &Value) -> bool {
    line["total-ms"]
        .as_f64()
        .is_some_and(|milliseconds| milliseconds >= SLOW.as_secs_f64() * 1000.0)
}

fn slow_lines(balancer: &TestBalancer) -> Vec<Value> {
    let mut lines = balancer.log();
    lines.retain(|line| line["owner"].is_string() && is_slow(line));
    lines
}

#[test]
fn a_balancer_without_its_processor() {
    without_processor(UpstreamTransport::Clear);
}

#[test]
fn a_balancer_without_its_processor_over_tls() {
    without_processor(UpstreamTransport::Tls);
}

#[test]
fn a_balancer_without_its_processor_over_http_2() {
    without_processor(UpstreamTransport::Http2);
}

#[test]
fn a_server_that_thinks_keeps_its_time_on_a_busy_machine() {
    let origin = server(|_| ());
    let balancer =
        TestBalancer::start(&BalancerConfig::http(&[origin.address()]).global("workers = 1"));
    let front = balancer.front();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = HttpClient::connect(front);
            while !is_done.load(Ordering::Relaxed) {
                assert_eq!(client.get("/100").status(), 200);
            }
        });
        let mut client = HttpClient::connect(front);
        for _ in 0..times() {
            assert_eq!(client.get("/100/250").status(), 200);
        }
        is_done.store(true, Ordering::Relaxed);
    });
    let lines = logged(&balancer, "/100/250", times());
    blamed("a server that thinks beside other requests", &lines, "server");
}
