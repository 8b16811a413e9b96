//! The OpenAPI document as a foreign client reads it: Schemathesis derives valid and invalid requests from the
//! document, and checks the responses against it.
//!
//! `positive_data_acceptance` is off, because no document can tell which pools or generations exist. Over the Unix
//! socket, where the tests replace the whole configuration, no token is needed. The checks of tokens therefore run over
//! TCP alone.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;

use api::routes;
use api::types::Role;
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use tests::e2e::balancer::{TestBalancer, figure};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::dir::TestDir;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::target::tool;

use crate::client::{ApiListener, token};

/// Operations that replace the configuration, and with it the TCP listener that the other tests use.
const WHOLE: [&str; 4] = ["put-config", "patch-config", "post-apply", "post-rollback"];
const RULES: &str = "rule = [{ name = \"api\", when = { path = \"/api/*\" }, pool = \"web\" }]\n";

#[test]
fn a_stranger_finds_no_answer_that_the_contract_does_not_say() {
    let origins = [origin("a"), origin("b")];
    let door = ApiListener::new();
    let setup = BalancerConfig::http(&addresses(&origins)).service(RULES);
    let balancer = TestBalancer::start(&door.on(setup.global("history = { step = \"1s\" }"), ""));
    let configure = token(balancer.dir(), Role::Configure);
    door.open();

    let to = door.address();
    let mut count = 0_u16;
    let remote = relay(move || {
        // Each connection has another source address, because a single address would soon reach the rate limit.
        count += 1;
        let [high, low] = count.to_be_bytes();
        let from = Ipv4Addr::new(127, 1, high, low.max(1));
        let own = socket(AddressFamily::INET, SocketType::STREAM, None).ok()?;
        bind(&own, &SocketAddr::from((from, 0))).ok()?;
        connect(&own, &to).ok()?;
        Some(TcpStream::from(own))
    });
    let mut over_tcp = vec!["--exclude-path-regex", "stream|stop"];
    WHOLE.iter().for_each(|id| over_tcp.extend(["--exclude-operation-id", id]));
    let bearer = format!("Authorization: Bearer {configure}");
    over_tcp.extend(["-H", &bearer, "--exclude-checks", "positive_data_acceptance"]);
    found(remote, &over_tcp);

    let path: PathBuf = balancer.dir().join("sock");
    let local = relay(move || UnixStream::connect(&path).ok());
    let checks = "positive_data_acceptance,ignored_auth,missing_required_header";
    let mut over_unix = vec!["--exclude-checks", checks];
    WHOLE.iter().for_each(|id| over_unix.extend(["--include-operation-id", id]));
    found(local, &over_unix);
}

/// Runs Schemathesis, and fails with its output if it found a mistake.
fn found(at: SocketAddr, more: &[&str]) {
    let document = format!("http://{at}{}", routes::OPENAPI);
    let mut command = Command::new(tool("venv/bin/python3"));
    command.args(["-m", "schemathesis.cli", "run", &document, "-H", "Connection: close"]);
    // The same requests in each run.
    command.args(["--phases", "coverage", "--generation-deterministic", "--continue-on-failure"]);
    command.args(["--no-color", "--request-timeout", "20"]).args(more);
    let dir = TestDir::new();
    let done = command.current_dir(dir.path()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said}{}", String::from_utf8_lossy(&done.stderr));
    let counted =
        said.lines().find(|line| line.trim().ends_with("passed") || line.contains("generated"));
    figure(format!("contract: {}", counted.unwrap_or_default().trim()));
}

/// A stream in both directions.
trait DuplexStream: Read + Write + Send + Sized + 'static {
    fn again(&self) -> std::io::Result<Self>;
    fn end(&self);
}

impl DuplexStream for TcpStream {
    fn again(&self) -> std::io::Result<TcpStream> {
        self.try_clone()
    }
    fn end(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

impl DuplexStream for UnixStream {
    fn again(&self) -> std::io::Result<UnixStream> {
        self.try_clone()
    }
    fn end(&self) {
        let _ = self.shutdown(Shutdown::Both);
    }
}

/// Listens, and connects each client to a stream that `open` returns, until the test ends.
fn relay<W: DuplexStream>(mut open: impl FnMut() -> Option<W> + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Some(server) = open() else { continue };
            let (Ok(from), Ok(to)) = (client.try_clone(), server.again()) else { continue };
            std::thread::spawn(move || pass(from, to));
            std::thread::spawn(move || pass(server, client));
        }
    });
    address
}

/// Copies one direction. Its end closes both directions.
fn pass(mut from: impl DuplexStream, mut to: impl DuplexStream) {
    let _ = std::io::copy(&mut from, &mut to);
    from.end();
    to.end();
}
