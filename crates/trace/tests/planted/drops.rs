//! The exam with packets missing: without any single packet of a capture the first cause stays, and nothing gets healthy.

use crate::capture::{PlantedPacket, analyse, first_cause};
use crate::cases::{ROWS, planned};
use crate::failure_rows;
use crate::model::TcpModel;
use crate::script::ScriptedConnection;

/// A capture to drop packets from.
struct DropCase {
    name: String,
    causes: Vec<&'static str>,
    packets: Vec<PlantedPacket>,
}

/// Packets that are dropped of each capture, one at a time: the first, the last, and others between.
/// `STEELYARD_DROPS` sets another number.
const DROPS: usize = 48;
/// Connections that fail alike in a capture.
const ALIKE: u16 = 20;

fn drops_wanted() -> usize {
    std::env::var("STEELYARD_DROPS").ok().and_then(|text| text.parse().ok()).unwrap_or(DROPS)
}

/// A packet to drop, and for how many it stands.
#[derive(Clone, Copy)]
struct ChosenDrop {
    at: usize,
    weight: usize,
}

/// The packets to drop: every one of a short capture; else both ends and a regular choice between.
fn choose(count: usize) -> Vec<ChosenDrop> {
    let wanted = drops_wanted();
    let single = |at| ChosenDrop { at, weight: 1 };
    if count <= wanted {
        return (0..count).map(single).collect();
    }
    let third = wanted / 3;
    let weight = (count - 2 * third) / (wanted - 2 * third) + 1;
    let between = (third..count - third).step_by(weight).map(|at| ChosenDrop { at, weight });
    (0..third).map(single).chain(between).chain((count - third..count).map(single)).collect()
}

/// A drop that changes the first cause.
struct ChangedCause {
    weight: usize,
    text: String,
}

/// The drops of a case that change its first cause.
fn changes(case: &DropCase) -> Vec<ChangedCause> {
    let whole_is_healthy = analyse(&case.packets)["verdict"]["healthy"] == true;
    let changed = choose(case.packets.len()).into_iter().filter_map(|ChosenDrop { at, weight }| {
        let mut packets = case.packets.clone();
        let dropped = packets.remove(at);
        let report = analyse(&packets);
        let found = first_cause(&report);
        let is_healthy = report["verdict"]["healthy"] == true;
        let name = &case.name;
        assert!(
            whole_is_healthy || !is_healthy,
            "{name}: healthy without packet {at}: {dropped:?}"
        );
        let from = if dropped.is_from_client { "client" } else { "server" };
        let kept = case.causes.contains(&found.as_str());
        (!kept).then(|| {
            let bytes = dropped.payload.len();
            ChangedCause { weight, text: format!("{at} ({from}, {bytes} bytes): {found}") }
        })
    });
    changed.collect()
}

fn assert_few_changes(cases: &[DropCase]) {
    let wrong = cases.iter().filter_map(|case| {
        let changed = changes(case);
        // At most one in fifty.
        let weight: usize = changed.iter().map(|change| change.weight).sum();
        let is_bad = weight * 50 > case.packets.len();
        let changed: Vec<String> = changed.into_iter().map(|change| change.text).collect();
        is_bad.then(|| format!("{} ({} packets): {changed:?}", case.name, case.packets.len()))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn slow_transfers_keep_their_cause_without_any_packet() {
    let mut cases = Vec::new();
    // A client that pauses has no cause that could be lost.
    for row in ROWS.iter().filter(|row| !row.causes.contains(&"")) {
        for is_tls in [false, true] {
            let mut packets = TcpModel::run(&planned(row, is_tls));
            packets.sort_by_key(|packet| packet.time_ns);
            let name = format!("{}{}", row.name, if is_tls { ", TLS" } else { "" });
            cases.push(DropCase { name, causes: row.causes.to_vec(), packets });
        }
    }
    assert_few_changes(&cases);
}

#[test]
fn failures_keep_their_cause_without_any_packet() {
    let cases = failure_rows::ROWS.iter().map(|row| {
        let mut packets = Vec::new();
        for number in 0..ALIKE {
            let mut one = ScriptedConnection::begin(number, 100 * i64::from(number));
            (row.script)(&mut one);
            packets.extend(one.packets);
        }
        packets.sort_by_key(|packet| packet.time_ns);
        DropCase { name: row.name.to_owned(), causes: vec![row.cause], packets }
    });
    assert_few_changes(&cases.collect::<Vec<_>>());
}
