//! Sticky clients of a quiesced server: they keep their server, also after a SIGKILL, until the limit or until the last
//! client has left.

use std::net::SocketAddr;

use api::types::ServerStatus;
use model::snapshot::ServerState;
use rustix::process::Signal;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::client::HttpClient;
use tests::e2e::http::ReceivedMessage;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::tools::curl_text;
use tests::e2e::wait;

fn ask(front: SocketAddr, more: &str) -> ReceivedMessage {
    let mut client = HttpClient::connect(front);
    client.send(format!("GET / HTTP/1.1\r\nHost: shop\r\n{more}\r\n"));
    client.read_answer()
}

fn by(answer: &ReceivedMessage) -> String {
    answer.field("x-origin").unwrap_or_default()
}

fn server(place: &CliEnvironment, name: &str) -> ServerStatus {
    let servers = place.status().pools.remove(0).servers;
    servers.into_iter().find(|server| server.name == name).unwrap()
}

fn other(name: &str) -> &'static str {
    if name == "a" { "b" } else { "a" }
}

#[test]
fn who_has_our_cookie_stays_over_a_kill_and_goes_at_the_limit() {
    let origins = [origin("a"), origin("b")];
    let setup = BalancerConfig::http(&addresses(&origins))
        .service("sticky = { by = \"cookie\", name = \"SRV\", drain = \"1h\" }");
    let front = setup.fronts()[0];
    let place = CliEnvironment::new(&setup);
    let mut process = place.start();
    let first = ask(front, "");
    let own = by(&first);
    let set = first.field("set-cookie").unwrap();
    let kept = format!("Cookie: {}\r\n", set.split(';').next().unwrap());
    let who = format!("web/{own}");
    place.run_verb_ok(&["server", "quiesce", &who, "--for", "1h"]);
    let stays = || {
        for _ in 0..4 {
            assert_eq!(by(&ask(front, &kept)), own, "it is kept");
            assert_eq!(by(&ask(front, "")), other(&own), "who is new goes elsewhere");
        }
        let server = server(&place, &own);
        let keeps = server.sticky_clients.unwrap();
        assert_eq!(server.state, ServerState::Drain);
        assert!(keeps.until_unix_ms > place.status().now_unix_ms + 3_000_000, "{keeps:?}");
    };
    stays();
    process.signal(Signal::KILL);
    process.wait();
    process = place.start();
    stays();
    wait::until("it is said that nobody can count them", || {
        let server = server(&place, &own);
        server.reason.text.ends_with("; how many are left is not counted")
    });
    // A shorter limit replaces the earlier one, and the service's own limit does not start after it.
    place.run_verb_ok(&["server", "quiesce", &who, "--for", "1s"]);
    wait::until("the limit", || server(&place, &own).reason.text.starts_with("drained by"));
    let moved = ask(front, &kept);
    assert_eq!((by(&moved).as_str(), server(&place, &own).sticky_clients), (other(&own), None));
    assert!(moved.field("set-cookie").is_some(), "it belongs there now");
    let audit = place.run_verb_ok(&["audit"]).stdout;
    assert!(audit.contains("quiesce for 3600s") && audit.contains("quiesce for 1s"), "{audit}");
    place.run_verb_ok(&["server", "enable", &who]);
    assert_eq!(by(&ask(front, &kept)), own, "taken back");
    drop(process);
}

#[test]
fn when_the_last_client_has_gone_a_quiesce_is_over() {
    let origins = [origin("a"), origin("b")];
    let setup = BalancerConfig::http(&addresses(&origins))
        .service("sticky = { by = \"address\", expire = \"4s\" }");
    let front = setup.fronts()[0];
    let place = CliEnvironment::new(&setup);
    let _process = place.start();
    let own = by(&ask(front, ""));
    let who = format!("web/{own}");
    place.run_verb_ok(&["server", "quiesce", &who, "--for", "1h"]);
    wait::until("one is left", || {
        // Each request restarts the client's timeout.
        assert_eq!(by(&ask(front, "")), own);
        let server = server(&place, &own);
        server.sticky_clients.is_some_and(|keeps| keeps.clients == Some(1) && !keeps.uncounted)
            && server.reason.text.ends_with("; 1 is left")
    });
    assert_eq!(from("127.0.0.9", front), other(&own), "who is new goes elsewhere");
    assert_eq!(by(&ask(front, "")), own);
    wait::until("it is over", || server(&place, &own).reason.text.starts_with("drained by"));
    assert_eq!(
        (by(&ask(front, "")).as_str(), server(&place, &own).sticky_clients),
        (other(&own), None)
    );
    let audit = place.run_verb_ok(&["audit"]).stdout;
    assert!(audit.contains("last-client-gone"), "{audit}");
    place.run_verb_ok(&["server", "enable", &who]);
    assert_eq!(server(&place, &own).state, ServerState::Up);
}

/// The server that answers a client at another address of the loopback.
fn from(source: &str, front: SocketAddr) -> String {
    let url = format!("http://{front}/");
    let shown = "%header{x-origin}";
    curl_text(&["--interface", source, "-o", "/dev/null", "-w", shown, &url])
}
