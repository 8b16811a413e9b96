//! The HTTP/1 cases, each on a new connection, with each kind of server.

use tests::e2e::balancer::{TestBalancer, figure};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::http::{ExpectedBody, HttpReader, ReceivedMessage};

use super::origins::SmugglingOrigin;
use super::outcome::{CaseRun, check_outcome};
use super::table::{ExpectedOutcome, ForwardedRequest, SmugglingCase, read};

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
    let balancer = TestBalancer::start(&setup);
    let cases = read(include_str!("http1.txt"));
    assert!(cases.len() >= 120, "{} cases", cases.len());
    let sent: Vec<CaseRun> = cases.into_iter().map(|case| one(&balancer, case)).collect();
    assert_eq!(balancer.client().get("/last").status(), 200);
    check_outcome(&balancer, behind, &sent, "/last");
    figure(format!("smuggling in HTTP/1: {} cases, no disagreement", sent.len()));
}

/// Sends a case with a following request on the same connection, and a request on another connection.
fn one(balancer: &TestBalancer, case: SmugglingCase) -> CaseRun {
    let mut client = balancer.client();
    let address = client.stream().local_addr().unwrap();
    let mut bytes = case.bytes();
    bytes.extend_from_slice(get(&case.same()).as_bytes());
    // Ignored: the balancer may reject the request before all bytes are sent.
    let _ = client.try_send(&bytes);
    let _ = client.stream().shutdown(std::net::Shutdown::Write);
    let answers = client.read_to_end_or_reset().unwrap_or_default();
    let followed = !case.expect.iter().any(ExpectedOutcome::ends);
    let mut wanted: Vec<ForwardedRequest> = passed(&case);
    if followed {
        wanted.push(ForwardedRequest::get(case.same()));
    }
    let mut wrong = answered(&answers, &wanted);
    let fresh = case.fresh();
    let mut other = balancer.client();
    let answer = other.get(&fresh);
    wrong.extend(differs(&answer, &ForwardedRequest::get(fresh)));
    CaseRun { case, client: address, answered_after: followed, mistakes: wrong }
}

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: shop.example\r\n\r\n")
}

fn passed(case: &SmugglingCase) -> Vec<ForwardedRequest> {
    let only = |expect: &ExpectedOutcome| match expect {
        ExpectedOutcome::Forwarded(passed) => Some(passed.clone()),
        _ => None,
    };
    case.expect.iter().filter_map(only).collect()
}

/// The mistakes in the responses to these requests, which must come first.
fn answered(bytes: &[u8], wanted: &[ForwardedRequest]) -> Vec<String> {
    let mut reader = HttpReader::new(bytes);
    let mut wrong = Vec::new();
    for passed in wanted {
        let follows = if passed.method == "HEAD" {
            ExpectedBody::NoBody
        } else {
            ExpectedBody::DeclaredOrUntilEnd
        };
        let mut next = || -> std::io::Result<Option<ReceivedMessage>> {
            loop {
                let Some(mut answer) = reader.head()? else { return Ok(None) };
                if answer.status() >= 200 {
                    reader.body(&mut answer, follows)?;
                    return Ok(Some(answer));
                }
            }
        };
        match next() {
            Ok(Some(answer)) => wrong.extend(differs(&answer, passed)),
            other => wrong.push(format!("{passed:?} was not answered: {other:?}")),
        }
    }
    wrong
}

/// Compares a response with the request that its server reports.
fn differs(answer: &ReceivedMessage, passed: &ForwardedRequest) -> Option<String> {
    let said = answer.field("x-seen").unwrap_or_default();
    let wanted = format!("{} {}", passed.method, passed.target);
    let right = said == wanted || said == format!("{wanted} HTTP/1.1");
    (!right && !passed.nonstandard).then(|| format!("{wanted} was answered by {answer:?}"))
}
