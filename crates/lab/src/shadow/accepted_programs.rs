//! Accepted differences that are habits of single programs, such as Apache's and Caddy's: a part of the reviewed table.
//!
//! Each looks at what was seen and never at the program's name, so that a habit that ends is seen.

use std::net::{IpAddr, SocketAddr};

use super::accepted_upgrades::{socket_scheme, upgraded_fields};
use super::comparison::DifferenceTopic;
use super::difference_context::{
    AcceptedRow, DifferenceContext, client_field, sends, server_field,
};
use super::observation::{StepObservation, field_values};
use super::request::ORDER;

/// Rows about who answers, and with what status.
pub const ROUTING_HABITS: [AcceptedRow; 5] =
    [part_of_answer, avoided_after_failure, failed_server, refused_call, dotted_name];
/// Rows about fields.
pub const FIELD_HABITS: [AcceptedRow; 13] = [
    idle_vary,
    reached_port,
    socket_scheme,
    added_value,
    client_port,
    answer_of_host,
    loopback_client,
    asks_compressed,
    replaced_forwarded,
    joined_cookies,
    default_port,
    upgraded_fields,
    bodyless_type,
];

fn part_of_answer(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let whole = seen.ours.status == 200 && seen.ours.server().is_some();
    (seen.theirs.status == 206 && whole && sends(seen, "range"))
        .then_some("a part of an answer is the server's to choose")
}

/// A server that has just closed without an answer is left alone by the original, which answers by itself.
fn avoided_after_failure(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let drops = seen.request.http().is_some_and(|http| {
        http.fields.iter().any(|field| field.name == ORDER && field.value == "drop")
    });
    let both_failed = seen.theirs.status == 502 && seen.ours.status == 502;
    let alone = seen.difference.topic == DifferenceTopic::Pool && seen.theirs.server().is_none();
    (drops && both_failed && alone)
        .then_some("servers that closed without an answer are asked again by the next request")
}

/// Both have asked a server that failed.
fn failed_server(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let failed = |step: &StepObservation| {
        step.server().is_some() && !step.is_of_server() && matches!(step.status, 502..=504)
    };
    (seen.difference.topic == DifferenceTopic::Status && failed(seen.theirs) && failed(seen.ours))
        .then_some("each program has its own status for a server that fails")
}

/// Refusals of gRPC are answers whose trailers say so.
fn refused_call(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let says_so = seen.theirs.status == 200 && !seen.theirs.values("grpc-status").is_empty();
    let own = seen.theirs.server().is_none() && seen.ours.server().is_none();
    (says_so && own && seen.ours.status >= 400)
        .then_some("refusals of gRPC have the status of HTTP")
}

/// Where the file refuses names with underscores, other characters are refused too.
fn dotted_name(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let fields = seen.request.http().map_or(&[][..], |http| http.fields.as_slice());
    let dotted = fields.iter().any(|field| field.name.contains('.'));
    (dotted && seen.ours.status == 400 && seen.ours.server().is_none())
        .then_some("a name of a field with other characters than letters, digits and - is refused")
}

/// A client on the loopback is named by an address of the machine.
fn loopback_client(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let chain = |written: &str| {
        let mut chain: Vec<String> =
            written.trim_matches('`').split(',').map(|one| one.trim().to_owned()).collect();
        let last = chain.pop().and_then(|last| last.parse::<IpAddr>().ok());
        last.map(|last| ForwardedChain { before: chain, last })
    };
    let theirs = chain(&seen.difference.theirs);
    let ours = chain(&seen.difference.ours);
    let is_same_client = theirs.zip(ours).is_some_and(|chains| {
        chains.0.before == chains.1.before
            && !chains.0.last.is_loopback()
            && chains.1.last.is_loopback()
    });
    let on_loopback = seen.request.from.is_none_or(|from| from.is_loopback());
    (server_field(seen) == "x-forwarded-for" && is_same_client && on_loopback)
        .then_some("a client on the loopback is named by its own address")
}

