//! One run captured at both ends: the same first cause and the same shares, also where the clocks of the captures
//! differ.

use serde_json::Value;

use crate::capture::{MS, PlantedPacket, analyse, first_cause};
use crate::cases::{ROWS, planned};
use crate::model::TcpModel;

/// Points of a hundred by which an owner's share may differ between the ends.
const POINTS: f64 = 2.0;

/// An end's clock: its offset, and how many parts in a million it runs fast.
#[derive(Clone, Copy)]
struct EndClock {
    offset_ms: i64,
    drift_ppm: i64,
}

const EXACT: EndClock = EndClock { offset_ms: 0, drift_ppm: 0 };
const WRONG: EndClock = EndClock { offset_ms: 3_700, drift_ppm: 100 };

fn read_by(clock: EndClock, packets: &mut [PlantedPacket]) {
    for packet in packets {
        packet.time_ns += clock.offset_ms * MS + packet.time_ns * clock.drift_ppm / 1_000_000;
    }
}

fn share(report: &Value, owner: &str) -> f64 {
    let verdict = &report["verdict"];
    let total = verdict["total_seconds"].as_f64().unwrap().max(1e-9);
    verdict["owners"][owner].as_f64().unwrap() / total * 100.0
}

fn differences(clock: EndClock) -> Vec<String> {
    let mut wrong = Vec::new();
    for row in ROWS.iter().filter(|row| !row.causes.contains(&"")) {
        let mut settings = planned(row, false);
        let ends = [0, 100].map(|percent| {
            settings.capture_percent = percent;
            let mut packets = TcpModel::run(&settings);
            read_by(if percent == 0 { clock } else { EXACT }, &mut packets);
            analyse(&packets)
        });
        let found = ends.each_ref().map(first_cause);
        for cause in &found {
            if !row.causes.contains(&cause.as_str()) {
                wrong.push(format!("{}: {found:?}, not {:?}", row.name, row.causes));
            }
        }
        for owner in ["client", "network", "server", "unknown"] {
            let shares = ends.each_ref().map(|report| share(report, owner));
            if (shares[0] - shares[1]).abs() > POINTS {
                wrong.push(format!("{}: the {owner} has {shares:.1?} %", row.name));
            }
        }
    }
    wrong
}

#[test]
fn both_ends_agree() {
    let wrong = differences(EXACT);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn both_ends_agree_by_clocks_that_differ() {
    let wrong = differences(WRONG);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_first_cause_stays_while_the_delay_varies() {
    let mut wrong = Vec::new();
    for row in ROWS.iter().filter(|row| !row.causes.contains(&"")) {
        // Where a varying delay bunches packets, their arrivals do not show a link's rate.
        let ends: &[i64] = if row.name == "a slow link" { &[100] } else { &[0, 100] };
        for &percent in ends {
            let mut settings = planned(row, false);
            settings.jitter_ns = 20 * MS;
            settings.capture_percent = percent;
            let found = first_cause(&analyse(&TcpModel::run(&settings)));
            if !row.causes.contains(&found.as_str()) {
                wrong.push(format!("{} at {percent} %: {found}, not {:?}", row.name, row.causes));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
