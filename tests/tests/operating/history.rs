//! The history survives a SIGKILL and is reported with its totals.

use rustix::process::Signal;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::client::HttpClient;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;

// Rows: I42
#[test]
fn what_was_before_a_kill_is_reported_after_it() {
    let origins = [origin("a")];
    let setup = BalancerConfig::http(&addresses(&origins)).global("history = { step = \"1s\" }");
    let place = CliEnvironment::new(&setup);
    let mut process = place.start();
    let requests = || -> u64 {
        let said = place.run_verb(&["report", "--since", "1h", "--json"]);
        assert_eq!(said.code, 0, "{said:?}");
        let history: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
        let rows = history["rows"].as_array().unwrap().clone();
        let shop = rows.into_iter().find(|row| row["name"] == "service/shop");
        shop.map_or(0, |row| row["values"]["requests"].as_u64().unwrap())
    };
    wait::until("a record is kept", || {
        place.run_verb(&["report", "--since", "1h"]).stdout.contains("SERVICE")
    });
    let mut client = HttpClient::connect(setup.fronts()[0]);
    for _ in 0..10 {
        assert_eq!(client.get("/").status(), 200);
    }
    wait::until("the requests are kept", || requests() == 10);
    process.signal(Signal::KILL);
    wait::until("it is gone", || process.try_wait().is_some());
    let _again = place.start();
    assert_eq!(requests(), 10);
    let text = place.run_verb(&["report", "--since", "1h"]).stdout;
    assert!(text.contains("SERVICE") && text.contains("shop"), "{text}");
}
