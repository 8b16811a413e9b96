//! The live screen: a printed frame, keys and signals on a pseudo-terminal, and the terminal's settings afterwards.

use rustix::process::{Signal, test_kill_process};
use tests::e2e::balancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::load;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::terminal::Terminal;
use tests::e2e::wait;

/// The first number in the line that begins with this name, which is its rate.
fn rate(frame: &str, name: &str) -> f64 {
    let line = frame.lines().find(|line| line.starts_with(&format!("{name} ")));
    let line = line.unwrap_or_else(|| panic!("no line of {name}: {frame}"));
    let number = line.split_whitespace().find_map(|word| word.replace(',', "").parse().ok());
    number.unwrap_or_else(|| panic!("no rate: {line}"))
}

#[test]
fn a_frame_shows_services_servers_and_rates_and_a_dead_daemon_is_reported() {
    let origins = [origin("a"), origin("b")];
    let setup = BalancerConfig::http(&addresses(&origins)).quiet();
    let place = CliEnvironment::new(&setup);
    let process = place.start();
    let load = load::start(load::get_plan(setup.fronts()[0], "/", 4));
    load::wait_for_answers(&load, 50);
    let said = place.run_verb_ok(&["top", "--once", "--interval", "500ms"]);
    for name in ["shop", "web/a", "web/b"] {
        assert!(rate(&said.stdout, name) > 0.0, "{name}: {}", said.stdout);
    }
    assert!(
        said.stdout.contains("\nnothing has failed since the daemon's start\n"),
        "{}",
        said.stdout
    );
    // Without a terminal one frame is printed too.
    let said = place.run_verb_ok(&["top", "--view", "servers", "--interval", "500ms"]);
    assert!(
        rate(&said.stdout, "web/a") > 0.0 && !said.stdout.contains("SERVICE"),
        "{}",
        said.stdout
    );
    load::stop(load);

    drop(process);
    let said = place.run_verb(&["top", "--once"]);
    assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{said:?}");
    assert!(said.stderr.starts_with("steelyard: no daemon at "), "{said:?}");
}

/// `steelyard top` on a pseudo-terminal.
fn open_top(place: &CliEnvironment) -> Terminal {
    let command = format!("{} top --interval 200ms", balancer::program().display());
    let socket = place.dir().join("sock");
    Terminal::open(&command, &[("STEELYARD_SOCKET", socket.as_os_str())])
}

#[test]
fn keys_drain_a_server_and_the_screen_outlives_the_daemon() {
    let origins = [origin("a"), origin("b")];
    let place = CliEnvironment::new(&BalancerConfig::http(&addresses(&origins)));
    let process = place.start();
    let mut terminal = open_top(&place);
    terminal.sees("[services]");
    terminal.press("\t", "[servers]");
    terminal.press("j", "> web/b");
    terminal.press("d", "drain web/b? y/n");
    terminal.press("n", "web/b is left as it is");
    assert_eq!(place.count_events("server-drain"), 0);
    terminal.press("d", "drain web/b? y/n");
    terminal.press("y", "drain web/b: web/b is drain");
    wait::until("the drain is told", || place.count_events("server-drain") == 1);
    terminal.press("\x1b[B\x1b[A", "> web/a");
    terminal.press("//B\r", "only '/B'");
    terminal.press("e", "enable web/b? y/n");

    drop(process);
    terminal.sees("the daemon has not answered for");
    terminal.press("y", "enable web/b: no daemon at ");
    let _process = place.start();
    terminal.sees("another process answers now");
    terminal.write("q");
    terminal.is_given_back(0);
}

#[test]
fn the_terminal_is_given_back_on_every_way_out() {
    let origins = [origin("a")];
    let place = CliEnvironment::new(&BalancerConfig::http(&addresses(&origins)));
    let _process = place.start();
    for key in ["q", "\x03"] {
        let mut terminal = open_top(&place);
        terminal.sees("[services]");
        terminal.write(key);
        terminal.is_given_back(0);
    }
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut terminal = open_top(&place);
        terminal.sees("[services]");
        terminal.signal(signal);
        terminal.is_given_back(0);
    }
}

#[test]
fn it_ends_with_its_terminal() {
    let origins = [origin("a")];
    let place = CliEnvironment::new(&BalancerConfig::http(&addresses(&origins)));
    let _process = place.start();
    let terminal = open_top(&place);
    terminal.sees("[services]");
    let pid = terminal.pid();
    // As when the operator's connection is lost.
    drop(terminal);
    wait::until("its end", || test_kill_process(pid).is_err());
}
