//! Paths that servers interpret differently: no spelling bypasses a rule, and no ordinary path is rejected.
//!
//! Each server reports the area that a path reaches, by each of its interpretations. A service without rules shows that
//! the spellings do reach the guarded areas.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

mod origins;
mod settings;
mod spellings;

use std::collections::BTreeSet;
use std::net::SocketAddr;

use tests::e2e::balancer::{TestBalancer, figure};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::h2client::{H2Request, send_all};
use tests::e2e::http::ReceivedMessage;
use tests::e2e::servers::reserve_port;

use origins::PathOrigin;

/// Services with rules, besides `shop`, which has none. The last two may only let requests pass to `/public/`.
const RULES: [(&str, &str); 3] = [
    ("deny", "{ when = { path = \"/admin/*\" }, deny = true }"),
    ("allow-only", "{ when = { path = \"/public/*\" }, pool = \"web\" }, { deny = true }"),
    ("unless", "{ when = { not = { path = \"/public/*\" } }, deny = true }"),
];

#[test]
fn no_spelling_gets_past_a_rule_before_nginx() {
    all(&PathOrigin::nginx());
}

#[test]
fn no_spelling_gets_past_a_rule_before_go() {
    all(&PathOrigin::go());
}

#[test]
fn no_spelling_gets_past_a_rule_before_wsgi() {
    all(&PathOrigin::python("wsgi"));
}

#[test]
fn no_spelling_gets_past_a_rule_before_node() {
    all(&PathOrigin::node());
}

#[test]
fn no_spelling_gets_past_a_rule_before_a_server_that_strips_parameters() {
    all(&PathOrigin::python("params"));
}

/// A balancer with a service for each list of rules.
struct PathBalancer {
    balancer: TestBalancer,
    fronts: Vec<(&'static str, SocketAddr)>,
}

/// The result of a request.
enum PathResult {
    /// The request was rejected for this cause.
    Refused(String),
    /// The server's response, with the areas it reported.
    Areas(BTreeSet<(String, String)>),
}

impl PathBalancer {
    fn start(behind: &PathOrigin, settings: &str) -> PathBalancer {
        let ports = RULES.map(|(name, rules)| (name, rules, reserve_port()));
        let services = ports.each_ref().map(|(name, rules, port)| {
            format!(
                "[service.{name}]\nlisten = \"{}\"\nforward = \"http\"\npool = \"web\"\n{settings}rule = [{rules}]\n",
                port.address()
            )
        });
        let setup =
            BalancerConfig::http(&[behind.address()]).global("workers = 1\n").service(settings);
        // The reserved ports are released once the balancer listens on them.
        let fronts = ports.map(|(name, _, port)| (name, port.address())).to_vec();
        PathBalancer {
            balancer: TestBalancer::start(&setup.with_tables(&services.concat())),
            fronts,
        }
    }
}

fn all(behind: &PathOrigin) {
    let before = PathBalancer::start(behind, "");
    let hostile = spellings::hostile();
    assert!(hostile.len() >= 200, "{} spellings", hostile.len());
    let mut plain = PathConnection::new(before.balancer.front());
    let reached = hostile.iter().filter(|path| reaches_admin(&plain.ask(path))).count();
    assert!(reached >= 10, "only {reached} spellings reach anything without rules");
    let mut wrong = Vec::new();
    let mut denied = 0;
    let mut ambiguous = 0;
    let mut passed = 0;
    for (name, front) in &before.fronts {
        let mut connection = PathConnection::new(*front);
        for path in &hostile {
            match connection.ask(path) {
                PathResult::Refused(cause) if cause == "rule-denied" => denied += 1,
                PathResult::Refused(cause) if cause == "ambiguous-path" => ambiguous += 1,
                PathResult::Refused(cause) => wrong.push(format!("{name} {path}: {cause}")),
                came => {
                    passed += 1;
                    wrong.extend(
                        find_bypass(name, &came).map(|why| format!("{name} {path}: {why}")),
                    );
                }
            }
        }
        for path in spellings::ordinary() {
            match connection.ask(&path) {
                PathResult::Refused(cause) => {
                    wrong.push(format!("{name} {path}: refused, {cause}"))
                }
                came => wrong
                    .extend(find_bypass(name, &came).map(|why| format!("{name} {path}: {why}"))),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    figure(format!(
        "{} spellings, {reached} reach /admin/ without rules; with them: denied {denied}, ambiguous {ambiguous}, led elsewhere \
         {passed}",
        hostile.len()
    ));
}

fn reaches_admin(came: &PathResult) -> bool {
    matches!(came, PathResult::Areas(areas) if areas.iter().any(|(_, area)| area == "admin"))
}

/// The areas that an accepted request must not reach.
fn find_bypass(service: &str, came: &PathResult) -> Option<String> {
    let PathResult::Areas(areas) = came else { return None };
    // A server that does not decode paths does not find needlessly encoded ones.
    let good = |way: &str, area: &str| match service {
        "deny" => area != "admin",
        _ => area == "public" || (way == "raw" || way == "url") && area == "other",
    };
    let wrong = areas.iter().filter(|(way, area)| !good(way, area));
    let wrong: Vec<String> = wrong.map(|(way, area)| format!("{way} leads to {area}")).collect();
    (!wrong.is_empty()).then(|| wrong.join(", "))
}

/// A connection that is reopened once it has ended.
struct PathConnection {
    front: SocketAddr,
    client: Option<HttpClient>,
}

impl PathConnection {
    fn new(front: SocketAddr) -> PathConnection {
        PathConnection { front, client: None }
    }

    fn ask(&mut self, path: &str) -> PathResult {
        let mut client = self.client.take().unwrap_or_else(|| HttpClient::connect(self.front));
        let answer = client.get(path);
        if answer.field("connection").is_none_or(|word| word != "close") {
            self.client = Some(client);
        }
        path_result(&answer)
    }
}

fn path_result(answer: &ReceivedMessage) -> PathResult {
    if let Some(cause) = answer.field("x-steelyard-cause") {
        return PathResult::Refused(cause);
    }
    let areas = answer.field("x-areas").unwrap_or_default();
    let one = |pair: &str| pair.split_once('=').map(|(way, area)| (way.into(), area.into()));
    PathResult::Areas(areas.split(' ').filter_map(one).collect())
}

#[test]
fn http2_is_ruled_as_http1_is() {
    let behind = PathOrigin::node();
    let before = PathBalancer::start(&behind, "http2 = \"always\"\n");
    // Paths that a well-formed request can contain.
    let sendable = |path: &String| path.parse::<http::uri::PathAndQuery>().is_ok();
    let hostile: Vec<String> = spellings::hostile().into_iter().filter(sendable).collect();
    assert!(hostile.len() >= 200, "{} spellings", hostile.len());
    for (name, front) in &before.fronts {
        let mut plain = PathConnection::new(*front);
        for paths in hostile.chunks(50) {
            let asked: Vec<H2Request> = paths.iter().map(|path| H2Request::get(path)).collect();
            for (path, answered) in paths.iter().zip(send_all(*front, &asked)) {
                let cause = answered.field("x-steelyard-cause");
                let areas = answered.field("x-areas");
                assert!(areas.is_none_or(|areas| !areas.contains("=admin")), "{name} {path}");
                match plain.ask(path) {
                    PathResult::Refused(other) => assert_eq!(cause, Some(other), "{name} {path}"),
                    PathResult::Areas(_) => assert_eq!(cause, None, "{name} {path}"),
                }
            }
        }
    }
}
