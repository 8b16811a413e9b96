//! What does not fit the drain limit, or is not given it: cut, told and counted.

use rustix::process::Signal;
use serde_json::Value;
use tests::e2e::client::Client;
use tests::e2e::download::Download;
use tests::e2e::place::Place;
use tests::e2e::process::Process;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::setup::Setup;
use tests::e2e::{wait, websocket};

/// More than any buffer on the way holds.
const BYTES: u64 = 256 << 20;

#[test]
fn what_does_not_fit_the_drain_limit_is_cut_told_and_counted() {
    let started = Started::new("drain = \"400ms\"");
    started.process.signal(Signal::TERM);
    started.ends_cut();
}

#[test]
fn a_second_signal_cuts_at_once() {
    let started = Started::new("drain = \"10m\"");
    started.process.signal(Signal::TERM);
    wait::until("it drains", || started.process.said().contains("info leaving"));
    started.process.signal(Signal::TERM);
    started.ends_cut();
}

#[test]
fn a_stop_by_the_command_line_may_set_the_limit() {
    let started = Started::new("drain = \"10m\"");
    let said = started.place.done(&["stop", "--limit", "300ms"]);
    assert!(!said.out.is_empty(), "{said:?}");
    started.ends_cut();
}

/// A download, a WebSocket, a half-sent request and an idle connection under way.
struct Started {
    process: Process,
    place: Place,
    download: Download,
    websocket: Client,
    partial: Client,
    idle: Client,
    _origin: lab::origin::Origin,
}

impl Started {
    fn new(global: &str) -> Started {
        let origin = origin("a");
        let setup = Setup::http(&addresses(std::slice::from_ref(&origin))).global(global);
        let place = Place::new(&setup);
        let process = place.start();
        let front = setup.fronts()[0];
        let download = Download::start(front, BYTES);
        let mut websocket = websocket::open(front);
        websocket::echo(&mut websocket, 1).unwrap();
        let mut idle = Client::to(front);
        assert_eq!(idle.get("/").status(), 200);
        let partial = Client::to(front);
        partial.send("POST /echo HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 10\r\n\r\nhalf");
        wait::until("all of it under way", || place.status().services[0].in_flight == 3);
        Started { process, place, download, websocket, partial, idle, _origin: origin }
    }

    /// Waits for the end; looks at what is said, what clients see, and what the log has.
    fn ends_cut(mut self) {
        assert!(self.process.wait().success(), "{}", self.process.said());
        wait::until("its last words", || self.process.said().contains("info left"));
        let said = self.process.said();
        assert!(said.contains("2 with an exchange, 1 tunnels"), "{said}");
        assert!(
            self.download.finish().is_some(),
            "a download that cannot be whole is not ended in order"
        );
        assert!(websocket::echo(&mut self.websocket, 2).is_err());
        assert_eq!(self.idle.rest(), b"", "an idle connection is closed in order");
        assert!(self.partial.answer_or_end().is_none_or(|answer| answer.status() >= 500));
        let text = std::fs::read_to_string(self.place.dir().join("access.log")).unwrap();
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let cut = lines.iter().filter(|line| line["cause"] == "drain-cut").count();
        assert_eq!(cut, 3, "{text}");
    }
}
