//! Daily hours: servers drain and return by the clock. The daemon's local time depends on its time zone, so the test
//! sets a time zone that yields any hour.

use std::time::{SystemTime, UNIX_EPOCH};

use model::snapshot::ServerState;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::process::ChildProcess;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;

const DAY: u64 = 86_400;

/// A daemon whose local time is `second` seconds after midnight.
fn started_at(place: &CliEnvironment, second: u64) -> ChildProcess {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() % DAY;
    let ahead = (second + DAY - now) % DAY;
    let mut command = place.command();
    // POSIX time zones count westwards, so a minus sign means ahead of UTC.
    let zone = format!("TST-{}:{:02}:{:02}", ahead / 3600, ahead / 60 % 60, ahead % 60);
    command.env("TZ", zone);
    place.start_command(command)
}

fn of(hour: u64, minute: u64, second: u64) -> u64 {
    hour * 3600 + minute * 60 + second
}

// Rows: I13
#[test]
fn a_server_drains_by_daily_hours_and_comes_back() {
    let origins = [origin("a"), origin("b")];
    let at = addresses(&origins);
    let schedule = ", schedule = [{ drain = \"22:00-06:00\" }]";
    let setup = BalancerConfig::http(&[]).server("a", at[0], schedule).server("b", at[1], "");
    let place = CliEnvironment::new(&setup);
    let a = || place.status().pools[0].servers[0].clone();

    let noon = started_at(&place, of(12, 0, 0));
    assert_eq!(a().state, ServerState::Up);
    drop(noon);

    let evening = started_at(&place, of(21, 59, 55));
    wait::until("drained at ten in the evening", || a().state == ServerState::Drain);
    assert!(a().reason.text.contains("schedule 22:00-06:00"), "{:?}", a());
    let mut client = tests::e2e::client::HttpClient::connect(setup.fronts()[0]);
    for _ in 0..8 {
        assert_eq!(client.get("/").field("x-origin").as_deref(), Some("b"));
    }
    let audit = place.run_verb_ok(&["audit", "--json"]).stdout;
    assert!(audit.contains("\"way\":\"clock\"") || audit.contains("\"way\": \"clock\""), "{audit}");
    // A manual `enable` overrides the schedule until the window ends.
    place.run_verb_ok(&["server", "enable", "web/a"]);
    assert_eq!(a().state, ServerState::Up);
    drop(evening);

    let morning = started_at(&place, of(5, 59, 55));
    wait::until("back at six in the morning", || a().state == ServerState::Up);
    drop(morning);
}
