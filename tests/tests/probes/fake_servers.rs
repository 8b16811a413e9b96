//! Scripted peers: they hang, respond slowly, send garbage or a given response. Also helpers for a server's state.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::types::{Event, ServerStatus};
use model::snapshot::ServerState;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::wait;

/// The behaviour of a fake server. A test may change it at run time.
#[derive(Clone, Debug)]
pub enum FakeBehaviour {
    /// Accepts connections and sends nothing.
    Hang,
    /// Sends these bytes at once, and keeps the connection open.
    Greet(Vec<u8>),
    /// Reads some bytes, then sends these bytes and closes.
    Reply(Vec<u8>),
    /// Sends these bytes slowly, one at a time.
    Dribble(Vec<u8>),
    /// Reads some bytes, then sends the first text to every second connection and the second text to the others.
    Alternate(Vec<u8>, Vec<u8>),
}

/// A listener with scripted behaviour.
pub struct FakeServer {
    address: SocketAddr,
    behaviour: Arc<Mutex<FakeBehaviour>>,
    stopped: Arc<AtomicBool>,
}

impl FakeServer {
    pub fn start(manner: FakeBehaviour) -> FakeServer {
        FakeServer::start_at("127.0.0.1:0".parse().unwrap(), manner)
    }

    /// Starts the server at this address.
    pub fn start_at(at: SocketAddr, manner: FakeBehaviour) -> FakeServer {
        let listener = TcpListener::bind(at).unwrap();
        let address = listener.local_addr().unwrap();
        let manner = Arc::new(Mutex::new(manner));
        let over = Arc::new(AtomicBool::new(false));
        let now = Arc::clone(&manner);
        let end = Arc::clone(&over);
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                if end.load(Ordering::Relaxed) {
                    return;
                }
                let manner = match now.lock().unwrap().clone() {
                    FakeBehaviour::Alternate(even, odd) => {
                        FakeBehaviour::Reply(if number % 2 == 0 { even } else { odd })
                    }
                    other => other,
                };
                std::thread::spawn(move || behave(stream, &manner));
            }
        });
        FakeServer { address, behaviour: manner, stopped: over }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes the behaviour from now on.
    pub fn change(&self, manner: FakeBehaviour) {
        *self.behaviour.lock().unwrap() = manner;
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

fn behave(mut stream: TcpStream, manner: &FakeBehaviour) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    let mut buffer = [0; 4096];
    match manner {
        FakeBehaviour::Hang | FakeBehaviour::Alternate(..) => {}
        FakeBehaviour::Greet(text) => drop(stream.write_all(text)),
        FakeBehaviour::Reply(text) => {
            let _ = stream.read(&mut buffer);
            let _ = stream.write_all(text);
            let _ = stream.shutdown(Shutdown::Write);
        }
        FakeBehaviour::Dribble(text) => {
            for byte in text {
                if stream.write_all(&[*byte]).is_err() {
                    return;
                }
                std::thread::park_timeout(Duration::from_millis(100));
            }
        }
    }
    // Until the health checker closes the connection.
    while matches!(stream.read(&mut buffer), Ok(1..)) {}
}

/// A TCP balancer with one server `a` and frequent health checks of this kind.
pub fn balancer(address: impl std::fmt::Display, probe: &str) -> TestBalancer {
    let settings = format!(", probe = {{ {probe}, {TIMES} }}");
    TestBalancer::start(&BalancerConfig::tcp(&[]).server("a", address, &settings))
}

/// Times for tests: down after two failures, up after one success.
pub const TIMES: &str =
    "interval = \"200ms\", fast-interval = \"100ms\", timeout = \"200ms\", rise = 1, fall = 2";

/// Waits until the server is up and its evidence contains `text`.
pub fn wait_until_up(balancer: &TestBalancer, text: &str) -> ServerStatus {
    wait_for_state(balancer, ServerState::Up, text)
}

/// Waits until the server is down and its evidence contains `text`.
pub fn wait_until_down(balancer: &TestBalancer, text: &str) -> ServerStatus {
    wait_for_state(balancer, ServerState::Down, text)
}

/// Waits until the server has a state and its evidence contains `text`.
pub fn wait_for_state(balancer: &TestBalancer, state: ServerState, text: &str) -> ServerStatus {
    let mut last = None;
    let begun = std::time::Instant::now();
    loop {
        let server = balancer.server("a");
        if server.state == state && server.reason.text.contains(text) {
            return server;
        }
        assert!(begun.elapsed() < wait::DEADLINE, "never {state:?} with {text:?}: {last:?}");
        last = Some(server);
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// The number of events of this kind.
pub fn count_events(balancer: &TestBalancer, what: &str) -> usize {
    events(balancer, what).len()
}

/// The events of this kind.
pub fn events(balancer: &TestBalancer, what: &str) -> Vec<Event> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let api = api::ApiClient::new(balancer.dir().join("sock"));
    let events = runtime.block_on(api.events()).unwrap();
    events.events.into_iter().filter(|event| event.kind == what).collect()
}
