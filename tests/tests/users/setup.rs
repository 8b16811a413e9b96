//! Servers whose status the target selects, and the balancer's report on user experience.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use api::types::{ObjectiveStatus, ServiceObjectives, SloExplained};
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::client::HttpClient;
use tests::e2e::http::{ExpectedBody, HttpReader};
use tests::e2e::recording_server::ScriptedServer;
use tests::e2e::wait::{self, linger};

/// A server at this address that answers `/STATUS/THINK` after THINK milliseconds.
pub fn server_at(address: SocketAddr) -> ScriptedServer {
    ScriptedServer::start_at(address, |stream: TcpStream| {
        let mut reader = HttpReader::new(&stream);
        while let Ok(Some(mut request)) = reader.head() {
            if reader.body(&mut request, ExpectedBody::AsDeclared).is_err() {
                return;
            }
            let line = request.start.clone();
            let mut parts = line.split(' ').nth(1).unwrap_or("/").split('/').skip(1);
            let status = parts.next().unwrap_or("200").to_owned();
            let think = parts.next().and_then(|it| it.parse().ok()).unwrap_or(0);
            linger(Duration::from_millis(think));
            let head = format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\n\r\n");
            if (&stream).write_all(head.as_bytes()).is_err() {
                return;
            }
        }
    })
}

/// As `server_at`, on a free port.
pub fn server() -> ScriptedServer {
    server_at("127.0.0.1:0".parse().unwrap())
}

/// Sends `many` requests for a target, one after the other. Each response must have this status.
pub fn ask(place: &CliEnvironment, many: usize, target: &str, status: u16) {
    let mut client = HttpClient::connect(place.setup().fronts()[0]);
    for _ in 0..many {
        assert_eq!(client.get(target).status(), status, "{target}");
    }
}

/// The report on user experience for `shop`.
pub fn explained(place: &CliEnvironment) -> ServiceObjectives {
    // There is no report before the history has been read.
    wait::until_some("users are told of", || {
        let said = place.run_verb_ok(&["explain", "users", "shop", "--json"]);
        let found: SloExplained = serde_json::from_str(&said.stdout).unwrap();
        found.services.into_iter().next()
    })
}

/// As `explained`, once the report satisfies a condition.
pub fn when(
    place: &CliEnvironment,
    what: &str,
    so: impl Fn(&ServiceObjectives) -> bool,
) -> ServiceObjectives {
    wait::until_some(what, || Some(explained(place)).filter(&so))
}

pub fn promise<'u>(users: &'u ServiceObjectives, what: &str) -> &'u ObjectiveStatus {
    users.objectives.iter().find(|it| it.kind == what).unwrap_or_else(|| panic!("{users:?}"))
}

/// The text of the first event of this kind about an alarm of an objective.
pub fn event_text(place: &CliEnvironment, kind: &str, what: &str, alarm: &str) -> Option<String> {
    let events = place.events().events;
    let about = |event: &&api::types::Event| {
        let has = |key: &str, value: &str| event.about.get(key).is_some_and(|it| it == value);
        event.kind == kind && has("objective", what) && has("alarm", alarm)
    };
    events.iter().find(about).map(|event| event.text.clone())
}
