//! An emulated link has the delay and rate of its shape.
//!
//! A busy machine makes single measurements longer, never shorter, so the best of several counts.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test's helpers fail the test"
)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use lab::link_emulation::{EmulatedLink, EmulatedLinkError, LinkShape, SERVER};
use lab::net::NamespaceError;

const PORT: u16 = 7_000;

fn line(up: LinkShape, down: LinkShape) -> Option<EmulatedLink> {
    match EmulatedLink::open(up, down) {
        Ok(line) => Some(line),
        Err(EmulatedLinkError::Namespace(NamespaceError::NotRoot)) => {
            assert!(std::env::var("CI").is_err(), "the gate needs root");
            println!("skipped: namespaces need root");
            None
        }
        Err(error) => panic!("{error:?}"),
    }
}

fn connect(line: &EmulatedLink) -> (Duration, TcpStream) {
    let connect = || {
        let begun = Instant::now();
        let stream = TcpStream::connect(SocketAddr::new(SERVER, PORT)).unwrap();
        (begun.elapsed(), stream)
    };
    line.client.run_inside(connect).unwrap()
}

fn listen(line: &EmulatedLink) -> TcpListener {
    line.server.run_inside(|| TcpListener::bind((SERVER, PORT)).unwrap()).unwrap()
}

#[test]
fn a_round_trip_takes_both_delays() {
    let delay = Duration::from_millis(65);
    let shape = LinkShape {
        delay,
        bits_per_second: 200_000_000,
        queue_bytes: 1 << 20,
        ..LinkShape::default()
    };
    let Some(line) = line(shape.clone(), shape) else { return };
    let _listener = listen(&line);
    let best = (0..20).map(|_| connect(&line).0).min().unwrap();
    println!("proof: a round trip of 130 ms at 200 Mbit/s takes {best:?}");
    let wanted = Duration::from_millis(130);
    assert!(best >= wanted && best <= wanted + Duration::from_millis(1), "{best:?}");
    let [up, down] = line.close().unwrap();
    assert!(up.passed >= 40 && down.passed >= 20 && up.lost + down.lost == 0, "{up:?} {down:?}");
}

/// Sent repeatedly.
static CHUNK: [u8; 1 << 20] = [7; 1 << 20];

/// The best of several transfers, as a share of the possible rate.
fn carried(rate: u64, bytes: usize) -> Option<f64> {
    let shape = LinkShape { bits_per_second: rate, queue_bytes: 1 << 20, ..LinkShape::default() };
    let line = line(LinkShape::default(), shape)?;
    let listener = listen(&line);
    let once = || {
        let (_, mut client) = connect(&line);
        let (mut server, _) = listener.accept().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                (0..bytes / CHUNK.len()).for_each(|_| server.write_all(&CHUNK).unwrap());
            });
            let begun = Instant::now();
            let mut room = vec![0; 1 << 18];
            let mut got = 0;
            loop {
                match client.read(&mut room).unwrap() {
                    0 => break,
                    more => got += more,
                }
            }
            assert_eq!(got, bytes);
            begun.elapsed().as_secs_f64()
        })
    };
    // The Ethernet, IP and TCP headers with timestamps add 66 bytes to each 1448 of payload.
    let wanted = bytes as f64 * 8.0 / rate as f64 * (1_514.0 / 1_448.0);
    let best = (0..6).map(|_| once()).fold(f64::MAX, f64::min);
    let part = wanted / best;
    println!("proof: a line of {} Mbit/s carries {:.1} % of that", rate / 1_000_000, part * 100.0);
    Some(part)
}

#[test]
fn a_transfer_takes_what_the_rate_allows() {
    let Some(part) = carried(200_000_000, 8 << 20) else { return };
    assert!(part > 0.91 && part < 1.03, "{part}");
}

/// Segment trains are counted as single frames of a wire, and their data arrives unchanged.
#[test]
fn a_fast_line_passes_trains_of_both_families() {
    let shape =
        LinkShape { bits_per_second: 2_000_000_000, queue_bytes: 8 << 20, ..LinkShape::default() };
    let Some(line) = line(LinkShape::default(), shape) else { return };
    line.client.ip("addr add fd40::1/64 dev eth0 nodad\n").unwrap();
    line.server.ip("addr add fd40::2/64 dev eth0 nodad\n").unwrap();
    let sent: Vec<u8> =
        (0..4_u32 << 20).flat_map(|n| n.wrapping_mul(0x9e37_79b9).to_be_bytes()).collect();
    for server in [SERVER, "fd40::2".parse().unwrap()] {
        let listener =
            line.server.run_inside(|| TcpListener::bind((server, PORT)).unwrap()).unwrap();
        let connect = || TcpStream::connect((server, PORT)).unwrap();
        let mut client = line.client.run_inside(connect).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let mut got = Vec::new();
        std::thread::scope(|scope| {
            let sent = &sent;
            scope.spawn(move || server.write_all(sent).unwrap());
            client.read_to_end(&mut got).unwrap();
        });
        assert!(got == sent, "{} of {} bytes, or others", got.len(), sent.len());
    }
    let [_, down] = line.close().unwrap();
    let least = 2 * sent.len() as u64 / 1_448;
    assert!(down.passed >= least && down.passed < least * 5 / 4, "{down:?}, {least}");
}

/// Run alone on the machine, with optimised code: `STEELYARD_LONG=1 cargo test --profile prove -p lab --test line`.
#[test]
fn rates_from_10_megabits_to_5_gigabits_are_kept() {
    if std::env::var_os("STEELYARD_LONG").is_none() {
        return;
    }
    let rows = [(10, 1 << 20), (100, 8 << 20), (1_000, 64 << 20), (5_000, 256 << 20)];
    let found = rows.map(|(megabits, bytes)| carried(megabits * 1_000_000, bytes));
    assert!(found.iter().flatten().all(|part| (part - 1.0).abs() <= 0.05), "{found:?}");
}
