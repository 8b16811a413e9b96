//! Finds the note of the conversion that explains a difference.
//!
//! A field is explained by a note that names it. Anything else is explained by what was left out in the blocks of the
//! request's own rule, service and pool. What opens access is never explained.

use std::collections::BTreeSet;

use convert::notes::{ConversionNote, NoteKind};

use super::accepted::{DifferenceContext, opens_access};
use super::comparison::DifferenceTopic;
use super::observation::ExchangeEnd;

/// Directives that change no answer, so that they explain none.
const SILENT: [&str; 16] = [
    "log",
    "option httplog",
    "option tcplog",
    "option dontlog",
    "log_format",
    "access_log",
    "error_log",
    "user",
    "group",
    "daemon",
    "chroot",
    "pid",
    "worker",
    "events",
    "stats socket",
    "nbthread",
];

/// The note that explains a difference. `route` holds the source lines behind the request.
pub fn find_note<'n>(
    seen: DifferenceContext<'_>,
    notes: &'n [ConversionNote],
    route: &BTreeSet<u32>,
) -> Option<&'n ConversionNote> {
    if opens_access(seen) {
        return None;
    }
    let told = |note: &&ConversionNote| {
        matches!(note.kind, NoteKind::LeftOut | NoteKind::Changed)
            && !SILENT.iter().any(|silent| note.directive.starts_with(silent))
    };
    let on_route = |note: &&ConversionNote| note.line == 0 || route.contains(&note.line);
    let notes = || notes.iter().filter(told);
    let topic = &seen.difference.topic;
    match topic {
        DifferenceTopic::ServerField(name) | DifferenceTopic::ClientField(name) => {
            let word = if name == "set-cookie" { "cookie" } else { name };
            let names = |note: &&ConversionNote| mentions(note, word);
            notes().filter(on_route).find(names).or_else(|| notes().find(names))
        }
        DifferenceTopic::Location => notes().filter(on_route).find(|note| {
            ["redirect", "location", "return", "rewrite"].iter().any(|word| mentions(note, word))
        }),
        DifferenceTopic::Connection if ended_by_tls(seen) => notes().find(|note| {
            ["ssl", "tls", "verify", "crt", "bind", "listen"].iter().any(|word| mentions(note, word))
        }),
        DifferenceTopic::Status
        | DifferenceTopic::Pool
        | DifferenceTopic::Connection
        | DifferenceTopic::ServerRequest
        | DifferenceTopic::Body => {
            notes().filter(on_route).find(|note| note.kind == NoteKind::LeftOut)
        }
    }
}

fn ended_by_tls(seen: DifferenceContext<'_>) -> bool {
    seen.theirs.end == ExchangeEnd::TlsFailed || seen.ours.end == ExchangeEnd::TlsFailed
}

fn mentions(note: &ConversionNote, word: &str) -> bool {
    let texts = [&note.directive, &note.reason, &note.after, &note.instead];
    texts.iter().any(|text| text.to_ascii_lowercase().contains(word))
}

#[cfg(test)]
mod tests {
    use convert::dialect::Dialect;
    use convert::run::convert;

    use super::super::comparison::ShadowDifference;
    use super::super::observation::StepObservation;
    use super::super::request::{
        ClientCertificate, HttpRequest, ServerNameChoice, ShadowPayload, ShadowRequest,
    };
    use super::*;

    #[test]
    fn a_note_explains_a_difference_of_its_own_block_or_field_alone() {
        let text = "listen web\n bind 127.0.0.1:80\n filter trace\n http-request set-header X-Trace %[uuid()]\n server a 10.0.0.1:80\n";
        let converted = convert(text, "haproxy.cfg", Dialect::Haproxy);
        let request = ShadowRequest {
            service: "web".into(),
            to: "127.0.0.1:80".parse().unwrap(),
            from: None,
            name: ServerNameChoice::Plain,
            certificate: ClientCertificate::None,
            proxy_header: false,
            payload: ShadowPayload::Http(HttpRequest::default()),
            purpose: String::new(),
        };
        let own = |status| StepObservation { status, end: ExchangeEnd::Answered, ..StepObservation::default() };
        let line = |topic, route: &[u32]| {
            let difference = ShadowDifference { step: 0, topic, theirs: String::new(), ours: String::new() };
            let (theirs, ours) = (own(200), own(404));
            let seen = DifferenceContext { request: &request, difference: &difference, theirs: &theirs, ours: &ours };
            find_note(seen, &converted.notes, &route.iter().copied().collect()).map(|note| note.line)
        };
        assert_eq!(line(DifferenceTopic::Status, &[1, 2, 3]), Some(3));
        assert_eq!(line(DifferenceTopic::Status, &[1, 2]), None);
        assert_eq!(line(DifferenceTopic::ServerField("x-trace".into()), &[]), Some(4));
        assert_eq!(line(DifferenceTopic::ServerField("x-other".into()), &[1, 2, 3, 4]), None);
    }
}
