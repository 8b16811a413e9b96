//! The HTTP/2 cases, each on a new connection, with each kind of server.

use std::net::SocketAddr;

use fuzz::corpus::unescape;
use tests::e2e::balancer::{TestBalancer, figure};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::frames::{END, FrameClient, Http2Frame, WHOLE, byte_fields, kind};

use super::origins::SmugglingOrigin;
use super::outcome::{CaseRun, check_outcome};
use super::table::{ExpectedOutcome, SmugglingCase, read};

#[test]
fn nginx_sees_what_was_passed_on() {
    replay(&SmugglingOrigin::nginx());
}

#[test]
fn apache_sees_what_was_passed_on() {
    replay(&SmugglingOrigin::apache(false));
}

#[test]
fn lenient_apache_sees_what_was_passed_on() {
    replay(&SmugglingOrigin::apache(true));
}

#[test]
fn node_sees_what_was_passed_on() {
    replay(&SmugglingOrigin::node(false));
}

#[test]
fn lenient_node_sees_what_was_passed_on() {
    replay(&SmugglingOrigin::node(true));
}

#[test]
fn go_sees_what_was_passed_on() {
    replay(&SmugglingOrigin::go());
}

fn replay(behind: &SmugglingOrigin) {
    let setup = BalancerConfig::http(&[behind.address()]).global("workers = 1\n");
    let balancer = TestBalancer::start(&setup.service("http2 = \"always\"\n"));
    let cases = read(include_str!("http2.txt"));
    assert!(cases.len() >= 50, "{} cases", cases.len());
    let sent: Vec<CaseRun> = cases.into_iter().map(|case| one(&balancer, case)).collect();
    assert_eq!(balancer.client().get("/last").status(), 200);
    check_outcome(&balancer, behind, &sent, "/last");
    figure(format!("smuggling from HTTP/2 to HTTP/1: {} cases, no disagreement", sent.len()));
}

/// The request of a case.
#[derive(Default)]
struct SmuggledRequest {
    fields: Vec<(Vec<u8>, Vec<u8>)>,
    data: Vec<Vec<u8>>,
    trailers: Vec<(Vec<u8>, Vec<u8>)>,
}

fn one(balancer: &TestBalancer, case: SmugglingCase) -> CaseRun {
    let request = request(&case);
    let mut client = FrameClient::connect(balancer.front());
    let address = client.local();
    send(&mut client, &request);
    client.get(3, &case.same());
    let passes = case.expect.iter().all(|it| matches!(it, ExpectedOutcome::Forwarded(_)));
    // A server may answer as soon as it has the head, before it could miss what a truncated request lacks.
    let either = case.expect.iter().any(|it| match it {
        ExpectedOutcome::Forwarded(forwarded) => forwarded.optional,
        ExpectedOutcome::Truncated(_, _, defect) => defect.is_none(),
        ExpectedOutcome::Refused(_) => false,
    });
    let (first, second) = answers(&mut client);
    let mut wrong = Vec::new();
    if passes != first && !either {
        wrong.push(format!("an answer with 200: {first}"));
    }
    // A connection that stays open after a rejection must serve the next stream.
    let followed = second == FollowUpOutcome::Answered;
    if passes && !followed && !either {
        wrong.push("the next stream was not answered".to_owned());
    }
    if second == FollowUpOutcome::Otherwise {
        wrong.push("the next stream was answered with something else than 200".to_owned());
    }
    wrong.extend(fresh(balancer.front(), &case));
    CaseRun { case, client: address, answered_after: followed, mistakes: wrong }
}

fn fresh(front: SocketAddr, case: &SmugglingCase) -> Option<String> {
    let target = case.fresh();
    let mut other = tests::e2e::client::HttpClient::connect(front);
    let answer = other.get(&target);
    let said = answer.field("x-seen").unwrap_or_default();
    let wanted = format!("GET {target}");
    (!said.starts_with(&wanted)).then(|| format!("{wanted} was answered by {answer:?}"))
}

