//! Commands of the command line: rollback to an earlier configuration, removed servers, and concurrent changes.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use model::snapshot::ServerState;
use rustix::process::Signal;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::client::HttpClient;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;

/// Enough consecutive requests to reach every available server.
const MANY: usize = 40;

// Rows: Z08
#[test]
fn a_rollback_restores_how_it_was() {
    let origins = [origin("a"), origin("b"), origin("c")];
    let at = addresses(&origins);
    let setup = BalancerConfig::http(&at[..1]);
    let place = CliEnvironment::new(&setup);
    let process = place.start();
    let front = setup.fronts()[0];
    assert_eq!(answering(front), names(["a"]));
    for (name, server) in [("b", at[1]), ("c", at[2])] {
        let next = setup.clone().without_server("a").server(name, server, "");
        apply(&place, &next);
        assert_eq!(answering(front), names([name]));
    }
    place.run_verb_ok(&["rollback"]);
    assert_eq!(answering(front), names(["b"]), "the one before");
    place.run_verb_ok(&["rollback", "1"]);
    assert_eq!(answering(front), names(["a"]), "the first");
    place.run_verb_ok(&["rollback", "3"]);
    assert_eq!(answering(front), names(["c"]), "and forward again");
    assert_eq!(place.status().generation, 6, "each is a generation of its own");
    let refused = place.run_verb(&["rollback", "77"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert_eq!(answering(front), names(["c"]));
    drop(process);
}

#[test]
fn orders_about_servers_act_and_outlive_reload_and_restart() {
    let origins = [origin("a"), origin("b")];
    let setup = BalancerConfig::http(&addresses(&origins)).pool("balance = \"round-robin\"");
    let place = CliEnvironment::new(&setup);
    let mut process = place.start();
    let front = setup.fronts()[0];
    let both = names(["a", "b"]);
    assert_eq!(answering(front), both);

    let rows: [(&[&str], [&str; 2]); 3] = [
        (&["server", "drain", "web/a"], ["drain", "b"]),
        (&["server", "disable", "web/a"], ["disabled", "b"]),
        (&["server", "weight", "web/b", "0"], ["disabled", ""]),
    ];
    let mut workers = 0;
    for (order, [state, served]) in rows {
        place.run_verb_ok(order);
        let is_so = |place: &CliEnvironment, when: &str| {
            let server = &place.status().pools[0].servers[0];
            assert_eq!(server.state, word(state), "{order:?} {when}: {server:?}");
            let expected = names([served].into_iter().filter(|name| !name.is_empty()));
            assert_eq!(answering(front), expected, "{order:?} {when}");
        };
        is_so(&place, "at once");
        workers += 1;
        let generation = place.status().generation;
        // The change affects another setting of the same pool.
        place.write(
            &setup
                .clone()
                .pool(&format!("balance = \"round-robin\"\ntimeout.idle = \"{}s\"", 20 + workers)),
        );
        process.signal(Signal::HUP);
        wait::until("reloaded", || place.status().generation > generation);
        is_so(&place, "after a reload");
        process.signal(Signal::TERM);
        assert!(process.wait().success(), "{}", process.output());
        process = place.start();
        is_so(&place, "after a restart");
    }
    place.run_verb_ok(&["server", "enable", "web/a"]);
    assert_eq!(answering(front), names(["a"]), "b still has weight 0");
    place.run_verb_ok(&["server", "weight", "web/b"]);
    assert_eq!(answering(front), both, "the configured weight again");
    place.run_verb_ok(&["server", "weight", "web/a", "3"]);
    let answers = (0..MANY).map(|_| HttpClient::connect(front).get("/"));
    let of_a = answers.filter(|answer| answer.field("x-origin").as_deref() == Some("a")).count();
    assert!(
        (MANY * 5 / 8..MANY * 7 / 8).contains(&of_a),
        "three times the share: {of_a} of {MANY}"
    );
    let refused = place.run_verb(&["server", "drain", "web/nobody"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    drop(process);
}

#[test]
fn a_change_made_for_another_generation_is_refused() {
    let origins = [origin("a"), origin("b")];
    let at = addresses(&origins);
    let setup = BalancerConfig::http(&at[..1]);
    let place = CliEnvironment::new(&setup);
    let process = place.start();
    let front = setup.fronts()[0];
    let seen = place.status().generation.to_string();
    // Another change comes first.
    apply(&place, &setup.clone().pool("balance = \"random\""));
    let mine = setup.without_server("a").server("b", at[1], "");
    let file = place.write(&mine).display().to_string();
    let refused = place.run_verb(&["apply", "--if-generation", &seen, &file]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains('2'), "which one is active: {refused:?}");
    assert_eq!(answering(front), names(["a"]));
    place.run_verb_ok(&["apply", "--if-generation", "2", &file]);
    assert_eq!(answering(front), names(["b"]));
    assert_eq!(place.status().generation, 3);
    drop(process);
}

fn apply(place: &CliEnvironment, setup: &BalancerConfig) {
    let file = place.write(setup).display().to_string();
    place.run_verb_ok(&["apply", &file]);
}

/// The servers that answer, over many connections.
fn answering(front: SocketAddr) -> BTreeSet<String> {
    let answers = (0..MANY).map(|_| HttpClient::connect(front).get("/"));
    answers.filter(|answer| answer.status() == 200).filter_map(|it| it.field("x-origin")).collect()
}

fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

fn word(state: &str) -> ServerState {
    serde_json::from_value(state.into()).unwrap()
}
