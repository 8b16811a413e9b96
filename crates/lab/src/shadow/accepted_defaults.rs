//! Accepted differences by what is done where nothing is written: a part of the reviewed table.

use super::comparison::DifferenceTopic;
use super::difference_context::{AcceptedRow, DifferenceContext, client_field};
use super::failed_turns::is_failed;
use super::failing_servers::meets_dead_servers;
use super::observation::{ExchangeEnd, SpokenProtocol};

/// Rows of every topic, of which each looks at its own.
pub const DEFAULTS: [AcceptedRow; 4] =
    [avoided_dead_server, failed_in_turn, default_version, unguessed_type];

/// The original goes on asking a server whose checks succeed and that refuses connections.
fn avoided_dead_server(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let routing = matches!(
        seen.difference.topic,
        DifferenceTopic::Status | DifferenceTopic::Pool | DifferenceTopic::Connection
    );
    let theirs = seen.theirs;
    let failed = theirs.end == ExchangeEnd::Closed || matches!(theirs.status, 502..=504);
    let avoided = failed && theirs.server().is_none() && seen.ours.server().is_some();
    (routing && avoided && meets_dead_servers(seen.request))
        .then_some("a server that refuses connections is left alone, whatever its checks say")
}

/// Where nobody asks a second server, the turn of a request decides whether it meets the dead one.
fn failed_in_turn(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let routing = matches!(seen.difference.topic, DifferenceTopic::Status | DifferenceTopic::Pool);
    let served = seen.theirs.server().is_some();
    (routing && seen.is_decided_by_turn && served && is_failed(seen.ours)).then_some(
        "no second server is asked, so that each request's turn decides who meets the dead one",
    )
}

/// Programs in Go say of errors of their own that nobody is to guess their type.
fn unguessed_type(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let own = seen.theirs.server().is_none() && seen.ours.server().is_none();
    let differs = client_field(seen) == "x-content-type-options" && seen.difference.ours == "none";
    (own && differs && seen.theirs.status >= 400 && seen.ours.status >= 400)
        .then_some("answers of the original itself have a field against guessing their type")
}

/// HAProxy offers HTTP/2 by itself from version 2.8 on.
fn default_version(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let differs = seen.theirs.protocol == SpokenProtocol::Http1
        && seen.ours.protocol == SpokenProtocol::Http2;
    (seen.offers_by_default && differs && seen.difference.topic == DifferenceTopic::Protocol)
        .then_some("HTTP/2 is offered in TLS where nothing is written, as newer versions do")
}

/// Whether HAProxy's listener at this port is opened for TLS by lines that name no versions of HTTP.
pub fn offers_by_default(source: &str, port: u16) -> bool {
    let at_port =
        |word: &str| word.split(',').any(|one| one.rsplit(':').next() == Some(&port.to_string()));
    let mut opens = source.lines().filter(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some("bind") && words.next().is_some_and(at_port)
    });
    let words = ["alpn", "npn", "proto"];
    let has = |line: &str, word: &str| line.split_whitespace().any(|one| one == word);
    let mut any = false;
    let silent = opens.all(|line| {
        any |= has(line, "ssl");
        has(line, "ssl") && !words.iter().any(|word| has(line, word))
    });
    any && silent
}

#[cfg(test)]
mod tests {
    use super::super::comparison::ShadowDifference;
    use super::super::observation::{SeenRequest, StepObservation};
    use super::super::request::{
        ClientCertificate, HttpRequest, ServerNameChoice, ShadowPayload, ShadowRequest,
    };
    use super::*;

    #[test]
    fn only_lines_of_the_port_decide_about_versions() {
        for (source, expected) in [
            ("frontend f\n bind *:443 ssl crt /a.pem\n", true),
            ("frontend f\n bind 10.0.0.1:80,10.0.0.1:443 ssl crt /a.pem\n", true),
            ("frontend f\n bind *:443 ssl crt /a.pem alpn http/1.1\n", false),
            ("frontend f\n bind *:443\n", false),
            ("frontend f\n bind *:8443 ssl crt /a.pem\n", false),
            ("server { listen 443 ssl; }", false),
        ] {
            assert_eq!(offers_by_default(source, 443), expected, "{source}");
        }
    }

    #[test]
    fn each_row_is_accepted_where_it_is_seen_alone() {
        let served = StepObservation {
            status: 200,
            protocol: SpokenProtocol::Http2,
            served: vec![SeenRequest {
                server: "10.0.0.2:80".parse().unwrap(),
                method: "GET".into(),
                target: "/".into(),
                fields: Vec::new(),
                body_bytes: 0,
                proxy_header: false,
                tls: false,
            }],
            ..StepObservation::default()
        };
        let own = |status| StepObservation {
            end: ExchangeEnd::Answered,
            status,
            ..StepObservation::default()
        };
        let closed = StepObservation::ended(ExchangeEnd::Closed);
        let dead = "the first server of each pool is dead";
        let turn = "all servers but those for backup are dead";
        let guessing = DifferenceTopic::ClientField("x-content-type-options".into());
        for (topic, theirs, ours, purpose, by_default, is_accepted) in [
            (DifferenceTopic::Pool, &closed, &served, dead, false, true),
            (DifferenceTopic::Status, &own(503), &served, dead, false, true),
            (DifferenceTopic::Status, &own(403), &served, dead, false, false),
            (DifferenceTopic::Status, &own(503), &served, "host and path", false, false),
            (DifferenceTopic::Status, &served, &own(503), dead, false, false),
            (DifferenceTopic::Status, &served, &own(503), turn, false, true),
            (DifferenceTopic::Status, &served, &own(403), turn, false, false),
            (guessing.clone(), &own(404), &own(404), "host and path", false, true),
            (guessing.clone(), &own(200), &own(200), "host and path", false, false),
            (guessing.clone(), &served, &own(404), "host and path", false, false),
            (DifferenceTopic::Protocol, &own(200), &served, "host and path", true, true),
            (DifferenceTopic::Protocol, &own(200), &served, "host and path", false, false),
            (DifferenceTopic::Protocol, &served, &own(200), "host and path", true, false),
        ] {
            let request = ShadowRequest {
                service: "web".into(),
                to: "127.0.0.1:443".parse().unwrap(),
                from: None,
                name: ServerNameChoice::Plain,
                certificate: ClientCertificate::None,
                proxy_header: false,
                protocol: Default::default(),
                payload: ShadowPayload::Http(HttpRequest::default()),
                purpose: purpose.to_owned(),
            };
            let difference = ShadowDifference {
                step: 0,
                topic: topic.clone(),
                theirs: String::new(),
                ours: "none".to_owned(),
            };
            let seen = DifferenceContext {
                request: &request,
                difference: &difference,
                theirs,
                ours,
                has_limits: false,
                is_let_through: false,
                offers_by_default: by_default,
                is_decided_by_turn: purpose == turn,
            };
            let found = DEFAULTS.iter().any(|row| row(seen).is_some());
            assert_eq!(found, is_accepted, "{topic:?} {purpose} {by_default}");
        }
    }
}
