//! `steelyard log`: lines are filtered, followed and counted, names that do not exist are refused, and `reload` reads the
//! file again.

use std::process::Command;

use tests::e2e::balancer::program;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::client::HttpClient;
use tests::e2e::process::ChildProcess;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;

fn lines(place: &CliEnvironment, arguments: &[&str]) -> Vec<serde_json::Value> {
    let said = place.run_verb_ok(&[&["log", "--json", "-n", "1000"], arguments].concat());
    said.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn lines_are_filtered_counted_and_followed() {
    let origins = [origin("a")];
    let place = CliEnvironment::new(&BalancerConfig::http(&addresses(&origins)));
    let _process = place.start();
    let front = place.setup().fronts()[0];
    let mut client = HttpClient::connect(front);
    for target in ["/bytes/1", "/bytes/2?x=1", "/bytes/2?x=2"] {
        assert_eq!(client.get(target).status(), 200);
    }
    // Another connection may be another worker's, whose lines come at another time.
    wait::until("three lines are kept", || lines(&place, &[]).len() == 3);
    let mut refused = HttpClient::connect(front);
    refused.send("GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n");
    assert_eq!(refused.read_answer().status(), 400);
    wait::until("four lines are kept", || lines(&place, &[]).len() == 4);
    let all = lines(&place, &["--service", "shop"]);
    assert_eq!(all[0]["target"], "/bytes/1");
    assert_eq!((all[0]["server"].as_str(), all[0]["status"].as_u64()), (Some("web/a"), Some(200)));
    let id = all[1]["id"].as_str().unwrap().to_owned();
    for (filter, count) in [
        (vec!["--status", "2xx"], 3),
        (vec!["--status", "400"], 1),
        (vec!["--cause", "any"], 1),
        (vec!["--cause", "bad-request", "--status", "2xx"], 0),
        (vec!["--server", "web/*"], 3),
        (vec!["--client", "127.0.0.0/8"], 4),
        (vec!["--client", "192.0.2.1"], 0),
        (vec!["--id", &id], 1),
    ] {
        assert_eq!(lines(&place, &filter).len(), count, "{filter:?}");
    }
    let top = place.run_verb_ok(&["log", "--top", "target", "--json"]).stdout;
    let top: serde_json::Value = serde_json::from_str(&top).unwrap();
    assert_eq!(
        (top["top"][0]["name"].as_str(), top["top"][0]["lines"].as_u64()),
        (Some("/bytes/2"), Some(2))
    );
    assert!(place.run_verb_ok(&["logs", "--status", "400"]).stdout.contains(" 400 bad-request"));
    let mut follow = Command::new(program());
    follow.args(["log", "--follow", "-n", "1"]).env("STEELYARD_SOCKET", place.dir().join("sock"));
    let follow = ChildProcess::start(follow);
    wait::until("the last line is shown", || follow.output().lines().count() == 1);
    assert_eq!(client.get("/bytes/3").status(), 200);
    wait::until("the new line is shown", || follow.output().contains("GET /bytes/3"));
}

#[test]
fn what_cannot_fit_anything_is_refused_with_what_there_is() {
    let origins = [origin("a")];
    let place = CliEnvironment::new(&BalancerConfig::http(&addresses(&origins)));
    let _process = place.start();
    for (arguments, names) in [
        (["log", "--service", "shp"], "there are: shop"),
        (["log", "--server", "web/z"], "there are: web/a"),
        (["log", "--cause", "tired"], "server-reset"),
        (["log", "--status", "6xx"], "expected 503"),
        (["watch", "--on", "server-dwn"], "server-down"),
    ] {
        let said = place.run_verb(&arguments);
        assert!(said.code == 1 && said.stderr.contains(names), "{arguments:?}: {said:?}");
    }
    let quiet = CliEnvironment::new(&BalancerConfig::http(&addresses(&origins)).quiet());
    let _process = quiet.start();
    let said = quiet.run_verb(&["log"]);
    assert!(said.code == 1 && said.stderr.contains("the access log is off"), "{said:?}");
}

#[test]
fn reload_reads_the_file_again_and_a_mistake_changes_nothing() {
    let origins = [origin("a"), origin("b")];
    let one = BalancerConfig::http(&addresses(&origins[..1]));
    let place = CliEnvironment::new(&one);
    let _process = place.start();
    place.write(&place.setup().server("b", addresses(&origins)[1], ""));
    let said = place.run_verb_ok(&["reload"]);
    assert!(said.stdout.contains("server b added"), "{said:?}");
    let text = std::fs::read_to_string(place.file()).unwrap();
    std::fs::write(place.file(), format!("{text}\nnonsense = 1\n")).unwrap();
    let said = place.run_verb(&["reload"]);
    assert!(said.code == 1 && said.stderr.contains("nonsense"), "{said:?}");
    std::fs::remove_file(place.file()).unwrap();
    let said = place.run_verb(&["reload"]);
    assert!(said.code == 1 && said.stderr.contains("is not there"), "{said:?}");
    assert_eq!(place.status().generation, 2);
}
