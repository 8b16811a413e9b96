//! What was: kept over a kill, and told with its totals.

use rustix::process::Signal;
use tests::e2e::client::Client;
use tests::e2e::place::Place;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::setup::Setup;
use tests::e2e::wait;

#[test]
fn what_was_before_a_kill_is_told_after_it() {
    let origins = [origin("a")];
    let setup = Setup::http(&addresses(&origins)).global("history = { step = \"1s\" }");
    let place = Place::new(&setup);
    let mut process = place.start();
    let requests = || -> u64 {
        let said = place.verb(&["report", "--since", "1h", "--json"]);
        assert_eq!(said.code, 0, "{said:?}");
        let history: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        let rows = history["rows"].as_array().unwrap().clone();
        let shop = rows.into_iter().find(|row| row["name"] == "service/shop");
        shop.map_or(0, |row| row["numbers"]["requests"].as_u64().unwrap())
    };
    wait::until("a record is kept", || {
        place.verb(&["report", "--since", "1h"]).out.contains("SERVICE")
    });
    let mut client = Client::to(setup.fronts()[0]);
    for _ in 0..10 {
        assert_eq!(client.get("/").status(), 200);
    }
    wait::until("the requests are kept", || requests() == 10);
    process.signal(Signal::KILL);
    wait::until("it is gone", || process.ended().is_some());
    let _again = place.start();
    assert_eq!(requests(), 10);
    let text = place.verb(&["report", "--since", "1h"]).out;
    assert!(text.contains("SERVICE") && text.contains("shop"), "{text}");
}
