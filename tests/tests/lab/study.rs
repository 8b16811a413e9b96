//! `steelyard study`: reports follow from measurements. A planted buffer, delay or number of ports appears in the
//! figures and the verdicts.

use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tests::e2e::balancer::program;
use tests::e2e::dir::TestDir;
use tests::skip::skip;

/// Serialises the studies, because two at once would disturb each other's measurements.
pub fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The report of a quick run of a study with these settings. `None` without root.
fn study(name: &str, settings: &[&str], more: &[&str]) -> Option<Value> {
    if !rustix::process::geteuid().is_root() {
        skip("namespaces need root");
        return None;
    }
    let _one = alone();
    let mut command = Command::new(program());
    command.args(["study", name, "--quick", "--json"]).args(more);
    for setting in settings {
        command.args(["--set", setting]);
    }
    let done = command.output().unwrap();
    let err = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{name}: {err}");
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&report["format"], &report["complete"]), (&"steelyard-study".into(), &true.into()));
    Some(report)
}

/// The verdict on the claim that begins with `begins`.
fn holds(report: &Value, begins: &str) -> Option<bool> {
    let verdicts = report["verdicts"].as_array().unwrap().iter();
    let mut found =
        verdicts.filter(|verdict| verdict["claim"].as_str().unwrap().starts_with(begins));
    let verdict = found.next().unwrap_or_else(|| panic!("no claim `{begins}`: {report:#}"));
    verdict["holds"].as_bool()
}

fn claims(report: &Value) -> impl Iterator<Item = &str> {
    report["verdicts"].as_array().unwrap().iter().map(|verdict| verdict["claim"].as_str().unwrap())
}

/// The measured figure of a row, and its forecast.
fn beside(report: &Value, what: &str) -> (f64, Option<f64>) {
    let mut rows = report["beside"].as_array().unwrap().iter();
    let row =
        rows.find(|row| row["what"] == what).unwrap_or_else(|| panic!("no `{what}`: {report:#}"));
    (row["ours"].as_f64().unwrap(), row["forecast"].as_f64())
}

/// A cell of a section's table.
fn cell(report: &Value, row: usize, column: &str) -> f64 {
    let table = &report["sections"][0]["table"];
    let at = table["columns"].as_array().unwrap().iter().position(|name| name == column);
    table["rows"][row][at.unwrap_or_else(|| panic!("no `{column}`: {table:#}"))].as_f64().unwrap()
}

#[test]
fn two_balancers_finds_a_planted_buffer_delay_and_fault() {
    let dir = TestDir::new();
    let page = dir.join("slow.html");
    let captures = dir.join("captures");
    let keep = ["--out", page.to_str().unwrap(), "--captures", captures.to_str().unwrap()];
    let small = ["delay=20ms", "buffers=16KiB,auto", "think=50ms"];
    let Some(report) = study("two-balancers", &small, &keep) else { return };
    let trip = cell(&report, 0, "round trip, ms");
    assert!((40.0..60.0).contains(&trip), "{trip} ms");
    for claim in [
        "The most significant bottleneck of the slow transaction is the balancer's window",
        "The broken scale makes the request several times slower",
        "A small send buffer limits the answer",
        "A larger send buffer mends the answer",
    ] {
        assert_eq!(holds(&report, claim), Some(true), "{claim}: {:#}", report["verdicts"]);
    }
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains("20ms")
            && page.contains("<svg")
            && page.contains("WINDOW_SCALE_INCONSISTENT")
    );
    for word in ["src=", "href=", "@import", "url("] {
        assert!(!page.contains(word), "`{word}` in the page");
    }
    let kept: Vec<_> = std::fs::read_dir(captures).unwrap().flatten().collect();
    assert_eq!(kept.len(), 3, "{kept:?}");

    // The buffer is larger than the response, and the request fits into the remaining window.
    let large = ["delay=40ms", "buffers=4MiB", "request=64B", "think=50ms", "answer=300kB"];
    let report = study("two-balancers", &large, &[]).unwrap();
    let trip = cell(&report, 0, "round trip, ms");
    assert!((80.0..110.0).contains(&trip), "{trip} ms");
    for claim in [
        "The most significant bottleneck of the slow transaction is the balancer's window",
        "The broken scale makes the request several times slower",
        "A small send buffer limits the answer",
        "A larger send buffer mends the answer",
    ] {
        assert_ne!(holds(&report, claim), Some(true), "{claim}: {:#}", report["verdicts"]);
    }
}

