//! `explain trace --watch` on a terminal: the report so far, and what stays at the end.

use lab::net::NetworkNamespace;
use rustix::process::Signal;
use tests::e2e::balancer::program;
use tests::e2e::terminal::Terminal;

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
