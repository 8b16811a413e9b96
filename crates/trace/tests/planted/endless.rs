//! Frames without an end: connections are given up, and the sums stay.

use trace::analysis::AnalysisSettings;
use trace::report::{ConnectionReport, TraceReport};

use super::capture::{ACK, FIN, MS, PlantedPacket, RST, SYN, report_with};

const CONNECTIONS: u16 = 400;
/// Each so many connections one is refused, and one waits for its server.
const EACH: u16 = 50;
const SLOW: u16 = 7;

fn packet(connection: u16, at_ms: i64, is_from_client: bool, flags: u8) -> PlantedPacket {
    PlantedPacket {
        time_ns: at_ms * MS,
        connection,
        is_from_client,
        seq: 100,
        ack: 0,
        flags,
        window: 60_000,
        scale: None,
        ip_id: 0,
        ttl: 64,
        vlan: None,
        stamps: None,
        payload: Vec::new(),
    }
}

/// An exchange after the others, refused, slow or quick by its number.
fn exchange(connection: u16) -> Vec<PlantedPacket> {
    let begun = i64::from(connection) * 10;
    let of = |after: i64, is_from_client, flags| {
        packet(connection, begun + after, is_from_client, flags)
    };
    if connection.is_multiple_of(EACH) {
        return vec![of(0, true, SYN), PlantedPacket { ack: 101, ..of(1, false, RST | ACK) }];
    }
    let think = if connection % EACH == SLOW { 900 } else { 2 };
    let request = b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n".to_vec();
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec();
    let asked = 101 + request.len() as u32;
    let answered = 101 + answer.len() as u32;
    vec![
        of(0, true, SYN),
        PlantedPacket { ack: 101, ..of(1, false, SYN | ACK) },
        PlantedPacket { seq: 101, ack: 101, ..of(2, true, ACK) },
        PlantedPacket { seq: 101, ack: 101, payload: request, ..of(2, true, ACK) },
        PlantedPacket { seq: 101, ack: asked, payload: answer, ..of(3 + think, false, ACK) },
        PlantedPacket { seq: asked, ack: answered, ..of(4 + think, true, FIN | ACK) },
        PlantedPacket { seq: answered, ack: asked + 1, ..of(5 + think, false, FIN | ACK) },
        PlantedPacket { seq: asked + 1, ack: answered + 1, ..of(6 + think, true, ACK) },
    ]
}

fn report(max_connections: usize, endless: bool) -> TraceReport {
    let packets: Vec<PlantedPacket> = (0..CONNECTIONS).flat_map(exchange).collect();
    let settings = AnalysisSettings { max_connections, endless, ..AnalysisSettings::default() };
    report_with(&packets, settings)
}

#[test]
fn connections_that_were_given_up_stay_in_the_sums() {
    let whole = report(100_000, false);
    // More are open at a time than a quarter of that.
    let endless = report(400 / 2, true);
    assert!(endless.connections.len() <= 200, "{}", endless.connections.len());
    assert_eq!(endless.connections_total, whole.connections_total);
    assert_eq!(endless.connections_total, usize::from(CONNECTIONS));
    assert_eq!(endless.connections_left_out, endless.connections_total - endless.connections.len());
    assert_eq!(endless.transactions_total, whole.transactions_total);
    assert_eq!(endless.capture.beyond_limit, 0);
    let [ours, theirs] = [&endless.verdict, &whole.verdict];
    assert!((ours.total_seconds - theirs.total_seconds).abs() < 1e-9);
    assert!((ours.owners.server - theirs.owners.server).abs() < 1e-9);
    assert_eq!(ours.failures.len(), 1, "{:?}", ours.failures);
    assert_eq!(ours.failures[0].connections, theirs.failures[0].connections);
    assert_eq!(ours.failures[0].connections, u64::from(CONNECTIONS / EACH));
    let code = |report: &TraceReport| report.verdict.most_significant.as_ref().unwrap().code;
    assert_eq!(code(&endless), code(&whole));
}

#[test]
fn the_worst_connections_are_not_given_up() {
    let endless = report(60, true);
    let slow = |one: &&ConnectionReport| one.verdict.total_seconds > 0.8;
    let numbers: Vec<u32> = endless.connections.iter().filter(slow).map(|one| one.number).collect();
    let all: Vec<u32> = (0..CONNECTIONS / EACH).map(|at| u32::from(at * EACH + SLOW) + 1).collect();
    assert_eq!(numbers, all);
}

#[test]
fn without_an_end_in_sight_the_limit_holds() {
    let bounded = report(60, false);
    assert_eq!(bounded.connections_total, 60);
    assert!(bounded.capture.beyond_limit > 0);
}
