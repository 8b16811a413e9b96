//! Clients that begin a handshake and stop: up to the limit and beyond, others are served.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tests::e2e::balancer::Balancer;
use tests::e2e::servers::{self, addresses};
use tests::e2e::setup::Setup;
use tests::e2e::target::tool;
use tests::e2e::wait;

use crate::ours::Ours;

struct Crowd(Child);

impl Crowd {
    fn start(front: SocketAddr, count: u32, sources: u32) -> Crowd {
        let mut command = Command::new(tool("quic/bin/python3"));
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/http3/crowd.py"));
        command.arg(front.ip().to_string()).arg(front.port().to_string());
        command.args([count.to_string(), sources.to_string()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "begun\n");
        Crowd(child)
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn handshakes_that_stop_give_way_to_others() {
    let (ours, origins) = (Ours::new(), [servers::origin("a")]);
    for sources in [1, 200] {
        let tls = format!("tls = {{ certificates = {:?}, handshakes = 40 }}\n", ours.pair);
        let lines = format!("{tls}http3 = {{ offer = \"on\", prove = 10 }}\n");
        let setup = Setup::http(&addresses(&origins)).service(&lines).global("workers = 1");
        let balancer = Balancer::start(&setup);
        let crowd = Crowd::start(balancer.front(), 80, sources);
        wait::until("one is served", || {
            let mut client = ours.begin(balancer.front(), None);
            client.read() == "connected" && client.get("/")["status"] == 200
        });
        for _ in 0..5 {
            let mut client = ours.client(balancer.front());
            assert_eq!(client.get("/")["status"], 200, "{sources}");
        }
        drop(crowd);
    }
}
