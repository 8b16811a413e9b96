//! Connections that fail: every way, with the planted cause, alone and among healthy ones.

use crate::capture::{PlantedPacket, analyse, draw, draw_all, first_cause};
use crate::failure_rows::{FailureRow, ROWS};
use crate::healthy_rows::HEALTHY;
use crate::script::{ONE_WAY_MS, ScriptedConnection};

/// A connection of a row, and the end of the capture seconds later.
fn packets_of(row: &FailureRow, number: u16, at_ms: i64) -> Vec<PlantedPacket> {
    let mut one = ScriptedConnection::begin(number, at_ms);
    (row.script)(&mut one);
    one.packets
}

/// A healthy connection that lasts until the end.
fn bystander(number: u16, at_ms: i64) -> Vec<PlantedPacket> {
    let mut one = ScriptedConnection::open(number, at_ms);
    one.exchange(5).wait(45_000).exchange(5).close();
    one.packets
}

// Rows: D11
#[test]
fn each_failure_is_the_first_cause() {
    let wrong: Vec<String> = ROWS.iter().flat_map(mismatches).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn mismatches(row: &FailureRow) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut packets = packets_of(row, 1, 0);
    let alone = first_cause(&analyse(&packets));
    if alone != row.cause {
        wrong.push(format!("{} alone: {alone}, not {}", row.name, row.cause));
    }
    packets.extend(bystander(2, 100));
    let report = analyse(&packets);
    let beside = first_cause(&report);
    if beside != row.cause {
        wrong.push(format!("{} beside a healthy one: {beside}, not {}", row.name, row.cause));
    }
    let failure = &report["verdict"]["failures"][0];
    let fields = [
        ("connections", failure["connections"] == 1),
        ("of_connections", failure["of_connections"] == 2),
        ("servers", failure["servers"][0]["address"] == "10.0.0.2"),
        ("port", failure["servers"][0]["port"] == 80),
        ("evidence", failure["evidence"]["connection"] == 1),
        (
            "sentence",
            failure["sentence"].as_str().is_some_and(|text| text.contains(" to 10.0.0.2:80, ")),
        ),
        ("check", failure["check"].as_str().is_some_and(|text| !text.is_empty())),
        ("healthy", report["verdict"]["healthy"] == false),
    ];
    let bad = fields.iter().filter(|(_, holds)| !holds);
    wrong.extend(bad.map(|(field, _)| format!("{}: {field} of {failure}", row.name)));
    wrong
}

#[test]
fn healthy_endings_are_no_failures() {
    for row in HEALTHY {
        let mut packets = packets_of(row, 1, 0);
        packets.extend(bystander(2, 100));
        let report = analyse(&packets);
        assert_eq!(report["verdict"]["failures"], serde_json::json!([]), "{}", row.name);
    }
}

#[test]
fn failures_are_counted_by_what_happened() {
    let mut packets = Vec::new();
    for number in 0..6 {
        packets.extend(packets_of(&ROWS[0], number, 1_000 * i64::from(number)));
    }
    for number in 6..9 {
        packets.extend(packets_of(&ROWS[1], number, 500));
    }
    packets.extend(bystander(9, 0));
    let report = analyse(&packets);
    let failures = report["verdict"]["failures"].as_array().unwrap();
    let counts: Vec<_> = failures.iter().map(|one| (&one["code"], &one["connections"])).collect();
    assert_eq!(counts.len(), 2, "{failures:?}");
    assert_eq!((counts[0].0, counts[0].1), (&"CONNECT_REFUSED".into(), &6.into()));
    assert_eq!((counts[1].0, counts[1].1), (&"CONNECT_UNANSWERED".into(), &3.into()));
    let since = failures[0]["since_seconds"].as_f64().unwrap();
    let last = failures[0]["last_seconds"].as_f64().unwrap();
    assert!((since - 0.02).abs() < 0.001 && (last - 5.02).abs() < 0.001, "{since} {last}");
    let sentence = failures[0]["sentence"].as_str().unwrap();
    assert!(sentence.contains("6 of 10 connections to 10.0.0.2:80"), "{sentence}");
}

#[test]
fn half_of_a_conversation_blames_nobody() {
    let mut packets: Vec<PlantedPacket> = Vec::new();
    for number in 0..3 {
        let mut one = ScriptedConnection::open(number, 0);
        one.exchange(5).wait(ONE_WAY_MS).ask().wait(30).client(crate::capture::ACK, b"");
        packets.extend(one.packets.into_iter().filter(|packet| packet.is_from_client));
    }
    let report = analyse(&packets);
    assert_eq!(report["verdict"]["failures"], serde_json::json!([]));
    assert_eq!(report["capture"]["one_way_connections"], 3);
}

// Rows: D01
#[test]
fn the_page_draws_every_connection_that_a_finding_names() {
    let mut packets = packets_of(&ROWS[0], 1, 0);
    for number in 2..40 {
        packets.extend(bystander(number, 100 * i64::from(number)));
    }
    let page = draw_all(&packets, 2);
    assert_eq!(page.matches("<section ").count(), 16, "the limit of drawn connections");
    let at = |number: u32| page.find(&format!("<section id=\"connection-{number}\">"));
    assert!(at(2) < at(1) && at(1).is_some(), "the chosen one first, then the failed one");
    let whole = page.split("<section ").next().unwrap();
    assert!(whole.contains("refused") && whole.contains("href=\"#connection-1\""));
}

#[test]
fn the_page_has_the_failure_first_and_every_connection() {
    let mut packets = packets_of(&ROWS[0], 1, 0);
    packets.extend(bystander(2, 100));
    let page = draw(&packets, 1);
    let failure = page.find("Failed: refused connections").unwrap();
    assert!(failure < page.find("<h2>Over time").unwrap());
    assert!(page.contains("id=\"CONNECT_REFUSED\"") && page.contains("id=\"c1-CONNECT_REFUSED\""));
    assert!(
        page.contains("<section id=\"connection-1\">") && page.contains("href=\"#connection-1\"")
    );
    let list = page.split("<h2>Connections</h2>").nth(1).unwrap();
    let list = list.split("</table>").next().unwrap();
    assert_eq!(list.matches("<tr>").count(), 3, "a head and two connections");
    let refused = list.find("CONNECT_REFUSED · server").unwrap();
    assert!(refused < list.find("20002").unwrap(), "failed ones first");
}
