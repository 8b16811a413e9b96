//! Accepted differences in the spelling of a host that let a client through to a server: a part of the reviewed table.

use super::difference_context::DifferenceContext;
use super::request::ServerNameChoice;
use super::usual_form::usual_host;

/// The original takes a host with a final dot for another one than the same name in TLS, and serves it without the dot.
pub fn misdirected_dot(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let host = seen.request.http().map_or("", |http| http.host.as_str());
    let is_same =
        |sni: &str| host.strip_suffix('.').is_some_and(|bare| bare.eq_ignore_ascii_case(sni));
    let agrees = matches!(&seen.request.name, ServerNameChoice::Named(sni) if is_same(sni));
    (seen.theirs.status == 421 && agrees && seen.is_let_through)
        .then_some("the final dot of a host makes no other name of it than that of TLS")
}

/// The original compares hosts letter by letter, and serves the same host in its usual spelling.
pub fn spelled_host(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let is_respelt = seen.request.http().is_some_and(|http| usual_host(&http.host) != http.host);
    let hides = seen.theirs.status == 404 && seen.theirs.server().is_none();
    (hides && is_respelt && seen.is_let_through)
        .then_some("a port, a final dot and capitals make no other host of a name")
}

#[cfg(test)]
mod tests {
    use super::super::comparison::{DifferenceTopic, ShadowDifference};
    use super::super::observation::StepObservation;
    use super::super::request::{HttpRequest, ShadowPayload, ShadowRequest};
    use super::*;

    #[test]
    fn another_spelling_of_a_host_is_served_only_if_the_usual_one_is() {
        for (host, sni, status, is_let_through, is_accepted) in [
            ("a.example.", "A.example", 421, true, true),
            ("a.example.", "a.example", 421, false, false),
            ("a.example.", "b.example", 421, true, false),
            ("a.example", "a.example", 421, true, false),
            ("a.example.", "a.example", 403, true, false),
            ("a.example:443", "a.example", 404, true, true),
            ("a.example:443", "a.example", 404, false, false),
            ("a.example", "a.example", 404, true, false),
        ] {
            let http = HttpRequest { host: host.into(), ..HttpRequest::default() };
            let request = ShadowRequest {
                to: "[::1]:443".parse().unwrap(),
                name: ServerNameChoice::Named(sni.into()),
                payload: ShadowPayload::Http(http),
                ..ShadowRequest::sample()
            };
            let difference = ShadowDifference {
                step: 0,
                topic: DifferenceTopic::Status,
                theirs: String::new(),
                ours: String::new(),
            };
            let own = |status| StepObservation { status, ..StepObservation::default() };
            let theirs = own(status);
            let ours = own(200);
            let seen = DifferenceContext {
                is_let_through,
                ..DifferenceContext::plain(&request, &difference, &theirs, &ours)
            };
            let found = misdirected_dot(seen).or_else(|| spelled_host(seen)).is_some();
            assert_eq!(found, is_accepted, "{host} {sni} {status}");
        }
    }
}
