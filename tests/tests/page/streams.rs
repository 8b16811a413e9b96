//! Streams of state and rates: a reader's first event, and the events after a change.

use api::routes;
use api::types::{Role, ServerAction, StateUpdate};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use tests::contract::check::breaches;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait::DEADLINE;

use crate::client::{ApiListener, token};

/// A reader of the event stream. It uses HTTP/1.0, so that the body is not chunked.
struct EventStreamReader(BufReader<TcpStream>);

impl EventStreamReader {
    fn open(door: &ApiListener, token: &str) -> EventStreamReader {
        let mut stream = TcpStream::connect(door.address()).unwrap();
        stream.set_read_timeout(Some(DEADLINE)).unwrap();
        let path = routes::STREAM;
        let host = door.address();
        let head =
            format!("GET {path} HTTP/1.0\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut reader = EventStreamReader(BufReader::new(stream));
        assert!(reader.line().contains("200"));
        while !reader.line().is_empty() {}
        reader
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// The next event's kind and data.
    fn next(&mut self) -> (String, Value) {
        let mut kind = String::new();
        let mut data = Value::Null;
        loop {
            let line = self.line();
            if let Some(text) = line.strip_prefix("event: ") {
                text.clone_into(&mut kind);
            } else if let Some(text) = line.strip_prefix("data: ") {
                data = serde_json::from_str(text).unwrap();
            } else if line.is_empty() && !kind.is_empty() {
                return (kind, data);
            }
        }
    }
}

#[test]
fn a_reader_gets_everything_first_and_then_what_differs() {
    let origins = [origin("a"), origin("b"), origin("c")];
    let door = ApiListener::new();
    let balancer = TestBalancer::start(&door.on(BalancerConfig::http(&addresses(&origins)), ""));
    let view = token(balancer.dir(), Role::View);
    door.open();
    let document: Value = serde_json::from_str(api::page::OPENAPI).unwrap();
    let mut stream = EventStreamReader::open(&door, &view);
    let (kind, first) = stream.next();
    assert_eq!((kind.as_str(), breaches(&document, "StateUpdate", &first)), ("state", Vec::new()));
    assert_eq!(first["status"]["pools"][0]["servers"].as_array().unwrap().len(), 3);
    balancer.order_server("b", ServerAction::Drain);
    let mut seen = serde_json::from_value::<StateUpdate>(first).unwrap().sequence;
    let mut changed = false;
    let mut told = false;
    while !(changed && told) {
        let (kind, data) = stream.next();
        if kind == "event" {
            assert_eq!(breaches(&document, "Event", &data), Vec::<String>::new());
            told |=
                data["about"]["server"] == "b" || data["text"].as_str().unwrap().contains("web/b");
            continue;
        }
        assert_eq!(
            (kind.as_str(), breaches(&document, "StateUpdate", &data)),
            ("change", Vec::new())
        );
        let scene: StateUpdate = serde_json::from_value(data).unwrap();
        assert_eq!(scene.sequence, seen + 1);
        seen = scene.sequence;
        let servers = scene.status.pools.iter().flat_map(|pool| &pool.servers);
        let states: Vec<_> = servers.map(|s| (s.name.as_str(), s.state.name())).collect();
        changed |= states == [("b", "drain")];
    }
    assert!(balancer.metrics().contains("steelyard_api_streams 1"));
    let idle = stream.next();
    assert_ne!(idle.0, "state", "nothing came or went");
}
