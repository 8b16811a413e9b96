//! Server connections without reuse: the request asks the server to close, so the server closes first and has the
//! TIME-WAIT.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::spawn;

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::wait;

type Heads = Arc<Mutex<Vec<String>>>;

/// A server that closes after a request with `Connection: close`, and records the heads it received.
fn server() -> (SocketAddr, Heads) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let heads = Heads::default();
    let kept = heads.clone();
    spawn(move || {
        for stream in listener.incoming().flatten() {
            let heads = kept.clone();
            // Ignored: the peer may disconnect at any time.
            spawn(move || serve(&stream, &heads));
        }
    });
    (address, heads)
}

fn serve(mut stream: &TcpStream, heads: &Heads) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if lines.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let closes = head.contains("\r\nConnection: close\r\n");
        heads.lock().unwrap().push(head);
        let line = if closes { "Connection: close\r\n" } else { "" };
        stream.write_all(
            format!("HTTP/1.1 200 OK\r\n{line}Content-Length: 2\r\n\r\nok").as_bytes(),
        )?;
        if closes {
            return Ok(());
        }
    }
}

/// The numbers of connections in TIME-WAIT that the server closed first, and that the balancer closed first.
fn time_wait(at: SocketAddr) -> (usize, usize) {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let port = format!(":{:04X}", at.port());
    let waits = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let waits: Vec<_> = waits.filter(|words| words.get(3) == Some(&"06")).collect();
    let count = |at: usize| waits.iter().filter(|words| words[at].ends_with(&port)).count();
    (count(1), count(2))
}

#[test]
fn a_server_whose_connections_are_not_kept_closes_first() {
    let (at, heads) = server();
    let setup = BalancerConfig::http(&[at]).global("workers = 1\n").pool("limit = { idle = 0 }\n");
    let balancer = TestBalancer::start(&setup);
    // Another server may have used the port a moment ago.
    let before = time_wait(at);
    let mut client = balancer.client();
    for _ in 0..10 {
        assert_eq!(client.get("/").status(), 200);
    }
    wait::until("every connection is closed", || {
        let report = balancer.report();
        report.pools.iter().flat_map(|pool| &pool.servers).all(|server| server.connections == 0)
    });
    let heads = heads.lock().unwrap();
    assert!(heads.len() == 10 && heads.iter().all(|head| head.matches("onnection").count() == 1));
    wait::until("all of them wait at the server", || time_wait(at).0 >= before.0 + 10);
    assert!(time_wait(at).1 <= before.1, "{before:?} {:?}", time_wait(at));
}

#[test]
fn a_server_is_told_once_as_many_are_kept_as_may_be() {
    let (at, heads) = server();
    let setup = BalancerConfig::http(&[at]).global("workers = 1\n").pool("limit = { idle = 1 }\n");
    let balancer = TestBalancer::start(&setup);
    let mut client = balancer.client();
    for _ in 0..5 {
        assert_eq!(client.get("/").status(), 200);
    }
    assert!(heads.lock().unwrap().iter().all(|head| !head.contains("onnection")));
}
