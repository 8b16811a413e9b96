//! DNS over TCP: many concurrent queries, limits, and idle connections.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use tests::e2e::wait;

use super::setup::{AT, NameServerSetup, ZONE};

fn connect(world: &NameServerSetup) -> TcpStream {
    let stream = world.namespace.run_inside(|| TcpStream::connect(AT)).unwrap().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// A framed query for the address of `ns.gslb.example`.
fn query(id: u8) -> Vec<u8> {
    let mut bytes = vec![0, 33, 0, id, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    bytes.extend(b"\x02ns\x04gslb\x07example\0\0\x01\0\x01");
    bytes
}

/// The ID of the next response. `None` means that the connection was closed.
fn answer(stream: &mut TcpStream) -> Option<u8> {
    let mut length = [0; 2];
    stream.read_exact(&mut length).ok()?;
    let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut message).ok()?;
    assert!(message.ends_with(&[127, 0, 0, 1]), "{message:?}");
    Some(message[1])
}

#[test]
fn queries_on_one_connection_are_answered_in_their_turn_in_whatever_pieces() {
    let Some(world) = NameServerSetup::open(ZONE) else { return };
    let mut stream = connect(&world);
    let all: Vec<u8> = (0..200).flat_map(query).collect();
    for piece in all.chunks(777) {
        stream.write_all(piece).unwrap();
    }
    for id in 0..200 {
        assert_eq!(answer(&mut stream), Some(id));
    }
    // A truncated query ends at the idle timeout and is counted.
    stream.write_all(&query(1)[..9]).unwrap();
    assert_eq!(answer(&mut stream), None);
    let metric = "steelyard_dns_connections_total{result=\"ended-idle\"} 1";
    wait::until("the end is counted", || metrics(&world).contains(metric));
    let mut long = connect(&world);
    long.write_all(&[0xff, 0xff, 0, 0]).unwrap();
    assert_eq!(answer(&mut long), None);
    let metric = "steelyard_dns_connections_total{result=\"ended-long-message\"} 1";
    wait::until("the end is counted", || metrics(&world).contains(metric));
}

#[test]
fn one_client_has_a_quarter_of_the_connections() {
    let Some(world) = NameServerSetup::open(&ZONE.replace("idle = \"2s\"", "idle = \"60s\""))
    else {
        return;
    };
    // Earlier connections have ended.
    wait::until("none is open", || metrics(&world).contains("steelyard_dns_connections_open 0"));
    let mut held: Vec<TcpStream> = (0..2).map(|_| connect(&world)).collect();
    for stream in &mut held {
        stream.write_all(&query(7)).unwrap();
        assert_eq!(answer(stream), Some(7));
    }
    let mut third = connect(&world);
    // Ignored: the connection is closed at once, perhaps before the query is sent.
    let _ = third.write_all(&query(8));
    assert_eq!(answer(&mut third), None);
    let metric = "steelyard_dns_connections_total{result=\"refused-client\"} 1";
    wait::until("it is counted", || metrics(&world).contains(metric));
    held.pop();
    wait::until("another one is taken", || {
        let mut stream = connect(&world);
        stream.write_all(&query(9)).is_ok() && answer(&mut stream) == Some(9)
    });
}

fn metrics(world: &NameServerSetup) -> String {
    let socket = world.balancer.dir().join("sock");
    let mut command = std::process::Command::new(tests::e2e::tools::program("curl"));
    command.args(["-sS", "--max-time", "20", "--unix-socket"]).arg(socket);
    let output = command.arg("http://steelyard/v1/metrics").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}
