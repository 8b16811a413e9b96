//! The reviewed table of differences that are right: each with its reason.
//!
//! Nothing in it lets a client reach a server that the original refuses, but for the null byte, which is no access
//! control, and for a path or a host that the original lets through in its usual spelling.

use std::collections::BTreeSet;

use super::accepted_defaults::DEFAULTS;
use super::accepted_hosts::{misdirected_dot, spelled_host};
use super::accepted_programs::{FIELD_HABITS, ROUTING_HABITS};
use super::accepted_upgrades::{unnamed_upgrade, upgrade};
use super::comparison::DifferenceTopic;
use super::difference_context::{
    AcceptedRow, DifferenceContext, client_field, sends, server_field,
};
use super::failing_servers::meets_dead_servers;
use super::hostile::{is_ambiguous, is_encoded_needlessly};
use super::observation::{ExchangeEnd, StepObservation, field_values};
use super::request::{RequestBody, ServerNameChoice};
use super::usual_form::usual_host;

/// The reason of differences by limits. A note comes before it, since what is refused always is no limit.
pub const LIMITED: &str = "which request exceeds a limit depends on the time";

/// Rows about who answers, and with what status.
const ROUTING: [AcceptedRow; 13] = [
    refused_reading,
    line_feed,
    decoded_path,
    host_form,
    no_server,
    refused_otherwise,
    forged_name,
    named_in_connection,
    upgrade,
    unnamed_upgrade,
    lost_answer,
    served_file,
    limited,
];
/// Rows about fields and bodies.
const FIELDS: [AcceptedRow; 10] = [
    own_fields,
    edited_reading,
    certificate_fields,
    forwarded,
    vary,
    compressed,
    empty_body,
    final_dot,
    passed_host,
    passed_path,
];

/// Why a difference is right; `None`: it needs an explanation by a note.
pub fn accept(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let spellings = [null_byte, usual_spelling, misdirected_dot, spelled_host];
    let spelled = spellings.iter().find_map(|row| row(seen));
    if spelled.is_some() || opens_access(seen) {
        return spelled;
    }
    let [rows, habits]: [&[AcceptedRow]; 2] = match seen.difference.topic {
        DifferenceTopic::Status | DifferenceTopic::Pool | DifferenceTopic::Connection => {
            [&ROUTING, &ROUTING_HABITS]
        }
        _ => [&FIELDS, &FIELD_HABITS],
    };
    rows.iter().chain(habits).chain(&DEFAULTS).find_map(|reason| reason(seen))
}

/// Whether a client reaches a server that the original refuses it. A connection that ends while servers are dead is no
/// refusal: the same request is sent while they live, too.
pub fn opens_access(seen: DifferenceContext<'_>) -> bool {
    if seen.theirs.end == ExchangeEnd::Closed && meets_dead_servers(seen.request) {
        return false;
    }
    let refuses = is_refusal(seen.theirs) || hides(seen.theirs);
    refuses && seen.ours.server_address().is_some()
}

/// An answer of the balancer's own that there is nothing, which hides what servers have.
fn hides(step: &StepObservation) -> bool {
    step.server().is_none() && matches!(step.status, 404 | 410)
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

/// An answer of the balancer's own with a status of at least this.
fn is_own_error(step: &StepObservation, least: u16) -> bool {
    step.server().is_none() && step.status >= least
}

fn target<'a>(seen: DifferenceContext<'a>) -> &'a str {
    seen.request.http().map_or("", |http| http.target.as_str())
}

