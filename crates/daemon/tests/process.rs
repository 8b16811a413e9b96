//! The daemon as processes: under a stand-in for systemd, upgraded under load, reloaded, drained and killed.
//!
//! The test program is the daemon too: started with `run` it is one, so that it can take over from itself.
// The whole program is a test, which the lints cannot see.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "process/systemd.rs"]
mod systemd;
#[path = "process/traffic.rs"]
mod traffic;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use daemon::RunOptions;
use daemon::event::LogFormat;
use daemon::run;
use systemd::FakeSystemd;
use traffic::{ClientLoad, LineServer, WAIT, ask};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "run") {
        let takeover = arguments.iter().any(|it| it == "--takeover");
        let options =
            RunOptions { config: PathBuf::from(&arguments[1]), takeover, events: LogFormat::Text };
        if let Err(error) = run(options) {
            eprintln!("error start-failed: {error}");
            std::process::exit(1);
        }
        return;
    }
    let wanted = arguments.iter().find(|it| !it.starts_with('-'));
    let all: [(&str, fn()); 6] = [
        ("a_killed_daemon_is_back_with_its_sockets", a_killed_daemon_is_back_with_its_sockets),
        ("upgrades_under_load_lose_nothing", upgrades_under_load_lose_nothing),
        ("an_upgrade_that_fails_changes_nothing", an_upgrade_that_fails_changes_nothing),
        ("a_reload_with_mistakes_changes_nothing", a_reload_with_mistakes_changes_nothing),
        ("leaving_finishes_what_is_under_way", leaving_finishes_what_is_under_way),
        ("a_second_signal_cuts", a_second_signal_cuts),
    ];
    for (name, test) in all {
        if wanted.is_none_or(|wanted| name.contains(wanted.as_str())) {
            test();
            println!("test {name} ... ok");
        }
    }
}

/// Clients that connect while no daemon runs wait in the queue instead of being refused.
fn a_killed_daemon_is_back_with_its_sockets() {
    let origin = LineServer::start();
    let mut systemd = FakeSystemd::new(&origin);
    systemd.start();
    systemd.wait_ready();
    assert_eq!(ask(systemd.address, "one"), "one");
    systemd.kill();
    let mut waiting = TcpStream::connect(systemd.address).unwrap();
    waiting.write_all(b"two\n").unwrap();
    systemd.start();
    systemd.wait_ready();
    assert_eq!(traffic::line(&mut waiting), "two");
    drop(waiting);
    assert_eq!(ask(systemd.address, "three"), "three");
    systemd.signal("TERM");
    systemd.wait_line("info left");
    systemd.wait_exit();
    assert_eq!(systemd.stored(), 0, "nothing is kept of a service that was stopped");
}

/// Every request of clients that never pause is answered over two upgrades, and so is one that began before them.
fn upgrades_under_load_lose_nothing() {
    let origin = LineServer::start();
    let mut systemd = FakeSystemd::new(&origin);
    systemd.start();
    let first = systemd.wait_ready();
    let mut long = TcpStream::connect(systemd.address).unwrap();
    long.write_all(b"begun\n").unwrap();
    assert_eq!(traffic::line(&mut long), "begun");
    let load = ClientLoad::start(systemd.address);
    load.wait_for(50);
    systemd.signal("USR2");
    let second = systemd.wait_main_other_than(first);
    load.wait_for(50);
    systemd.signal_to(second, "USR2");
    let third = systemd.wait_main_other_than(second);
    load.wait_for(50);
    long.write_all(b"still here\n").unwrap();
    assert_eq!(traffic::line(&mut long), "still here");
    drop(long);
    systemd.wait_exit();
    assert_eq!(load.stop(), Vec::<String>::new());
    systemd.signal_to(third, "TERM");
    systemd.wait_line("info left");
    systemd.wait_gone();
}

fn an_upgrade_that_fails_changes_nothing() {
    let origin = LineServer::start();
    let mut systemd = FakeSystemd::new(&origin);
    systemd.start();
    systemd.wait_ready();
    let load = ClientLoad::start(systemd.address);
    let broken = systemd.directory.path().join("broken");
    std::fs::write(&broken, "#!/bin/sh\nexit 3\n").unwrap();
    std::fs::set_permissions(&broken, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(&broken, systemd.program()).unwrap();
    systemd.signal("USR2");
    systemd.wait_line("error upgrade-failed");
    load.wait_for(50);
    assert_eq!(load.stop(), Vec::<String>::new());
    systemd.signal("HUP");
    systemd.wait_ready();
    systemd.signal("TERM");
    systemd.wait_exit();
}

fn a_reload_with_mistakes_changes_nothing() {
    let origin = LineServer::start();
    let mut systemd = FakeSystemd::new(&origin);
    systemd.start();
    systemd.wait_ready();
    systemd.write("[service.echo]\nlisten = 7\n");
    systemd.signal("HUP");
    systemd.wait_line("error reload-failed");
    systemd.wait_ready();
    assert_eq!(ask(systemd.address, "as before"), "as before");
    systemd.signal("TERM");
    systemd.wait_exit();
}

fn leaving_finishes_what_is_under_way() {
    let origin = LineServer::start();
    let mut systemd = FakeSystemd::new(&origin);
    systemd.start();
    systemd.wait_ready();
    let mut open = TcpStream::connect(systemd.address).unwrap();
    open.write_all(b"begun\n").unwrap();
    assert_eq!(traffic::line(&mut open), "begun");
    systemd.signal("TERM");
    systemd.wait_line("info leaving");
    systemd.wait_refused();
    open.write_all(b"finished\n").unwrap();
    assert_eq!(traffic::line(&mut open), "finished");
    drop(open);
    systemd.wait_line("info left: nothing was cut");
    systemd.wait_exit();
}

fn a_second_signal_cuts() {
    let origin = LineServer::start();
    let mut systemd = FakeSystemd::new(&origin);
    systemd.start();
    systemd.wait_ready();
    let mut open = TcpStream::connect(systemd.address).unwrap();
    open.write_all(b"begun\n").unwrap();
    assert_eq!(traffic::line(&mut open), "begun");
    systemd.signal("TERM");
    systemd.wait_line("info leaving");
    systemd.signal("INT");
    systemd.wait_line("info left: cut 1 client connections");
    systemd.wait_exit();
    open.set_read_timeout(Some(WAIT)).unwrap();
    assert!(matches!(open.read(&mut [0; 1]), Ok(0) | Err(_)));
}