#[test]
fn nat_capacity_finds_planted_ports_and_closing_times() {
    let quick = ["addresses=1", "span=200ms", "rules=1", "periods=2"];
    let of = |ports: &str, closing: &str, rounds: &str| {
        study("nat-capacity", &[&quick[..], &[ports, closing, rounds]].concat(), &[])
    };
    let Some(report) = of("ports=520", "closing=2s", "rounds=3") else { return };
    let (few, forecast) = beside(&report, "connections a second, 1 return address, 2 s");
    assert_eq!(forecast, Some(260.0), "{report:#}");
    // The ports are the upper limit; a busy machine achieves less.
    assert!(few <= 260.0 * 1.1 && few > 50.0, "{few} a second");
    let methods = report["sections"][2]["table"]["rows"].as_array().unwrap();
    assert!(methods.len() == 3 && methods.iter().all(|row| row[1] == 3.0), "three turns each");
    let report = of("ports=1040", "closing=2s", "rounds=1").unwrap();
    let (many, forecast) = beside(&report, "connections a second, 1 return address, 2 s");
    assert_eq!(forecast, Some(520.0));
    assert!(many > few * 1.4, "twice the ports: {few} and {many} a second");
    let report = of("ports=1040", "closing=4s", "rounds=1").unwrap();
    let (slow, forecast) = beside(&report, "connections a second, 1 return address, 4 s");
    assert_eq!(forecast, Some(260.0));
    assert!(slow < many * 0.7, "twice the rest: {many} and {slow} a second");
    // The offered rate is below the ports' limit, so the study cannot draw a conclusion about ports.
    let few = [&quick[..], &["ports=520", "closing=1s", "offered=40", "rounds=1"]].concat();
    let report = study("nat-capacity", &few, &[]).unwrap();
    assert_eq!(holds(&report, "Ports limit the rate as forecast"), None, "{report:#}");
}

#[test]
fn two_links_finds_a_planted_length_and_buffer() {
    let quick = ["rate=30Mbit/s", "span=400ms"];
    let of = |more: &[&str]| study("two-links", &[&quick[..], more].concat(), &[]);
    let ruins = "A longer second link ruins a stream of TCP by round robin";
    let starves = "On the long link a small socket buffer holds TCP below the link's rate";
    // A small send buffer limits a stream to one buffer per round trip, so its throughput reveals the link's length.
    let far = |report: &Value| {
        let mut rows = report["sections"][1]["table"]["rows"].as_array().unwrap().iter();
        let row = rows.find(|row| row[0] == "one long link" && row[2] == "TCP");
        row.unwrap_or_else(|| panic!("{report:#}"))[6].as_f64().unwrap()
    };
    // The second link is hardly longer, so round robin does no harm and both buffers exceed the path. A single loss may
    // spoil such a short stream, so it has three tries.
    let level = ["longer=1us", "buffers=16KiB,256KiB"];
    let Some(mut report) = of(&level) else { return };
    for _ in 0..2 {
        if holds(&report, ruins) != Some(false) {
            report = of(&level).unwrap();
        }
    }
    assert_eq!(holds(&report, ruins), Some(false), "{:#}", report["verdicts"]);
    assert_eq!(holds(&report, starves), None, "{:#}", report["verdicts"]);
    let near = far(&report);
    let report = of(&["longer=60ms", "buffers=16KiB,auto"]).unwrap();
    assert_eq!(holds(&report, ruins), Some(true), "{:#}", report["verdicts"]);
    assert_eq!(holds(&report, starves), Some(true), "{:#}", report["verdicts"]);
    let far = far(&report);
    assert!(far > 0.0 && far < near * 0.6, "{near} and {far} Mbit/s");
    let (one, _) = beside(&report, "TCP, one link");
    assert!((20.0..105.0).contains(&one), "{one} % of the link");
    let told = report["sections"][2]["text"][0].as_str().unwrap();
    assert!(told.contains("64.0 ms") && told.contains("240000 bytes"), "{told}");
}

