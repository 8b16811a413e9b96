//! The study's recreated captures and their expected findings, exactly as in `captures/expected.json`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail the test")]

use std::fs::File;
use std::path::PathBuf;

use serde_json::Value;
use trace::analysis::{Analysis, AnalysisSettings};
use trace::ingest::ingest_capture;
use trace::report_builder::{CaptureSource, build_report};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/captures")
}

fn analysed(name: &str) -> Value {
    let mut analysis = Analysis::new(AnalysisSettings::default());
    let mut source = CaptureSource::default();
    let file = File::open(folder().join(format!("{name}.gz"))).unwrap();
    ingest_capture(&mut analysis, &mut source, name, file, |_| ()).unwrap();
    serde_json::to_value(build_report(analysis.finish(), source)).unwrap()
}

fn expected(name: &str) -> Value {
    let text = std::fs::read_to_string(folder().join("expected.json")).unwrap();
    let all: Value = serde_json::from_str(&text).unwrap();
    let one = all[name].clone();
    match one["same_as"].as_str() {
        Some(other) => all[other].clone(),
        None => one,
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// Times: within 2 % or 5 ms.
fn near_time(found: &Value, wanted: &Value) {
    let found = number(found);
    let wanted = number(wanted);
    assert!((found - wanted).abs() <= (wanted * 0.02).max(0.005), "{found} s, not {wanted} s");
}

/// Bytes in flight: within two segments.
fn near_flight(found: &Value, wanted: &Value) {
    let found = number(found);
    let wanted = number(wanted);
    assert!((found - wanted).abs() <= 2.0 * 1460.0, "{found} in flight, not {wanted}");
}

fn near_rate(found: &Value, wanted: &Value) {
    let found = number(found);
    let wanted = number(wanted);
    assert!((found - wanted).abs() <= wanted * 0.03, "{found} Mbit/s, not {wanted}");
}

fn near_share(found: &Value, wanted: &Value) {
    let found = number(found);
    let wanted = number(wanted);
    assert!((found - wanted).abs() <= 0.01, "a share of {found}, not {wanted}");
}

fn request_and_response(one: &Value, wanted: &Value) {
    let transaction = &one["transactions"][0];
    near_time(&transaction["request"]["seconds"], &wanted["request"]["seconds"]);
    assert_eq!(transaction["request"]["packets"], wanted["request"]["packets"]);
    assert_eq!(transaction["request"]["bytes"], wanted["request"]["bytes"]);
    near_time(&transaction["server_seconds"], &wanted["server_seconds"]);
    let (response, expected) = (&transaction["response"], &wanted["response"]);
    near_time(&response["seconds"], &expected["seconds"]);
    near_flight(&response["max_in_flight"], &expected["max_in_flight"]);
    near_rate(&response["realized_bandwidth_mbps"], &expected["realized_bandwidth_mbps"]);
    if !expected["bytes"].is_null() {
        assert_eq!(response["bytes"], expected["bytes"]);
    }
}

fn finding(found: &Value, wanted: &Value) {
    for key in ["phase", "code", "owner", "flag", "hint", "window"] {
        if !wanted[key].is_null() {
            assert_eq!(found[key], wanted[key], "{key} of {found}");
        }
    }
    if !wanted["share"].is_null() {
        near_share(&found["share"], &wanted["share"]);
    }
    if !wanted["cap_bytes"].is_null() {
        near_flight(&found["cap_bytes"], &wanted["cap_bytes"]);
    }
}

fn verdict(found: &Value, wanted: &Value) {
    finding(&found["most_significant"], &wanted["most_significant"]);
    let (next, expected) = (found["next"].as_array().unwrap(), wanted["next"].as_array().unwrap());
    assert_eq!(next.len(), expected.len(), "{next:?}");
    next.iter().zip(expected).for_each(|(found, wanted)| finding(found, wanted));
}

/// Each view sums to the total within 1 ms, for every transaction and over all.
fn views_agree(report: &Value) {
    let transactions = report["connections"][0]["transactions"].as_array().unwrap();
    for one in transactions.iter().chain([&report["verdict"]]) {
        let total = number(&one["total_seconds"]);
        for view in ["location", "owners"] {
            let parts = one[view].as_object().unwrap().values();
            let sum: f64 = parts.map(number).sum();
            assert!((sum - total).abs() < 0.001, "{view} sums to {sum}, the total is {total}");
        }
    }
}

fn slow(name: &str) {
    let found = analysed(name);
    let wanted = expected(name);
    let one = &found["connections"][0];
    assert_eq!(one["handshake"], wanted["handshake"]);
    near_time(&one["rtt_s"], &wanted["rtt_s"]);
    assert_eq!(one["server"]["window"]["scale"]["option"], wanted["server_scale_option"]);
    assert_eq!(one["client"]["window"]["scale"]["option"], wanted["client_scale_option"]);
    assert_eq!(one["flags"][0]["window_before"], wanted["server_window_before"]);
    assert_eq!(one["flags"][0]["window_after"], wanted["server_window_after"]);
    assert_eq!(one["client"]["window"]["max"], wanted["client_window"]);
    request_and_response(one, &wanted);
    verdict(&found["verdict"], &wanted);
    assert_eq!(found["verdict"]["next_among_transport"], wanted["next_among_transport"]);
    views_agree(&found);
}

// Rows: D03, D06
#[test]
fn slow_at_the_balancer() {
    slow("two_lb_slow_lb2.pcap");
}

#[test]
fn slow_at_the_client() {
    slow("two_lb_slow_lb2_client.pcap");
    let found = analysed("two_lb_slow_lb2_client.pcap");
    let sent = &found["connections"][0]["server"]["sent"];
    assert_eq!(sent["max_in_flight_captured"], 2_920, "unshifted");
    assert_eq!(sent["max_in_flight"], 32_768, "in the sender's view");
}

// Rows: D07
#[test]
fn slow_from_the_middle_of_the_stream() {
    let name = "two_lb_slow_lb2_midstream.pcap";
    let found = analysed(name);
    let wanted = expected(name);
    let one = &found["connections"][0];
    assert_eq!(one["handshake"], wanted["handshake"]);
    let scale = &one["server"]["window"]["scale"];
    assert_eq!((&scale["shift"], &scale["provenance"]), (&0.into(), &"proven-zero".into()));
    let scale = &one["client"]["window"]["scale"];
    assert_eq!((&scale["shift"], &scale["provenance"]), (&6.into(), &"lower-bound".into()));
    assert!(one["client"]["window"]["max"].is_null(), "a guess shown as fact");
    finding(&found["verdict"]["most_significant"], &wanted["most_significant"]);
    let next = found["verdict"]["next"].as_array().unwrap();
    let buffer = next.iter().find(|finding| finding["code"] == "SEND_BUFFER").unwrap();
    assert!(buffer["alternative"].as_str().unwrap().contains("scale factor 6"), "{buffer}");
    views_agree(&found);
}

// Rows: D02, D05
#[test]
fn fast() {
    let name = "two_lb_fast_lb1.pcap";
    let found = analysed(name);
    let wanted = expected(name);
    request_and_response(&found["connections"][0], &wanted);
    verdict(&found["verdict"], &wanted);
    views_agree(&found);
}
