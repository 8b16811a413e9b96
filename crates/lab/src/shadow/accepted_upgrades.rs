//! Accepted differences of requests for an upgrade: a part of the reviewed table.

use super::difference_context::{DifferenceContext, client_field, sends, server_field};
use super::observation::{StepObservation, field_values};

pub fn upgrade(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let is_refused = seen.ours.server().is_none() && seen.ours.status == 501;
    let goes_on = seen.ours.status == 101 || is_refused;
    let refuses =
        |step: &StepObservation| step.server().is_none() && (400..500).contains(&step.status);
    let both_refuse = refuses(seen.theirs) && refuses(seen.ours);
    // What the original does not send to a server is refused for another reason.
    (sends(seen, "upgrade") && (goes_on && seen.theirs.server().is_some() || both_refuse))
        .then_some("upgrades go to the servers, or are refused where those speak HTTP/2")
}

pub fn unnamed_upgrade(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let fields = seen.request.http().map_or(&[][..], |http| http.fields.as_slice());
    let named = field_values(fields, "connection").join(",").to_ascii_lowercase();
    (sends(seen, "upgrade") && !named.contains("upgrade"))
        .then_some("an Upgrade that Connection does not name is none (RFC 9110 section 7.8)")
}

/// The scheme of a WebSocket is that of its HTTP.
pub fn socket_scheme(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let difference = seen.difference;
    let same = [["`wss`", "`https`"], ["`ws`", "`http`"]]
        .iter()
        .any(|pair| difference.theirs == pair[0] && difference.ours == pair[1]);
    (server_field(seen) == "x-forwarded-proto" && same && sends(seen, "upgrade"))
        .then_some("a WebSocket has the scheme of HTTP")
}

pub fn upgraded_fields(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let added = seen.difference.theirs == "none";
    (!client_field(seen).is_empty() && seen.ours.status == 101 && added)
        .then_some("fields of answers are written to those of upgrades too")
}

#[cfg(test)]
mod tests {
    use super::super::comparison::{DifferenceTopic, ShadowDifference};
    use super::super::hostile::field;
    use super::super::observation::{ExchangeEnd, SeenRequest};
    use super::super::request::{HttpRequest, ShadowPayload, ShadowRequest};
    use super::*;

    fn own(status: u16) -> StepObservation {
        let end = ExchangeEnd::Answered;
        StepObservation { end, status, ..StepObservation::default() }
    }

    fn served(status: u16) -> StepObservation {
        let request = SeenRequest {
            server: "10.0.0.1:80".parse().unwrap(),
            method: "GET".into(),
            target: "/".into(),
            fields: Vec::new(),
            body_bytes: 0,
            proxy_header: false,
            tls: false,
        };
        StepObservation { served: vec![request], ..own(status) }
    }

    #[test]
    fn upgrades_differ_only_if_the_original_sends_them_to_a_server() {
        let difference = ShadowDifference {
            step: 0,
            topic: DifferenceTopic::Status,
            theirs: String::new(),
            ours: String::new(),
        };
        for (theirs, ours, is_accepted) in [
            (&served(200), &served(101), true),
            (&served(101), &own(501), true),
            (&own(503), &served(101), false),
            (&own(404), &own(501), false),
            (&served(101), &own(502), false),
            (&own(404), &own(403), true),
            (&own(404), &own(503), false),
            (&served(200), &own(403), false),
        ] {
            let request = ShadowRequest {
                payload: ShadowPayload::Http(HttpRequest {
                    fields: vec![field("Upgrade", "websocket")],
                    ..HttpRequest::default()
                }),
                ..ShadowRequest::sample()
            };
            let seen = DifferenceContext::plain(&request, &difference, theirs, ours);
            assert_eq!(upgrade(seen).is_some(), is_accepted, "{theirs:?} {ours:?}");
        }
    }
}
