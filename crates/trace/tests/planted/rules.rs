//! Rules that real captures taught: windows of SYNs, copies behind routers, directions with tags of their own.

use crate::capture::{ACK, MS, PlantedPacket, RST, SYN, analyse, first_cause};
use crate::cases::{ROWS, planned};
use crate::model::TcpModel;
use crate::script::ScriptedConnection;

fn transfer() -> Vec<PlantedPacket> {
    let row = ROWS.iter().find(|row| row.name == "a small window of the client").unwrap();
    TcpModel::run(&planned(row, false))
}

#[test]
fn a_syn_s_window_is_never_scaled_and_contradicts_nothing() {
    for shift in 0..=14 {
        // As Linux does it: 64,240 or 65,160 bytes in the SYN, then the same in units of the scale.
        let mut one = ScriptedConnection::begin(1, 0);
        one.window(true, 64_240).client(SYN, b"").wait(20);
        one.window(false, 65_160).server(SYN | ACK, b"");
        one.window(true, 64_256 >> shift).window(false, 65_152 >> shift).client(ACK, b"");
        one.exchange(5).wait(40).exchange(5).close();
        for packet in one.packets.iter_mut().filter(|packet| packet.flags & SYN != 0) {
            packet.scale = Some(shift as u8);
        }
        let report = analyse(&one.packets);
        assert_eq!(report["connections"][0]["flags"], serde_json::json!([]), "factor {shift}");
    }
}

#[test]
fn a_packet_before_and_behind_a_router_is_one() {
    let whole = transfer();
    let routed = whole.iter().map(|packet| PlantedPacket {
        time_ns: packet.time_ns + 5 * MS,
        ttl: packet.ttl - 1,
        ..packet.clone()
    });
    let both: Vec<PlantedPacket> = whole.iter().cloned().chain(routed).collect();
    let report = analyse(&both);
    assert_eq!(report["capture"]["duplicates"].as_u64().unwrap(), whole.len() as u64);
    let sent = &report["connections"][0]["server"]["sent"];
    assert_eq!(sent["retransmitted_packets"], 0);
    assert_eq!(first_cause(&report), "RWND client");
}

#[test]
fn directions_with_tags_of_their_own_are_one_connection() {
    let mut tagged = transfer();
    for packet in &mut tagged {
        packet.vlan = Some(if packet.is_from_client { 10 } else { 20 });
    }
    let report = analyse(&tagged);
    assert_eq!(report["connections_total"], 1);
    assert_eq!(first_cause(&report), "RWND client");
    // Equal ends on two paths that both carry both directions are two connections.
    let mut other = transfer();
    for packet in &mut other {
        packet.vlan = Some(30);
        packet.time_ns += 2_000 * MS;
    }
    let both: Vec<PlantedPacket> = transfer().into_iter().chain(other).collect();
    assert_eq!(analyse(&both)["connections_total"], 2);
}

#[test]
fn what_the_capture_lacks_is_counted() {
    let whole = transfer();
    let report = analyse(&whole);
    assert_eq!(report["capture"]["missing_bytes"], 0);
    let with_data =
        |packet: &PlantedPacket| !packet.is_from_client && packet.payload.len() == 1_460;
    let mut number = 0;
    let thinned = whole.into_iter().filter(|packet| {
        number += u32::from(with_data(packet));
        !(with_data(packet) && number % 100 == 0)
    });
    let thinned: Vec<PlantedPacket> = thinned.collect();
    let report = analyse(&thinned);
    let pieces = u64::from(number / 100);
    assert_eq!(report["capture"]["missing_pieces"], pieces);
    assert_eq!(report["capture"]["missing_bytes"], pieces * 1_460);
}

#[test]
fn one_lost_head_hides_no_exchange() {
    let mut one = ScriptedConnection::open(1, 0);
    for _ in 0..50 {
        one.exchange(100).wait(10);
    }
    let heads: Vec<usize> = (0..one.packets.len())
        .filter(|at| one.packets[*at].payload.starts_with(b"HTTP/1.1"))
        .collect();
    let whole = analyse(&one.packets);
    assert_eq!(whole["transactions_total"], 50);
    for at in [heads[0], heads[20], heads[49]] {
        let mut packets = one.packets.clone();
        packets.remove(at);
        let report = analyse(&packets);
        assert_eq!(report["transactions_total"], 50, "without packet {at}");
        let waited =
            |report: &serde_json::Value| report["verdict"]["owners"]["server"].as_f64().unwrap();
        assert!((waited(&report) - waited(&whole)).abs() < 0.15, "without packet {at}");
        let titles = report["connections"][0]["transactions"].as_array().unwrap();
        assert!(titles.iter().all(|one| one["title"] == "GET /orders"), "without packet {at}");
    }
}

#[test]
fn a_request_of_unknown_time_is_nobodys() {
    // The request is not captured, and only the answer acknowledges it.
    let mut one = ScriptedConnection::open(1, 0);
    one.ask().wait(4_000).answer(300, 300).client(ACK, b"").wait(20).client(RST | ACK, b"");
    let request = one.packets.iter().position(|packet| packet.payload.starts_with(b"GET")).unwrap();
    one.packets.remove(request);
    let report = analyse(&one.packets);
    let owners = &report["verdict"]["owners"];
    assert!(owners["unknown"].as_f64().unwrap() > 3.9, "{owners}");
    assert!(owners["server"].as_f64().unwrap() < 0.05, "{owners}");
    assert_eq!(report["verdict"]["healthy"], false);
}
