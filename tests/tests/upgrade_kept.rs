//! A daemon that dies without a word, under a service manager that keeps its listening sockets.
//!
//! One test alone: descriptors that are handed over are inherited by whatever is started meanwhile.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tests::e2e::balancer::{figure, is_long};
use tests::e2e::client::Client;
use tests::e2e::fdstore::FdStore;
use tests::e2e::place::Place;
use tests::e2e::servers::{addresses, origin, reserved};
use tests::e2e::setup::Setup;
use tests::e2e::wait;

/// Beside `shop`.
const OTHERS: usize = 9;
/// The bar for the long run.
const WITHIN: Duration = Duration::from_millis(50);

#[test]
fn clients_that_come_while_no_daemon_runs_are_answered_by_the_next() {
    let origins = [origin("a")];
    let others: Vec<_> = (0..OTHERS).map(|_| reserved()).collect();
    let services = others.iter().enumerate().map(|(number, port)| {
        format!(
            "[service.other{number}]\nlisten = \"{}\"\nforward = \"http\"\npool = \"web\"\n",
            port.address()
        )
    });
    let setup = Setup::http(&addresses(&origins)).global("workers = 2").quiet();
    let setup = setup.more(&services.collect::<String>());
    let fronts: Vec<SocketAddr> =
        setup.fronts().into_iter().chain(others.iter().map(|port| port.address())).collect();
    let place = Place::new(&setup);
    let store = FdStore::new(place.dir());
    let mut daemon = store.start(&place.command());
    wait::until("ready", || store.ready() == 1);
    // From now on the ports belong to the daemon and to what keeps its sockets.
    drop(others);

    let mut took = Vec::new();
    for times in 1..=if is_long() { 10 } else { 2 } {
        assert_eq!(store.kept().len(), fronts.len(), "{:?}", store.kept());
        assert!(store.kept().values().all(|sockets| *sockets == 2), "{:?}", store.kept());
        let killed = Instant::now();
        daemon.signal(Signal::KILL);
        daemon.wait();
        let asked = fronts.iter().map(|front| {
            let client = Client::to(*front);
            client.send("GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n");
            client
        });
        let waiting: Vec<Client> = asked.collect();
        drop(std::mem::replace(&mut daemon, store.start(&place.command())));
        for mut client in waiting {
            assert_eq!(client.answer().status(), 200);
        }
        took.push(killed.elapsed());
        wait::until("ready", || store.ready() == times + 1);
    }
    took.sort_unstable();
    let median = took[took.len() / 2];
    let milliseconds = |took: Duration| took.as_secs_f64() * 1e3;
    figure(format!(
        "after kill -9 ten services answer again in {:.1} ms, median of {}; {:.1} ms at most",
        milliseconds(median),
        took.len(),
        milliseconds(took[took.len() - 1]),
    ));
    assert!(!is_long() || median <= WITHIN, "{took:?}");

    // Stopped in order, nothing is kept.
    daemon.signal(Signal::TERM);
    assert!(daemon.wait().success(), "{}", daemon.said());
    wait::until("nothing is kept of a service that was stopped", || store.kept().is_empty());
}
