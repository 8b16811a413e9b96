//! Server commands: servers are added, cut, saved, logged in the audit across a SIGKILL, and restored.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use rustix::process::Signal;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;

#[test]
fn a_server_is_added_recorded_over_a_kill_and_taken_back() {
    let origins = [origin("a"), origin("b")];
    let at = addresses(&origins);
    let place = CliEnvironment::new(&BalancerConfig::http(&at[..1]));
    let mut process = place.start();
    let added = at[1].to_string();
    place.run_verb_ok(&["server", "add", "web", &added, "--name", "b"]);
    let names = || -> Vec<String> {
        place.status().pools[0].servers.iter().map(|server| server.name.clone()).collect()
    };
    assert_eq!(names(), ["a", "b"]);
    place.run_verb_ok(&["server", "maintain", "web/a", "--until", "1h", "--reason", "new disks"]);
    process.signal(Signal::KILL);
    wait::until("it is gone", || process.try_wait().is_some());
    let _again = place.start();
    assert_eq!(names(), ["a", "b"], "kept over the kill");
    let status = place.status();
    assert!(status.pools[0].servers[0].reason.text.contains("new disks"), "{status:?}");
    let audit = place.run_verb(&["audit", "--json"]);
    assert_eq!(audit.code, 0, "{audit:?}");
    for word in ["\"add\"", "web/b", "maintain until ", "Z (new disks)", "uid "] {
        assert!(audit.stdout.contains(word), "{word} in {}", audit.stdout);
    }
    place.run_verb_ok(&["undo"]);
    place.run_verb_ok(&["undo"]);
    assert_eq!(names(), ["a"]);
    assert_eq!(place.run_verb(&["undo"]).code, 1, "nothing is left");
}

// Rows: I29, Z05
#[test]
fn a_cut_resets_what_the_server_has() {
    let origins = [origin("a"), origin("b")];
    let setup = BalancerConfig::tcp(&addresses(&origins)[..1]);
    let place = CliEnvironment::new(&setup);
    let _process = place.start();
    let mut client = TcpStream::connect(setup.fronts()[0]).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    // A partial request, so that the server waits for the rest.
    client.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    wait::until("the connection is forwarded", || {
        place.status().pools[0].servers[0].in_flight == 1
    });
    place.run_verb_ok(&["server", "cut", "web/a"]);
    let error = client.read(&mut [0; 16]).map_err(|error| error.kind());
    assert_eq!(error, Err(std::io::ErrorKind::ConnectionReset));
    let report = place.report();
    let causes = &report.total.causes;
    assert!(
        causes.iter().any(|it| it.cause == "operator-cut" && it.count.total == 1),
        "{causes:?}"
    );
}

// Rows: I45
#[test]
fn an_order_is_saved_with_its_comments() {
    let origins = [origin("a"), origin("b")];
    let place =
        CliEnvironment::new(&BalancerConfig::http(&addresses(&origins)).pool("retries = 1 # few"));
    let _process = place.start();
    let before = std::fs::read_to_string(place.file()).unwrap();
    place.run_verb_ok(&["server", "drain", "web/a", "--save"]);
    let after = std::fs::read_to_string(place.file()).unwrap();
    assert!(after.contains("state = \"drain\"") && after.contains("# few"), "{after}");
    assert_eq!(place.status().generation, 2);
    place.run_verb_ok(&["undo"]);
    assert_eq!(std::fs::read_to_string(place.file()).unwrap(), before);
}