fn null_byte(seen: DifferenceContext<'_>) -> Option<&'static str> {
    (target(seen).contains("%00") && seen.theirs.status == 400)
        .then_some("nginx refuses %00 in every path; here it passes to rules and servers")
}

/// The original compares paths letter by letter, and lets the same path through in its usual spelling.
fn usual_spelling(seen: DifferenceContext<'_>) -> Option<&'static str> {
    (seen.is_let_through && is_encoded_needlessly(target(seen)) && !is_ambiguous(target(seen)))
        .then_some("a letter that is written as %XX is that letter (RFC 3986 section 6.2.2.2)")
}

fn refused_reading(seen: DifferenceContext<'_>) -> Option<&'static str> {
    (is_respelt(seen) && (is_refusal(seen.ours) || is_own_error(seen.ours, 400)))
        .then_some("a path that servers may read in several ways is refused")
}

/// Expressions on paths read a line feed otherwise in each program.
fn line_feed(seen: DifferenceContext<'_>) -> Option<&'static str> {
    (target(seen).to_ascii_uppercase().contains("%0A") && is_refusal(seen.ours))
        .then_some("a path with a line feed is refused where expressions may read it otherwise")
}

fn decoded_path(seen: DifferenceContext<'_>) -> Option<&'static str> {
    (is_respelt(seen) && seen.is_of_form).then_some("paths are compared as servers read them")
}

/// The path is not in its usual form.
fn is_respelt(seen: DifferenceContext<'_>) -> bool {
    is_encoded_needlessly(target(seen)) || is_ambiguous(target(seen))
}

fn host_form(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let sni = match &seen.request.name {
        ServerNameChoice::Named(name) => name != &name.to_ascii_lowercase(),
        _ => false,
    };
    (sni || has_host_form(seen) && seen.is_of_form)
        .then_some("hosts are compared without case, port and final dot")
}

/// The host is not in its usual form.
fn has_host_form(seen: DifferenceContext<'_>) -> bool {
    seen.request.http().is_some_and(|http| usual_host(&http.host) != http.host)
}

fn no_server(seen: DifferenceContext<'_>) -> Option<&'static str> {
    (is_own_error(seen.theirs, 500) && is_own_error(seen.ours, 400))
        .then_some("neither asks a server; each program has its own status for it")
}

fn refused_otherwise(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let refuses = is_refusal(seen.ours) || is_own_error(seen.ours, 400);
    (is_refusal(seen.theirs) && refuses).then_some("both refuse, each in its own way")
}

fn forged_name(seen: DifferenceContext<'_>) -> Option<&'static str> {
    (sends(seen, "X_Forwarded_For") && seen.ours.status == 400)
        .then_some("a name that servers may take for a forwarding field is refused")
}

fn named_in_connection(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let fields = seen.request.http().map_or(&[][..], |http| http.fields.as_slice());
    let names = field_values(fields, "connection").join(",").to_ascii_lowercase();
    (names.contains("x-forwarded-for") && seen.ours.status == 400)
        .then_some("a Connection that names a forwarding field is refused")
}

/// A file of the machine, or what a file says of methods, where a web server has nothing else to say.
fn served_file(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let theirs = seen.theirs;
    let serves = |value: &&str| value.starts_with("nginx") || value.starts_with("Apache");
    let web = theirs.values("server").iter().any(serves);
    let methods = theirs.status == 405 || !theirs.values("allow").is_empty();
    (web && (methods || !theirs.values("last-modified").is_empty())
        && theirs.server().is_none()
        && seen.ours.server().is_none())
    .then_some("files of the machine are not served")
}

/// The original closes while it is still sent a body, so that its answer may be lost.
fn lost_answer(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let sends_body = seen.request.http().is_some_and(|http| http.body != RequestBody::None);
    let closed = seen.theirs.end == ExchangeEnd::Closed;
    (sends_body && closed && is_own_error(seen.ours, 300))
        .then_some("an answer before the end of a body may be lost with its connection")
}

fn limited(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let exceeds =
        |step: &StepObservation| is_own_error(step, 429) && matches!(step.status, 429 | 503);
    (seen.has_limits && (exceeds(seen.theirs) || exceeds(seen.ours))).then_some(LIMITED)
}

fn own_fields(seen: DifferenceContext<'_>) -> Option<&'static str> {
    (client_field(seen).starts_with("x-steelyard-") && !seen.theirs.is_of_server())
        .then_some("the balancer names the cause of its own answers")
}

fn certificate_fields(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let name = server_field(seen);
    let own = seen.difference.theirs == "none" || sends(seen, name);
    (name.starts_with("x-client-cert-") && own)
        .then_some("fields about certificates of clients are the balancer's own")
}

/// What the client itself sends under that name is never accepted.
fn edited_reading(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let name = server_field(seen);
    (!name.is_empty() && !sends(seen, name) && is_respelt(seen))
        .then_some("a field is changed where one reading of the path fits")
}

fn forwarded(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let fields = seen.request.http().map_or(&[][..], |http| http.fields.as_slice());
    let sent = field_values(fields, "forwarded");
    let gone = !sent.is_empty() && !sent.iter().any(|one| seen.difference.ours.contains(one));
    (server_field(seen) == "forwarded" && gone)
        .then_some("a client's own Forwarded does not reach servers")
}

fn vary(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let names = |step: &StepObservation| {
        let values = step.values("vary").join(",").to_ascii_lowercase();
        let names = values.split(',').map(|name| name.trim().to_owned());
        names.filter(|name| !name.is_empty()).collect::<BTreeSet<String>>()
    };
    let mut ours = names(seen.ours);
    let told = ours.remove("accept-encoding");
    let mut theirs = names(seen.theirs);
    theirs.remove("accept-encoding");
    (client_field(seen) == "vary" && told && ours == theirs)
        .then_some("answers that may be compressed say so")
}

fn compressed(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let encoded = |step: &StepObservation| !step.values("content-encoding").is_empty();
    (client_field(seen) == "etag" && encoded(seen.theirs) && encoded(seen.ours))
        .then_some("a compressed answer has a tag of its own")
}

fn final_dot(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let host = seen.request.http().map_or("", |http| http.host.as_str());
    (seen.difference.topic == DifferenceTopic::Location && host.ends_with('.'))
        .then_some("the final dot of a host stays")
}

fn passed_host(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let difference = seen.difference;
    let name = |written: &str| {
        let host = written.trim_matches('`').to_ascii_lowercase();
        let bare = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
        bare.map_or(host.as_str(), |(bare, _)| bare).trim_end_matches('.').to_owned()
    };
    let is_same = name(&difference.theirs) == name(&difference.ours);
    (server_field(seen) == "host" && is_same && has_host_form(seen))
        .then_some("the Host reaches servers as it came")
}

fn passed_path(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let path =
        matches!(seen.difference.topic, DifferenceTopic::ServerRequest | DifferenceTopic::Location);
    (path && is_respelt(seen)).then_some("paths are passed on as they came")
}

fn empty_body(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let empty = |step: &StepObservation| step.server().is_none() && step.body.is_empty();
    (client_field(seen) == "content-type" && empty(seen.theirs) && empty(seen.ours))
        .then_some("an answer without a body needs no type")
}

#[cfg(test)]
mod tests {
    use super::super::comparison::ShadowDifference;
    use super::super::hostile::field;
    use super::super::observation::{SeenField, SeenRequest};
    use super::super::request::{HttpRequest, ShadowPayload, ShadowRequest};
    use super::*;

    fn request(target: &str, fields: Vec<SeenField>) -> ShadowRequest {
        ShadowRequest {
            payload: ShadowPayload::Http(HttpRequest {
                target: target.into(),
                host: "a".into(),
                fields,
                ..HttpRequest::default()
            }),
            ..ShadowRequest::sample()
        }
    }

    #[test]
    fn a_field_differs_by_readings_alone_and_never_by_what_clients_send() {
        let step = StepObservation::default();
        let difference = ShadowDifference {
            step: 0,
            topic: DifferenceTopic::ServerField("x-role".into()),
            theirs: String::new(),
            ours: "a".into(),
        };
        let forged = vec![field("X-Role", "a")];
        for (target, fields, is_accepted) in [
            ("//a", Vec::new(), true),
            ("/%61", Vec::new(), true),
            ("/a", Vec::new(), false),
            ("//a", forged, false),
        ] {
            let request = request(target, fields);
            let seen = DifferenceContext::plain(&request, &difference, &step, &step);
            assert_eq!(accept(seen).is_some(), is_accepted, "{target}");
        }
    }

    #[test]
    fn what_opens_access_is_never_accepted() {
        let own = |status| StepObservation {
            end: ExchangeEnd::Answered,
            status,
            ..StepObservation::default()
        };
        let mut served = own(200);
        served.served.push(SeenRequest {
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
            ("/%61", &served, &own(403), true),
            ("/%61", &own(403), &served, false),
            ("/a%00", &own(400), &served, true),
            ("/a%00", &own(403), &served, false),
            ("/a%0Ab", &own(404), &own(403), true),
            ("/a%0ab", &served, &own(403), true),
            ("/a%0Ab", &own(403), &served, false),
        ] {
            let request = request(target, Vec::new());
            let seen = DifferenceContext::plain(&request, &difference, theirs, ours);
            assert_eq!(accept(seen).is_some(), is_accepted, "{target} {theirs:?} {ours:?}");
        }
    }
}
