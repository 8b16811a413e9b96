//! Addresses that move between services, again and again.

use lab::port::ReservedPort;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::client::HttpClient;
use tests::e2e::servers::{addresses, origin, reserve_port};

/// Enough for descriptors of duplicates to come back with the same numbers.
const MOVES: usize = 8;
/// Enough connections to reach every worker.
const CONNECTIONS: usize = 12;

#[test]
fn addresses_that_move_between_services_stay_served() {
    let origins = [origin("a")];
    let ports = [reserve_port(), reserve_port()];
    let setup = BalancerConfig::http(&addresses(&origins)).quiet();
    let place = CliEnvironment::new(&setup.clone().with_tables(&services(&ports)));
    let process = place.start();
    let [first, second] = &ports;
    for number in 0..MOVES {
        let listen = if number % 2 == 0 { [second, first] } else { [first, second] };
        place.write(&setup.clone().with_tables(&services(listen)));
        place.run_verb_ok(&["apply", &place.file().display().to_string()]);
        for port in listen {
            for _ in 0..CONNECTIONS {
                let answer = HttpClient::connect(port.address()).get("/");
                assert_eq!(answer.status(), 200, "move {number}");
            }
        }
    }
    drop(process);
}

/// Two services, and where each listens.
fn services<'p>(ports: impl IntoIterator<Item = &'p ReservedPort>) -> String {
    let names = ["one", "two"].into_iter().zip(ports);
    let tables = names.map(|(name, port)| {
        format!(
            "[service.{name}]\nlisten = \"{}\"\nforward = \"http\"\npool = \"web\"\n",
            port.address()
        )
    });
    tables.collect()
}