/// The addresses of an X-Forwarded-For, and the last one of them.
struct ForwardedChain {
    before: Vec<String>,
    last: IpAddr,
}

fn asks_compressed(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let asked = seen.difference.theirs == "`gzip`" && seen.difference.ours == "none";
    (server_field(seen) == "accept-encoding" && asked && !sends(seen, "accept-encoding"))
        .then_some("servers are asked for compressed answers only where clients ask for them")
}

/// The original appends to a field of the client's, which servers may believe. X-Forwarded-For can be appended to.
fn replaced_forwarded(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let name = server_field(seen);
    let theirs = seen.difference.theirs.trim_matches('`');
    let ours = seen.difference.ours.trim_matches('`');
    let appended = theirs.strip_suffix(ours).is_some_and(|before| before.ends_with(", "));
    let is_replaced = name.starts_with("x-forwarded-") && name != "x-forwarded-for";
    (is_replaced && sends(seen, name) && appended)
        .then_some("what a client says in a forwarding field is replaced")
}

fn joined_cookies(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let joined = seen.difference.theirs.replace(", ", "; ") == seen.difference.ours;
    (server_field(seen) == "cookie" && joined)
        .then_some("cookies of several fields are joined by semicolons (RFC 9113 section 8.2.3)")
}

fn default_port(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let port = if seen.ours.server().is_some_and(|one| one.tls) { ":443`" } else { ":80`" };
    let bare = seen.difference.theirs.strip_suffix(port);
    (server_field(seen) == "host"
        && bare.is_some_and(|bare| format!("{bare}`") == seen.difference.ours))
    .then_some("the usual port of a scheme is not written (RFC 9110 section 4.2.3)")
}

fn bodyless_type(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let bodyless = matches!(seen.ours.status, 204 | 304);
    let field = matches!(client_field(seen), "content-type" | "etag");
    (field && bodyless && seen.difference.theirs == "none")
        .then_some("fields of an answer without a body pass as the server wrote them")
}

/// What is added to a server's own field stands before or behind it.
fn added_value(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let sorted = |written: &str| {
        let mut values: Vec<String> =
            written.trim_matches('`').split(',').map(|one| one.trim().to_owned()).collect();
        values.sort_unstable();
        values
    };
    let [theirs, ours] = [&seen.difference.theirs, &seen.difference.ours].map(|one| sorted(one));
    let several = theirs.len() > 1 && theirs == ours;
    (!client_field(seen).is_empty() && seen.theirs.is_of_server() && several)
        .then_some("what is added to a field of an answer stands behind the server's own")
}

/// An answer that is compressed for nobody.
fn idle_vary(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let own = seen.theirs.server().is_none() && seen.ours.server().is_none();
    let bodyless = seen.ours.body.is_empty() || matches!(seen.ours.status, 204 | 304);
    let added = seen.difference.theirs.eq_ignore_ascii_case("`accept-encoding`");
    (client_field(seen) == "vary" && added && seen.difference.ours == "none" && (own || bodyless))
        .then_some("answers that are never compressed do not vary")
}

/// The port that the client reached, and not the one that its Host names. Neither side passes on what the client says.
fn reached_port(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let reached = seen.difference.ours == format!("`{}`", seen.request.to.port());
    let fields = seen.request.http().map_or(&[][..], |http| http.fields.as_slice());
    let theirs = seen.difference.theirs.trim_matches('`');
    let is_passed = field_values(fields, "x-forwarded-port").contains(&theirs);
    (server_field(seen) == "x-forwarded-port" && reached && !is_passed)
        .then_some("X-Forwarded-Port is the port that the client has reached")
}

