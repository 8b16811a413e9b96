//! The table of all connections of a capture on the page: failed ones first, then those whose users waited longest.

use std::fmt::Write;

use super::axis;
use super::svg::escaped;
use crate::report::{ConnectionReport, DirectionReport, TraceReport};

/// Connections in the table: bounds the elements of the page.
const MAX_ROWS: usize = 500;

const COLUMNS: [&str; 13] = [
    "connection",
    "client",
    "server",
    "start",
    "waited",
    "handshake",
    "round trip",
    "bytes",
    "rate",
    "sent again",
    "closed windows",
    "resets",
    "first cause",
];

const QUIC_COLUMNS: [&str; 10] = [
    "connection",
    "client",
    "server",
    "start",
    "handshake",
    "of the server",
    "of the client",
    "round trip",
    "bytes",
    "failure",
];

/// Writes the table; numbers of drawn connections lead to their drawings.
pub fn write_connections(page: &mut String, report: &TraceReport, drawn: &[u32]) {
    let all = rank_connections(report);
    page.push_str("<h2>Connections</h2>\n");
    if all.len() > 1 {
        page.push_str("<p><input class=\"filter\" type=\"search\" placeholder=\"filter: address, port, cause\"> <small>a click on a column sorts, on a number draws</small></p>\n");
    }
    page.push_str("<table><thead><tr>");
    for name in COLUMNS {
        // Writing to a `String` cannot fail, here and below.
        let _ = write!(page, "<th>{name}</th>");
    }
    page.push_str("</tr></thead><tbody>\n");
    for connection in all.iter().take(MAX_ROWS) {
        write_row(page, connection, drawn.contains(&connection.number));
    }
    page.push_str("</tbody></table>\n");
    let hidden = report.connections_total - all.len().min(MAX_ROWS);
    if hidden > 0 {
        let _ = writeln!(page, "<p class=\"quiet\">{hidden} more are not shown.</p>");
    }
}

/// Failed ones first, then those whose users waited longest.
pub fn rank_connections(report: &TraceReport) -> Vec<&ConnectionReport> {
    let mut all: Vec<&ConnectionReport> = report.connections.iter().collect();
    all.sort_by(|a, b| {
        let is_well = |one: &ConnectionReport| one.verdict.failures.is_empty();
        let waited = b.verdict.total_seconds.total_cmp(&a.verdict.total_seconds);
        is_well(a).cmp(&is_well(b)).then(waited)
    });
    all
}

/// Connections of QUIC, if there are any.
pub fn write_quic(page: &mut String, report: &TraceReport) {
    let all = &report.quic.connections;
    if all.is_empty() {
        return;
    }
    page.push_str("<h2>Connections of QUIC</h2>\n<table><thead><tr>");
    for name in QUIC_COLUMNS {
        let _ = write!(page, "<th>{name}</th>");
    }
    page.push_str("</tr></thead><tbody>\n");
    let seconds = |value: Option<f64>| value.map_or(String::new(), axis::format_seconds);
    for one in all.iter().take(MAX_ROWS) {
        let _ = write!(page, "<tr><td data-value=\"{0}\">{0}</td>", one.number);
        for end in [&one.client, &one.server] {
            let _ = write!(page, "<td>{} port {}</td>", escaped(&end.address), end.port);
        }
        let times = [
            Some(one.start_seconds),
            one.handshake_seconds,
            one.handshake_server_seconds,
            one.handshake_client_seconds,
            one.rtt_s,
        ];
        for time in times {
            let value = time.unwrap_or(0.0);
            let _ = write!(page, "<td data-value=\"{value}\">{}</td>", seconds(time));
        }
        let bytes = (one.client.bytes + one.server.bytes) as f64;
        let _ = write!(page, "<td data-value=\"{bytes}\">{}</td>", axis::format_bytes(bytes));
        let failure = one.failure.map_or("", |code| code.name());
        let _ = writeln!(page, "<td>{failure}</td></tr>");
    }
    page.push_str("</tbody></table>\n");
    let hidden = all.len().saturating_sub(MAX_ROWS);
    if hidden > 0 {
        let _ = writeln!(page, "<p class=\"quiet\">{hidden} more are not shown.</p>");
    }
}

fn write_row(page: &mut String, of: &ConnectionReport, is_drawn: bool) {
    let sum = |count: fn(&DirectionReport) -> u64| count(&of.client.sent) + count(&of.server.sent);
    let number = |page: &mut String, value: f64, text: &str| {
        let _ = write!(page, "<td data-value=\"{value}\">{text}</td>");
    };
    page.push_str("<tr>");
    let name = if is_drawn {
        format!("<a href=\"#connection-{0}\">{0}</a>", of.number)
    } else {
        of.number.to_string()
    };
    number(page, f64::from(of.number), &name);
    for end in [&of.client, &of.server] {
        let _ = write!(page, "<td>{} port {}</td>", escaped(&end.address), end.port);
    }
    let handshake = of.handshake_server_seconds.zip(of.handshake_client_seconds);
    let handshake = handshake.map(|(server, client)| server + client);
    for time in [Some(of.start_seconds), Some(of.verdict.total_seconds), handshake, of.rtt_s] {
        let text = time.map_or("-".to_owned(), axis::format_seconds);
        number(page, time.unwrap_or(-1.0), &text);
    }
    let bytes = sum(|sent| sent.unique_bytes) as f64;
    number(page, bytes, &axis::format_bytes(bytes));
    let rate = if of.seconds > 0.0 { bytes * 8.0 / of.seconds } else { 0.0 };
    number(page, rate, &format!("{}bit/s", axis::format_bytes(rate)));
    for count in [
        sum(|sent| sent.retransmitted_packets),
        sum(|sent| sent.zero_windows),
        sum(|sent| sent.resets),
    ] {
        number(page, count as f64, &count.to_string());
    }
    let cause = of.verdict.first_cause.as_ref();
    let cause =
        cause.map_or(String::new(), |first| format!("{} · {}", first.code, first.owner.name()));
    let _ = writeln!(page, "<td>{}</td></tr>", escaped(&cause));
}
