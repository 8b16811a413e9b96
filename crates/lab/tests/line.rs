//! The line is as long and as wide as it says.
//!
//! A busy machine makes single measurements longer, never shorter: the best of several counts.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test's helpers fail the test"
)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use lab::line::{Line, LineError, SERVER, Shape};
use lab::net::NamespaceError;

const PORT: u16 = 7_000;

fn line(up: Shape, down: Shape) -> Option<Line> {
    match Line::open(up, down) {
        Ok(line) => Some(line),
        Err(LineError::Namespace(NamespaceError::NotRoot)) => {
            assert!(std::env::var("CI").is_err(), "the gate needs root");
            println!("skipped: namespaces need root");
            None
        }
        Err(error) => panic!("{error:?}"),
    }
}

fn connect(line: &Line) -> (Duration, TcpStream) {
    let connect = || {
        let begun = Instant::now();
        let stream = TcpStream::connect(SocketAddr::new(SERVER, PORT)).unwrap();
        (begun.elapsed(), stream)
    };
    line.client.within(connect).unwrap()
}

fn listen(line: &Line) -> TcpListener {
    line.server.within(|| TcpListener::bind((SERVER, PORT)).unwrap()).unwrap()
}

#[test]
fn a_round_trip_takes_both_delays() {
    let shape = Shape { delay: Duration::from_millis(65), ..Shape::default() };
    let Some(line) = line(shape.clone(), shape) else { return };
    let _listener = listen(&line);
    let best = (0..20).map(|_| connect(&line).0).min().unwrap();
    let wanted = Duration::from_millis(130);
    assert!(best >= wanted && best <= wanted + Duration::from_millis(1), "{best:?}");
    let [up, down] = line.close().unwrap();
    assert!(up.passed >= 40 && down.passed >= 20 && up.lost + down.lost == 0, "{up:?} {down:?}");
}

#[test]
fn a_transfer_takes_what_the_rate_allows() {
    let rate = 200_000_000;
    let shape = Shape { bits_per_second: rate, queue_bytes: 1 << 20, ..Shape::default() };
    let Some(line) = line(Shape::default(), shape) else { return };
    let listener = listen(&line);
    let bytes = 8 << 20;
    let once = || {
        let (_, mut client) = connect(&line);
        let (mut server, _) = listener.accept().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || server.write_all(&vec![7; bytes]).unwrap());
            let begun = Instant::now();
            let mut got = Vec::new();
            client.read_to_end(&mut got).unwrap();
            assert_eq!(got.len(), bytes);
            begun.elapsed().as_secs_f64()
        })
    };
    // Headers of link, IP and TCP with timestamps take 66 bytes beside each 1448 of payload.
    let wanted = bytes as f64 * 8.0 / rate as f64 * (1_514.0 / 1_448.0);
    let best = (0..6).map(|_| once()).fold(f64::MAX, f64::min);
    assert!(best > wanted * 0.97 && best < wanted * 1.10, "{best} s, not {wanted} s");
}
