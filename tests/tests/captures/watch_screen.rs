//! `explain trace --watch` on a terminal: the report so far, an interface that goes down, and what stays at the end.

use std::net::UdpSocket;

use lab::net::NetworkNamespace;
use rustix::process::Signal;
use tests::e2e::balancer::program;
use tests::e2e::terminal::Terminal;
use tests::e2e::wait;

use crate::watch::{EXCHANGES, exchange, namespace, wait_for_socket};

/// Starts the command inside, and waits until the kernel has its socket.
fn open(namespace: &NetworkNamespace, interface: &str) -> Terminal {
    let enter =
        format!("{} --net={}", lab::net::find("nsenter").display(), namespace.file().display());
    let program = program();
    let watch = format!("{enter} -- {} explain trace --watch {interface}", program.display());
    let terminal = Terminal::open(&watch, &[]);
    wait_for_socket(namespace);
    terminal
}

/// What stands on the terminal behind the screen that was given back.
fn rest(terminal: &Terminal) -> String {
    let seen = terminal.seen();
    seen.rsplit_once("\x1b[?1049l").unwrap().1.to_owned()
}

#[test]
fn a_terminal_shows_the_report_so_far_and_keeps_the_last_one() {
    let Some(namespace) = namespace() else { return };
    for signal in [Signal::INT, Signal::TERM] {
        let mut terminal = open(&namespace, "lo");
        for times in 1..=2 {
            namespace.run_inside(exchange).unwrap();
            let all = times * (EXCHANGES + 1);
            terminal.sees(&format!("{all} connections, {} transactions", times * EXCHANGES));
            terminal.sees("CONNECT_REFUSED");
            terminal.sees("SERVER_THINK");
        }
        // What the screen does not show any more, as nothing draws it again.
        namespace.run_inside(exchange).unwrap();
        terminal.signal(signal);
        terminal.is_given_back(0);
        let rest = rest(&terminal);
        let all = format!("{} connections, {} transactions", 3 * (EXCHANGES + 1), 3 * EXCHANGES);
        assert!(rest.contains(&all) && rest.contains("CONNECT_REFUSED"), "{rest}");
    }
}

#[test]
fn the_screen_says_that_an_interface_is_down_and_that_it_was_removed() {
    let Some(namespace) = namespace() else { return };
    let pair = "link add gone type veth peer name other\nlink set other up\nlink set gone up\n";
    namespace.ip(&format!("{pair}addr add 10.0.0.1/24 dev gone\n")).unwrap();
    let mut terminal = open(&namespace, "gone");
    namespace.ip("link set gone down\n").unwrap();
    terminal.sees("gone is down");
    namespace.ip("link set gone up\n").unwrap();
    // Somebody asks for this address.
    let speak = || UdpSocket::bind("10.0.0.1:0").unwrap().send_to(b"a", "10.0.0.2:9").is_ok();
    let is_back = || {
        assert!(namespace.run_inside(speak).unwrap());
        !terminal.shows("gone is down")
    };
    wait::until("packets again", is_back);
    namespace.ip("link del gone\n").unwrap();
    terminal.is_given_back(3);
    let rest = rest(&terminal);
    assert!(rest.contains("interface gone was removed"), "{rest}");
}

/// The kernel sends no error to who reads packets of an interface that was down before.
#[test]
fn the_screen_says_that_an_interface_was_removed_while_it_was_down() {
    let Some(namespace) = namespace() else { return };
    namespace.ip("link add gone type veth peer name other\nlink set gone up\n").unwrap();
    let mut terminal = open(&namespace, "gone");
    namespace.ip("link set gone down\n").unwrap();
    terminal.sees("gone is down");
    namespace.ip("link del gone\n").unwrap();
    terminal.is_given_back(3);
    let rest = rest(&terminal);
    assert!(rest.contains("interface gone was removed"), "{rest}");
}
