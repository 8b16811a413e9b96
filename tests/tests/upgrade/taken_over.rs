//! Successful upgrades: clients do not notice, and the old process ends after its last client.

use rustix::process::Signal;
use tests::e2e::balancer::{figure, is_long};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::{CliEnvironment, SpawnedDaemon};
use tests::e2e::listening_sockets::listening_at;
use tests::e2e::process::ChildProcess;
use tests::e2e::servers::{addresses, origin, reserve_port};
use tests::e2e::steady_traffic::SteadyTraffic;
use tests::e2e::{wait, websocket};

#[test]
fn nobody_notices_an_upgrade_by_signal() {
    let origins = [origin("a"), origin("b")];
    let setup = BalancerConfig::http(&addresses(&origins)).global("drain = \"10m\"").quiet();
    let place = CliEnvironment::new(&setup);
    let mut first = place.start();
    let front = setup.fronts()[0];
    let sockets = listening_at(first.pid(), front);
    let steady = SteadyTraffic::start(front);
    let upgrades = if is_long() { 20 } else { 2 };
    first.signal(Signal::USR2);
    let mut now = place.wait_for_other_pid(first.pid());
    for _ in 1..upgrades {
        steady.wait_for_progress();
        now.signal(Signal::USR2);
        let next = place.wait_for_other_pid(now.pid());
        let before = std::mem::replace(&mut now, next);
        wait::until("the one between, which carries nothing that lasts, gone", || before.is_gone());
    }
    steady.wait_for_progress();
    assert_eq!(first.try_wait(), None, "WebSockets and the download are still there");
    assert_eq!(listening_at(now.pid(), front), sockets, "the same sockets");
    let felt = steady.stop();
    assert_eq!(felt.failures, Vec::<String>::new());
    assert!(first.wait().success(), "{}", first.output());
    assert!(first.output().contains("left: nothing was cut"), "{}", first.output());
    figure(format!(
        "{upgrades} upgrades under load: {} requests answered over kept connections and {} over new ones, 0 failed; \
         {} WebSocket messages and a slow download finished in the old process, which then ended",
        felt.keep_alive.answered, felt.connect_each.answered, felt.echoes,
    ));
    now.end();
}

#[test]
fn nobody_notices_a_takeover_by_another_program() {
    let origins = [origin("a"), origin("b")];
    let setup = BalancerConfig::http(&addresses(&origins)).global("drain = \"10m\"").quiet();
    let place = CliEnvironment::new(&setup);
    let mut old = place.start();
    let steady = SteadyTraffic::start(setup.fronts()[0]);
    place.run_verb_ok(&["server", "weight", "web/b", "7"]);
    let generation = place.status().generation;
    let mut new = take_over(&place);
    wait::until("it answers", || place.pid() == Some(new.pid()));
    steady.wait_for_progress();
    let status = place.status();
    assert_eq!(status.generation, generation, "what was active stays active");
    assert_eq!(status.pools[0].servers[1].weight, 7, "and so does what was ordered");
    let felt = steady.stop();
    assert_eq!(felt.failures, Vec::<String>::new());
    assert!(old.wait().success(), "{}", old.output());
    assert_eq!(new.try_wait(), None);
    assert_eq!(place.count_of("drain-timeout"), 0);
}

#[test]
fn what_lasts_longer_than_the_drain_limit_is_cut_in_the_old_process() {
    let origins = [origin("a")];
    let setup = BalancerConfig::http(&addresses(&origins)).global("drain = \"300ms\"").quiet();
    let place = CliEnvironment::new(&setup);
    let mut old = place.start();
    let mut lasting = websocket::open(setup.fronts()[0]);
    websocket::echo(&mut lasting, 1).unwrap();
    old.signal(Signal::USR2);
    let new: SpawnedDaemon = place.wait_for_other_pid(old.pid());
    assert!(old.wait().success(), "{}", old.output());
    wait::until("what was cut is told", || old.output().contains("1 tunnels"));
    assert!(websocket::echo(&mut lasting, 2).is_err());
    let mut next = websocket::open(setup.fronts()[0]);
    websocket::echo(&mut next, 1).unwrap();
    drop(next);
    new.end();
}

#[test]
fn metrics_are_the_new_processs_as_soon_as_it_has_taken_over() {
    let origins = [origin("a")];
    let metrics = reserve_port();
    let at = metrics.address();
    let global = format!("drain = \"10m\"\nmetrics = \"{at}\"");
    let setup = BalancerConfig::http(&addresses(&origins)).global(&global).quiet();
    let place = CliEnvironment::new(&setup);
    let mut old = place.start();
    wait::until("metrics are served", || !listening_at(old.pid(), at).is_empty());
    let before = listening_at(old.pid(), at);
    // A WebSocket keeps the old process draining.
    let mut lasting = websocket::open(setup.fronts()[0]);
    websocket::echo(&mut lasting, 1).unwrap();
    let mut new = take_over(&place);
    wait::until("it answers", || place.pid() == Some(new.pid()));
    wait::until("the old one listens no more", || listening_at(old.pid(), at).is_empty());
    assert_eq!(listening_at(new.pid(), at), before, "the same socket");
    assert_eq!(old.try_wait(), None, "it drains");
    wait::until("the new one has said so", || new.output().contains("metrics-listening"));
    assert!(!new.output().contains("metrics-listen:"), "{}", new.output());
    assert!(!new.output().contains("in use"), "{}", new.output());
    websocket::echo(&mut lasting, 2).unwrap();
    let rest = |place: &CliEnvironment| place.status().draining.into_iter().next();
    wait::until("what the old one has is shown", || {
        rest(&place)
            .is_some_and(|it| it.subject == format!("process {}", old.pid()) && it.connections > 0)
    });
    drop(lasting);
    assert!(old.wait().success(), "{}", old.output());
    wait::until("it has left", || rest(&place).is_none());
    new.signal(Signal::TERM);
    assert!(new.wait().success());
}

fn take_over(place: &CliEnvironment) -> ChildProcess {
    let mut command = place.command();
    command.arg("--takeover");
    ChildProcess::start(command)
}
