//! Work beyond the drain limit, or without one: it is cut, reported and counted.

use rustix::process::Signal;
use serde_json::Value;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::client::HttpClient;
use tests::e2e::download::Download;
use tests::e2e::process::ChildProcess;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::{wait, websocket};

/// More bytes than all buffers on the path hold.
const BYTES: u64 = 256 << 20;

#[test]
fn what_does_not_fit_the_drain_limit_is_cut_reported_and_counted() {
    let started = OngoingTraffic::new("drain = \"400ms\"");
    started.process.signal(Signal::TERM);
    started.ends_cut();
}

#[test]
fn a_second_signal_cuts_at_once() {
    let started = OngoingTraffic::new("drain = \"10m\"");
    started.process.signal(Signal::TERM);
    wait::until("it drains", || started.process.output().contains("info leaving"));
    started.process.signal(Signal::TERM);
    started.ends_cut();
}

#[test]
fn a_stop_by_the_command_line_may_set_the_limit() {
    let started = OngoingTraffic::new("drain = \"10m\"");
    let said = started.place.run_verb_ok(&["stop", "--timeout", "300ms"]);
    assert!(!said.stdout.is_empty(), "{said:?}");
    started.ends_cut();
}

/// A download, a WebSocket, a partial request and an idle connection in progress.
struct OngoingTraffic {
    process: ChildProcess,
    place: CliEnvironment,
    download: Download,
    websocket: HttpClient,
    partial: HttpClient,
    idle: HttpClient,
    _origin: lab::origin::TestOrigin,
}

impl OngoingTraffic {
    fn new(global: &str) -> OngoingTraffic {
        let origin = origin("a");
        let setup = BalancerConfig::http(&addresses(std::slice::from_ref(&origin))).global(global);
        let place = CliEnvironment::new(&setup);
        let process = place.start();
        let front = setup.fronts()[0];
        let download = Download::start(front, BYTES);
        let mut websocket = websocket::open(front);
        websocket::echo(&mut websocket, 1).unwrap();
        let mut idle = HttpClient::connect(front);
        assert_eq!(idle.get("/").status(), 200);
        let partial = HttpClient::connect(front);
        partial.send("POST /echo HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 10\r\n\r\nhalf");
        wait::until("all of it under way", || place.status().services[0].in_flight == 3);
        OngoingTraffic { process, place, download, websocket, partial, idle, _origin: origin }
    }

    /// Waits until the process ends, and checks its messages, the clients' view and the log.
    fn ends_cut(mut self) {
        assert!(self.process.wait().success(), "{}", self.process.output());
        wait::until("its last words", || self.process.output().contains("info left"));
        let said = self.process.output();
        assert!(said.contains("2 with an exchange, 1 tunnels"), "{said}");
        assert!(
            self.download.finish().is_some(),
            "a download that cannot be whole is not ended in order"
        );
        assert!(websocket::echo(&mut self.websocket, 2).is_err());
        assert_eq!(self.idle.read_to_end(), b"", "an idle connection is closed in order");
        assert!(self.partial.answer_or_end().is_none_or(|answer| answer.status() >= 500));
        let text = std::fs::read_to_string(self.place.dir().join("access.log")).unwrap();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let cut = lines.iter().filter(|line| line["cause"] == "drain-timeout").count();
        assert_eq!(cut, 3, "{text}");
    }
}
