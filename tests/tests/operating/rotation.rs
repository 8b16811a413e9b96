//! The size of logs: `logrotate` with the package's file rotates the access log without a lost line, and events below
//! the configured level are not written.

use std::fs;
use std::process::Command;

use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::client::HttpClient;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;

/// The package's file.
const PACKAGED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../packaging/debian/steelyard.logrotate");
/// What the file calls under systemd.
const SIGNALS: &str =
    "systemctl kill --kill-whom=main --signal=SIGUSR1 steelyard.service 2>/dev/null || true";
/// Requests before, between and after two rotations.
const EACH: usize = 20;

// Rows: I43
#[test]
fn logrotate_rotates_the_access_log_without_a_lost_line() {
    let origins = [origin("a")];
    let setup = BalancerConfig::http(&addresses(&origins)).log_to("DIR/log/access.log");
    let place = CliEnvironment::new(&setup);
    let logs = place.dir().join("log");
    fs::create_dir(&logs).unwrap();
    let process = place.start();
    let front = setup.fronts()[0];
    let packaged = fs::read_to_string(PACKAGED).unwrap();
    assert!(packaged.contains(SIGNALS) && packaged.contains("/var/log/steelyard/*.log"));
    let rules = packaged
        .replace("/var/log/steelyard", &logs.display().to_string())
        .replace(SIGNALS, &format!("kill -USR1 {}", process.pid()));
    let rules_file = place.dir().join("logrotate.conf");
    fs::write(&rules_file, rules).unwrap();
    let rotate = || {
        let mut command = Command::new("logrotate");
        command.arg("--force").arg("--state").arg(place.dir().join("rotated")).arg(&rules_file);
        let ended = command.output().expect("tests/setup test installs logrotate");
        let text = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(ended.status.success() && text.is_empty(), "{text}");
    };
    let lines = |name: &str| -> usize {
        fs::read_to_string(logs.join(name)).map_or(0, |text| text.lines().count())
    };
    let mut client = HttpClient::connect(front);
    let mut send = || (0..EACH).for_each(|_| assert_eq!(client.get("/").status(), 200));
    send();
    wait::until("all are written", || lines("access.log") == EACH);
    rotate();
    wait::until("a new file is open", || logs.join("access.log").exists());
    assert_eq!(lines("access.log.1"), EACH);
    send();
    wait::until("all are in the new file", || lines("access.log") == EACH);
    rotate();
    wait::until("the next file is open", || logs.join("access.log").exists());
    assert_eq!(lines("access.log.1"), EACH);
    assert!(logs.join("access.log.2.gz").exists(), "the one before is compressed");
    send();
    wait::until("all are in the newest file", || lines("access.log") == EACH);
}

// Rows: I43
#[test]
fn events_below_the_level_are_left_out_until_a_reload_changes_it() {
    let origins = [origin("a")];
    let quiet = BalancerConfig::http(&addresses(&origins)).global("event-level = \"warning\"\n");
    let place = CliEnvironment::new(&quiet);
    let process = place.start();
    assert!(place.count_events("applied") == 1, "the API has it");
    place.run_verb_ok(&["server", "drain", "web/a"]);
    wait::until("the API has the event", || place.count_events("server-drain") == 1);
    let apply = |setup: &BalancerConfig| {
        let file = place.write(setup).display().to_string();
        place.run_verb_ok(&["apply", &file]);
    };
    apply(&quiet.clone().global("event-level = \"info\"\n"));
    wait::until("the event is written", || process.output().contains("info applied: generation 2"));
    let written = process.output();
    assert!(!written.contains("generation 1 is active"), "{written}");
    assert!(!written.contains("server-drain"), "{written}");
    apply(&quiet.global("event-level = \"error\"\n"));
    place.run_verb_ok(&["server", "enable", "web/a"]);
    wait::until("the API has the event", || place.count_events("applied") == 3);
    assert!(!process.output().contains("generation 3 is active"), "{}", process.output());
}
