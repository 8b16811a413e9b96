//! Paths that servers read in several ways: none of their spellings gets past a rule, and no ordinary path is refused.
//!
//! Each server says to which areas a path leads in its ways of looking at it. A service without rules shows that the
//! spellings do reach what the rules of the others guard.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

mod behind;
mod settings;
mod spellings;

use std::collections::BTreeSet;
use std::net::SocketAddr;

use tests::e2e::balancer::{Balancer, figure};
use tests::e2e::client::Client;
use tests::e2e::h2client::{Asked, ask_all};
use tests::e2e::http::Message;
use tests::e2e::servers::reserved;
use tests::e2e::setup::Setup;

use behind::Behind;

/// Services besides `shop`, which has no rules, with their rules. What passes the last two must lead to `/public/`.
const RULES: [(&str, &str); 3] = [
    ("deny", "{ when = { path = \"/admin/*\" }, deny = true }"),
    ("allow-only", "{ when = { path = \"/public/*\" }, pool = \"web\" }, { deny = true }"),
    ("unless", "{ when = { not = { path = \"/public/*\" } }, deny = true }"),
];

#[test]
fn no_spelling_gets_past_a_rule_before_nginx() {
    all(&Behind::nginx());
}

#[test]
fn no_spelling_gets_past_a_rule_before_go() {
    all(&Behind::go());
}

#[test]
fn no_spelling_gets_past_a_rule_before_wsgi() {
    all(&Behind::python("wsgi"));
}

#[test]
fn no_spelling_gets_past_a_rule_before_node() {
    all(&Behind::node());
}

#[test]
fn no_spelling_gets_past_a_rule_before_a_server_that_strips_parameters() {
    all(&Behind::python("params"));
}

/// A balancer with a service for each list of rules.
struct Before {
    balancer: Balancer,
    fronts: Vec<(&'static str, SocketAddr)>,
}

/// What came of a request.
enum Came {
    /// It was refused for this cause.
    Refused(String),
    /// The server answered, and said so.
    Areas(BTreeSet<(String, String)>),
}

impl Before {
    fn start(behind: &Behind, settings: &str) -> Before {
        let ports = RULES.map(|(name, rules)| (name, rules, reserved()));
        let services = ports.each_ref().map(|(name, rules, port)| {
            format!(
                "[service.{name}]\nlisten = \"{}\"\nforward = \"http\"\npool = \"web\"\n{settings}rule = [{rules}]\n",
                port.address()
            )
        });
        let setup = Setup::http(&[behind.address()]).global("workers = 1\n").service(settings);
        // The ports are given up when they are listened on.
        let fronts = ports.map(|(name, _, port)| (name, port.address())).to_vec();
        Before { balancer: Balancer::start(&setup.more(&services.concat())), fronts }
    }
}

fn all(behind: &Behind) {
    let before = Before::start(behind, "");
    let hostile = spellings::hostile();
    assert!(hostile.len() >= 200, "{} spellings", hostile.len());
    let mut plain = Connection::new(before.balancer.front());
    let reached = hostile.iter().filter(|path| reaches_admin(&plain.ask(path))).count();
    assert!(reached >= 10, "only {reached} spellings reach anything without rules");
    let mut wrong = Vec::new();
    let (mut denied, mut ambiguous, mut passed) = (0, 0, 0);
    for (name, front) in &before.fronts {
        let mut connection = Connection::new(*front);
        for path in &hostile {
            match connection.ask(path) {
                Came::Refused(cause) if cause == "rule-denied" => denied += 1,
                Came::Refused(cause) if cause == "ambiguous-path" => ambiguous += 1,
                Came::Refused(cause) => wrong.push(format!("{name} {path}: {cause}")),
                came => {
                    passed += 1;
                    wrong.extend(
                        leads_wrong(name, &came).map(|why| format!("{name} {path}: {why}")),
                    );
                }
            }
        }
        for path in spellings::ordinary() {
            match connection.ask(&path) {
                Came::Refused(cause) => wrong.push(format!("{name} {path}: refused, {cause}")),
                came => wrong
                    .extend(leads_wrong(name, &came).map(|why| format!("{name} {path}: {why}"))),
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

fn reaches_admin(came: &Came) -> bool {
    matches!(came, Came::Areas(areas) if areas.iter().any(|(_, area)| area == "admin"))
}

/// Where a request that passed must not lead.
fn leads_wrong(service: &str, came: &Came) -> Option<String> {
    let Came::Areas(areas) = came else { return None };
    // Who decodes nothing does not find what is spelled with needless encodings.
    let good = |way: &str, area: &str| match service {
        "deny" => area != "admin",
        _ => area == "public" || (way == "raw" || way == "url") && area == "other",
    };
    let wrong = areas.iter().filter(|(way, area)| !good(way, area));
    let wrong: Vec<String> = wrong.map(|(way, area)| format!("{way} leads to {area}")).collect();
    (!wrong.is_empty()).then(|| wrong.join(", "))
}

/// A connection that is made anew where it has ended.
struct Connection {
    front: SocketAddr,
    client: Option<Client>,
}

impl Connection {
    fn new(front: SocketAddr) -> Connection {
        Connection { front, client: None }
    }

    fn ask(&mut self, path: &str) -> Came {
        let mut client = self.client.take().unwrap_or_else(|| Client::to(self.front));
        let answer = client.get(path);
        if answer.field("connection").is_none_or(|word| word != "close") {
            self.client = Some(client);
        }
        came(&answer)
    }
}

fn came(answer: &Message) -> Came {
    if let Some(cause) = answer.field("x-steelyard-cause") {
        return Came::Refused(cause);
    }
    let areas = answer.field("x-areas").unwrap_or_default();
    let one = |pair: &str| pair.split_once('=').map(|(way, area)| (way.into(), area.into()));
    Came::Areas(areas.split(' ').filter_map(one).collect())
}

#[test]
fn http2_is_ruled_as_http1_is() {
    let behind = Behind::node();
    let before = Before::start(&behind, "http2 = \"always\"\n");
    // What a decent client can send at all.
    let sendable = |path: &String| path.parse::<http::uri::PathAndQuery>().is_ok();
    let hostile: Vec<String> = spellings::hostile().into_iter().filter(sendable).collect();
    assert!(hostile.len() >= 200, "{} spellings", hostile.len());
    for (name, front) in &before.fronts {
        let mut plain = Connection::new(*front);
        for paths in hostile.chunks(50) {
            let asked: Vec<Asked> = paths.iter().map(|path| Asked::get(path)).collect();
            for (path, answered) in paths.iter().zip(ask_all(*front, &asked)) {
                let cause = answered.field("x-steelyard-cause");
                let areas = answered.field("x-areas");
                assert!(areas.is_none_or(|areas| !areas.contains("=admin")), "{name} {path}");
                match plain.ask(path) {
                    Came::Refused(other) => assert_eq!(cause, Some(other), "{name} {path}"),
                    Came::Areas(_) => assert_eq!(cause, None, "{name} {path}"),
                }
            }
        }
    }
}
