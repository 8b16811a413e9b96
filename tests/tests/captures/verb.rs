//! The command `explain trace`: exit codes, text output, JSON, the page, and comparisons.

use std::process::{Command, Output};

use serde_json::Value;

use crate::analysed::study;

fn explain(arguments: &[&str]) -> Output {
    let program = tests::e2e::balancer::program();
    Command::new(program).args(["explain", "trace"]).args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

// Rows: D06
#[test]
fn one_screen_names_the_owner_and_the_fix() {
    let file = study()[0].display().to_string();
    let output = explain(&[&file]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.lines().count() <= 40, "more than a screen:\n{text}");
    for word in ["Most significant", "SILLY_WINDOW", "server's time", "254 = (32768", "SEND_BUFFER"]
    {
        assert!(text.contains(word), "no `{word}` in:\n{text}");
    }
}

#[test]
fn a_damaged_file_is_analysed_up_to_the_damage() {
    let dir = tests::e2e::dir::TestDir::new();
    let mut whole = Vec::new();
    let mut file = flate2::read::GzDecoder::new(std::fs::File::open(&study()[0]).unwrap());
    std::io::Read::read_to_end(&mut file, &mut whole).unwrap();
    let cut = dir.path().join("cut.pcap");
    std::fs::write(&cut, &whole[..whole.len() / 2 + 7]).unwrap();
    let output = explain(&[&cut.display().to_string(), "--json"]);
    assert_eq!(output.status.code(), Some(3));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["capture"]["damage"].as_str().unwrap().contains("ends within a record"));
    assert_eq!(report["verdict"]["most_significant"]["code"], "SILLY_WINDOW");
    let none = dir.path().join("none.pcap");
    std::fs::write(&none, b"this is a letter").unwrap();
    assert_eq!(explain(&[&none.display().to_string()]).status.code(), Some(2));
    assert_eq!(explain(&["/nonexistent.pcap"]).status.code(), Some(2));
}

#[test]
fn a_capture_without_tcp_names_what_it_has_and_ends_with_two() {
    let dir = tests::e2e::dir::TestDir::new();
    let file = dir.path().join("arp.pcap");
    let mut bytes: Vec<u8> =
        [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1].map(u32::to_le_bytes).concat();
    bytes.extend([1_u32, 0, 42, 42].map(u32::to_le_bytes).concat());
    bytes.extend([[2; 12].as_slice(), &[8, 6], &[0; 28]].concat());
    std::fs::write(&file, bytes).unwrap();
    let output = explain(&[&file.display().to_string()]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(text.contains("1 of ARP"), "{text}");
}

// Rows: D01, D02
#[test]
fn the_page_asks_nothing_of_any_network() {
    let dir = tests::e2e::dir::TestDir::new();
    let page = dir.path().join("slow.html");
    let folder = dir.path().join("drawings");
    let page_name = page.display().to_string();
    let folder_name = folder.display().to_string();
    let file = study()[0].display().to_string();
    let output = explain(&[&file, "--html", &page_name, "--svg", &folder_name]);
    assert_eq!(output.status.code(), Some(0));
    let text = std::fs::read_to_string(&page).unwrap();
    // Each finding has a link to itself.
    assert!(
        text.contains("href=\"#c1-SILLY_WINDOW-request\"")
            && text.contains("id=\"c1-SILLY_WINDOW-request\"")
    );
    let text = text.replace("href=\"#", "");
    for word in ["src=", "href=", "@import", "fetch(", "url("] {
        assert!(!text.contains(word), "`{word}` in the page");
    }
    for word in ["class=\"bounce\"", "found0", "SILLY_WINDOW", "5.0", "class=\"ribbon server"] {
        assert!(text.contains(word), "no `{word}` in the page");
    }
    let drawn = std::fs::read_dir(&folder).unwrap().count();
    assert!(drawn >= 5, "{drawn} drawings");
}

// Rows: D04
#[test]
fn comparing_shows_where_the_slow_one_loses() {
    let files = study();
    let fast = files[3].display().to_string();
    let slow = files[0].display().to_string();
    let output = explain(&["--compare", &fast, &slow, "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["causes"][0]["code"], "SILLY_WINDOW");
    assert!(found["causes"][0]["seconds"]["more"].as_f64().unwrap() > 50.0, "{found}");
    assert_eq!(found["causes"][1]["code"], "SEND_BUFFER");
}

#[test]
fn filters_and_scales_are_read_or_refused() {
    let file = study()[2].display().to_string();
    let output = explain(&[&file, "--json", "--filter", "port=9"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["connections_total"], 0);
    assert!(found["capture"]["filtered"].as_u64().unwrap() > 1_000);
    let output = explain(&[&file, "--json", "--scale", "10.20.30.40:51544=8"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let scale = &found["connections"][0]["client"]["window"]["scale"];
    assert_eq!((&scale["shift"], &scale["provenance"]), (&8.into(), &"user".into()));
    assert_eq!(explain(&[&file, "--filter", "colour=red"]).status.code(), Some(2));
    assert_eq!(explain(&[&file, "--scale", "x=15"]).status.code(), Some(2));
}

#[test]
fn only_what_a_pool_s_servers_said_is_looked_at() {
    let dir = tests::e2e::dir::TestDir::new();
    let config = dir.path().join("shop.toml");
    let name = study()[0].display().to_string();
    let text = "[service.shop]\nlisten = \"127.0.0.1:80\"\nforward = \"http\"\npool = \"web\"\n\
                [pool.web]\nservers = [\"192.0.2.80:80\", \"192.0.2.81:80\"]\n\
                [pool.other]\nservers = [\"192.0.2.80:81\"]\n[pool.far]\nservers = [\"far.example:80\"]\n";
    std::fs::write(&config, text).unwrap();
    let config = config.display().to_string();
    let ask = |pool: &str| {
        let filter = format!("pool={pool}");
        explain(&[&name, "--json", "--filter", &filter, "--config", &config])
    };
    let counts = ["web", "other"].map(|pool| {
        let found: Value = serde_json::from_slice(&ask(pool).stdout).unwrap();
        (
            found["connections_total"].as_u64().unwrap(),
            found["capture"]["filtered"].as_u64().unwrap(),
        )
    });
    assert_eq!(counts, [(1, 0), (0, 1_607)]);
    let absent = ask("nobody");
    assert_eq!(absent.status.code(), Some(1));
    assert!(said(&absent).contains("there are far, other, web"), "{absent:?}");
    assert_eq!(ask("far").status.code(), Some(2));
}
