//! The corpus of hostile and tricky requests over real sockets: exact responses, and exact bytes at the server.
//!
//! The cases and their expected results are in the crate `wire`; this test adds the connections.

use fuzz::corpus::{CorpusCase, load};
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::http::ReceivedMessage;
use tests::e2e::recording_server::RecordingServer;

/// How the bytes are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SendMode {
    Whole,
    /// One byte at a time, each in a separate packet.
    Dribbled,
}

/// Cases longer than this are not sent byte by byte.
const DRIBBLED: usize = 600;

#[test]
fn every_case_gets_its_answers_and_passes_its_bytes() {
    replay(SendMode::Whole);
}

#[test]
fn every_case_comes_to_the_same_byte_by_byte() {
    replay(SendMode::Dribbled);
}

fn replay(sending: SendMode) {
    let recorder = RecordingServer::start();
    // A server connection for each request, so that the bytes of different requests are separate.
    let setup = BalancerConfig::http(&[recorder.address()]).pool("limit = { idle = 0 }");
    // Forwarding fields of the sender are trusted, as in the corpus.
    let setup = setup.service("trust = \"127.0.0.0/8\"");
    let balancer = TestBalancer::start(&setup.global("workers = 1"));
    let cases = load("requests");
    assert!(cases.len() >= 60, "{} cases", cases.len());
    let refusals = cases.iter().filter(|case| case.refusal().is_some()).count();
    let mut wrong = Vec::new();
    for case in &cases {
        if sending == SendMode::Whole || case.sent.len() <= DRIBBLED {
            wrong.extend(one(case, sending, &balancer, &recorder));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    let report = balancer.report_when_settled();
    assert_eq!((report.total.requests.unaccounted, report.total.connections.unaccounted), (0, 0));
    let defects: u64 = report.total.defects.iter().map(|defect| defect.count.total).sum();
    if sending == SendMode::Whole {
        assert_eq!(defects, refusals as u64, "each refusal is counted by its rule: {report:?}");
    }
}

/// The mistakes of a case.
fn one(
    case: &CorpusCase,
    sending: SendMode,
    balancer: &TestBalancer,
    recorder: &RecordingServer,
) -> Option<String> {
    let client = balancer.client();
    send(&client, &case.sent, sending);
    if case.refusal().is_none() {
        client.shut_down_write();
    }
    let expected = expected(case);
    let answers: Vec<ReceivedMessage> = answers(client);
    let statuses: Vec<u16> = answers.iter().map(ReceivedMessage::status).collect();
    if statuses != expected {
        return Some(format!("{}: answered {statuses:?}, expected {expected:?}", case.name));
    }
    let ours = answers.iter().filter(|answer| answer.field("x-steelyard-cause").is_some());
    if ours.count() != usize::from(case.refusal().is_some()) {
        return Some(format!("{}: {answers:?}", case.name));
    }
    let connects = balancer.report_when_settled().pools[0].servers[0].connects.total;
    let passed = untold(recorder.take_after(connects).connections.concat());
    let wanted = as_seen_here(&case.passed, balancer);
    // An incomplete body may be forwarded in part, but never to its end.
    let right = if in_a_body(case) { wanted.starts_with(&passed) } else { wanted == passed };
    (!right).then(|| {
        let [passed, wanted] = [passed, wanted].map(|bytes| bytes.escape_ascii().to_string());
        format!("{}: passed\n  {passed}\nexpected\n  {wanted}", case.name)
    })
}

/// Removes the `Connection: close` line, which the balancer adds because no server connection is reused here.
fn untold(mut passed: Vec<u8>) -> Vec<u8> {
    const LINE: &[u8] = b"\r\nConnection: close\r\n";
    let mut from = 0;
    while let Some(at) = passed[from..].windows(LINE.len()).position(|line| line == LINE) {
        passed.drain(from + at..from + at + LINE.len() - 2);
        from += at;
    }
    passed
}

/// The expected statuses of a case.
fn expected(case: &CorpusCase) -> Vec<u16> {
    let accepted = case.expect.iter().filter(|line| line.starts_with("accepted")).count();
    let whole = accepted - usize::from(in_a_body(case));
    let refused = case.refusal().map(|(_, status)| status);
    std::iter::repeat_n(200, whole).chain(refused).collect()
}

/// Whether the stream ends, or a rule is broken, within a body.
fn in_a_body(case: &CorpusCase) -> bool {
    match case.expect.as_slice() {
        [.., last] if last.starts_with("refused-body") => true,
        [.., before, last] if last == "incomplete" => !before.contains("body=none"),
        _ => false,
    }
}

/// All responses until the connection ends.
fn answers(mut client: HttpClient) -> Vec<ReceivedMessage> {
    std::iter::from_fn(|| client.answer_or_end()).collect()
}

/// Sends the bytes until the peer closes the connection.
fn send(client: &HttpClient, bytes: &[u8], sending: SendMode) {
    match sending {
        SendMode::Whole => drop(client.try_send(bytes)),
        SendMode::Dribbled => {
            for byte in bytes {
                if client.try_send(&[*byte]).is_err() {
                    return;
                }
            }
        }
    }
}

/// Replaces the corpus's addresses, which differ from those of this connection.
fn as_seen_here(passed: &[u8], balancer: &TestBalancer) -> Vec<u8> {
    let text = passed.escape_ascii().to_string();
    let front = balancer.front().to_string();
    let text = text.replace("192.0.2.1:80", &front).replace("192.0.2.7", "127.0.0.1");
    fuzz::corpus::unescape(&text.replace("\\'", "'").replace("\\\"", "\""))
}
