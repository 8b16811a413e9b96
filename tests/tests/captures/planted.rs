//! Causes planted in real connections of Linux over a long line, each recorded at both ends: the first cause is the
//! planted one, counts are tshark's and tcptrace's, and both ends tell the same story.
//!
//! They need root for namespaces.

use std::path::Path;
use std::time::Duration;

use lab::line::{Line, Shape};
use serde_json::Value;
use tests::e2e::balancer::is_long;
use tests::e2e::record::{Tapes, record};
use tests::skip::skip;

use crate::analysed::analysed;
use crate::beside::{agrees, have_tools};
use crate::talk::{Answer, Ask};

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A connection to record.
struct Case {
    /// How far it is in one direction.
    delay: Duration,
    /// What answers meet beside that.
    down: Shape,
    /// Bytes that the client takes at most; 0: plenty.
    takes: u32,
    controls: &'static [&'static str],
    answer: Answer,
    ask: Ask,
}

impl Case {
    fn of(delay: Duration, answer: Answer) -> Case {
        let (down, ask) = (Shape::default(), Ask::once());
        Case { delay, down, takes: 0, controls: BOTH, answer, ask }
    }

    /// Both ends' recordings under this congestion control; `None`: not here.
    fn record(&self, control: &str) -> Option<Tapes> {
        if !have_tools() {
            return None;
        }
        let delay = self.delay;
        let (up, down) =
            (Shape { delay, ..Shape::default() }, Shape { delay, ..self.down.clone() });
        let line = match Line::open(up, down) {
            Ok(line) => line,
            Err(error) => {
                skip(&format!("no line: {error}"));
                return None;
            }
        };
        let room = match self.takes {
            0 => "4096 6291456 8388608".to_owned(),
            bytes => format!("4096 {bytes} {bytes}"),
        };
        line.client.set(&[("net/ipv4/tcp_rmem", &room)]).unwrap();
        line.server.set(&[("net/ipv4/tcp_wmem", "4096 6291456 8388608")]).unwrap();
        Some(record(
            &line,
            control,
            |stream| self.answer.serve(stream),
            |stream| self.ask.ask(stream),
        ))
    }
}

/// What is expected: one of these codes, owner, phase.
type Cause = (&'static [&'static str], &'static str, &'static str);

/// Whether nothing was lost on purpose: then bytes in flight are exact too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Clean,
    Lossy,
}

/// Congestion controls of this kernel among these.
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

/// One that fills queues, and one that paces itself, where the kernel has it.
const BOTH: &[&str] = &["cubic", "bbr"];
/// Bursts of the former make the line itself lose packets, or wait for it.
const PACED: &[&str] = &["bbr"];

/// Recordings of a case: on a busy machine the line itself is late, and both ends wait for the processor. One of three
/// has to show what was planted.
const TRIES: usize = 3;

