//! Copies of services: a copy serves at once, is planned, saved and undone as other changes are, and collisions are
//! refused by name.

use std::net::{SocketAddr, TcpListener};

use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::client::HttpClient;
use tests::e2e::servers::{addresses, origin, reserve_port};

// Rows: Z08
#[test]
fn a_copy_serves_from_pools_of_its_own_until_it_is_undone() {
    let origins = [origin("a"), origin("b")];
    let at = addresses(&origins);
    let rule = "[[service.shop.rule]]\nwhen = { path = \"/b/*\" }\npool = \"other\"\n";
    let other = format!("{rule}[pool.other]\nservers = [\"{}\"] # the second rack\n", at[1]);
    let setup = BalancerConfig::http(&at[..1]).with_tables(&other);
    let place = CliEnvironment::new(&setup);
    let _process = place.start();
    let spare = reserve_port();
    let listen = spare.address().to_string();
    let order = ["copy", "service", "shop", "test", "--listen", &listen];

    let planned = place.run_verb_ok(&[&order[..], &["--dry-run"]].concat());
    for line in ["+ service test", "+ pool test", "+ pool test-other"] {
        assert!(planned.stdout.contains(line), "{line} in {planned:?}");
    }
    assert_eq!(place.status().services.len(), 1, "nothing was changed");

    let done = place.run_verb_ok(&[&order[..], &["--save"]].concat());
    assert!(done.stderr.contains("pool test-other is a copy of pool other"), "{done:?}");
    let answer = |front: SocketAddr, path: &str| {
        HttpClient::connect(front).get(path).field("x-origin").unwrap_or_default()
    };
    let copy = spare.address();
    assert_eq!([answer(copy, "/"), answer(copy, "/b/1")], ["a", "b"], "rules are copied");
    assert_eq!([answer(setup.fronts()[0], "/"), answer(setup.fronts()[0], "/b/1")], ["a", "b"]);
    let written = std::fs::read_to_string(place.file()).unwrap();
    assert_eq!(written.matches("# the second rack").count(), 2, "{written}");
    // The pools are apart: a command for one does not act on the other.
    place.run_verb_ok(&["server", "disable", "test/a"]);
    assert_eq!(HttpClient::connect(copy).get("/").status(), 503);
    assert_eq!(answer(setup.fronts()[0], "/"), "a");
    place.run_verb_ok(&["undo"]);
    assert_eq!(answer(copy, "/"), "a");

    place.run_verb_ok(&["undo"]);
    let names: Vec<String> =
        place.status().services.into_iter().map(|service| service.name).collect();
    assert_eq!(names, ["shop"], "the copy is taken back");
    assert_eq!(
        std::fs::read_to_string(place.file()).unwrap().matches("the second rack").count(),
        1
    );
}

#[test]
fn names_and_addresses_that_are_taken_are_refused() {
    let origins = [origin("a")];
    let at = addresses(&origins);
    let setup = BalancerConfig::http(&at);
    let place = CliEnvironment::new(&setup);
    let _process = place.start();
    let spare = reserve_port();
    let free = spare.address().to_string();
    let own = setup.fronts()[0].to_string();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let foreign = taken.local_addr().unwrap().to_string();
    let rows: [(&[&str], &str); 7] = [
        (&["shop", "shop", "--listen", &free], "there is a service 'shop' already"),
        (&["shop", "web", "--listen", &free], "there is a pool 'web' already"),
        (&["shopp", "test", "--listen", &free], "there is no service 'shopp'"),
        (&["shop", "test", "--listen", &free, "--pool", "web"], "there is a pool 'web' already"),
        (&["shop", "test", "--listen", &own], &own),
        (&["shop", "test", "--listen", &foreign], &foreign),
        (&["shop", "Not A Name", "--listen", &free], "Not A Name"),
    ];
    for (order, message) in rows {
        let refused = place.run_verb(&[&["copy", "service"], order].concat());
        assert_eq!(refused.code, 1, "{order:?}: {refused:?}");
        assert!(refused.stderr.contains(message), "{message} in {refused:?}");
        assert!(!refused.stderr.contains("is a copy of"), "nothing is copied: {refused:?}");
        let status = place.status();
        assert_eq!((status.services.len(), status.generation), (1, 1), "{order:?}");
    }
    let without = place.run_verb(&["copy", "service", "shop", "test"]);
    assert_eq!(without.code, 2, "{without:?}");
    assert!(without.stderr.contains("--listen"), "{without:?}");
    // Shared pools need no new name.
    place.run_verb_ok(&["copy", "service", "shop", "web", "--listen", &free, "--share-pools"]);
    assert_eq!(place.status().pools.len(), 1);
    assert_eq!(HttpClient::connect(spare.address()).get("/").status(), 200);
}
