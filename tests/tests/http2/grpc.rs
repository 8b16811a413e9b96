//! gRPC with Google's library at both ends: every kind of call, trailers, failures, and bidirectional streams.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::target::tool;

/// The server, which ends when its standard input is closed.
struct GrpcServer(Child);

impl Drop for GrpcServer {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// The script, run by the Python environment of `tests/setup test`.
fn script() -> Command {
    let mut command = Command::new(tool("venv/bin/python3"));
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http2/calls.py"));
    command
}

#[test]
fn calls_of_every_kind_pass() {
    let mut server = script()
        .arg("serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map(GrpcServer)
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let at = SocketAddr::from(([127, 0, 0, 1], line.trim().parse().unwrap()));
    let setup =
        BalancerConfig::http(&[at]).service("http2 = \"always\"\n").pool("http2 = \"only\"\n");
    let balancer = TestBalancer::start(&setup);
    let output = script().arg("ask").arg(balancer.front().to_string()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let failed = String::from_utf8_lossy(&output.stderr).into_owned();
    let wanted = "unary hello OK unary\nlong True\nfails FAILED_PRECONDITION as asked\ncounts 500\nsums 500\n\
                  echoes one two three 0\n";
    assert_eq!(said, wanted, "{failed}");
    assert_eq!(balancer.report_when_idle().total.requests.unaccounted, 0);
}