/// Records a case and finds the planted cause at both ends, under each congestion control.
fn planted(case: &Case, way: Way, (codes, owner, phase): Cause) -> Vec<Value> {
    let mut all = Vec::new();
    for control in controls(case.controls) {
        let mut seen = Vec::new();
        let found = loop {
            let Some(tapes) = case.record(control) else { return all };
            let found = [&tapes.client, &tapes.server].map(|tape| judged(tape, way));
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

/// A recording's report, whose counts are those of others.
fn judged(tape: &Path, way: Way) -> Value {
    agrees(tape, way == Way::Clean);
    analysed(tape)
}

/// Both ends' phases: within 2 % of the whole, or 5 ms; on a busy machine, where the line itself is late, 50 ms.
fn alike([client, server]: &[Value; 2]) {
    let of = |report: &Value| report["connections"][0]["transactions"].as_array().unwrap().clone();
    let (near, far) = (of(client), of(server));
    assert_eq!(near.len(), far.len());
    for (near, far) in near.iter().zip(&far) {
        let pairs = [
            ("total", &near["total_seconds"], &far["total_seconds"]),
            ("request", &near["request"]["seconds"], &far["request"]["seconds"]),
            ("server", &near["server_seconds"], &far["server_seconds"]),
        ];
        let seconds = |value: &Value| value.as_f64().unwrap();
        // Near the server the end of the answer has its queue still before it.
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

#[test]
fn a_receive_window_smaller_than_the_path() {
    let case = Case { takes: 65_536, ..Case::of(ms(25), Answer::of(1_500_000)) };
    planted(&case, Way::Clean, (&["RWND"], "client", "response"));
}

#[test]
fn a_send_buffer_smaller_than_the_path() {
    // The buffer counts only once the congestion window is larger: Linux adds to what is not sent yet without asking.
    let case = Case::of(ms(10), Answer { keeps: 16 * 1024, ..Answer::of(4_000_000) });
    planted(&case, Way::Clean, (&["SEND_BUFFER"], "server", "response"));
}

#[test]
fn a_client_that_stops_reading() {
    let ask = Ask { stop: (300_000, ms(1_500)), ..Ask::once() };
    let answer = Answer::of(1_000_000);
    let case = Case { takes: 131_072, ask, ..Case::of(ms(10), answer) };
    planted(&case, Way::Clean, (&["ZERO_WINDOW"], "client", "response"));
}

/// Whether its window closes or only stays full is a matter of moments.
#[test]
fn a_client_that_reads_slowly() {
    let ask = Ask { reads: ms(20), ..Ask::once() };
    let case = Case { takes: 65_536, ask, ..Case::of(ms(10), Answer::of(1_000_000)) };
    planted(&case, Way::Clean, (&["RWND", "ZERO_WINDOW", "SILLY_WINDOW"], "client", "response"));
}

#[test]
fn packets_are_lost() {
    let down = Shape {
        bits_per_second: 60_000_000,
        queue_bytes: 400_000,
        lose_every: 40,
        ..Shape::default()
    };
    let case = Case { down, controls: PACED, ..Case::of(ms(20), Answer::of(2_000_000)) };
    planted(&case, Way::Lossy, (&["LOSS"], "network", "response"));
}

#[test]
fn the_beginning_of_a_connection() {
    let case = Case { controls: PACED, ..Case::of(ms(50), Answer::of(400_000)) };
    planted(&case, Way::Clean, (&["SLOW_START"], "network", "response"));
}

#[test]
fn a_link_that_is_full() {
    full_link(16_000_000, ms(10), 2_000_000);
}

/// Near the receiver packets come some 150 us apart, and no machine keeps times as steadily as that.
#[test]
fn a_fast_link_that_is_full() {
    full_link(80_000_000, ms(15), 6_000_000);
}

fn full_link(bits_per_second: u64, delay: Duration, bytes: usize) {
    let down = Shape { bits_per_second, ..Shape::default() };
    let case = Case { down, ..Case::of(delay, Answer::of(bytes)) };
    for report in planted(&case, Way::Clean, (&["LINK_RATE"], "network", "response")) {
        assert_eq!(report["verdict"]["healthy"], true, "{:#}", report["verdict"]);
    }
}

#[test]
fn small_segments_that_wait_for_delayed_acknowledgements() {
    let answer = Answer { bytes: 300, apart: true, ..Answer::default() };
    let ask = Ask { times: 12, delays: true, ..Ask::default() };
    let case = Case { ask, controls: PACED, ..Case::of(ms(5), answer) };
    planted(&case, Way::Clean, (&["NAGLE_DELAYED_ACK"], "client", "response"));
}

#[test]
fn a_server_that_thinks() {
    let case = Case::of(ms(10), Answer { think: ms(400), ..Answer::of(20_000) });
    planted(&case, Way::Clean, (&["SERVER_THINK"], "server", "server"));
}

#[test]
fn a_server_that_dribbles() {
    let case = Case::of(ms(10), Answer { each: ms(60), ..Answer::of(160_000) });
    planted(&case, Way::Clean, (&["APP_SENDER"], "server", "response"));
}

#[test]
fn a_client_that_sends_slowly() {
    let ask = Ask { pieces: 6, each: ms(80), ..Ask::once() };
    let case = Case { ask, ..Case::of(ms(10), Answer::of(100)) };
    planted(&case, Way::Clean, (&["APP_SENDER"], "client", "request"));
}

#[test]
fn a_healthy_transfer_is_blamed_for_nothing() {
    let ask = Ask { times: 4, ..Ask::default() };
    let case = Case { ask, ..Case::of(ms(25), Answer::of(9_000)) };
    for control in controls(BOTH) {
        let mut blamed = Vec::new();
        while blamed.len() < TRIES {
            let Some(tapes) = case.record(control) else { return };
            let found = [&tapes.client, &tapes.server].map(|tape| judged(tape, Way::Clean));
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
