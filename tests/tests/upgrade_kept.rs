//! A killed daemon under a service manager that holds its listening sockets.
//!
//! This program has a single test, because every process that starts meanwhile inherits the descriptors.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tests::e2e::balancer::{figure, is_long};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::client::HttpClient;
use tests::e2e::fdstore::FdStore;
use tests::e2e::servers::{addresses, origin, reserve_port};
use tests::e2e::wait;

const OTHERS: usize = 9;
/// The limit of the long run.
const WITHIN: Duration = Duration::from_millis(50);

#[test]
fn clients_that_come_while_no_daemon_runs_are_answered_by_the_next() {
    let origins = [origin("a")];
    let others: Vec<_> = (0..OTHERS).map(|_| reserve_port()).collect();
    let services = others.iter().enumerate().map(|(number, port)| {
        format!(
            "[service.other{number}]\nlisten = \"{}\"\nforward = \"http\"\npool = \"web\"\n",
            port.address()
        )
    });
    let setup = BalancerConfig::http(&addresses(&origins)).global("workers = 2").quiet();
    let setup = setup.with_tables(&services.collect::<String>());
    let fronts: Vec<SocketAddr> =
        setup.fronts().into_iter().chain(others.iter().map(|port| port.address())).collect();
    let place = CliEnvironment::new(&setup);
    let store = FdStore::new(place.dir());
    let mut daemon = store.start(&place.command());
    wait::until("ready", || store.ready() == 1);
    // From here on, only the daemon and the descriptor store hold the ports.
    drop(others);

    let mut took = Vec::new();
    for times in 1..=if is_long() { 10 } else { 2 } {
        assert_eq!(store.stored_counts().len(), fronts.len(), "{:?}", store.stored_counts());
        assert!(
            store.stored_counts().values().all(|sockets| *sockets == 2),
            "{:?}",
            store.stored_counts()
        );
        let killed = Instant::now();
        daemon.signal(Signal::KILL);
        daemon.wait();
        let asked = fronts.iter().map(|front| {
            let client = HttpClient::connect(*front);
            client.send("GET / HTTP/1.1\r\nHost: shop.example\r\n\r\n");
            client
        });
        let waiting: Vec<HttpClient> = asked.collect();
        drop(std::mem::replace(&mut daemon, store.start(&place.command())));
        for mut client in waiting {
            assert_eq!(client.read_answer().status(), 200);
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

    // After a graceful stop, the store is empty.
    daemon.signal(Signal::TERM);
    assert!(daemon.wait().success(), "{}", daemon.output());
    wait::until("nothing is kept of a service that was stopped", || {
        store.stored_counts().is_empty()
    });
}
