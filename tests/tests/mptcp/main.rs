//! One Multipath TCP stream over two links into a `tcp` service: its throughput compared with one link, its reported
//! subflows, and the removal of endpoints.
//!
//! The tests need root; without root they are skipped, which fails in the gate. With `STEELYARD_LONG=1` links have 500
//! Mbit/s and runs are long.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod stream;
mod topology;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use tests::e2e::balancer::is_long;
use tests::e2e::wait;

use stream::{ClientTransport, rate};
use topology::MptcpTopology;

const NEAR: Duration = Duration::from_millis(1);
/// A round trip that is 17 ms longer.
const FAR: Duration = Duration::from_micros(9_500);

#[test]
fn one_stream_takes_both_lines_however_long_they_are() {
    for (name, delays) in [("equal", [NEAR, NEAR]), ("+17 ms", [NEAR, FAR])] {
        let Some(world) = MptcpTopology::open(&delays) else { return };
        let one = rate(&world, ClientTransport::Plain, || ());
        let mut subflows = 0;
        let both = rate(&world, ClientTransport::Multipath, || {
            let shown = world.server().connections;
            subflows = shown.iter().map(|one| one.subflows.len()).max().unwrap_or_default();
            assert!(shown.iter().all(|one| one.received > 0), "{shown:?}");
        });
        let times = both / one;
        println!(
            "proof: {name}: one stream over one line {one:.0} Mbit/s, multipath {both:.0}, {times:.2} times"
        );
        assert_eq!(subflows, 2, "{name}");
        let least = if is_long() { 1.8 } else { 1.3 };
        assert!(times >= least, "{name}: {times:.2}");
    }
}

#[test]
fn requests_are_taken_by_it_and_carried_on_by_it() {
    let Some(world) = MptcpTopology::open(&[NEAR, NEAR]) else { return };
    // The client uses plain TCP. The two balancers use Multipath TCP between them, which an `http` service accepts too.
    let ask = || {
        let mut stream = TcpStream::connect(SocketAddr::from(topology::NEAR)).unwrap();
        stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let answer = world.lines.client.run_inside(ask).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    // The persistent connection between the balancers stays open.
    wait::until("it is shown with both its subflows", || {
        let shown = world.server().connections;
        let at = SocketAddr::from(topology::REQUESTS);
        shown.iter().any(|one| one.local == at && one.subflows.len() == 2)
    });
    let shown = world.verb(&["status"]).stdout;
    assert!(shown.contains("10.41.1.2:8081"), "{shown}");
}

#[test]
fn endpoints_stand_as_configured_and_go_with_the_daemon() {
    let Some(mut world) = MptcpTopology::open(&[NEAR, NEAR]) else { return };
    // An endpoint of another program is neither taken over nor removed.
    let ours = world.endpoints();
    assert!(ours.contains("10.41.2.2") && ours.contains("signal"), "{ours}");
    world.lines.server.ip("mptcp endpoint add 10.41.1.2 signal\n").unwrap();
    wait::until("both are shown", || {
        let shown = world.server().endpoints;
        shown.iter().filter(|one| one.managed).count() == 1 && shown.len() == 2
    });
    let shown = world.verb(&["status"]).stdout;
    assert!(shown.contains("MPTCP ENDPOINT") && shown.contains("somebody else"), "{shown}");
    world.stop();
    let left = world.endpoints();
    assert!(left.contains("10.41.1.2") && !left.contains("10.41.2.2"), "{left}");
}
