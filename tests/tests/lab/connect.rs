//! `bench connect` against `bench serve`: transactions and connections over TCP.

use std::process::Command;

use lab::result::{BenchResult, parse_result};
use rustix::process::Signal;
use tests::e2e::balancer::program;
use tests::e2e::process::ChildProcess;
use tests::e2e::wait::{until, until_some};

use crate::measured::figure;

fn connect(end: &str, arguments: &[&str]) -> (i32, BenchResult) {
    let mut command = Command::new(program());
    let output =
        command.args(["bench", "connect", end, "--json"]).args(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let result = parse_result(&text).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    (output.status.code().unwrap(), result)
}

// Rows: L02
#[test]
fn transactions_and_connections_are_counted() {
    let mut command = Command::new(program());
    command.args(["bench", "serve", "127.0.0.1:0"]);
    let mut serve = ChildProcess::start(command);
    let end = until_some("it listens", || {
        let said = serve.output();
        said.lines().find_map(|line| line.strip_prefix("echoing on ").map(str::to_owned))
    });
    let (code, result) = connect(&end, &["-n", "500", "-c", "4", "--bytes", "64"]);
    let run = &result.runs[0];
    assert_eq!((code, figure(run, "answered"), figure(run, "connections")), (0, 500.0, 4.0));
    for who in ["client", "reset"] {
        let (code, result) = connect(&end, &["-n", "200", "-c", "4", "--close", who]);
        let run = &result.runs[0];
        assert_eq!((code, figure(run, "answered")), (0, 200.0), "{who}: {:?}", run.failed);
        assert_eq!(figure(run, "connections"), 200.0);
    }
    for (close, sockets) in [(&[][..], 4.0), (&["--close", "client"][..], 200.0)] {
        let (code, result) = connect(&end, &[&["--udp", "-n", "200", "-c", "4"], close].concat());
        let run = &result.runs[0];
        assert_eq!((code, figure(run, "answered")), (0, 200.0), "{close:?}: {:?}", run.failed);
        assert_eq!(figure(run, "connections"), sockets, "a source port for each");
    }
    serve.signal(Signal::INT);
    assert_eq!(serve.wait().code(), Some(0));
    until("it tells its sums", || serve.output().contains("404 connections accepted"));
    until("and of datagrams", || serve.output().contains("400 datagrams echoed, 0 left"));
    let (code, result) = connect(&end, &["-n", "5", "-c", "1"]);
    assert_eq!((code, result.runs[0].failed["connect-refused"]), (3, 5));
    let (code, result) = connect(&end, &["--udp", "-n", "5", "-c", "1"]);
    assert_eq!((code, result.runs[0].failed["connect-refused"]), (3, 5), "ICMP says so");
}

#[test]
fn orders_that_make_no_sense_are_refused() {
    for (arguments, reason) in [
        (&["nowhere"][..], "HOST:PORT"),
        (&["127.0.0.1:7", "--close", "server"], "does not close"),
        (&["127.0.0.1:7", "--bytes", "7"], "between 8"),
        (&["127.0.0.1:7", "--udp", "--close", "reset"], "no reset"),
    ] {
        let output =
            Command::new(program()).args(["bench", "connect"]).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(reason), "{arguments:?}: {said}");
    }
}