fn request(case: &SmugglingCase) -> SmuggledRequest {
    let mut request = SmuggledRequest::default();
    let mut named = Vec::new();
    let mut late = Vec::new();
    for line in case.text.lines() {
        let at = line[1..].find(": ").map(|at| at + 1);
        let (name, value) = match at {
            Some(at) => (&line[..at], &line[at + 2..]),
            None => (line.trim_end_matches(':'), ""),
        };
        match name {
            "data" => request.data.push(unescape(value)),
            "absent" => named.push(value.to_owned()),
            "empty" => late.push((Vec::new(), unescape(value))),
            "late" => late.push(pair(value)),
            "trailer" => request.trailers.push(pair(value)),
            _ => {
                named.push(name.to_owned());
                late.push((unescape(name), unescape(value)));
            }
        }
    }
    let path = format!("/{}/a", case.name);
    let usual = [(":method", "GET"), (":scheme", "http"), (":authority", "shop.example")];
    for (name, value) in usual.into_iter().chain([(":path", path.as_str())]) {
        if !named.iter().any(|it| it == name) {
            request.fields.push((name.into(), value.into()));
        }
    }
    request.fields.extend(late);
    // Pseudo-header fields come first (RFC 9113 §8.3), except in cases with `late:` lines.
    if !case.text.contains("late: ") {
        request.fields.sort_by_key(|(name, _)| !name.starts_with(b":"));
    }
    request
}

fn pair(text: &str) -> (Vec<u8>, Vec<u8>) {
    let at = text[1..].find(": ").unwrap() + 1;
    (unescape(&text[..at]), unescape(&text[at + 2..]))
}

fn send(client: &mut FrameClient, request: &SmuggledRequest) {
    let body = !request.data.is_empty();
    let trailers = !request.trailers.is_empty();
    let last = |is: bool| if is { END } else { 0 };
    client.send(kind::HEADERS, WHOLE | last(!body), 1, &byte_fields(&request.fields));
    for (at, piece) in request.data.iter().enumerate() {
        let end = at + 1 == request.data.len() && !trailers;
        client.send(kind::DATA, last(end), 1, piece);
    }
    if trailers {
        client.send(kind::HEADERS, END | WHOLE, 1, &byte_fields(&request.trailers));
    }
}

/// The result of the stream after the case's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FollowUpOutcome {
    Answered,
    /// Another status, or a reset that does not guarantee that the request was not processed.
    Otherwise,
    /// The connection ended first.
    Gone,
}

/// Whether the first stream was answered with 200, and the result of the second.
fn answers(client: &mut FrameClient) -> (bool, FollowUpOutcome) {
    // `:status: 200` is the eighth field of the static table (RFC 7541, appendix A).
    let good = |frame: &Http2Frame| frame.payload.first() == Some(&0x88);
    // Status 100, as a plain or Huffman-coded string (RFC 7541, appendix B).
    let goes_on = |frame: &Http2Frame| {
        let rest = frame.payload.get(1..).unwrap_or_default();
        rest.starts_with(b"\x03100") || rest.starts_with(&[0x82, 0x08, 0x01])
    };
    let mut first = None;
    let mut second = None;
    while first.is_none() || second.is_none() {
        let Some(frame) = client.next_frame() else { break };
        let answer = match frame.kind {
            kind::HEADERS if goes_on(&frame) => continue,
            kind::HEADERS => good(&frame),
            kind::RESET => false,
            _ => continue,
        };
        match frame.stream {
            1 => first = first.or(Some(answer)),
            3 => second = second.or(Some(answer)),
            _ => {}
        }
    }
    let second = match second {
        Some(true) => FollowUpOutcome::Answered,
        Some(false) => FollowUpOutcome::Otherwise,
        None => FollowUpOutcome::Gone,
    };
    (first == Some(true), second)
}
