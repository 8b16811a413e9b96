//! Accepted differences by what is done where nothing is written: a part of the reviewed table.

use super::comparison::DifferenceTopic;
use super::difference_context::{AcceptedRow, DifferenceContext, client_field};
use super::failed_turns::is_failed;
use super::failing_servers::meets_dead_servers;
use super::observation::{ExchangeEnd, SpokenProtocol};

/// Rows of every topic, of which each looks at its own.
pub const DEFAULTS: [AcceptedRow; 7] = [
    misdirected_unknown,
    avoided_dead_server,
    failed_in_turn,
    default_version,
    unguessed_type,
    mapped_address,
    begun_answer,
];

/// The original goes on asking a server whose checks succeed and that refuses connections.
fn avoided_dead_server(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let routing = matches!(
        seen.difference.topic,
        DifferenceTopic::Status | DifferenceTopic::Pool | DifferenceTopic::Connection
    );
    let theirs = seen.theirs;
    let failed = theirs.end == ExchangeEnd::Closed || matches!(theirs.status, 502..=504);
    let avoided =
        failed && theirs.server_address().is_none() && seen.ours.server_address().is_some();
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

/// A host beside the name in TLS, for which the original has no route either.
fn misdirected_unknown(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let own = seen.theirs.server().is_none() && seen.ours.server().is_none();
    let is_status = seen.difference.topic == DifferenceTopic::Status;
    (is_status && own && seen.theirs.status == 404 && seen.ours.status == 421)
        .then_some("a host that is not the name in TLS is refused before any route is looked for")
}

/// Programs in Go say of errors of their own that nobody is to guess their type.
fn unguessed_type(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let own = seen.theirs.server().is_none() && seen.ours.server().is_none();
    let differs = client_field(seen) == "x-content-type-options" && seen.difference.ours == "none";
    (own && differs && seen.theirs.status >= 400 && seen.ours.status >= 400)
        .then_some("answers of the original itself have a field against guessing their type")
}

fn mapped_address(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let difference = seen.difference;
    let field = matches!(difference.topic, DifferenceTopic::ServerField(_));
    (field && difference.theirs.replace("::ffff:", "") == difference.ours)
        .then_some("an IPv4 address is written as one, also where a listener of IPv6 took it")
}

/// A server closed within its answer, of which the original had sent nothing yet: it closes, or answers by itself.
fn begun_answer(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let is_asked = seen.theirs.server().is_some();
    let is_replaced = !seen.theirs.is_of_server() && matches!(seen.theirs.status, 500..=504);
    let ended = match seen.difference.topic {
        DifferenceTopic::Connection => seen.theirs.end == ExchangeEnd::Closed,
        DifferenceTopic::Status => seen.theirs.end == ExchangeEnd::Answered && is_replaced,
        _ => false,
    };
    let passed = seen.ours.is_of_server() && seen.ours.cut;
    (ended && is_asked && passed)
        .then_some("what a server sent of an answer before it closed is passed on")
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
    use super::super::hostile::field;
    use super::super::observation::{SERVER, SeenRequest, StepObservation};
    use super::super::request::{HttpRequest, ShadowPayload, ShadowRequest};
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

    fn served() -> StepObservation {
        StepObservation {
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
        }
    }

    fn own(status: u16) -> StepObservation {
        let end = ExchangeEnd::Answered;
        StepObservation { end, status, ..StepObservation::default() }
    }

    const TURN: &str = "all servers but those for backup are dead";

    fn check(
        topic: &DifferenceTopic,
        steps: [&StepObservation; 2],
        purpose: &str,
        by_default: bool,
        is_accepted: bool,
    ) {
        let request = ShadowRequest {
            to: "127.0.0.1:443".parse().unwrap(),
            payload: ShadowPayload::Http(HttpRequest::default()),
            purpose: purpose.to_owned(),
            ..ShadowRequest::sample()
        };
        let difference = ShadowDifference {
            step: 0,
            topic: topic.clone(),
            theirs: String::new(),
            ours: "none".to_owned(),
        };
        let seen = DifferenceContext {
            offers_by_default: by_default,
            is_decided_by_turn: purpose == TURN,
            ..DifferenceContext::plain(&request, &difference, steps[0], steps[1])
        };
        let found = DEFAULTS.iter().any(|row| row(seen).is_some());
        assert_eq!(found, is_accepted, "{topic:?} {purpose} {by_default}");
    }

    #[test]
    fn each_row_is_accepted_where_it_is_seen_alone() {
        let served = served();
        let closed = StepObservation::ended(ExchangeEnd::Closed);
        let dead = "the first server of each pool is dead";
        let guessing = DifferenceTopic::ClientField("x-content-type-options".into());
        let status = DifferenceTopic::Status;
        let version = DifferenceTopic::Protocol;
        for (topic, theirs, ours, purpose, by_default, is_accepted) in [
            (&DifferenceTopic::Pool, &closed, &served, dead, false, true),
            (&status, &own(503), &served, dead, false, true),
            (&status, &own(403), &served, dead, false, false),
            (&status, &own(503), &served, "host and path", false, false),
            (&status, &served, &own(503), dead, false, false),
            (&status, &served, &own(503), TURN, false, true),
            (&status, &served, &own(403), TURN, false, false),
            (&status, &own(404), &own(421), "host and path", false, true),
            (&status, &served, &own(421), "host and path", false, false),
            (&status, &own(404), &served, "host and path", false, false),
            (&guessing, &own(404), &own(404), "host and path", false, true),
            (&guessing, &own(200), &own(200), "host and path", false, false),
            (&guessing, &served, &own(404), "host and path", false, false),
            (&version, &own(200), &served, "host and path", true, true),
            (&version, &own(200), &served, "host and path", false, false),
            (&version, &served, &own(200), "host and path", true, false),
        ] {
            check(topic, [theirs, ours], purpose, by_default, is_accepted);
        }
    }

    #[test]
    fn an_answer_that_its_server_cuts_is_passed_on_as_far_as_it_came() {
        let cut_short = StepObservation {
            end: ExchangeEnd::Answered,
            fields: vec![field(SERVER, "10.0.0.2:80")],
            cut: true,
            ..served()
        };
        let whole = StepObservation { cut: false, ..cut_short.clone() };
        let closed = StepObservation::ended(ExchangeEnd::Closed);
        let closed_after = StepObservation { end: ExchangeEnd::Closed, ..served() };
        let asked = |status| StepObservation {
            end: ExchangeEnd::Answered,
            status,
            fields: Vec::new(),
            ..served()
        };
        let ended = &DifferenceTopic::Connection;
        let status = &DifferenceTopic::Status;
        for (topic, theirs, ours, is_accepted) in [
            (ended, &closed_after, &cut_short, true),
            (ended, &closed_after, &whole, false),
            (ended, &closed, &cut_short, false),
            (status, &asked(500), &cut_short, true),
            (status, &asked(500), &whole, false),
            (status, &asked(403), &cut_short, false),
            (status, &StepObservation { served: Vec::new(), ..asked(500) }, &cut_short, false),
        ] {
            check(topic, [theirs, ours], "cut", false, is_accepted);
        }
    }

    #[test]
    fn what_servers_of_bytes_had_is_known_by_their_answer() {
        let bytes =
            StepObservation { body: b"10.0.0.2:80\n".to_vec(), ..StepObservation::default() };
        assert_eq!(bytes.server_address(), "10.0.0.2:80".parse().ok());
        assert!(StepObservation::ended(ExchangeEnd::Closed).server_address().is_none());
    }
}
