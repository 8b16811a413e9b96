//! Compares the expected results with the balancer's log and the server's log. This module sends nothing.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde_json::Value;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::wait;

use super::origins::{ReceivedRequest, SmugglingOrigin};
use super::table::{ExpectedOutcome, ForwardedRequest, SmugglingCase};

/// A case that was sent.
#[derive(Debug)]
pub struct CaseRun {
    pub case: SmugglingCase,
    /// The address of the case's client.
    pub client: SocketAddr,
    /// Whether the following request on the connection was answered.
    pub answered_after: bool,
    /// Mistakes in the responses.
    pub mistakes: Vec<String>,
}

/// Checks all requests. `last` is the last of them, which was answered. A server's log has no reliable order, because a
/// server may respond before it has read the body. The check is therefore repeated until it succeeds or times out.
pub fn check_outcome(
    balancer: &TestBalancer,
    behind: &SmugglingOrigin,
    sent: &[CaseRun],
    last: &str,
) {
    let report = balancer.report_when_settled();
    assert_eq!((report.total.requests.unaccounted, report.total.connections.unaccounted), (0, 0));
    balancer.wait_for_log_line("the last request", |line| line["target"] == last);
    let log = balancer.log();
    let mut wrong = Vec::new();
    wait::reached(|| {
        let (seen, refused) = behind.seen();
        wrong = mistakes(&log, sent, &seen, refused);
        if !seen.iter().any(|one| one.target == last) {
            wrong.push(format!("the server never saw {last}"));
        }
        wrong.is_empty()
    });
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// The differences between the balancer's log and the server's.
fn mistakes(
    log: &[Value],
    sent: &[CaseRun],
    seen: &[ReceivedRequest],
    refused: usize,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut may_refuse = 0;
    for one in sent {
        let found = forwarded_case(log, one);
        let mut said: Vec<String> = one.mistakes.clone();
        said.extend(found.wrong);
        said.extend(disagreement(one, &found.whole, &found.begun, seen));
        may_refuse += found.begun.len() + one.case.expect.iter().filter(|it| is_odd(it)).count();
        wrong.extend(said.into_iter().map(|what| format!("{}: {what}", one.case.name)));
    }
    let smuggled: Vec<&ReceivedRequest> =
        seen.iter().filter(|it| it.target.contains("smuggled")).collect();
    if !smuggled.is_empty() {
        wrong.push(format!("smuggled: {smuggled:?}"));
    }
    if refused > may_refuse {
        wrong.push(format!("the server refused {refused} requests, {may_refuse} were cut"));
    }
    wrong
}

fn is_odd(expect: &ExpectedOutcome) -> bool {
    matches!(expect, ExpectedOutcome::Forwarded(ForwardedRequest { nonstandard: true, .. }))
}

/// The balancer's log about a case's connection.
struct ForwardedCase {
    /// Completely forwarded requests.
    whole: Vec<(String, String)>,
    /// Partly forwarded requests.
    begun: Vec<(String, String)>,
    wrong: Vec<String>,
}

fn forwarded_case(log: &[Value], sent: &CaseRun) -> ForwardedCase {
    let client = sent.client.to_string();
    let lines: Vec<&Value> = log.iter().filter(|line| line["client"] == client.as_str()).collect();
    let mut found = ForwardedCase { whole: Vec::new(), begun: Vec::new(), wrong: Vec::new() };
    let mut defects = Vec::new();
    for line in &lines {
        let target = line["target"].as_str().unwrap_or_default();
        let target = target.strip_prefix("http://shop.example").unwrap_or(target);
        let request = (line["method"].as_str().unwrap_or_default().to_owned(), target.to_owned());
        let cause = line["cause"].as_str();
        let defect = line["defect"].as_str();
        defects.extend(defect.map(str::to_owned));
        match (line["server"].is_string(), cause.or(defect)) {
            (true, None) => found.whole.push(request),
            (true, Some(_)) => found.begun.push(request),
            (false, _) => {}
        }
    }
    let follows = sent.answered_after.then(|| ForwardedRequest::get(sent.case.same()));
    let expected = sent.case.expect.iter().cloned().chain(follows.map(ExpectedOutcome::Forwarded));
    let mut whole = Vec::new();
    let mut begun = Vec::new();
    let mut wanted = Vec::new();
    for one in expected {
        match one {
            ExpectedOutcome::Forwarded(passed) => {
                let request = (passed.method, passed.target);
                if passed.optional {
                    begun.push(request.clone());
                }
                if !passed.optional || found.whole.contains(&request) {
                    whole.push(request);
                }
            }
            ExpectedOutcome::Truncated(method, target, defect) => {
                let request = (method, target);
                // A server may respond before the balancer notices that the rest of the request is missing.
                if defect.is_none() && found.whole.contains(&request) {
                    whole.push(request.clone());
                }
                begun.push(request);
                wanted.extend(defect);
            }
            // Requests that the HTTP/2 library rejects are counted but not logged.
            ExpectedOutcome::Refused(defect) if defect == "http2-malformed" => {}
            ExpectedOutcome::Refused(defect) => wanted.push(defect),
        }
    }
    let strange =
        |defect: &String| !["http2-malformed", "http2-protocol"].contains(&defect.as_str());
    defects.retain(strange);
    let same = sorted(&found.whole) == sorted(&whole);
    if !same || found.begun.iter().any(|one| !begun.contains(one)) || defects != wanted {
        let text =
            format!("expected {whole:?}, at most {begun:?}, {wanted:?}; the log has {lines:?}");
        found.wrong.push(text);
    }
    found
}

/// The difference between the forwarded requests and those that the server saw.
fn disagreement(
    sent: &CaseRun,
    whole: &[(String, String)],
    begun: &[(String, String)],
    seen: &[ReceivedRequest],
) -> Option<String> {
    let mine = format!("/{}/", sent.case.name);
    let mut left: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let fresh = ("GET".to_owned(), sent.case.fresh());
    for (method, target) in whole.iter().chain([&fresh]) {
        *left.entry((method, target)).or_default() += 1;
    }
    for one in seen.iter().filter(|one| one.target.starts_with(&mine)) {
        let key = (one.method.as_str(), one.target.as_str());
        match left.get_mut(&key) {
            Some(count) if *count > 0 => *count -= 1,
            // A server may log a request as soon as it has the head.
            _ if begun.contains(&(one.method.clone(), one.target.clone())) => {}
            _ => return Some(format!("the server saw {one:?}, which was not passed on")),
        }
        if let Some(wanted) = length(&sent.case, one).filter(|wanted| Some(*wanted) != one.bytes)
            && one.bytes.is_some()
        {
            return Some(format!("the server saw {one:?}, its body has {wanted} bytes"));
        }
    }
    let odd = |key: &(&str, &str)| {
        let is = |expect: &ExpectedOutcome| match expect {
            ExpectedOutcome::Forwarded(it) => {
                it.nonstandard && (it.method.as_str(), it.target.as_str()) == *key
            }
            ExpectedOutcome::Truncated(method, target, None) => {
                (method.as_str(), target.as_str()) == *key
            }
            _ => false,
        };
        sent.case.expect.iter().any(is)
    };
    let missing: Vec<_> = left.iter().filter(|(key, count)| **count > 0 && !odd(key)).collect();
    (!missing.is_empty()).then(|| format!("the server never saw {missing:?}"))
}

fn length(case: &SmugglingCase, seen: &ReceivedRequest) -> Option<u64> {
    case.expect.iter().find_map(|expect| match expect {
        ExpectedOutcome::Forwarded(it)
            if (&it.method, &it.target) == (&seen.method, &seen.target) =>
        {
            Some(it.bytes)
        }
        _ => None,
    })
}

fn sorted(list: &[(String, String)]) -> Vec<&(String, String)> {
    let mut sorted: Vec<_> = list.iter().collect();
    sorted.sort();
    sorted
}
