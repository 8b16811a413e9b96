//! Causes planted in real TCP connections over an emulated long link, recorded at both ends. The first reported cause
//! is the planted one, the counts equal those of tshark and tcptrace, and both ends agree.
//!
//! The tests need root for namespaces.

use std::path::Path;
use std::time::Duration;

use lab::link_emulation::{EmulatedLink, LinkShape};
use lab::net::SysctlSetting;
use serde_json::Value;
use tests::e2e::balancer::is_long;
use tests::e2e::captures::{RecordedCaptures, record};
use tests::skip::skip;

use crate::analysed::analysed;
use crate::beside::{agrees, have_tools};
use crate::scripted_exchange::{ClientScript, ServerScript};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A connection to record.
struct PlantedCase {
    /// The one-way delay.
    delay: Duration,
    /// The shape of the link that carries the responses, besides the delay.
    downlink: LinkShape,
    /// The client's receive buffer in bytes; 0 for a large one.
    receive_buffer: u32,
    controls: &'static [&'static str],
    server: ServerScript,
    client: ClientScript,
}

impl PlantedCase {
    fn of(delay: Duration, answer: ServerScript) -> PlantedCase {
        let down = LinkShape::default();
        let ask = ClientScript::once();
        PlantedCase {
            delay,
            downlink: down,
            receive_buffer: 0,
            controls: BOTH,
            server: answer,
            client: ask,
        }
    }

    /// Both ends' captures under this congestion control. `None` means that the kernel lacks it or a tool is missing.
    fn record(&self, control: &str) -> Option<RecordedCaptures> {
        if !have_tools() {
            return None;
        }
        let delay = self.delay;
        let up = LinkShape { delay, ..LinkShape::default() };
        let down = LinkShape { delay, ..self.downlink.clone() };
        let line = match EmulatedLink::open(up, down) {
            Ok(line) => line,
            Err(error) => {
                skip(&format!("no line: {error}"));
                return None;
            }
        };
        let room = match self.receive_buffer {
            0 => "4096 6291456 8388608".to_owned(),
            bytes => format!("4096 {bytes} {bytes}"),
        };
        line.client
            .write_sysctls(&[SysctlSetting { path: "net/ipv4/tcp_rmem", value: &room }])
            .unwrap();
        line.server
            .write_sysctls(&[SysctlSetting {
                path: "net/ipv4/tcp_wmem",
                value: "4096 6291456 8388608",
            }])
            .unwrap();
        Some(record(
            &line,
            control,
            |stream| self.server.serve(stream),
            |stream| self.client.ask(stream),
        ))
    }
}

/// The expected cause: one of these codes, its owner and its phase.
type ExpectedCause = (&'static [&'static str], &'static str, &'static str);

/// Whether packets are lost on purpose. Without loss, bytes in flight are exact too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LossMode {
    Lossless,
    Lossy,
}

