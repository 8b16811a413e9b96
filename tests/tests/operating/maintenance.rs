//! Windows of maintenance: shown before they begin, with times and zone, and refused where they cannot be meant.

use std::process::Command;

use tests::e2e::balancer::program;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::{CliEnvironment, run_command};
use tests::e2e::process::ChildProcess;
use tests::e2e::servers::{addresses, origin};

/// A daemon and its clients in a zone two hours ahead of UTC (POSIX writes it the other way round).
const ZONE: &str = "ABC-2";

fn start(place: &CliEnvironment) -> ChildProcess {
    let mut command = place.command();
    command.env("TZ", ZONE);
    place.start_command(command)
}

#[test]
fn a_window_that_is_to_come_is_shown_with_times_and_zone() {
    let origins = [origin("a"), origin("b")];
    let place = CliEnvironment::new(&BalancerConfig::http(&addresses(&origins)));
    let _process = start(&place);
    let order = |arguments: &[&str]| {
        let mut command = Command::new(program());
        command.args(["server", "maintain", "web/a"]).args(arguments).env("TZ", ZONE);
        command.env("STEELYARD_SOCKET", place.dir().join("sock"));
        run_command(command)
    };
    let said = order(&["--from", "2h", "--until", "23h", "--reason", "new disks"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(
        said.stdout.contains("maintenance from ") && said.stdout.contains(" +02:00: "),
        "{said:?}"
    );
    let status = place.status();
    let window = status.pools[0].servers[0].maintenance.clone().unwrap();
    assert_eq!(window.reason, "new disks");
    assert!(window.until_unix_ms.is_some_and(|until| until > window.from_unix_ms), "{window:?}");
    assert_eq!(status.pools[0].servers[0].state.name(), "up", "it has not begun");
    let shown = place.run_verb_ok(&["status"]).stdout.replace(char::is_whitespace, "");
    let expected = "+02:00:newdisks";
    assert!(shown.contains("maintenancefrom") && shown.contains(expected), "{shown}");
    let day = order(&["--from", "2020-01-01T23:00", "--until", "2020-01-01T22:00"]);
    assert!(day.code == 1 && day.stderr.contains("ends before it begins"), "{day:?}");
    // A time of day before the beginning is that of the next day, and the verb says so.
    let night = order(&["--from", "23:00", "--until", "22:00"]);
    assert!(night.code == 0 && night.stdout.contains("past midnight"), "{night:?}");
    let audit = place.run_verb_ok(&["audit", "--json"]).stdout;
    assert!(audit.contains("maintain from 20") && audit.contains("Z until 20"), "{audit}");
    place.run_verb_ok(&["server", "enable", "web/a"]);
    assert!(place.status().pools[0].servers[0].maintenance.is_none());
}