#[test]
fn farm_finds_a_planted_page() {
    let quick = ["requests=12", "repeats=1", "connections=3"];
    let Some(report) = study("farm", &[&quick[..], &["page=20kB"]].concat(), &[]) else { return };
    assert_eq!(holds(&report, "Every page arrives"), Some(true), "{:#}", report["verdicts"]);
    let rows = report["sections"][0]["table"]["rows"].as_array().unwrap().len();
    assert_eq!(rows, 5, "direct, plain and TLS with two allocators");
    let bytes =
        |report: &Value| cell(report, 0, "Mbit/s") * 1e6 / 8.0 / cell(report, 0, "pages a second");
    let page = bytes(&report);
    assert!((20_000.0..21_000.0).contains(&page), "{page} B a page");
    let more = "6 connections get as many pages as 3";
    let changes = "Another allocator changes the rate (balanced, 3";
    assert!(claims(&report).all(|claim| !claim.starts_with(more)), "{:#}", report["verdicts"]);
    assert_eq!(holds(&report, changes), None, "one run proves nothing: {:#}", report["verdicts"]);
    let few = ["page=60kB", "repeats=4", "connections=3,6"];
    let report = study("farm", &[&quick[..], &few].concat(), &[]).unwrap();
    let page = bytes(&report);
    assert!((60_000.0..61_000.0).contains(&page), "{page} B a page");
    assert!(holds(&report, more).is_some() && holds(&report, changes).is_some(), "{report:#}");
}

#[test]
fn four_nics_finds_planted_processors() {
    let quick = ["repeats=4", "span=400ms", "connections=4"];
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return skip("one processor has nobody to share with");
    }
    let of = |processors: &str| study("four-nics", &[&quick[..], &[processors]].concat(), &[]);
    let busiest = |report: &Value| {
        let table = &report["sections"][0]["table"];
        assert_eq!(table["rows"][2][1], "busiest-receiver", "{table:#}");
        table["rows"][2][3].as_f64().unwrap()
    };
    let mut one = 0.0;
    let mut two = 0.0;
    // What else the machine does may hide it in one pair of runs.
    for pairs in 1..=3 {
        let Some(report) = of("processors=1") else { return };
        one += busiest(&report);
        two += busiest(&of("processors=2").unwrap());
        if one > two {
            break;
        }
        assert!(
            pairs < 3,
            "the busiest of all took {one} % of the packets of three runs when one was to, {two} % when two were"
        );
    }
}

#[test]
fn four_nics_decides_by_the_planted_interfaces_and_processors() {
    let quick = ["span=200ms", "connections=4"];
    let of = |more: &[&str]| study("four-nics", &[&quick[..], more].concat(), &[]);
    let uneven = "Clients that ask a name use the interfaces unevenly";
    let gained = "Evenly used interfaces and processors answer more requests";
    // A single client uses only one of the interfaces.
    let Some(report) = of(&["repeats=1", "clients=1"]) else { return };
    assert_eq!(holds(&report, uneven), Some(true), "{:#}", report["verdicts"]);
    assert_eq!(holds(&report, gained), None, "one run proves nothing: {:#}", report["verdicts"]);
    let report = of(&["repeats=1", "interfaces=1"]).unwrap();
    assert_eq!(holds(&report, uneven), Some(false), "{:#}", report["verdicts"]);
}

#[test]
fn studies_are_listed_and_wrong_orders_are_taught() {
    for (words, code, says) in [
        (&["study"][..], 0, "two-balancers"),
        (&["study", "two-balancers", "--list"], 0, "delay=65ms"),
        (&["study", "two-balancers", "--quick", "--list", "--set", "delay=5ms"], 0, "delay=5ms"),
        (&["study", "zen"], 1, "there are: nat-capacity, two-balancers"),
        (&["study", "farm", "--set", "pages=3"], 2, "did you mean `page`?"),
        (&["study", "farm", "--set", "page=3"], 2, "page: found `3`, expected a size"),
        (
            &["study", "nat-capacity", "--set", "addresses=1"],
            2,
            "`addresses` has 1 rows and `closing` 3",
        ),
    ] {
        let done = Command::new(program()).args(words).output().unwrap();
        let said = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
        assert_eq!(done.status.code(), Some(code), "{words:?}: {said}");
        assert!(said.contains(says), "{words:?}: {said}");
    }
}
