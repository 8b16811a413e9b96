//! A daemon that serves its API over TCP, tokens for the API, and requests with any headers. This module asserts
//! nothing.

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;

use api::types::Role;
use lab::port::ReservedPort;
use serde_json::Value;
use tests::e2e::balancer::program;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::dir::TestDir;
use tests::e2e::http::ReceivedMessage;
use tests::e2e::servers::reserve_port;
use tests::e2e::wait;

/// The listen address of the API.
#[derive(Clone, Debug)]
pub struct ApiListener(Arc<ReservedPort>);

impl ApiListener {
    pub fn new() -> ApiListener {
        ApiListener(Arc::new(reserve_port()))
    }

    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// Adds this listener and a token file to the configuration.
    pub fn on(&self, setup: BalancerConfig, more: &str) -> BalancerConfig {
        let keys = format!(", listen = \"{}\", tokens = \"DIR/tokens\"{more}", self.address());
        setup.control(&keys)
    }

    /// Waits until the daemon listens.
    pub fn open(&self) {
        wait::until("the API listens on TCP", || HttpClient::try_connect(self.address()).is_ok());
    }

    /// Sends a request on a new connection, with these further headers.
    pub fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> ReceivedMessage {
        let mut client = HttpClient::connect(self.address());
        client.send(request(self.address(), method, path, headers, body));
        if !path.ends_with("stream") {
            return client.read_answer();
        }
        // A stream has no end, but an error response has.
        let mut answer = client.read_answer_head();
        if answer.status() != 200 {
            answer.body = client.read_body(answer.clone()).unwrap();
        }
        answer
    }

    /// As `ask`, with a token.
    pub fn with(&self, token: &str, method: &str, path: &str, body: &str) -> ReceivedMessage {
        self.ask(method, path, &[("authorization", &format!("Bearer {token}"))], body)
    }
}

/// The bytes of a request. The Host field is the address, unless the headers contain another one.
pub fn request(
    to: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> String {
    let kind = if body.starts_with('{') { "application/json" } else { "application/toml" };
    let mut text = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
    if !headers.iter().any(|(name, _)| *name == "host") {
        text += &format!("host: {to}\r\n");
    }
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    if !body.is_empty() || method != "GET" {
        text += &format!("content-type: {kind}\r\ncontent-length: {}\r\n", body.len());
    }
    text + "\r\n" + body
}

/// Creates a token with the program itself, in the file `tokens` of the directory.
pub fn token(dir: &TestDir, role: Role) -> String {
    let mut command = Command::new(program());
    command.args(["token", role.name(), &format!("the-{}", role.name()), "--json", "--into"]);
    let made = command.arg(dir.join("tokens")).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    made["token"].as_str().unwrap().to_owned()
}

/// The type of an error response without `/problems/`. Panics unless the response has problem details.
pub fn problem(answer: &ReceivedMessage) -> String {
    let kind = answer.field("content-type");
    assert_eq!(kind.as_deref(), Some("application/problem+json"), "{answer:?}");
    let problem: Value =
        serde_json::from_slice(&answer.body).unwrap_or_else(|error| panic!("{error}: {answer:?}"));
    assert_eq!(problem["status"], u64::from(answer.status()), "{problem}");
    assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{problem}");
    problem["type"].as_str().unwrap().trim_start_matches("/problems/").to_owned()
}
