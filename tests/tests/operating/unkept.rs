//! A full disk, or a missing directory for the default socket: the daemon works and reports the problem.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use rustix::process::Signal;
use tests::e2e::balancer::program;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::dir::TestDir;
use tests::e2e::process::ChildProcess;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;
use tests::skip::skip;

#[test]
fn who_orders_hears_that_the_disk_did_not_take_it() {
    let origins = [origin("a"), origin("b")];
    let place = CliEnvironment::new(&BalancerConfig::http(&addresses(&origins)));
    let _process = place.start();
    place.run_verb_ok(&["server", "drain", "web/a"]);
    let state = place.dir().join("state");
    std::fs::rename(&state, place.dir().join("elsewhere")).unwrap();
    std::fs::write(&state, "not a directory").unwrap();
    let said = place.run_verb(&["server", "enable", "web/a"]);
    assert_eq!(said.code, 4, "{said:?}");
    assert!(said.stderr.contains("warning: what is said of servers is not kept"), "{said:?}");
    let said = place.run_verb(&["server", "drain", "web/a", "--json"]);
    let answer: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!((said.code, answer["unsaved"].as_array().unwrap().len()), (4, 2), "{said:?}");
    let text = std::fs::read_to_string(place.file()).unwrap();
    let next =
        place.dir().write("next.toml", format!("{text}[pool.more]\nservers = [\"127.0.0.1:1\"]\n"));
    let said = place.run_verb(&["apply", next.to_str().unwrap()]);
    assert_eq!(said.code, 4, "{said:?}");
    assert!(said.stderr.contains("warning: the generation is not kept"), "{said:?}");
    assert_eq!(place.status().generation, 2, "it is active");
    std::fs::remove_file(&state).unwrap();
    std::fs::rename(place.dir().join("elsewhere"), &state).unwrap();
    assert_eq!(place.run_verb(&["server", "enable", "web/a"]).code, 0, "the disk takes it again");
}

#[test]
fn without_room_for_the_usual_socket_a_daemon_serves_and_a_path_that_was_chosen_is_refused() {
    if !rustix::process::geteuid().is_root() {
        return skip("a read-only directory is mounted");
    }
    let origins = [origin("a")];
    let setup = BalancerConfig::http(&addresses(&origins)).quiet();
    let dir = TestDir::new();
    let text = setup.text(dir.path());
    let socket = format!("socket = \"{}/sock\"", dir.path().display());
    let start = |text: String| {
        let file = dir.write("steelyard.toml", text);
        let mut command = Command::new("unshare");
        // As in a container with a read-only root file system.
        let script = "mount -t tmpfs -o ro none /run && exec \"$@\"";
        command.args(["-m", "--", "sh", "-c", script, "sh"]).arg(program());
        command.args(["run", "-c"]).arg(file);
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID"] {
            command.env_remove(name);
        }
        ChildProcess::start(command)
    };
    let mut process = start(text.replace(&format!("{socket}, "), ""));
    wait::until("it is ready", || process.output().contains("ready: "));
    assert!(
        process.output().contains("api-socket: global.control.socket: "),
        "{}",
        process.output()
    );
    let mut client = TcpStream::connect(setup.fronts()[0]).unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    process.signal(Signal::TERM);
    assert!(process.wait().success(), "{}", process.output());
    let mut process = start(text.replace(&socket, "socket = \"/run/other/control.sock\""));
    assert!(!process.wait().success());
    let told = process.output();
    assert!(told.contains("global.control.socket: cannot make /run/other"), "{told}");
    assert!(told.contains("choose a path whose directory this user may write to"), "{told}");
}
