//! Segments of `nat` with more data than their receiver announced.

use l4::abi::{self, Method, Outcome, TcpField};

use super::normalize::{REFUSE, policy, set_policy};
use super::packet::{ACK, ReceivedPacket, SYN, TestPacket, read_ip, tcp};
use super::usual::{ENDS, both};
use super::world::{DROP, DatapathTestbed, TX};

/// The largest segments that client and server announce.
const MSS: [u16; 2] = [1_000, 600];

fn announcing(packet: &TestPacket, mss: u16) -> TestPacket {
    let size = mss.to_be_bytes();
    TestPacket { tcp_options: vec![2, 4, size[0], size[1]], payload: Vec::new(), ..packet.clone() }
}

fn with_data(packet: &TestPacket, bytes: u16) -> TestPacket {
    TestPacket { flags: ACK, payload: vec![7; bytes.into()], ..packet.clone() }
}

/// A testbed that drops such segments and takes packets in the driver.
fn judging() -> Option<DatapathTestbed> {
    let world = both(Method::Nat)?;
    set_policy(&world, policy(&[(TcpField::ExceedMss, REFUSE)]));
    native(&world, abi::INTERFACE_NATIVE);
    Some(world)
}

fn native(world: &DatapathTestbed, flags: u32) {
    let value = abi::Interface { flags, mtu: 9_000, ..abi::Interface::default() };
    world.plane.interfaces.set(&1, &value).unwrap();
}

fn client(index: usize) -> TestPacket {
    tcp(ENDS[index].0, ENDS[index].1, SYN)
}

/// What a server sends to the client of a packet that it received.
fn server(seen: &ReceivedPacket) -> TestPacket {
    let end = |ip, port| std::net::SocketAddr::new(ip, port).to_string();
    tcp(&end(seen.dst, seen.dport), &end(seen.src, seen.sport), SYN | ACK)
}

fn opened(world: &DatapathTestbed, index: usize) -> TestPacket {
    let syn = announcing(&client(index), MSS[0]);
    let server = server(&read_ip(&world.forwarded("SYN", &syn)[14..]));
    world.expect("SYN/ACK", &announcing(&server, MSS[1]).bytes(), Outcome::Returned, TX);
    server
}

/// For the row of each outcome.
pub fn reach(index: usize) -> Option<()> {
    let world = judging()?;
    opened(&world, index);
    let large = with_data(&client(index), MSS[1] + 1);
    world.expect("too large", &large.bytes(), Outcome::MssExceeded, DROP);
    Some(())
}

// Rows: C07
#[test]
fn each_side_keeps_to_what_the_other_announced() {
    let Some(world) = judging() else { return };
    for index in [0, 1] {
        let server = opened(&world, index);
        world.forwarded("as much as the server takes", &with_data(&client(index), MSS[1]));
        let more = with_data(&client(index), MSS[1] + 1).bytes();
        world.expect("more", &more, Outcome::MssExceeded, DROP);
        let fits = with_data(&server, MSS[0]).bytes();
        world.expect("as much as the client takes", &fits, Outcome::Returned, TX);
        let more = with_data(&server, MSS[0] + 1).bytes();
        world.expect("more", &more, Outcome::MssExceeded, DROP);
    }
}

// Rows: C07
#[test]
fn what_is_not_known_is_not_judged() {
    let Some(world) = judging() else { return };
    // A connection that began without the setting.
    set_policy(&world, 0);
    let server = opened(&world, 0);
    set_policy(&world, policy(&[(TcpField::ExceedMss, REFUSE)]));
    world.forwarded("it began before", &with_data(&client(0), 1_400));
    world.expect("and its answers", &with_data(&server, 1_400).bytes(), Outcome::Returned, TX);
    // In the stack a frame may stand for many segments.
    let server = opened(&world, 1);
    native(&world, 0);
    world.forwarded("many segments", &with_data(&client(1), 4_000));
    world.expect("the same", &with_data(&server, 4_000).bytes(), Outcome::Returned, TX);
}

// Rows: C07
#[test]
fn a_lowered_segment_size_counts() {
    let Some(world) = judging() else { return };
    world.change_service(0, |service| service.mss = 500);
    opened(&world, 0);
    world.forwarded("what was let through", &with_data(&client(0), 500));
    let more = with_data(&client(0), 501).bytes();
    world.expect("what the server announced itself", &more, Outcome::MssExceeded, DROP);
}
