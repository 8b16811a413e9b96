//! Rows of servers on this host: their packets are handed to it untouched, and their connections are remembered.

use l4::abi::{self, Method, Outcome};

use super::packet::{ACK, FIN, TestPacket, tcp, udp};
use super::usual::{ENDS, both, syn};
use super::world::{DROP, DatapathTestbed, PASS};

/// The usual plane with its servers here.
fn world(method: Method) -> Option<DatapathTestbed> {
    let world = both(method)?;
    for index in [0, 1] {
        world.change_service(index, |service| service.flags |= abi::SERVICE_LOCAL);
        let takes = abi::SERVER_TAKES | abi::SERVER_SERVES | abi::SERVER_LOCAL;
        world.server_flags(index, takes);
    }
    Some(world)
}

fn handed(world: &DatapathTestbed, text: &str, packet: &TestPacket) {
    let out = world.expect(text, &packet.bytes(), Outcome::Collocated, PASS);
    assert_eq!(out, packet.bytes(), "{text}: untouched");
}

#[test]
fn a_connection_is_handed_to_this_host_from_first_to_last() {
    for method in [Method::Mac, Method::Tunnel, Method::Nat] {
        let Some(world) = world(method) else { return };
        for (client, vip) in ENDS {
            let text = |what: &str| format!("{} {client} {what}", method.name());
            let first = syn(client, vip, 7);
            handed(&world, &text("SYN"), &first);
            handed(&world, &text("ACK"), &TestPacket { flags: ACK, ..first.clone() });
            handed(&world, &text("FIN"), &TestPacket { flags: FIN | ACK, ..first });
            handed(&world, &text("UDP"), &udp(client, vip));
            handed(&world, &text("UDP again"), &udp(client, vip));
            let last = TestPacket { ttl: 1, ..syn(client, vip, 8) };
            handed(&world, &text("no hop is taken"), &last);
            let base = TestPacket { id: 3, keep_whole: false, ..udp(client, vip) };
            let head =
                TestPacket { fragment: Some((0, true)), payload: vec![1; 64], ..base.clone() };
            let rest = TestPacket { fragment: Some((72, false)), payload: vec![2; 40], ..base };
            handed(&world, &text("a first fragment"), &head);
            handed(&world, &text("a later one"), &rest);
        }
        let gauge = world.plane.gauges.get(&0).unwrap().unwrap();
        assert_eq!(gauge.new_flows, 3, "{}: its flows are counted", method.name());
    }
}

#[test]
fn with_nat_only_its_own_connections_are_handed_on() {
    let Some(world) = world(Method::Nat) else { return };
    for (at, (client, vip)) in (0..).zip(ENDS) {
        let stray = tcp(client, vip, ACK);
        world.expect("a stray", &stray.bytes(), Outcome::NoFlow, DROP);
        handed(&world, "SYN", &syn(client, vip, 7));
        // It leaves: its connections end by name.
        world.server_flags(at, abi::SERVER_LOCAL);
        let ack = TestPacket { flags: ACK, ..syn(client, vip, 7) };
        world.expect("its server is gone", &ack.bytes(), Outcome::NoFlow, DROP);
        world.expect("nobody takes it", &syn(client, vip, 8).bytes(), Outcome::NoServer, DROP);
    }
}

// Rows: I49
#[test]
fn one_here_and_one_elsewhere() {
    let Some(world) = world(Method::Nat) else { return };
    world.server(2, "10.0.0.2", 0);
    world.change_server(2, |server| server.service = 0);
    world.share(2, &["10.0.0.254"], 2048, 64);
    world.pool(0, &[0, 2]);
    let (client, vip) = ENDS[0];
    handed(&world, "the first", &syn(client, vip, 1));
    world.forwarded("the second", &syn(client, vip, 2));
    handed(&world, "stays here", &TestPacket { flags: ACK, ..syn(client, vip, 1) });
    world.forwarded("stays there", &TestPacket { flags: ACK, ..syn(client, vip, 2) });
}
