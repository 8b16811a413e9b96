//! Compares what was seen of one request on both sides.
//!
//! Pure. Fields that belong to a connection, or that each balancer has of its own, are left out here; `accepted` and
//! `explanation` review what remains.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use serde::Serialize;

use super::location::resolve;
use super::observation::{ExchangeEnd, SERVER, SeenField, StepObservation, field_values};
use super::plan::PoolMembership;
use super::request::{MARK, ORDER, ShadowRequest};

/// What differs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DifferenceTopic {
    /// Whether there was an answer, and how the connection ended without one.
    Connection,
    Status,
    /// The servers that may have had the request, or that none had it.
    Pool,
    /// Method, target or size of the body at the server, or how it was spoken to.
    ServerRequest,
    /// A field at the server.
    ServerField(String),
    /// A field at the client.
    ClientField(String),
    /// The target of a redirect, as a browser resolves it.
    Location,
    Body,
    /// HTTP/1 or HTTP/2, as TLS agreed on it.
    Protocol,
}

impl DifferenceTopic {
    /// In words, for people.
    pub fn describe(&self) -> String {
        match self {
            DifferenceTopic::Connection => "connection".to_owned(),
            DifferenceTopic::Status => "status".to_owned(),
            DifferenceTopic::Pool => "pool".to_owned(),
            DifferenceTopic::ServerRequest => "request at the server".to_owned(),
            DifferenceTopic::ServerField(name) => format!("{name} at the server"),
            DifferenceTopic::ClientField(name) => format!("{name} at the client"),
            DifferenceTopic::Location => "location".to_owned(),
            DifferenceTopic::Body => "body".to_owned(),
            DifferenceTopic::Protocol => "protocol of the client".to_owned(),
        }
    }
}

/// One difference of one request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShadowDifference {
    /// The step of a session, from 0.
    pub step: usize,
    pub topic: DifferenceTopic,
    pub theirs: String,
    pub ours: String,
}

/// The pools of each server.
pub type ServerPools = BTreeMap<SocketAddr, Vec<PoolMembership>>;

/// Fields towards servers that are not compared: of a connection (RFC 9110 section 7.6.1), of the framing, or of the
/// run itself.
const NOT_AT_SERVER: [&str; 11] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "content-length",
    "via",
    "expect",
    MARK,
    ORDER,
];
/// The same towards clients; and what each program says of itself.
const NOT_AT_CLIENT: [&str; 12] = [
    "connection",
    "keep-alive",
    "transfer-encoding",
    "content-length",
    "trailer",
    "via",
    "date",
    "server",
    "alt-svc",
    "accept-ranges",
    "location",
    SERVER,
];
/// Fields of a balancer's own answers, which belong to its own bodies.
const OF_OWN_BODIES: [&str; 6] =
    ["content-type", "cache-control", "pragma", "expires", "retry-after", "allow"];

/// All differences of a request.
pub fn compare(
    request: &ShadowRequest,
    theirs: &[StepObservation],
    ours: &[StepObservation],
    pools: &ServerPools,
) -> Vec<ShadowDifference> {
    let mut out = Vec::new();
    for (step, (their, our)) in theirs.iter().zip(ours).enumerate() {
        let pair = StepPair { request, theirs: their, ours: our, pools };
        pair.compare(&mut |topic, theirs, ours| {
            out.push(ShadowDifference { step, topic, theirs, ours });
        });
        // The further steps of a session follow from the first difference.
        if !out.is_empty() {
            break;
        }
    }
    out
}

struct StepPair<'a> {
    request: &'a ShadowRequest,
    theirs: &'a StepObservation,
    ours: &'a StepObservation,
    pools: &'a ServerPools,
}

type DifferenceSink<'r> = dyn FnMut(DifferenceTopic, String, String) + 'r;

