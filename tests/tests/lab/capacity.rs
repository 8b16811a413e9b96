//! `capacity`: the forecast follows the configuration and the given figures.

use std::process::Command;

use serde_json::Value;
use tests::e2e::balancer::program;
use tests::e2e::dir::TestDir;

const SHOP: &str = "[service.shop]\nlisten = \"127.0.0.1:8080\"\nforward = \"http\"\npool = \"web\"\n\
                    [[pool.web.servers]]\nname = \"a\"\naddress = \"127.0.0.1:9001\"\n";

fn capacity(text: &str, arguments: &[&str]) -> (i32, String) {
    let dir = TestDir::new();
    let file = dir.write("shop.toml", text);
    let output = Command::new(program())
        .arg("capacity")
        .arg("-c")
        .arg(&file)
        .args(arguments)
        .output()
        .unwrap();
    let said = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.code().unwrap(), String::from_utf8_lossy(&said).into_owned())
}

fn limits(text: &str, arguments: &[&str]) -> Vec<(String, f64)> {
    let (code, said) = capacity(text, &[arguments, &["--json"]].concat());
    assert_eq!(code, 0, "{said}");
    let found: Value = serde_json::from_str(&said).unwrap();
    let limits = found["services"][0]["limits"].as_array().unwrap();
    let limit = |limit: &Value| {
        (limit["kind"].as_str().unwrap().to_owned(), limit["requests-per-second"].as_f64().unwrap())
    };
    limits.iter().map(limit).collect()
}

#[test]
fn a_planted_change_moves_the_forecast() {
    let of = |kind: &str, arguments: &[&str]| {
        let found = limits(SHOP, arguments);
        found.iter().find(|(name, _)| name == kind).unwrap_or_else(|| panic!("{found:?}")).1
    };
    let once = of("ports", &["--per-server-connection", "1"]);
    assert!((of("ports", &["--per-server-connection", "10"]) / once - 10.0).abs() < 1e-9);
    let link = ["--link", "1Gbit/s", "--response", "64KiB"];
    let full = of("bandwidth", &link);
    let half = of("bandwidth", &[&link[..], &["--half-duplex"]].concat());
    assert!((full / half - 2.0).abs() < 1e-9);
    assert!((1_700.0..2_000.0).contains(&full), "64 KiB on a gigabit: {full}");
    let two = format!("[global]\nworkers = 1\n{SHOP}");
    let found = limits(&two, &["--cost", "20,0,0"]);
    assert!(
        found.iter().any(|(kind, rate)| kind == "processors" && (rate - 50_000.0).abs() < 1e-6),
        "{found:?}"
    );
}

#[test]
fn words_name_the_first_limit_and_what_to_change() {
    let arguments =
        ["--per-server-connection", "1", "--link", "100Mbit/s", "--round-trip", "130ms"];
    // The server is remote: towards the loopback, Linux reuses a port in TIME-WAIT after one second by default.
    let shop = SHOP.replace("127.0.0.1:9001", "192.0.2.9:9001");
    let (code, said) = capacity(&shop, &arguments);
    assert_eq!(code, 0, "{said}");
    for word in ["first: ports", "ip_local_port_range", "second:", "4.03 Mbit/s where windows are"]
    {
        assert!(said.contains(word), "no `{word}` in:\n{said}");
    }
    assert_eq!(capacity("nonsense = 1", &[]).0, 1);
    assert_eq!(capacity(SHOP, &["--life", "0s"]).0, 2);
    assert_eq!(capacity(SHOP, &["--cost", "1,2"]).0, 2);
}

#[test]
fn the_cost_of_this_machine_is_measured() {
    let (code, said) = capacity(SHOP, &["--calibrate", "--json"]);
    assert_eq!(code, 0, "{said}");
    let found: Value = serde_json::from_str(&said).unwrap();
    let cost = &found["machine"]["cost"];
    assert!(cost["request-us"].as_f64().unwrap() > 0.5, "{cost}");
    let kinds: Vec<&str> = found["services"][0]["limits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|limit| limit["kind"].as_str().unwrap())
        .collect();
    assert!(kinds.contains(&"processors"), "{kinds:?}");
}

// Rows: I38
#[test]
fn what_two_members_share_must_fit_into_one() {
    let group = |name: &str, id, priority| {
        format!(
            "[vrrp.{name}]\ninterface = \"eth0\"\nid = {id}\naddresses = \"192.0.2.{id}\"\npriority = {priority}\n\
             [service.{name}]\nlisten = \"192.0.2.{id}:80\"\nforward = \"http\"\npool = \"web\"\n"
        )
    };
    let pair = group("left", 10, 150)
        + &group("right", 11, 100)
        + "[pool.web]\nservers = [\"127.0.0.1:9001\"]\n[global]\nworkers = 1\n";
    let of = |rates: [&str; 2]| {
        let words = ["--cost", "100,0,0", "--life", "1ms", "--rate", rates[0], "--rate", rates[1]];
        let (code, _) = capacity(&pair, &words);
        (code, capacity(&pair, &[&words[..], &["--json"]].concat()).0)
    };
    // A worker achieves 10,000 requests a second of 100 microseconds each.
    assert_eq!(of(["left=4000", "right=4000"]), (0, 0));
    assert_eq!(of(["left=4000", "right=7000"]), (1, 1));
    assert_eq!(of(["left=4000", "wrong=1"]), (2, 2));
    let (code, said) = capacity(&pair, &["--cost", "100,0,0"]);
    assert!(code == 0 && said.contains("--rate left=N --rate right=N"), "{said}");
    assert!(!capacity(SHOP, &[]).1.contains("priorities"));
}
