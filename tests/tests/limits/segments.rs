//! TCP settings of connections with clients: acknowledgements at once, and clients that ask for tiny segments.

use std::net::SocketAddr;
use std::process::Command;

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::tools::program;

/// Connects with this largest segment, sends requests one by one, and prints the last status line, or `reset`, and how many
/// segments came.
const CLIENT: &str = r#"
import socket, struct, sys
host, port, segment, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
client = socket.socket()
if segment:
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, segment)
line = "reset"
try:
    client.connect((host, port))
    for _ in range(count):
        client.sendall(b"GET / HTTP/1.1\r\nHost: shop\r\n\r\n")
        answer = b""
        while b"\r\n\r\n" not in answer or len(answer) < answer.find(b"\r\n\r\n") + 4 + 128:
            more = client.recv(65536)
            if not more:
                break
            answer += more
        line = answer.split(b"\r\n")[0].decode()
    # tcpi_segs_in of struct tcp_info.
    info = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    print(line, struct.unpack_from("I", info, 140)[0])
except (ConnectionResetError, BrokenPipeError):
    print("reset 0")
"#;

/// What the client saw.
struct ClientReport {
    line: String,
    segments: u64,
}

fn run_client(front: SocketAddr, segment: u32, count: usize) -> ClientReport {
    let mut command = Command::new(program("python3"));
    let words = [front.port().to_string(), segment.to_string(), count.to_string()];
    command.args(["-c", CLIENT, &front.ip().to_string()]).args(words);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let (line, segments) = text.trim().rsplit_once(' ').unwrap();
    ClientReport { line: line.to_owned(), segments: segments.parse().unwrap() }
}

// Rows: C06
#[test]
fn a_client_with_tiny_segments_is_reset_and_counted() {
    let origins = [origin("a")];
    for new_setup in [BalancerConfig::http, BalancerConfig::tcp] {
        let setup = new_setup(&addresses(&origins)).service("socket = { mss-min = 536 }\n");
        let mut balancer = TestBalancer::start(&setup);
        assert_eq!(run_client(balancer.front(), 200, 1).line, "reset");
        balancer.wait_for_log_line("the cause", |line| line["cause"] == "segments-too-small");
        // Time stamps take 12 bytes of each segment, which do not count.
        for segment in [536, 0] {
            assert_eq!(run_client(balancer.front(), segment, 1).line, "HTTP/1.1 200 ");
        }
        balancer.reload(&setup.clone().service(""));
        assert_eq!(run_client(balancer.front(), 200, 1).line, "HTTP/1.1 200 ");
    }
}

// Rows: C06
#[test]
fn acknowledgements_come_at_once_where_they_are_not_delayed() {
    const MANY: usize = 100;
    let origins = [origin("a")];
    let segments = |keys: &str| {
        let setup = BalancerConfig::http(&addresses(&origins)).service(keys);
        let balancer = TestBalancer::start(&setup);
        let report = run_client(balancer.front(), 0, MANY);
        assert_eq!(report.line, "HTTP/1.1 200 ");
        report.segments
    };
    let at_once = segments("socket = { delayed-ack = false }\n");
    assert!(at_once >= 2 * MANY as u64, "an acknowledgement and a response each: {at_once}");
    let delayed = segments("");
    assert!(delayed < at_once, "with the responses: {delayed} of {at_once}");
}
