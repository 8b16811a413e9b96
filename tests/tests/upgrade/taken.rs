//! Upgrades that succeed: nobody notices, and the old process leaves when its clients have.

use rustix::process::Signal;
use tests::e2e::balancer::{figure, is_long};
use tests::e2e::listening::listening_at;
use tests::e2e::place::{Place, Stranger};
use tests::e2e::process::Process;
use tests::e2e::servers::{addresses, origin, reserved};
use tests::e2e::setup::Setup;
use tests::e2e::steady::Steady;
use tests::e2e::{wait, websocket};

#[test]
fn nobody_notices_an_upgrade_by_signal() {
    let origins = [origin("a"), origin("b")];
    let setup = Setup::http(&addresses(&origins)).global("drain = \"10m\"").quiet();
    let place = Place::new(&setup);
    let mut first = place.start();
    let front = setup.fronts()[0];
    let sockets = listening_at(first.pid(), front);
    let steady = Steady::start(front);
    let upgrades = if is_long() { 20 } else { 2 };
    first.signal(Signal::USR2);
    let mut now = place.other_than(first.pid());
    for _ in 1..upgrades {
        steady.goes_on();
        now.signal(Signal::USR2);
        let next = place.other_than(now.pid());
        let before = std::mem::replace(&mut now, next);
        wait::until("the one between, which carries nothing that lasts, gone", || before.is_gone());
    }
    steady.goes_on();
    assert_eq!(first.ended(), None, "WebSockets and the download are still there");
    assert_eq!(listening_at(now.pid(), front), sockets, "the same sockets");
    let felt = steady.stop();
    assert_eq!(felt.broken, Vec::<String>::new());
    assert!(first.wait().success(), "{}", first.said());
    assert!(first.said().contains("left: nothing was cut"), "{}", first.said());
    figure(format!(
        "{upgrades} upgrades under load: {} requests answered over kept connections and {} over new ones, 0 failed; \
         {} WebSocket messages and a slow download finished in the old process, which then ended",
        felt.kept.answered, felt.fresh.answered, felt.echoes,
    ));
    now.end();
}

#[test]
fn nobody_notices_a_takeover_by_another_program() {
    let origins = [origin("a"), origin("b")];
    let setup = Setup::http(&addresses(&origins)).global("drain = \"10m\"").quiet();
    let place = Place::new(&setup);
    let mut old = place.start();
    let steady = Steady::start(setup.fronts()[0]);
    place.done(&["server", "weight", "web/b", "7"]);
    let generation = place.status().generation;
    let mut new = take_over(&place);
    wait::until("it answers", || place.pid() == Some(new.pid()));
    steady.goes_on();
    let status = place.status();
    assert_eq!(status.generation, generation, "what was in force stays in force");
    assert_eq!(status.pools[0].servers[1].weight, 7, "and so does what was ordered");
    let felt = steady.stop();
    assert_eq!(felt.broken, Vec::<String>::new());
    assert!(old.wait().success(), "{}", old.said());
    assert_eq!(new.ended(), None);
    assert_eq!(place.count_of("drain-cut"), 0);
}

#[test]
fn what_lasts_longer_than_the_drain_limit_is_cut_in_the_old_process() {
    let origins = [origin("a")];
    let setup = Setup::http(&addresses(&origins)).global("drain = \"300ms\"").quiet();
    let place = Place::new(&setup);
    let mut old = place.start();
    let mut lasting = websocket::open(setup.fronts()[0]);
    websocket::echo(&mut lasting, 1).unwrap();
    old.signal(Signal::USR2);
    let new: Stranger = place.other_than(old.pid());
    assert!(old.wait().success(), "{}", old.said());
    wait::until("what was cut is told", || old.said().contains("1 tunnels"));
    assert!(websocket::echo(&mut lasting, 2).is_err());
    let mut next = websocket::open(setup.fronts()[0]);
    websocket::echo(&mut next, 1).unwrap();
    drop(next);
    new.end();
}

#[test]
fn metrics_are_the_new_processs_as_soon_as_it_has_taken_over() {
    let origins = [origin("a")];
    let metrics = reserved();
    let at = metrics.address();
    let global = format!("drain = \"10m\"\nmetrics = \"{at}\"");
    let setup = Setup::http(&addresses(&origins)).global(&global).quiet();
    let place = Place::new(&setup);
    let mut old = place.start();
    wait::until("metrics are served", || !listening_at(old.pid(), at).is_empty());
    let before = listening_at(old.pid(), at);
    // It keeps the old process draining.
    let mut lasting = websocket::open(setup.fronts()[0]);
    websocket::echo(&mut lasting, 1).unwrap();
    let mut new = take_over(&place);
    wait::until("it answers", || place.pid() == Some(new.pid()));
    wait::until("the old one listens no more", || listening_at(old.pid(), at).is_empty());
    assert_eq!(listening_at(new.pid(), at), before, "the same socket");
    assert_eq!(old.ended(), None, "it drains");
    wait::until("the new one has said so", || new.said().contains("metrics-listening"));
    assert!(!new.said().contains("metrics-listen:"), "{}", new.said());
    assert!(!new.said().contains("in use"), "{}", new.said());
    websocket::echo(&mut lasting, 2).unwrap();
    let rest = |place: &Place| place.status().draining.into_iter().next();
    wait::until("what the old one has is shown", || {
        rest(&place)
            .is_some_and(|it| it.what == format!("process {}", old.pid()) && it.connections > 0)
    });
    drop(lasting);
    assert!(old.wait().success(), "{}", old.said());
    wait::until("it has left", || rest(&place).is_none());
    new.signal(Signal::TERM);
    assert!(new.wait().success());
}

fn take_over(place: &Place) -> Process {
    let mut command = place.command();
    command.arg("--takeover");
    Process::start(command)
}