impl StepPair<'_> {
    fn compare(&self, report: &mut DifferenceSink<'_>) {
        if self.theirs.end != self.ours.end {
            let text = |step: &StepObservation| match step.end {
                ExchangeEnd::Answered => {
                    format!("{} by {}", step.status, describe_server(step, self.pools))
                }
                _ => format!("{:?}", step.end),
            };
            return report(DifferenceTopic::Connection, text(self.theirs), text(self.ours));
        }
        let mut stops = false;
        if self.theirs.status != self.ours.status {
            let text = |step: &StepObservation| match step.server() {
                Some(_) => step.status.to_string(),
                None => format!("{} of its own", step.status),
            };
            report(DifferenceTopic::Status, text(self.theirs), text(self.ours));
            stops = true;
        }
        if !self.has_same_pool() {
            let text = |step| describe_server(step, self.pools);
            report(DifferenceTopic::Pool, text(self.theirs), text(self.ours));
            stops = true;
        }
        if stops {
            return;
        }
        if self.theirs.protocol != self.ours.protocol {
            let text = |step: &StepObservation| format!("{:?}", step.protocol);
            report(DifferenceTopic::Protocol, text(self.theirs), text(self.ours));
        }
        self.compare_at_server(report);
        self.compare_at_client(report);
    }

    /// Whether the servers may be of one pool, where the choice among them is the balancer's.
    fn has_same_pool(&self) -> bool {
        let theirs = server_address(self.theirs);
        let ours = server_address(self.ours);
        let of = |address: Option<SocketAddr>| {
            address.and_then(|address| self.pools.get(&address)).map_or(&[][..], Vec::as_slice)
        };
        theirs == ours || of(theirs).iter().any(|pool| of(ours).contains(pool))
    }

    fn compare_at_server(&self, report: &mut DifferenceSink<'_>) {
        let Some(theirs) = self.theirs.server() else { return };
        let Some(ours) = self.ours.server() else { return };
        let line = |one: &super::observation::SeenRequest| {
            let tls = if one.tls { " over TLS" } else { "" };
            // Servers of one pool may differ in this.
            let proxy = one.proxy_header && theirs.server == ours.server;
            let proxy = if proxy { " with a PROXY header" } else { "" };
            format!("{} {} {} bytes{tls}{proxy}", one.method, one.target, one.body_bytes)
        };
        if line(theirs) != line(ours) {
            report(DifferenceTopic::ServerRequest, line(theirs), line(ours));
        }
        let excluded = |name: &str| NOT_AT_SERVER.iter().any(|one| one.eq_ignore_ascii_case(name));
        for name in all_names(&theirs.fields, &ours.fields) {
            let joint = if name == "cookie" { "; " } else { ", " };
            let text = |fields: &[SeenField]| as_compared(&name, joined(fields, &name, joint));
            if !excluded(&name) && text(&theirs.fields) != text(&ours.fields) {
                let their_text = text(&theirs.fields);
                report(DifferenceTopic::ServerField(name.clone()), their_text, text(&ours.fields));
            }
        }
    }

    fn compare_at_client(&self, report: &mut DifferenceSink<'_>) {
        let theirs = self.theirs;
        let ours = self.ours;
        let own = !theirs.is_of_server();
        let excluded = |name: &str| {
            NOT_AT_CLIENT.iter().any(|one| one.eq_ignore_ascii_case(name))
                || own && theirs.status >= 300 && OF_OWN_BODIES.contains(&name)
        };
        for name in all_names(&theirs.fields, &ours.fields) {
            let text = |step: &StepObservation| match name.as_str() {
                "set-cookie" => cookies(step),
                _ => as_compared(&name, joined(&step.fields, &name, ", ")),
            };
            let their_text = text(theirs);
            let our_text = text(ours);
            if !excluded(&name) && their_text != our_text {
                report(DifferenceTopic::ClientField(name), their_text, our_text);
            }
        }
        let location = |step: &StepObservation| {
            let found = step.values("location").first().copied();
            found.map_or("none".to_owned(), |to| resolve(self.request, to))
        };
        if location(theirs) != location(ours) {
            report(DifferenceTopic::Location, location(theirs), location(ours));
        }
        let body = |step: &StepObservation| match own {
            _ if step.cut => "cut before its end".to_owned(),
            true => String::from_utf8_lossy(&step.body[..step.body.len().min(80)]).into_owned(),
            false => format!("{} bytes", step.body.len()),
        };
        let encoded = |step: &StepObservation| !step.values("content-encoding").is_empty();
        // Which side compresses is told by the field.
        let compared =
            !encoded(theirs) && !encoded(ours) && (!own || (200..300).contains(&theirs.status));
        if compared && body(theirs) != body(ours) {
            report(DifferenceTopic::Body, body(theirs), body(ours));
        }
    }
}

/// The server that had the request: from the record, or for bytes from what it answered.
fn server_address(step: &StepObservation) -> Option<SocketAddr> {
    step.server_address()
}

fn describe_server(step: &StepObservation, pools: &ServerPools) -> String {
    let Some(address) = server_address(step) else { return "the balancer itself".to_owned() };
    let of: Vec<&str> =
        pools.get(&address).into_iter().flatten().map(|pool| pool.pool.as_str()).collect();
    format!("{address} ({})", if of.is_empty() { "no pool".to_owned() } else { of.join(", ") })
}

fn all_names(theirs: &[SeenField], ours: &[SeenField]) -> BTreeSet<String> {
    theirs.iter().chain(ours).map(|field| field.name.to_ascii_lowercase()).collect()
}

/// All values of a field in one text, since lines of a list may be joined (RFC 9110 section 5.3).
fn joined(fields: &[SeenField], name: &str, joint: &str) -> String {
    let values = field_values(fields, name);
    if values.is_empty() { "none".to_owned() } else { format!("`{}`", values.join(joint)) }
}