/// Each connection of a client has another port. A file for Caddy may join an address of IPv6 and a port without brackets:
/// only for the client's own address are these two.
fn client_port(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let client = seen.request.from.unwrap_or(seen.request.to.ip());
    let address = |written: &str| {
        let end = written.trim_matches('`');
        let bare = || {
            let port = end.strip_prefix(&client.to_string())?.strip_prefix(':')?;
            Some(SocketAddr::new(client, port.parse().ok()?))
        };
        end.parse::<SocketAddr>().ok().or_else(bare)
    };
    let theirs = address(&seen.difference.theirs);
    let same = theirs.zip(address(&seen.difference.ours));
    (!server_field(seen).is_empty() && same.is_some_and(|pair| pair.0.ip() == pair.1.ip()))
        .then_some("each connection of a client has a port of its own")
}

/// An answer of the balancer itself for a host that only a final dot, a port or letter case tells from a known one.
fn answer_of_host(seen: DifferenceContext<'_>) -> Option<&'static str> {
    let own = seen.theirs.server().is_none() && seen.ours.server().is_none();
    let host = seen.request.http().map_or("", |http| http.host.as_str());
    let topic = matches!(
        seen.difference.topic,
        DifferenceTopic::ClientField(_) | DifferenceTopic::Body | DifferenceTopic::Location
    );
    (own && topic && (host.ends_with('.') || host.contains(':')))
        .then_some("hosts are compared without case, port and final dot")
}

#[cfg(test)]
mod tests {
    use super::super::comparison::ShadowDifference;
    use super::super::hostile::field;
    use super::super::observation::{SeenField, SeenRequest, StepObservation};
    use super::super::request::{HttpRequest, ShadowPayload, ShadowRequest};
    use super::*;

    fn step(status: u16) -> StepObservation {
        let served = SeenRequest {
            server: "10.0.0.1:443".parse().unwrap(),
            method: "GET".into(),
            target: "/".into(),
            fields: Vec::new(),
            body_bytes: 0,
            proxy_header: false,
            tls: true,
        };
        StepObservation { status, served: vec![served], ..StepObservation::default() }
    }

    fn request() -> ShadowRequest {
        ShadowRequest {
            to: "[::1]:80".parse().unwrap(),
            payload: ShadowPayload::Http(HttpRequest::default()),
            ..ShadowRequest::sample()
        }
    }

    /// Whether a habit accepts that a topic differs, in answers with these statuses to a request with these fields.
    fn accepts(difference: ShadowDifference, statuses: [u16; 2], fields: Vec<SeenField>) -> bool {
        let payload = ShadowPayload::Http(HttpRequest { fields, ..HttpRequest::default() });
        let request = ShadowRequest { payload, ..request() };
        let steps = statuses.map(step);
        let seen = DifferenceContext::plain(&request, &difference, &steps[0], &steps[1]);
        let mut rows = ROUTING_HABITS.iter().chain(&FIELD_HABITS);
        rows.any(|row| row(seen).is_some())
    }

    fn check(
        topic: DifferenceTopic,
        values: [&str; 2],
        statuses: [u16; 2],
        fields: Vec<SeenField>,
        is_accepted: bool,
    ) {
        let described = format!("{topic:?} {values:?}");
        let [theirs, ours] = values.map(str::to_owned);
        let difference = ShadowDifference { step: 0, topic, theirs, ours };
        assert_eq!(accepts(difference, statuses, fields), is_accepted, "{described}");
    }

    #[test]
    fn each_habit_is_accepted_alone_where_it_is_seen() {
        let at_server = |name: &str| DifferenceTopic::ServerField(name.into());
        let at_client = |name: &str| DifferenceTopic::ClientField(name.into());
        let none: Vec<SeenField> = Vec::new();
        for (topic, theirs, ours, statuses, fields, is_accepted) in [
            (DifferenceTopic::Status, "206", "200", [206, 200], vec![field("Range", "x")], true),
            (DifferenceTopic::Status, "206", "200", [206, 200], none.clone(), false),
            (DifferenceTopic::Status, "503", "502", [503, 502], none.clone(), true),
            (DifferenceTopic::Status, "503", "200", [503, 200], none.clone(), false),
            (DifferenceTopic::Pool, "x", "a", [502; 2], vec![field(ORDER, "drop")], false),
            (at_server("accept-encoding"), "`gzip`", "none", [200; 2], none.clone(), true),
            (at_server("accept-encoding"), "none", "`gzip`", [200; 2], none.clone(), false),
            (at_server("cookie"), "`a=1, b=2`", "`a=1; b=2`", [200; 2], none.clone(), true),
            (at_server("cookie"), "`a=1`", "`a=1; b=2`", [200; 2], none.clone(), false),
            (at_server("host"), "`a:443`", "`a`", [200; 2], none.clone(), true),
            (at_server("host"), "`a:80`", "`a`", [200; 2], none.clone(), false),
            (at_client("x-a"), "none", "`1`", [101; 2], none.clone(), true),
            (at_client("x-a"), "`1`", "none", [101; 2], none.clone(), false),
            (at_client("content-type"), "none", "`text/html`", [304; 2], none.clone(), true),
            (at_client("content-type"), "none", "`text/html`", [200; 2], none.clone(), false),
            (at_client("x-a"), "`1, 2`", "`1`", [200; 2], none.clone(), false),
            (at_server("x-a"), "`10.0.0.7:1`", "`10.0.0.7:2`", [200; 2], none.clone(), true),
            (at_server("x-a"), "`10.0.0.7:1`", "`10.0.0.8:1`", [200; 2], none.clone(), false),
            (at_server("x-a"), "`[::1]:4307`", "`[::1]:5400`", [200; 2], none.clone(), true),
            (at_server("x-a"), "`::1:4307`", "`::1:5400`", [200; 2], none.clone(), true),
            (at_server("x-a"), "`::8:4307`", "`::8:5400`", [200; 2], none.clone(), false),
            (at_server("x-a"), "`::1`", "`::2`", [200; 2], none.clone(), false),
        ] {
            check(topic, [theirs, ours], statuses, fields, is_accepted);
        }
    }

    #[test]
    fn forwarding_fields_differ_only_by_what_a_client_says_of_itself() {
        let at_server = |name: &str| DifferenceTopic::ServerField(name.into());
        let none: Vec<SeenField> = Vec::new();
        for (topic, theirs, ours, statuses, fields, is_accepted) in [
            (
                at_server("x-forwarded-for"),
                "`10.0.0.7`",
                "`127.0.0.1`",
                [200; 2],
                none.clone(),
                true,
            ),
            (
                at_server("x-forwarded-for"),
                "`127.0.0.1`",
                "`10.0.0.7`",
                [200; 2],
                none.clone(),
                false,
            ),
            (
                at_server("x-forwarded-port"),
                "`81`",
                "`80`",
                [200; 2],
                vec![field("X-Forwarded-Port", "1")],
                true,
            ),
            (
                at_server("x-forwarded-port"),
                "`1`",
                "`80`",
                [200; 2],
                vec![field("X-Forwarded-Port", "1")],
                false,
            ),
            (
                at_server("x-forwarded-host"),
                "`e, h`",
                "`h`",
                [200; 2],
                vec![field("X-Forwarded-Host", "e")],
                true,
            ),
            (at_server("x-forwarded-host"), "`e, h`", "`h`", [200; 2], none.clone(), false),
            (
                at_server("x-forwarded-for"),
                "`e, h`",
                "`h`",
                [200; 2],
                vec![field("X-Forwarded-For", "e")],
                false,
            ),
            (
                at_server("x-forwarded-host"),
                "`h`",
                "`e, h`",
                [200; 2],
                vec![field("X-Forwarded-Host", "e")],
                false,
            ),
        ] {
            check(topic, [theirs, ours], statuses, fields, is_accepted);
        }
    }
}
