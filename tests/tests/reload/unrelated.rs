//! Many reloads, each changing another service than the one with the traffic.

use std::time::{Duration, Instant};

use lab::port::ReservedPort;
use rustix::process::Signal;
use tests::e2e::balancer::{figure, is_long};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::listening_sockets::listening_at;
use tests::e2e::process::ChildProcess;
use tests::e2e::servers::{addresses, origin, reserve_port};
use tests::e2e::steady_traffic::{KEEP_ALIVE_CONNECTIONS, SteadyTraffic};
use tests::e2e::wait;

/// The interval of reloads in the long run.
const EVERY: Duration = Duration::from_millis(55);

#[test]
fn reloads_of_another_service_touch_nothing() {
    let origins = [origin("a"), origin("b")];
    let here = reserve_port();
    let there = reserve_port();
    let setup = BalancerConfig::http(&addresses(&origins)).quiet();
    let place = CliEnvironment::new(&setup.clone().with_tables(&other(0, &here, &there)));
    let mut process = place.start();
    let front = setup.fronts()[0];
    let before = listening_at(process.pid(), front);
    assert!(!before.is_empty());

    let steady = SteadyTraffic::start(front);
    let (count, every) = if is_long() { (1000, EVERY) } else { (60, Duration::ZERO) };
    let begun = Instant::now();
    for number in 1..=count {
        place.write(&setup.clone().with_tables(&other(number, &here, &there)));
        reload(&place, &process, number % 2 == 0);
        if number % 20 == 0 {
            steady.wait_for_progress();
        }
        let due = begun + every * number;
        while Instant::now() < due {
            std::thread::park_timeout(due.saturating_duration_since(Instant::now()));
        }
    }
    let took = begun.elapsed();
    steady.wait_for_progress();
    let felt = steady.stop();

    assert_eq!(felt.failures, Vec::<String>::new());
    assert_eq!(
        felt.keep_alive.connects, KEEP_ALIVE_CONNECTIONS as u64,
        "a connection that is kept stays: {:?}",
        felt.keep_alive
    );
    assert_eq!(felt.keep_alive.idle_ended, 0);
    assert_eq!(listening_at(process.pid(), front), before, "the same sockets");
    assert_eq!(process.try_wait(), None);
    assert_eq!(place.pid(), Some(process.pid()));
    assert_eq!(place.status().generation, u64::from(count) + 1, "each was activated");
    let answered = felt.keep_alive.answered + felt.connect_each.answered;
    let echoes = felt.echoes;
    figure(format!(
        "{count} reloads in {:.1} s under load: {answered} requests answered, 0 failed; {} kept connections, {echoes} \
         WebSocket messages and a slow download unbroken; one process, the same listening sockets",
        took.as_secs_f64(),
        felt.keep_alive.connects,
    ));
    assert!(!is_long() || took <= Duration::from_secs(60), "{took:?}");
}

/// Reloads by SIGHUP or by `steelyard apply`, and waits until the configuration is active.
fn reload(place: &CliEnvironment, process: &ChildProcess, by_signal: bool) {
    if !by_signal {
        place.run_verb_ok(&["apply", &place.file().display().to_string()]);
        return;
    }
    let before = place.status().generation;
    process.signal(Signal::HUP);
    wait::until("active", || {
        assert!(!process.output().contains("reload-failed"), "{}", process.output());
        place.status().generation > before
    });
}

/// The other service, different each time: its address, its settings, its servers, and an optional third server.
fn other(number: u32, here: &ReservedPort, there: &ReservedPort) -> String {
    let listen = if (number / 8).is_multiple_of(2) { here } else { there }.address();
    let header = 2 + number % 50;
    let weight = 1 + number % 100;
    let third = match number % 4 {
        0 => "[pool.third]\nservers = [\"127.0.0.1:9\"]\n",
        _ => "",
    };
    format!(
        "[service.other]\nlisten = \"{listen}\"\nforward = \"http\"\npool = \"other\"\n\
         timeout.header = \"{header}s\"\n\
         [pool.other]\nservers = [{{ name = \"x\", address = \"127.0.0.1:9\", weight = {weight} }}]\n{third}"
    )
}