/// Names of protocols are compared without case (RFC 9110 section 7.8), and lists without blanks.
fn as_compared(name: &str, text: String) -> String {
    match name {
        "upgrade" => text.to_ascii_lowercase(),
        // Blanks in a list are optional (RFC 9110 section 5.6.1).
        "vary" | "x-forwarded-for" => text.replace(", ", ","),
        _ => text,
    }
}

/// Names and attributes of the cookies that are set. Values of a balancer's own cookies are its own.
fn cookies(step: &StepObservation) -> String {
    let one = |set: &&str| {
        let name = set.split('=').next().unwrap_or("");
        let mut attributes: Vec<String> =
            set.split(';').skip(1).map(|part| part.trim().to_ascii_lowercase()).collect();
        attributes.sort();
        format!("{name}; {}", attributes.join("; "))
    };
    let mut all: Vec<String> = step.values("set-cookie").iter().map(one).collect();
    all.sort();
    if all.is_empty() { "none".to_owned() } else { all.join(" | ") }
}

#[cfg(test)]
mod tests {
    use super::super::hostile::field;
    use super::super::observation::SeenRequest;
    use super::super::request::{HttpRequest, ShadowPayload};
    use super::*;

    fn request() -> ShadowRequest {
        ShadowRequest {
            to: "127.0.0.1:8080".parse().unwrap(),
            payload: ShadowPayload::Http(HttpRequest {
                host: "Shop.example".into(),
                ..HttpRequest::default()
            }),
            purpose: "test".into(),
            ..ShadowRequest::sample()
        }
    }

    fn step(status: u16, fields: &[SeenField], server: Option<SeenRequest>) -> StepObservation {
        StepObservation {
            end: ExchangeEnd::Answered,
            status,
            fields: fields.to_vec(),
            served: server.into_iter().collect(),
            ..StepObservation::default()
        }
    }

    fn served(server: &str, fields: &[SeenField]) -> Option<SeenRequest> {
        Some(SeenRequest {
            server: server.parse().unwrap(),
            method: "GET".into(),
            target: "/".into(),
            fields: fields.to_vec(),
            body_bytes: 0,
            proxy_header: false,
            tls: false,
        })
    }

    fn topics(theirs: StepObservation, ours: StepObservation) -> Vec<String> {
        let pool = |pool: &str| PoolMembership { pool: pool.into(), backup: false };
        let pools: ServerPools = [("10.0.0.1:80", "a"), ("10.0.0.2:80", "a"), ("10.0.0.3:80", "b")]
            .map(|(address, name)| (address.parse().unwrap(), vec![pool(name)]))
            .into();
        let found = compare(&request(), &[theirs], &[ours], &pools);
        found
            .iter()
            .map(|one| format!("{}: {} {}", one.topic.describe(), one.theirs, one.ours))
            .collect()
    }

    #[test]
    fn each_kind_of_difference_is_seen_and_what_belongs_to_each_program_is_not() {
        let a = |fields: &[SeenField]| step(200, &[], served("10.0.0.1:80", fields));
        let same = step(
            200,
            &[field("Date", "x"), field("Server", "y")],
            served("10.0.0.2:80", &[field("Via", "1.1 x")]),
        );
        assert!(topics(a(&[]), same).is_empty());
        let rows = [
            (
                a(&[]),
                step(403, &[], None),
                vec!["status: 200 403 of its own", "pool: 10.0.0.1:80 (a) the balancer itself"],
            ),
            (
                a(&[]),
                step(200, &[], served("10.0.0.3:80", &[])),
                vec!["pool: 10.0.0.1:80 (a) 10.0.0.3:80 (b)"],
            ),
            (a(&[field("X-Real-IP", "1")]), a(&[]), vec!["x-real-ip at the server: `1` none"]),
            (a(&[field("x-f", "1"), field("X-F", "2")]), a(&[field("X-F", "1, 2")]), vec![]),
            (
                step(200, &[], None),
                StepObservation::ended(ExchangeEnd::TlsFailed),
                vec!["connection: 200 by the balancer itself TlsFailed"],
            ),
            (
                step(200, &[field("Set-Cookie", "S=1; Path=/; Secure")], None),
                step(200, &[field("Set-Cookie", "S=2; path=/")], None),
                vec!["set-cookie at the client: S; path=/; secure S; path=/"],
            ),
            (
                step(301, &[field("Location", "http://shop.example:8080/a")], None),
                step(301, &[field("Location", "/a")], None),
                vec![],
            ),
            (
                step(301, &[field("Location", "https://SHOP.example/b/./c/../a?x=..")], None),
                step(301, &[field("Location", "https://shop.example/b/a?x=..")], None),
                vec![],
            ),
            (
                step(301, &[field("Location", "https://shop.example/a")], None),
                step(301, &[field("Location", "/a")], None),
                vec!["location: https://shop.example/a /a"],
            ),
        ];
        for (theirs, ours, expected) in rows {
            assert_eq!(topics(theirs, ours), expected);
        }
    }
}
