//! One run captured at both ends: the same first cause and the same shares, also where the clocks of the captures
//! differ.

use serde_json::Value;

use crate::capture::{MS, PlantedPacket, analyse, first_cause};
use crate::cases::{CauseRow, ROWS, planned};
use crate::model::TcpModel;
use crate::truth::PlantedOwners;

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

/// A path whose delay varies, and what shows it.
#[derive(Clone, Copy)]
struct PathVariation {
    jitter_ms: i64,
    has_stamps: bool,
}

const STEADY: PathVariation = PathVariation { jitter_ms: 0, has_stamps: false };
/// Points of a hundred by which an owner's share may differ from what was planted.
const FROM_TRUTH: f64 = 4.5;
/// Rows in which a varying delay moves more than that from one owner to another, where no timestamp shows it: small parts
/// of a wait, as long as the delay varies.
const UNTOLD: &[&str] = &[
    "a client that does not read for three seconds",
    "a client that reads slowly",
    "loss",
    "Nagle's algorithm against delayed acknowledgements",
    "Nagle's algorithm alone",
];
/// Programs that write every 60 ms: one wait is 4 % of theirs, and an acknowledgement may come by chance when it ends.
const PIECES: &[&str] =
    &["the server's program sends in pieces", "the client's program sends in pieces"];
/// Rows in which the ends differ by 3 to 7 points where a way takes 20 to 60 ms.
const WIDE: &[&str] = &[
    "the server's program sends in pieces",
    "the client's program sends in pieces",
    "the server thinks",
    "a small send buffer of the server",
];
/// Exchanges of a row with several: chance evens out over as many.
const MANY: usize = 32;

/// Where the ends of a row say different things, or other things than what was planted.
fn row_differences(row: &CauseRow, clock: EndClock, variation: PathVariation) -> Vec<String> {
    let mut settings = planned(row, false);
    settings.jitter_ns = variation.jitter_ms * MS;
    settings.has_stamps = variation.has_stamps;
    if variation.jitter_ms > 0 && settings.exchanges.len() > 1 {
        let pattern = settings.exchanges.clone();
        settings.exchanges = pattern.into_iter().cycle().take(MANY).collect();
    }
    let mut owners = PlantedOwners::default();
    let ends = [0, 100].map(|percent| {
        settings.capture_percent = percent;
        let mut run = TcpModel::run_with_truth(&settings);
        owners = run.owners;
        read_by(if percent == 0 { clock } else { EXACT }, &mut run.packets);
        analyse(&run.packets)
    });
    let mut wrong = Vec::new();
    let found = ends.each_ref().map(first_cause);
    for cause in &found {
        if !row.causes.contains(&cause.as_str()) {
            wrong.push(format!("{}: {found:?}, not {:?}", row.name, row.causes));
        }
    }
    let total = (owners.client + owners.network + owners.server) as f64;
    let planted = |owner: &str| match owner {
        "client" => owners.client,
        "network" => owners.network,
        "server" => owners.server,
        _ => 0,
    };
    for owner in ["client", "network", "server", "unknown"] {
        let planted = planted(owner) as f64 / total * 100.0;
        let shares = ends.each_ref().map(|report| share(report, owner));
        let is_apart = (shares[0] - shares[1]).abs() > POINTS;
        if is_apart || shares.iter().any(|share| (share - planted).abs() > FROM_TRUTH) {
            wrong.push(format!("{}: the {owner} has {shares:.1?} %, of {planted:.1}", row.name));
        }
    }
    wrong
}

fn differences(clock: EndClock, variation: PathVariation, except: &[&str]) -> Vec<String> {
    let rows = ROWS.iter().filter(|row| !row.causes.contains(&""));
    rows.filter(|row| !except.contains(&row.name))
        .flat_map(|row| row_differences(row, clock, variation))
        .collect()
}

// Rows: D14
#[test]
fn both_ends_agree() {
    let wrong = differences(EXACT, STEADY, &[]);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn both_ends_agree_by_clocks_that_differ() {
    let wrong = differences(WRONG, STEADY, &[]);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn timestamps_let_both_ends_agree_while_the_delay_varies() {
    let mut wrong = Vec::new();
    for jitter_ms in [20, 40] {
        for clock in [EXACT, WRONG] {
            let variation = PathVariation { jitter_ms, has_stamps: true };
            let except = if jitter_ms == 20 { PIECES } else { WIDE };
            wrong.extend(differences(clock, variation, except));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn without_timestamps_both_ends_agree_where_packets_tell() {
    let variation = PathVariation { jitter_ms: 20, has_stamps: false };
    let wrong = differences(WRONG, variation, UNTOLD);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_first_cause_stays_while_the_delay_varies() {
    let mut wrong = Vec::new();
    for row in ROWS.iter().filter(|row| !row.causes.contains(&"")) {
        for percent in [0, 100] {
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
