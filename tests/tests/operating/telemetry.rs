//! OpenTelemetry: the trace headers that servers receive, and the spans and events that the collector receives.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};

use api::types::ServerAction;
use serde_json::Value;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::http::{ExpectedBody, HttpReader, ReceivedMessage};
use tests::e2e::recording_server::ScriptedServer;
use tests::e2e::wait;

/// Answers every request, and records the requests.
struct RequestCollector {
    server: ScriptedServer,
    messages: Arc<Mutex<Vec<ReceivedMessage>>>,
}

impl RequestCollector {
    fn open() -> RequestCollector {
        let heard = Arc::<Mutex<Vec<ReceivedMessage>>>::default();
        let kept = Arc::clone(&heard);
        let server = ScriptedServer::start(move |stream| {
            // Ignored: a broken connection needs no report.
            let _ = listen(&stream, &kept);
        });
        RequestCollector { server, messages: heard }
    }

    fn address(&self) -> SocketAddr {
        self.server.address()
    }

    fn all(&self) -> Vec<ReceivedMessage> {
        self.messages.lock().unwrap().clone()
    }

    /// The JSON bodies of the requests to this path.
    fn json_bodies(&self, path: &str) -> Vec<Value> {
        let to = format!("POST {path} ");
        let all = self.all();
        let fit = all.iter().filter(|one| one.start.starts_with(&to));
        fit.map(|one| serde_json::from_slice(&one.body).unwrap()).collect()
    }
}

fn listen(mut stream: &TcpStream, kept: &Mutex<Vec<ReceivedMessage>>) -> std::io::Result<()> {
    let mut reader = HttpReader::new(stream);
    while let Some(mut request) = reader.head()? {
        reader.body(&mut request, ExpectedBody::AsDeclared)?;
        kept.lock().unwrap().push(request);
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
    }
    Ok(())
}

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// Sends a request with these fields. Returns the `traceparent` and `tracestate` that the server received.
fn send_and_collect(
    client: &mut HttpClient,
    server: &RequestCollector,
    fields: &str,
) -> (Vec<String>, Option<String>) {
    client.send(format!("GET / HTTP/1.1\r\nhost: x\r\n{fields}\r\n"));
    assert_eq!(client.read_answer().status(), 200);
    let all = server.all();
    let last = all.last().unwrap();
    let parts = last.field("traceparent").unwrap_or_default();
    (parts.split('-').map(str::to_owned).collect(), last.field("tracestate"))
}

fn spans(collector: &RequestCollector) -> Vec<Value> {
    let of = |letter: &Value| {
        letter["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().cloned().unwrap()
    };
    collector.json_bodies("/v1/traces").iter().flat_map(of).collect()
}

#[test]
fn a_trace_goes_through_and_its_span_and_events_come_to_the_collector() {
    let server = RequestCollector::open();
    let collector = RequestCollector::open();
    let lines = format!("sample = 1\ntelemetry = \"{}\"", collector.address());
    let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]).global(&lines));
    let mut client = HttpClient::connect(balancer.front());

    let good = format!("traceparent: 00-{TRACE}-{PARENT}-01\r\ntracestate: a=1\r\n");
    let (ours, state) = send_and_collect(&mut client, &server, &good);
    assert_eq!((ours[0].as_str(), ours[1].as_str(), ours[3].as_str()), ("00", TRACE, "01"));
    assert!(ours[2] != PARENT && ours[2].len() == 16, "{ours:?}");
    assert_eq!(state.as_deref(), Some("a=1"));

    // The sampled flag is off: the trace is propagated without a span.
    let (silent, _) = send_and_collect(&mut client, &server, &good.replace("-01", "-00"));
    assert_eq!((silent[1].as_str(), silent[3].as_str()), (TRACE, "00"));

    // An invalid `traceparent` starts a new trace, and the `tracestate` is dropped.
    let (fresh, state) = send_and_collect(&mut client, &server, &good.replace("00-4bf", "00-4BF"));
    assert!(fresh[1] != TRACE && fresh[1].len() == 32 && fresh[3] == "01", "{fresh:?}");
    assert_eq!(state, None);

    wait::until("both spans came", || spans(&collector).len() >= 2);
    let all = spans(&collector);
    let named = |id: &String| all.iter().find(|span| span["spanId"] == **id);
    let span = named(&ours[2]).unwrap_or_else(|| panic!("{all:?}"));
    assert_eq!((&span["traceId"], &span["parentSpanId"]), (&TRACE.into(), &PARENT.into()));
    assert_eq!((&span["name"], &span["kind"]), (&Value::from("shop"), &Value::from(2)));
    let begun = named(&fresh[2]).unwrap();
    assert_eq!(begun["traceId"], fresh[1].as_str());
    assert!(begun.get("parentSpanId").is_none() && named(&silent[2]).is_none(), "{all:?}");

    balancer.order_server("a", ServerAction::Drain);
    wait::until("the event came", || {
        let letters = collector.json_bodies("/v1/logs");
        letters.iter().any(|letter| letter.to_string().contains("web/a"))
    });
    let counted = balancer.metrics();
    let row = "steelyard_telemetry_total{result=\"sent\"} ";
    let sent = counted.lines().find_map(|line| line.strip_prefix(row));
    assert!(sent.and_then(|n| n.parse::<u64>().ok()).is_some_and(|n| n >= 2), "{sent:?}");
}

#[test]
fn without_a_collector_both_fields_pass_as_they_are() {
    let server = RequestCollector::open();
    let balancer = TestBalancer::start(&BalancerConfig::http(&[server.address()]));
    let mut client = HttpClient::connect(balancer.front());
    let fields = format!("traceparent: 00-{TRACE}-{PARENT}-01\r\ntracestate: a=1\r\n");
    let (same, state) = send_and_collect(&mut client, &server, &fields);
    assert_eq!(
        (same[1].as_str(), same[2].as_str(), state.as_deref()),
        (TRACE, PARENT, Some("a=1"))
    );
}
