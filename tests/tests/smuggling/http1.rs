//! The cases of HTTP/1, each on a connection of its own, before each kind of server.

use tests::e2e::balancer::{Balancer, figure};
use tests::e2e::http::{Follows, Message, Reader};
use tests::e2e::setup::Setup;

use super::behind::Behind;
use super::table::{Case, Expect, Passed, read};
use super::verdict::{Sent, judge};

#[test]
fn nginx_sees_what_was_passed_on() {
    replay(&Behind::nginx());
}

#[test]
fn apache_sees_what_was_passed_on() {
    replay(&Behind::apache(false));
}

#[test]
fn lenient_apache_sees_what_was_passed_on() {
    replay(&Behind::apache(true));
}

#[test]
fn node_sees_what_was_passed_on() {
    replay(&Behind::node(false));
}

#[test]
fn lenient_node_sees_what_was_passed_on() {
    replay(&Behind::node(true));
}

#[test]
fn go_sees_what_was_passed_on() {
    replay(&Behind::go());
}

fn replay(behind: &Behind) {
    let setup = Setup::http(&[behind.address()]).global("workers = 1\n");
    let balancer = Balancer::start(&setup);
    let cases = read(include_str!("http1.txt"));
    assert!(cases.len() >= 120, "{} cases", cases.len());
    let sent: Vec<Sent> = cases.into_iter().map(|case| one(&balancer, case)).collect();
    assert_eq!(balancer.client().get("/last").status(), 200);
    judge(&balancer, behind, &sent, "/last");
    figure(format!("smuggling in HTTP/1: {} cases, no disagreement", sent.len()));
}

/// Sends a case with the request that follows it, and the one on another connection.
fn one(balancer: &Balancer, case: Case) -> Sent {
    let mut client = balancer.client();
    let address = client.stream().local_addr().unwrap();
    let mut bytes = case.bytes();
    bytes.extend_from_slice(get(&case.same()).as_bytes());
    // A refusal may come before all is sent.
    let _ = client.try_send(&bytes);
    let _ = client.stream().shutdown(std::net::Shutdown::Write);
    let answers = client.rest_or_reset().unwrap_or_default();
    let followed = !case.expect.iter().any(Expect::ends);
    let mut wanted: Vec<Passed> = passed(&case);
    if followed {
        wanted.push(Passed::get(case.same()));
    }
    let mut wrong = answered(&answers, &wanted);
    let fresh = case.fresh();
    let mut other = balancer.client();
    let answer = other.get(&fresh);
    wrong.extend(differs(&answer, &Passed::get(fresh)));
    Sent { case, client: address, followed, wrong }
}

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nHost: shop.example\r\n\r\n")
}

fn passed(case: &Case) -> Vec<Passed> {
    let only = |expect: &Expect| match expect {
        Expect::Passed(passed) => Some(passed.clone()),
        _ => None,
    };
    case.expect.iter().filter_map(only).collect()
}

/// What is wrong with the answers to these requests, which come first.
fn answered(bytes: &[u8], wanted: &[Passed]) -> Vec<String> {
    let mut reader = Reader::new(bytes);
    let mut wrong = Vec::new();
    for passed in wanted {
        let follows = if passed.method == "HEAD" { Follows::Nothing } else { Follows::OrUntilEnd };
        let mut next = || -> std::io::Result<Option<Message>> {
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

/// Servers say what they answer.
fn differs(answer: &Message, passed: &Passed) -> Option<String> {
    let said = answer.field("x-seen").unwrap_or_default();
    let wanted = format!("{} {}", passed.method, passed.target);
    let right = said == wanted || said == format!("{wanted} HTTP/1.1");
    (!right && !passed.odd).then(|| format!("{wanted} was answered by {answer:?}"))
}
