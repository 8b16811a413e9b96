//! Finds the note of the conversion that explains a difference.
//!
//! A field is explained by a note that names it. Anything else is explained by what was left out in the blocks of the
//! request's own rule, service and pool. What opens access is never explained.

use convert::notes::{ConversionNote, NoteKind};

use super::accepted::opens_access;
use super::comparison::DifferenceTopic;
use super::difference_context::DifferenceContext;
use super::observation::ExchangeEnd;
use super::pattern_sample::sample_hosts;
use super::source_route::RouteLines;

/// Beginnings of directives that change neither the server nor the status of a request, so that they explain neither.
const SILENT: [&str; 37] = [
    "forwardedHeaders",
    "trustedIPs",
    "log",
    "option",
    "error_log",
    "access_log",
    "user",
    "group",
    "daemon",
    "chroot",
    "pid",
    "worker",
    "events",
    "stats socket",
    "nbthread",
    "lua-load",
    "errorfile",
    "error_page",
    "timeout",
    "ssl",
    "crt-base",
    "client_max_body_size",
    "client_body",
    "proxy_cache",
    "proxy_buffer",
    "auth_basic_user_file",
    "compression",
    "gzip",
    "keepalive",
    "hash-type",
    "hash-balance-factor",
    "listen",
    "bind",
    "sendfile",
    "expires",
    "resolver",
    "stick-table",
];

/// Words of the note about routers that Traefik may ask in either order.
const EQUAL_PRIORITY: &str = "the same priority";

/// The note that explains a difference. `route` holds the source lines behind the request.
pub fn find_note<'n>(
    seen: DifferenceContext<'_>,
    notes: &'n [ConversionNote],
    route: &RouteLines,
) -> Option<&'n ConversionNote> {
    if opens_access(seen) {
        return None;
    }
    let relevant =
        |note: &&ConversionNote| matches!(note.kind, NoteKind::LeftOut | NoteKind::Changed);
    let mut near: Vec<&ConversionNote> =
        notes.iter().filter(relevant).filter(|note| route.contains_key(&note.line)).collect();
    near.sort_by_key(|note| (route.get(&note.line), note.kind));
    let named_near = |words: &[&str]| {
        let names = |note: &&ConversionNote| words.iter().any(|word| mentions(note, word));
        near.iter().copied().find(|note| names(note))
    };
    let named = |words: &[&str]| {
        let names = |note: &&ConversionNote| words.iter().any(|word| mentions(note, word));
        named_near(words).or_else(|| notes.iter().filter(relevant).find(names))
    };
    match &seen.difference.topic {
        // A cache asks servers for whole answers.
        DifferenceTopic::ServerField(name) if name == "range" || name == "if-none-match" => {
            named(&[name, "proxy_cache"])
        }
        DifferenceTopic::ServerField(name) => named(&[name]),
        DifferenceTopic::ClientField(name) => {
            let words: &[&str] = match name.as_str() {
                "set-cookie" => &["cookie"],
                "content-encoding" => &["content-encoding", "compress"],
                // HAProxy's `cookie … nocache` sets it.
                "cache-control" => &["cache-control", "nocache"],
                name => &[name],
            };
            // The fields of a balancer's own answer belong to what it answers with.
            let own = !seen.theirs.is_of_server();
            named(words).or_else(|| routing_note(&near).filter(|_| own))
        }
        // A redirect elsewhere in the file says nothing of this one.
        DifferenceTopic::Location => named_near(&["redirect", "location", "return", "rewrite"]),
        DifferenceTopic::Connection if ended_by_tls(seen) => {
            named(&["ssl", "tls", "verify", "crt", "bind", "listen"])
        }
        DifferenceTopic::Protocol => named(&["alpn", "http2", "protocols", "h2"]),
        DifferenceTopic::Status
        | DifferenceTopic::Pool
        | DifferenceTopic::Connection
        | DifferenceTopic::Body => {
            let tie = || named_near(&[EQUAL_PRIORITY]);
            routing_note(&near).or_else(tie).or_else(|| host_note(seen, notes))
        }
        DifferenceTopic::ServerRequest => {
            named(&["send-proxy", "proxy_protocol", "spoken to", "proxy_cache"])
                .or_else(|| routing_note(&near))
                .or_else(|| named_near(&[EQUAL_PRIORITY]))
        }
    }
}

/// The nearest note that can explain another server, status or body.
fn routing_note<'n>(near: &[&'n ConversionNote]) -> Option<&'n ConversionNote> {
    let routes = |note: &&&ConversionNote| {
        note.kind == NoteKind::LeftOut
            && !SILENT.iter().any(|silent| note.directive.starts_with(silent))
    };
    near.iter().find(routes).copied()
}

/// What was left out of the names of another server, whose host this request has.
fn host_note<'n>(
    seen: DifferenceContext<'_>,
    notes: &'n [ConversionNote],
) -> Option<&'n ConversionNote> {
    let host = seen.request.http().map_or("", |http| http.host.as_str());
    let names = |note: &&ConversionNote| {
        let words = note.directive.split_whitespace();
        note.kind == NoteKind::LeftOut
            && note.directive.starts_with("server_name")
            && words.flat_map(sample_hosts).any(|sample| sample == host)
    };
    notes.iter().find(names)
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
    use super::super::request::{HttpRequest, ShadowPayload, ShadowRequest};
    use super::super::source_route::RouteNearness;
    use super::*;

    #[test]
    fn a_note_explains_a_difference_of_its_own_block_or_field_alone() {
        let text = "listen web\n mode http\n bind 127.0.0.1:80\n filter trace\n http-request set-header X-Trace %[uuid()]\n server a 10.0.0.1:80\n";
        let converted = convert(text, "haproxy.cfg", Dialect::Haproxy);
        let request = ShadowRequest {
            payload: ShadowPayload::Http(HttpRequest::default()),
            ..ShadowRequest::sample()
        };
        let own = |status| StepObservation {
            status,
            end: ExchangeEnd::Answered,
            ..StepObservation::default()
        };
        let line = |topic, route: &[u32]| {
            let difference =
                ShadowDifference { step: 0, topic, theirs: String::new(), ours: String::new() };
            let theirs = own(200);
            let ours = own(404);
            let seen = DifferenceContext::plain(&request, &difference, &theirs, &ours);
            let route = route.iter().map(|line| (*line, RouteNearness::Block)).collect();
            find_note(seen, &converted.notes, &route).map(|note| note.line)
        };
        assert_eq!(line(DifferenceTopic::Status, &[1, 2, 3, 4]), Some(4));
        assert_eq!(line(DifferenceTopic::Status, &[1, 2, 3]), None);
        assert_eq!(line(DifferenceTopic::ServerField("x-trace".into()), &[]), Some(5));
        assert_eq!(line(DifferenceTopic::ServerField("x-other".into()), &[1, 2, 3, 4, 5]), None);
    }
}
