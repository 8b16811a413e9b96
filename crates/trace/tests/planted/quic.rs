//! Connections of QUIC with planted handshakes: what is told without keys, and which failures.

use trace::analysis::{Analysis, AnalysisSettings};
use trace::input::CapturedFrame;
use trace::report::TraceReport;
use trace::report_builder::{CaptureSource, build_report};

use super::capture::MS;

const LINK_RAW: u16 = 101;
const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];
const CLIENT_ID: &[u8] = b"ccc";
const FIRST_ID: &[u8] = b"firstid8";
const SERVER_ID: &[u8] = b"ssss";

/// A frame of UDP in IPv4 and when it passed, milliseconds.
struct PlantedDatagram {
    at_ms: i64,
    bytes: Vec<u8>,
}

fn datagram(at_ms: i64, port: u16, is_from_client: bool, payload: &[u8]) -> PlantedDatagram {
    let mut bytes = vec![0x45, 0];
    bytes.extend((28 + payload.len() as u16).to_be_bytes());
    bytes.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    let [from, to] = if is_from_client { [CLIENT, SERVER] } else { [SERVER, CLIENT] };
    bytes.extend(from);
    bytes.extend(to);
    let ports = if is_from_client { [port, 443] } else { [443, port] };
    bytes.extend(ports.map(u16::to_be_bytes).concat());
    bytes.extend((8 + payload.len() as u16).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(payload);
    PlantedDatagram { at_ms, bytes }
}

/// A packet with a long header of version 1.
fn long(kind: u8, to: &[u8], from: &[u8], bytes: usize) -> Vec<u8> {
    let mut out = vec![0xc0 | kind << 4, 0, 0, 0, 1];
    out.push(to.len() as u8);
    out.extend(to);
    out.push(from.len() as u8);
    out.extend(from);
    if kind == 0 {
        out.push(0);
    }
    if kind < 3 {
        out.extend((0x4000 | bytes as u16).to_be_bytes());
    }
    out.resize(out.len() + bytes, 9);
    out
}

fn short(spin: bool) -> Vec<u8> {
    let mut out = vec![if spin { 0x60 } else { 0x40 }];
    out.extend(SERVER_ID);
    out.resize(60, 5);
    out
}

fn initial() -> Vec<u8> {
    long(0, FIRST_ID, CLIENT_ID, 1_200)
}

fn answer() -> Vec<u8> {
    [long(0, CLIENT_ID, SERVER_ID, 100), long(2, CLIENT_ID, SERVER_ID, 900)].concat()
}

/// A handshake: 30 ms to the server, 10 ms to the client.
fn handshake(port: u16, at_ms: i64) -> Vec<PlantedDatagram> {
    vec![
        datagram(at_ms, port, true, &initial()),
        datagram(at_ms + 30, port, false, &answer()),
        datagram(at_ms + 40, port, true, &long(0, SERVER_ID, CLIENT_ID, 60)),
        datagram(
            at_ms + 41,
            port,
            true,
            &[long(2, SERVER_ID, CLIENT_ID, 60), short(false)].concat(),
        ),
        datagram(at_ms + 71, port, false, &short(false)),
    ]
}

fn report(datagrams: Vec<PlantedDatagram>) -> TraceReport {
    report_with(datagrams, AnalysisSettings::default())
}

fn report_with(mut datagrams: Vec<PlantedDatagram>, settings: AnalysisSettings) -> TraceReport {
    datagrams.sort_by_key(|one| one.at_ms);
    let mut analysis = Analysis::new(settings);
    for PlantedDatagram { at_ms, bytes } in &datagrams {
        let original_len = bytes.len() as u32;
        let time_ns = 1_700_000_000_000_000_000 + at_ms * MS;
        analysis.add_frame(&CapturedFrame { time_ns, link: LINK_RAW, bytes, original_len });
    }
    build_report(analysis.finish(), CaptureSource::default())
}

/// Something much later, so that the capture does not end at once.
fn later(at_ms: i64) -> PlantedDatagram {
    datagram(at_ms, 9, true, b"no QUIC at all")
}

#[test]
fn the_times_of_a_handshake_are_told_by_side() {
    let mut datagrams = handshake(50_000, 0);
    // The bit changes once in 40 ms, with eight packets between.
    for packet in 0..80_i64 {
        let spin = (packet / 8) % 2 == 1;
        datagrams.push(datagram(100 + packet * 5, 50_000, true, &short(spin)));
    }
    datagrams.push(later(9_000));
    let report = report(datagrams);
    assert_eq!(report.connections_total, 0);
    assert_eq!(report.capture.quic_datagrams, 85);
    assert_eq!(report.capture.not_tcp, 1);
    assert!(!report.capture.is_unreadable());
    let [one] = &report.quic.connections[..] else { panic!("{:?}", report.quic) };
    assert_eq!((one.server.port, one.client.port, one.version), (443, 50_000, 1));
    assert_eq!(one.handshake_seconds, Some(0.041));
    assert_eq!(one.handshake_server_seconds, Some(0.03));
    assert_eq!(one.handshake_client_seconds, Some(0.01));
    assert_eq!(one.rtt_s, Some(0.04));
    assert_eq!((one.client.datagrams, one.server.datagrams), (83, 2));
    assert_eq!(one.failure, None);
    assert!(report.verdict.failures.is_empty());
}

/// Code and owner of the only failure.
fn failure(report: &TraceReport) -> String {
    let [failure] = &report.verdict.failures[..] else { panic!("{:?}", report.verdict.failures) };
    assert_eq!(failure.servers[0].port, Some(443));
    assert!(!report.verdict.healthy);
    assert_eq!(report.verdict.shown(), None);
    format!("{} {}", failure.code.name(), failure.owner.name())
}

#[test]
fn handshakes_that_fail_are_named() {
    let unanswered =
        [0, 300, 900].map(|at| datagram(at, 50_000, true, &initial())).into_iter().collect();
    assert_eq!(failure(&report(unanswered)), "QUIC_UNANSWERED server");

    let silent = vec![datagram(0, 50_000, true, &initial()), later(5_000)];
    assert_eq!(failure(&report(silent)), "QUIC_UNANSWERED server");

    let mut negotiation = vec![0x80, 0, 0, 0, 0, 3];
    negotiation.extend(CLIENT_ID);
    negotiation.push(FIRST_ID.len() as u8);
    negotiation.extend(FIRST_ID);
    negotiation.extend([0x6b, 0x33, 0x43, 0xcf]);
    let refused = vec![
        datagram(0, 50_000, true, &initial()),
        datagram(30, 50_000, false, &negotiation),
        later(5_000),
    ];
    assert_eq!(failure(&report(refused)), "QUIC_VERSION_REFUSED client");

    let mut client_gone = handshake(50_000, 0);
    client_gone.truncate(2);
    client_gone.push(datagram(400, 50_000, false, &answer()));
    client_gone.push(later(5_000));
    assert_eq!(failure(&report(client_gone)), "QUIC_UNFINISHED client");

    let mut server_gone = handshake(50_000, 0);
    server_gone.truncate(3);
    server_gone.push(datagram(400, 50_000, true, &long(0, SERVER_ID, CLIENT_ID, 60)));
    server_gone.push(later(5_000));
    assert_eq!(failure(&report(server_gone)), "QUIC_UNFINISHED server");
}

#[test]
fn a_retry_another_version_and_a_second_connection_are_no_failures() {
    let retry = long(3, CLIENT_ID, b"rrrr", 60);
    let mut retried = vec![
        datagram(0, 50_000, true, &initial()),
        datagram(30, 50_000, false, &retry),
        datagram(40, 50_000, true, &long(0, b"rrrr", CLIENT_ID, 1_200)),
    ];
    retried.extend(handshake(50_000, 40).into_iter().skip(1));
    // The same ports again, for another connection.
    let second = long(0, b"otherid8", b"ddd", 1_200);
    retried.push(datagram(2_000, 50_000, true, &second));
    retried.extend(handshake(50_000, 2_000).into_iter().skip(1));
    retried.push(later(9_000));
    let report = report(retried);
    assert!(report.verdict.failures.is_empty(), "{:?}", report.verdict.failures);
    let [first, second] = &report.quic.connections[..] else { panic!("{:?}", report.quic) };
    assert!(first.retried && !second.retried);
    assert_eq!((first.handshake_seconds, second.handshake_seconds), (Some(0.081), Some(0.041)));
}

#[test]
fn datagrams_of_other_protocols_and_of_unknown_connections_are_counted_as_unread() {
    let mut datagrams: Vec<PlantedDatagram> =
        (0..5).map(|at| datagram(at, 50_000, true, &short(false))).collect();
    datagrams.push(datagram(9, 53, true, &long(0, FIRST_ID, CLIENT_ID, 100)));
    let report = report(datagrams);
    assert!(report.quic.connections.is_empty());
    assert_eq!(report.capture.not_tcp, 6);
    assert_eq!(report.capture.unread[0].name, "UDP");
    assert!(report.capture.is_unreadable());
}

#[test]
fn beyond_the_limit_connections_are_counted_or_given_up() {
    // One in three is not answered.
    let many = |number: u16| {
        let at_ms = i64::from(number) * 10;
        let kept = if number.is_multiple_of(3) { 1 } else { 5 };
        handshake(20_000 + number, at_ms).into_iter().take(kept)
    };
    let datagrams = || (1..=12_000).flat_map(many).collect::<Vec<PlantedDatagram>>();
    let bounded = report(datagrams());
    assert_eq!(bounded.quic.connections.len(), 10_000);
    assert_eq!(bounded.quic.connections_total, 10_000);
    assert_eq!(bounded.quic.beyond_limit, 2_000);
    let endless = AnalysisSettings { endless: true, ..AnalysisSettings::default() };
    let endless = report_with(datagrams(), endless);
    assert_eq!(endless.quic.connections_total, 12_000);
    assert_eq!(endless.quic.beyond_limit, 0);
    assert!(endless.quic.connections.len() <= 10_000);
    assert_eq!(endless.verdict.failures[0].of_connections, 12_000);
    // What began in the last three seconds of the capture may still be answered.
    assert_eq!(endless.verdict.failures[0].connections, 4_000 - 98);
}