/// The congestion controls among these that the kernel supports.
fn controls(wanted: &[&'static str]) -> Vec<&'static str> {
    let file = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let known = std::fs::read_to_string(file).unwrap();
    let mut all = wanted.to_vec();
    all.retain(|name| known.split_whitespace().any(|it| it == *name));
    if all.is_empty() {
        skip(&format!("of {wanted:?} the kernel has {known}"));
    }
    all
}

/// A congestion control that fills queues, and one with pacing where the kernel supports it.
const BOTH: &[&str] = &["cubic", "bbr"];
/// Bursts of the former overflow or fill the link's queue by themselves.
const PACED: &[&str] = &["bbr"];

/// Captures of one case. On a busy machine the emulated link is late and both ends wait for the processor, so one of
/// six captures must show the planted cause.
const TRIES: usize = 6;

/// Records a case, and finds the planted cause at both ends under each congestion control.
fn check_planted(
    case: &PlantedCase,
    way: LossMode,
    (codes, owner, phase): ExpectedCause,
) -> Vec<Value> {
    let mut all = Vec::new();
    for control in controls(case.controls) {
        let mut seen = Vec::new();
        let found = loop {
            let Some(tapes) = case.record(control) else { return all };
            let found = [&tapes.client, &tapes.server].map(|tape| diagnose(tape, way));
            let verdicts = found.each_ref().map(|report| &report["verdict"]);
            let is = |verdict: &&Value| {
                let first = &verdict["most_significant"];
                let code = first["code"].as_str().unwrap_or_default();
                [&first["owner"], &first["phase"]] == [owner, phase] && codes.contains(&code)
            };
            if verdicts.iter().all(is) {
                break found;
            }
            seen.push(verdicts.map(Value::clone));
            assert!(seen.len() < TRIES, "{control}: no recording shows {codes:?}: {seen:#?}");
        };
        alike(&found);
        all.extend(found);
    }
    all
}

/// A capture's report, after its counts were compared with the other programs.
fn diagnose(tape: &Path, way: LossMode) -> Value {
    agrees(tape, way == LossMode::Lossless);
    analysed(tape)
}

/// The phases at both ends agree within 2 % of the total or 5 ms. On a busy machine, where the emulated link is late,
/// 50 ms.
fn alike([client, server]: &[Value; 2]) {
    let of = |report: &Value| report["connections"][0]["transactions"].as_array().unwrap().clone();
    let near = of(client);
    let far = of(server);
    assert_eq!(near.len(), far.len());
    for (near, far) in near.iter().zip(&far) {
        let pairs = [
            ("total", &near["total_seconds"], &far["total_seconds"]),
            ("request", &near["request"]["seconds"], &far["request"]["seconds"]),
            ("server", &near["server_seconds"], &far["server_seconds"]),
        ];
        let seconds = |value: &Value| value.as_f64().unwrap();
        // Near the server, the end of the response has not passed the queue yet.
        let response =
            |of: &Value| seconds(&of["response"]["seconds"]) + seconds(&of["tail_seconds"]);
        let pairs = pairs.map(|(name, a, b)| (name, seconds(a), seconds(b)));
        for (name, a, b) in pairs.into_iter().chain([("response", response(near), response(far))]) {
            let least = if is_long() { 0.005 } else { 0.05 };
            let bound = (seconds(&near["total_seconds"]) * 0.02).max(least);
            assert!((a - b).abs() <= bound, "{name}: {a} s or {b} s: {near:#}\n{far:#}");
        }
    }
}

// Rows: D08
#[test]
fn a_receive_window_smaller_than_the_path() {
    let case = PlantedCase {
        receive_buffer: 65_536,
        ..PlantedCase::of(ms(25), ServerScript::of(1_500_000))
    };
    check_planted(&case, LossMode::Lossless, (&["RWND"], "client", "response"));
}

// Rows: D08
#[test]
fn a_send_buffer_smaller_than_the_path() {
    // The send buffer only matters once the congestion window is larger, because Linux enlarges the buffer for unsent
    // data.
    let case = PlantedCase::of(
        ms(10),
        ServerScript { send_buffer: 16 * 1024, ..ServerScript::of(4_000_000) },
    );
    check_planted(&case, LossMode::Lossless, (&["SEND_BUFFER"], "server", "response"));
}

#[test]
fn a_client_that_stops_reading() {
    let ask = ClientScript { stop: (300_000, ms(1_500)), ..ClientScript::once() };
    let answer = ServerScript::of(1_000_000);
    let case =
        PlantedCase { receive_buffer: 131_072, client: ask, ..PlantedCase::of(ms(10), answer) };
    check_planted(&case, LossMode::Lossless, (&["ZERO_WINDOW"], "client", "response"));
}

/// Whether the window closes or stays nearly full depends on timing.
#[test]
fn a_client_that_reads_slowly() {
    let ask = ClientScript { reads: ms(20), ..ClientScript::once() };
    let case = PlantedCase {
        receive_buffer: 65_536,
        client: ask,
        ..PlantedCase::of(ms(10), ServerScript::of(1_000_000))
    };
    check_planted(
        &case,
        LossMode::Lossless,
        (&["RWND", "ZERO_WINDOW", "SILLY_WINDOW"], "client", "response"),
    );
}

#[test]
fn packets_are_lost() {
    let down = LinkShape {
        bits_per_second: 60_000_000,
        queue_bytes: 400_000,
        drop_every: 40,
        ..LinkShape::default()
    };
    let case = PlantedCase {
        downlink: down,
        controls: PACED,
        ..PlantedCase::of(ms(20), ServerScript::of(2_000_000))
    };
    check_planted(&case, LossMode::Lossy, (&["LOSS"], "network", "response"));
}

#[test]
fn the_beginning_of_a_connection() {
    let case =
        PlantedCase { controls: PACED, ..PlantedCase::of(ms(50), ServerScript::of(400_000)) };
    check_planted(&case, LossMode::Lossless, (&["SLOW_START"], "network", "response"));
}

#[test]
fn a_link_that_is_full() {
    full_link(16_000_000, ms(10), 2_000_000);
}

/// Packets arrive about 150 µs apart at the receiver, and no machine has timestamps that precise.
#[test]
fn a_fast_link_that_is_full() {
    full_link(80_000_000, ms(15), 6_000_000);
}

fn full_link(bits_per_second: u64, delay: Duration, bytes: usize) {
    let down = LinkShape { bits_per_second, ..LinkShape::default() };
    let case = PlantedCase { downlink: down, ..PlantedCase::of(delay, ServerScript::of(bytes)) };
    for report in check_planted(&case, LossMode::Lossless, (&["LINK_RATE"], "network", "response"))
    {
        assert_eq!(report["verdict"]["healthy"], true, "{:#}", report["verdict"]);
    }
}

// Rows: D09
#[test]
fn small_segments_that_wait_for_delayed_acknowledgements() {
    let answer = ServerScript { bytes: 300, separate_head: true, ..ServerScript::default() };
    let ask = ClientScript { times: 12, delays: true, ..ClientScript::default() };
    let case = PlantedCase { client: ask, controls: PACED, ..PlantedCase::of(ms(5), answer) };
    check_planted(&case, LossMode::Lossless, (&["NAGLE_DELAYED_ACK"], "client", "response"));
}

// Rows: D03
#[test]
fn a_server_that_thinks() {
    let case = PlantedCase::of(ms(10), ServerScript { think: ms(400), ..ServerScript::of(20_000) });
    check_planted(&case, LossMode::Lossless, (&["SERVER_THINK"], "server", "server"));
}

#[test]
fn a_server_that_dribbles() {
    let case =
        PlantedCase::of(ms(10), ServerScript { interval: ms(60), ..ServerScript::of(160_000) });
    check_planted(&case, LossMode::Lossless, (&["APP_SENDER"], "server", "response"));
}

// Rows: D03
#[test]
fn a_client_that_sends_slowly() {
    let ask = ClientScript { pieces: 6, each: ms(80), ..ClientScript::once() };
    let case = PlantedCase { client: ask, ..PlantedCase::of(ms(10), ServerScript::of(100)) };
    check_planted(&case, LossMode::Lossless, (&["APP_SENDER"], "client", "request"));
}

#[test]
fn a_healthy_transfer_is_blamed_for_nothing() {
    let ask = ClientScript { times: 4, ..ClientScript::default() };
    let case = PlantedCase { client: ask, ..PlantedCase::of(ms(25), ServerScript::of(9_000)) };
    for control in controls(BOTH) {
        let mut blamed = Vec::new();
        while blamed.len() < TRIES {
            let Some(tapes) = case.record(control) else { return };
            let found =
                [&tapes.client, &tapes.server].map(|tape| diagnose(tape, LossMode::Lossless));
            alike(&found);
            let verdicts = found.map(|report| report["verdict"].clone());
            let none = |it: &Value| it["most_significant"].is_null() && it["healthy"] == true;
            if verdicts.iter().all(none) {
                break;
            }
            blamed.push(verdicts);
        }
        assert!(blamed.len() < TRIES, "{control}: blamed each time: {blamed:#?}");
    }
}
