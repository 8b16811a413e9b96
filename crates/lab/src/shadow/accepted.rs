//! The reviewed table of differences that are right: each with its reason.
//!
//! Nothing in it lets a client through that the original refuses.

use super::comparison::{DifferenceTopic, ShadowDifference};
use super::hostile::is_ambiguous;
use super::observation::{ExchangeEnd, StepObservation};
use super::request::ShadowRequest;

/// A difference with what was seen around it.
#[derive(Clone, Copy, Debug)]
pub struct DifferenceContext<'a> {
    pub request: &'a ShadowRequest,
    pub difference: &'a ShadowDifference,
    pub theirs: &'a StepObservation,
    pub ours: &'a StepObservation,
}

/// Why a difference is right; `None`: it needs an explanation by a note.
pub fn accept(seen: DifferenceContext<'_>) -> Option<&'static str> {
    if opens_access(seen) {
        return None;
    }
    let refusals =
        [refused_reading, no_server, refused_otherwise, malformed, own_identity, compressed];
    refusals.iter().find_map(|reason| reason(seen))
}

/// Whether a client reaches a server that the original refuses it.
pub fn opens_access(seen: DifferenceContext<'_>) -> bool {
    is_refusal(seen.theirs) && seen.ours.server().is_some()
}

/// A refusal of the balancer's own: a status that refuses, or no answer at all.
fn is_refusal(step: &StepObservation) -> bool {
    let status = matches!(step.status, 400 | 401 | 403 | 405 | 407 | 421 | 429 | 451);
    step.server().is_none()
        && match step.end {
            ExchangeEnd::Answered => status,
            ExchangeEnd::Refused | ExchangeEnd::TlsFailed | ExchangeEnd::Closed => true,
            ExchangeEnd::TimedOut => false,
        }
}

fn is_status_or_pool(seen: DifferenceContext<'_>) -> bool {
    matches!(
        seen.difference.topic,
        DifferenceTopic::Status | DifferenceTopic::Pool | DifferenceTopic::Connection
    )
}

fn refused_reading(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let ambiguous = seen.request.http().is_some_and(|http| is_ambiguous(&http.target));
    (is_status_or_pool(seen) && ambiguous && is_refusal(seen.ours))
        .then_some("a path that servers may read in several ways is refused")
}

fn no_server(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let none = |step: &StepObservation| {
        step.server().is_none() && matches!(step.status, 500 | 502 | 503 | 504)
    };
    (is_status_or_pool(seen) && none(seen.theirs) && none(seen.ours))
        .then_some("no server: each program has its own status for it")
}

fn refused_otherwise(seen: DifferenceContext<'_>) -> Option<&'static str> {
    (is_status_or_pool(seen) && is_refusal(seen.theirs) && is_refusal(seen.ours))
        .then_some("both refuse, each in its own way")
}

fn malformed(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let host = seen.request.http().map_or("", |http| http.host.as_str());
    let odd = host.ends_with('.') || host.is_empty();
    (is_status_or_pool(seen) && odd && is_refusal(seen.ours))
        .then_some("a Host that is no name is refused")
}

/// Fields in which each balancer names itself.
fn own_identity(seen: DifferenceContext<'_>) -> Option<&'static str> {
    match &seen.difference.topic {
        DifferenceTopic::ClientField(name)
            if name == "proxy-status" || name == "x-request-id" =>
        {
            Some("the balancer names the cause of its own answers")
        }
        _ => None,
    }
}

fn compressed(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let encoded = |step: &StepObservation| !step.values("content-encoding").is_empty();
    match &seen.difference.topic {
        DifferenceTopic::ClientField(name) if name == "etag" => (encoded(seen.theirs)
            && encoded(seen.ours))
        .then_some("a compressed answer has a tag of its own"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::observation::ServedRequest;
    use super::super::request::{
        ClientCertificate, HttpRequest, ServerNameChoice, ShadowPayload,
    };
    use super::*;

    #[test]
    fn what_opens_access_is_never_accepted() {
        let request = |target: &str| ShadowRequest {
            service: "web".into(),
            to: "127.0.0.1:80".parse().unwrap(),
            from: None,
            name: ServerNameChoice::Plain,
            certificate: ClientCertificate::None,
            proxy_header: false,
            payload: ShadowPayload::Http(HttpRequest {
                target: target.into(),
                host: "a".into(),
                ..HttpRequest::default()
            }),
            purpose: String::new(),
        };
        let own = |status| StepObservation {
            end: ExchangeEnd::Answered,
            status,
            ..StepObservation::default()
        };
        let mut served = own(200);
        served.served.push(ServedRequest {
            server: "10.0.0.1:80".parse().unwrap(),
            method: "GET".into(),
            target: "/".into(),
            fields: Vec::new(),
            body_bytes: 0,
            proxy_header: false,
            tls: false,
        });
        let closed = StepObservation::ended(ExchangeEnd::Closed);
        let difference = ShadowDifference {
            step: 0,
            topic: DifferenceTopic::Status,
            theirs: String::new(),
            ours: String::new(),
        };
        for (target, theirs, ours, is_accepted) in [
            ("/a//b", &served, &own(400), true),
            ("/a/b", &served, &own(400), false),
            ("/a//b", &own(403), &served, false),
            ("/a", &own(403), &own(401), true),
            ("/a", &closed, &own(403), true),
            ("/a", &own(502), &own(503), true),
            ("/a", &own(404), &own(403), false),
        ] {
            let request = request(target);
            let seen = DifferenceContext { request: &request, difference: &difference, theirs, ours };
            assert_eq!(accept(seen).is_some(), is_accepted, "{target} {theirs:?} {ours:?}");
        }
    }
}
