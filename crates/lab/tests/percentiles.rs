//! All percentiles are right against a server with known response times that stalls for one second every ten.
//!
//! Unit tests prove the same under virtual time. This test uses sockets and clocks for 20 s on a quiet machine:
//! `STEELYARD_LONG=1 cargo test --profile prove -p lab --test percentiles -- --nocapture`.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test's helpers fail the test, and its server is slow on purpose"
)]

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use lab::load::{HttpPlan, LoadModel, LoadPlan, LoadProtocol, LoadRun};

const RATE: u64 = 200;
const SECONDS: u64 = 20;
/// Start, end and period of the stall, ms.
const STALL: (u64, u64, u64) = (5_000, 6_000, 10_000);

/// Response time of the request with this number, ms.
fn delay(number: u64) -> u64 {
    match number * 37 % 100 {
        0..90 => 30,
        90..99 => 80,
        _ => 300,
    }
}

/// When a ready response is sent, ms.
fn leaves(ready: f64) -> f64 {
    let (from, to, every) = STALL;
    let lap = (ready / every as f64).floor() * every as f64;
    let within = (from as f64 + lap..to as f64 + lap).contains(&ready);
    if within { to as f64 + lap } else { ready }
}

/// Responds to each request at its time.
fn serve(connection: TcpStream, begun: &OnceLock<Instant>) {
    let mut out = connection.try_clone().unwrap();
    let mut number = None;
    for line in BufReader::new(connection).lines() {
        let Ok(line) = line else { return };
        if let Some(id) = line.strip_prefix("x-lab-id: ") {
            number = Some(u64::from_str_radix(id, 16).unwrap());
        }
        if line.is_empty() {
            let begun = begun.get_or_init(Instant::now);
            let came = begun.elapsed().as_secs_f64() * 1e3;
            let at = leaves(came + delay(number.take().unwrap()) as f64);
            std::thread::sleep(Duration::from_secs_f64((at - came) / 1e3));
            if out.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").is_err() {
                return;
            }
        }
    }
}

#[test]
fn percentiles_of_a_known_distribution_are_right() {
    if std::env::var_os("STEELYARD_LONG").is_none() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let begun = OnceLock::new();
    let report = std::thread::scope(|scope| {
        scope.spawn(|| {
            let begun = &begun;
            for connection in listener.incoming().take(CONNECTIONS) {
                scope.spawn(move || serve(connection.unwrap(), begun));
            }
        });
        let mut http = HttpPlan::get("lab", "/");
        http.first_id = Some(0);
        let mut plan = LoadPlan::new(address, LoadProtocol::Http(http), CONNECTIONS);
        plan.pace = LoadModel::Open { per_second: RATE as f64, connections: CONNECTIONS };
        plan.time = Some(Duration::from_secs(SECONDS));
        let report = LoadRun::start(plan).unwrap().wait();
        // Connects for the connections that the server still waits to accept.
        for _ in report.connects..CONNECTIONS as u64 {
            drop(TcpStream::connect(address));
        }
        report
    });
    let all = RATE * SECONDS;
    assert_eq!((report.answered, report.failed), (all, 0));
    let mut right: Vec<f64> = (0..all)
        .map(|number| {
            let start = number as f64 * 1e3 / RATE as f64;
            leaves(start + delay(number) as f64) - start
        })
        .collect();
    right.sort_by(f64::total_cmp);
    let mut worst = 0.0_f64;
    for quantile in [0.25, 0.5, 0.75, 0.85, 0.88, 0.91, 0.95, 0.97, 0.99, 0.999, 1.0] {
        let rank = ((quantile * all as f64).ceil() as usize).clamp(1, right.len()) - 1;
        let found = report.latency_us(quantile) / 1e3;
        let right = right[rank];
        let off = (found / right - 1.0) * 100.0;
        println!("proof: quantile {quantile}: {found:.2} ms for {right:.2} ms, {off:+.2} %");
        worst = worst.max(off.abs());
    }
    assert!(worst <= 2.0, "{worst}");
}

/// More than the requests in flight during the stall.
const CONNECTIONS: usize = 400;
