//! Quiesce: a server gets no new work, its open work stays, and it drains at a limit.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use model::snapshot::ServerState;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::servers::{echo, origin};
use tests::e2e::wait;

// Rows: I13
#[test]
fn it_keeps_what_it_has_takes_nothing_new_and_drains_at_the_limit() {
    let kept = echo("a");
    let other = origin("b");
    let setup =
        BalancerConfig::tcp(&[kept.address(), other.address()]).pool("balance = \"round-robin\"");
    let place = CliEnvironment::new(&setup);
    let _process = place.start();
    let a = || place.status().pools[0].servers[0].clone();
    place.run_verb_ok(&["server", "disable", "web/b"]);
    let mut client = TcpStream::connect(setup.fronts()[0]).unwrap();
    client.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut says = |word: &[u8; 4]| {
        client.write_all(word).unwrap();
        let mut back = [0; 4];
        client.read_exact(&mut back).unwrap();
        assert_eq!(&back, word);
    };
    says(b"one!");
    place.run_verb_ok(&["server", "enable", "web/b"]);
    place.run_verb_ok(&["server", "quiesce", "web/a", "--for", "3s"]);
    assert_eq!(a().state, ServerState::Drain);
    assert!(a().reason.text.contains("takes no new client"), "{:?}", a());
    says(b"two!");
    for _ in 0..6 {
        let mut client = tests::e2e::client::HttpClient::connect(setup.fronts()[0]);
        assert_eq!(client.get("/").field("x-origin").as_deref(), Some("b"));
    }
    assert_eq!(a().in_flight, 1);
    wait::until("the limit makes it a drain", || a().reason.text.starts_with("drained by"));
    says(b"four");
    let audit = place.run_verb_ok(&["audit"]).stdout;
    assert!(audit.contains("quiesce for 3s") && audit.contains("clock"), "{audit}");
    place.run_verb_ok(&["server", "enable", "web/a"]);
    assert_eq!(a().state, ServerState::Up);
}
