//! Comparison of counts with tshark and tcptrace.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::analysed::{analysed, study};

/// Whether the tools are installed. Reports a skip otherwise.
pub fn have_tools() -> bool {
    let missing: Vec<&str> = ["tshark", "tcptrace", "tcpdump"]
        .into_iter()
        .filter(|tool| !lab::net::find(tool).is_file())
        .collect();
    if !missing.is_empty() {
        tests::skip::skip(&format!("not installed: {}", missing.join(" ")));
    }
    missing.is_empty()
}

/// The numbers of frames and connections, as tshark counts them.
fn tshark(file: &Path) -> (u64, u64) {
    let mut tshark = Command::new(lab::net::find("tshark"));
    tshark.args(["-n", "-o", "tcp.desegment_tcp_streams:FALSE", "--disable-protocol", "http"]);
    tshark.arg("-r").arg(file).args(["-Y", "tcp", "-T", "fields", "-e", "tcp.stream"]);
    let said = lab::net::run_command(&mut tshark).unwrap();
    let streams: Vec<u64> = said.lines().map(|line| line.trim().parse().unwrap()).collect();
    (streams.len() as u64, streams.iter().max().map_or(0, |last| last + 1))
}

/// The columns that tcptrace prints for each connection, by name.
fn tcptrace(file: &Path) -> Vec<BTreeMap<String, String>> {
    let mut tcptrace = Command::new(lab::net::find("tcptrace"));
    let said = lab::net::run_command(tcptrace.args(["-n", "-l", "--csv", "-W"]).arg(file)).unwrap();
    let lines = said.lines().map(str::trim).filter(|line| line.matches(',').count() > 40);
    let mut rows = lines.map(|line| line.split(',').map(|cell| cell.trim().to_owned()));
    let names: Vec<String> = rows.next().unwrap().collect();
    rows.map(|row| names.iter().cloned().zip(row).collect()).collect()
}

/// Compares both sides of a connection with tcptrace's a and b.
fn compare(one: &Value, theirs: &BTreeMap<String, String>, clean: bool) {
    let is_a = |end: &Value| {
        end["address"].as_str() == Some(&theirs["host_a"])
            && end["port"].as_u64() == theirs["port_a"].parse().ok()
    };
    let ends = [&one["client"], &one["server"]];
    let (a, b) = if is_a(ends[0]) { (ends[0], ends[1]) } else { (ends[1], ends[0]) };
    for (end, direction) in [(a, "a2b"), (b, "b2a")] {
        let said = |name: &str| -> i64 { theirs[&format!("{name}_{direction}")].parse().unwrap() };
        let sent = &end["sent"];
        let ours = |name: &str| sent[name].as_i64().unwrap();
        for (name, column) in [
            ("packets", "total_packets"),
            ("data_packets", "actual_data_pkts"),
            ("bytes", "actual_data_bytes"),
            ("unique_bytes", "unique_bytes_sent"),
            ("zero_windows", "zero_win_adv"),
            ("resets", "resets_sent"),
        ] {
            assert_eq!(ours(name), said(column), "{name} of {direction} in {one}");
        }
        assert_eq!(ours("retransmitted_bytes"), ours("bytes") - ours("unique_bytes"), "{one}");
        // Far from the sender, tcptrace does not count bytes that were sent twice into a closed window. Its byte counts
        // then do not add up.
        let twice = said("actual_data_bytes") - said("unique_bytes_sent");
        if said("rexmt_data_bytes") == twice {
            let packets = said("rexmt_data_pkts");
            assert_eq!(ours("retransmitted_packets"), packets, "of {direction} in {one}");
        } else {
            let closed = |end: &&Value| end["sent"]["zero_windows"].as_i64() > Some(0);
            assert!(ends.iter().any(closed), "{direction}: {theirs:?}");
        }
        let scale = &end["window"]["scale"];
        if scale["provenance"] == "syn" {
            assert_eq!(end["window"]["max"].as_i64().unwrap(), said("max_win_adv"), "{end}");
            // tcptrace ignores windows of zero.
            let closed = ours("zero_windows") > 0;
            let least = end["window"]["min"].as_i64().unwrap();
            assert!(least == said("min_win_adv") || (closed && least == 0), "{end}");
        }
        // tcptrace's count is one too high, and it counts nothing in a direction without data.
        if clean && ours("data_packets") > 0 {
            assert_eq!(
                ours("max_in_flight_captured"),
                said("max_owin") - 1,
                "{direction} in {one}"
            );
        }
    }
}

/// Compares the counts of a capture with both programs. `clean` means that nothing was lost or retransmitted.
pub fn agrees(file: &Path, clean: bool) {
    let found = analysed(file);
    let (frames, streams) = tshark(file);
    assert_eq!(found["capture"]["tcp_packets"].as_u64().unwrap(), frames, "{}", file.display());
    assert_eq!(found["connections_total"].as_u64().unwrap(), streams, "{}", file.display());
    let theirs = tcptrace(file);
    assert_eq!(theirs.len() as u64, streams);
    let ours = found["connections"].as_array().unwrap();
    for (one, theirs) in ours.iter().zip(&theirs) {
        compare(one, theirs, clean);
    }
}

// Rows: D12, D13
#[test]
fn the_study_s_counts_are_exact() {
    if !have_tools() {
        return;
    }
    let dir = tests::e2e::dir::TestDir::new();
    for packed in study() {
        // tcptrace needs an external program to decompress, which may be missing.
        let mut whole = Vec::new();
        let mut file = flate2::read::GzDecoder::new(std::fs::File::open(&packed).unwrap());
        std::io::Read::read_to_end(&mut file, &mut whole).unwrap();
        let plain = dir.path().join(packed.file_stem().unwrap());
        std::fs::write(&plain, whole).unwrap();
        agrees(&plain, !plain.to_string_lossy().contains("midstream"));
    }
}

// Rows: D12
#[test]
fn the_filter_of_a_finding_shows_its_packets_in_tshark() {
    if !have_tools() {
        return;
    }
    for packed in study() {
        let report = analysed(&packed);
        let finding = &report["verdict"]["most_significant"];
        let evidence = &finding["evidence"];
        let Some(filter) = evidence["filter"].as_str() else { continue };
        let mut tshark = Command::new(lab::net::find("tshark"));
        tshark.arg("-n").arg("-r").arg(&packed).args(["-Y", filter]);
        let said =
            lab::net::run_command(tshark.args(["-T", "fields", "-e", "frame.number"])).unwrap();
        let frames: Vec<u64> = said.lines().map(|line| line.trim().parse().unwrap()).collect();
        let [first, last] = ["from_packet", "to_packet"].map(|key| evidence[key].as_u64());
        assert_eq!([frames.first().copied(), frames.last().copied()], [first, last], "{filter}");
    }
}
