//! Servers that answer as their target says, and what the balancer tells of its users.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use api::types::{UsersExplained, UsersPromise, UsersService};
use tests::e2e::client::Client;
use tests::e2e::http::{Follows, Reader};
use tests::e2e::place::Place;
use tests::e2e::recorder::Scripted;
use tests::e2e::wait::{self, linger};

/// A server at this address that answers `/STATUS/THINK` after THINK milliseconds.
pub fn server_at(address: SocketAddr) -> Scripted {
    Scripted::at(address, |stream: TcpStream| {
        let mut reader = Reader::new(&stream);
        while let Ok(Some(mut request)) = reader.head() {
            if reader.body(&mut request, Follows::AsSaid).is_err() {
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

/// The same at an address of its own.
pub fn server() -> Scripted {
    server_at("127.0.0.1:0".parse().unwrap())
}

/// So many requests for a target, one after the other; each is answered with this status.
pub fn ask(place: &Place, many: usize, target: &str, status: u16) {
    let mut client = Client::to(place.setup().fronts()[0]);
    for _ in 0..many {
        assert_eq!(client.get(target).status(), status, "{target}");
    }
}

/// What is told of the users of `shop`.
pub fn explained(place: &Place) -> UsersService {
    // Until the history was looked at nothing is told.
    wait::some("users are told of", || {
        let said = place.done(&["explain", "users", "shop", "--json"]);
        let found: UsersExplained = serde_json::from_str(&said.out).unwrap();
        found.services.into_iter().next()
    })
}

/// The same once this is so.
pub fn when(place: &Place, what: &str, so: impl Fn(&UsersService) -> bool) -> UsersService {
    wait::some(what, || Some(explained(place)).filter(&so))
}

/// A promise.
pub fn promise<'u>(users: &'u UsersService, what: &str) -> &'u UsersPromise {
    users.promises.iter().find(|it| it.what == what).unwrap_or_else(|| panic!("{users:?}"))
}

/// The sentence of the first event of this kind about an alarm of a promise.
pub fn told(place: &Place, kind: &str, what: &str, alarm: &str) -> Option<String> {
    let events = place.events().events;
    let about = |event: &&api::types::Event| {
        let has = |key: &str, value: &str| event.about.get(key).is_some_and(|it| it == value);
        event.what == kind && has("promise", what) && has("alarm", alarm)
    };
    events.iter().find(about).map(|event| event.text.clone())
}
