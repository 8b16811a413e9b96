//! The remaining error budget survives a SIGKILL, because it is computed from the history.

use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::wait;

use super::setup::{ask, event_text, explained, promise, server, when};

#[test]
fn a_budget_survives_the_process() {
    let origin = server();
    let setup = BalancerConfig::http(&[origin.address()])
        .service("objective = { availability = \"99.5%\", mask4 = 8 }")
        .global("history = { step = \"1s\" }");
    let place = CliEnvironment::new(&setup);
    let mut process = place.start();
    // Counts from here on are differences between two records.
    wait::until("the first record", || {
        place.run_verb_ok(&["report", "--since", "1m"]).stdout.contains("SERVICE")
    });
    ask(&place, 20, "/200", 200);
    ask(&place, 20, "/500", 500);
    let users = when(&place, "a server's own failures", |users| users.hour.failed == 20);
    assert_eq!((users.causes[0].cause.as_str(), users.causes[0].count), ("status-5xx", 20));
    assert_eq!(users.networks[0].network, "127.0.0.0/8");
    wait::until("they are in the history", || {
        let text = place.run_verb_ok(&["report", "--since", "1m", "--json"]).stdout;
        let history: api::types::History = serde_json::from_str(&text).unwrap();
        let row = history.rows.iter().find(|row| row.name == "users/shop");
        row.is_some_and(|row| (row.values["failed"], row.values["fast"]) == (20, 20))
    });
    process.signal(rustix::process::Signal::KILL);
    process.wait();
    let _process = place.start();
    let users = when(&place, "what was before", |users| promise(users, "availability").bad == 20);
    let available = promise(&users, "availability");
    assert_eq!((available.operations, users.hour.failed), (40, 0));
    assert!((available.budget_remaining_percent + 9_900.0).abs() < 1e-6, "{available:?}");
    wait::until("the alarm stands again", || {
        event_text(&place, "budget-burning", "availability", "1h").is_some()
    });
    ask(&place, 1, "/200", 200);
    when(&place, "it goes on", |users| promise(users, "availability").operations == 41);
    assert_eq!(explained(&place).hour.fast, 1);
}
