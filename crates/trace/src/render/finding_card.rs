//! Failures and findings on the page: the bar of owners, then each with its packets and a link to it.

use std::fmt::Write;

use super::axis;
use super::svg::escaped;
use crate::report::{BottleneckFinding, FailureFinding, TimeDiagnosis};

/// Writes who owns the time, the failures and the findings: of a connection, or of the whole capture.
pub fn write_verdict(page: &mut String, verdict: &TimeDiagnosis, connection: Option<u32>) {
    let owners = &verdict.owners;
    let all = [
        ("client", owners.client),
        ("network", owners.network),
        ("server", owners.server),
        ("balancer", owners.balancer),
        ("unknown", owners.unknown),
    ];
    page.push_str("<div class=\"bar\">");
    for (name, seconds) in all.iter().filter(|(_, seconds)| *seconds > 0.0) {
        let share = seconds / verdict.total_seconds.max(1e-12) * 100.0;
        // Writing to a `String` cannot fail, here and below.
        let _ = write!(
            page,
            "<span class=\"{name}\" data-share=\"{share:.2}\" title=\"{name} {share:.1} %\">{name} {share:.0} %</span>"
        );
    }
    let total = axis::format_seconds(verdict.total_seconds);
    let whose = connection.map_or("all connections together", |_| "this connection");
    let _ = writeln!(page, "</div>\n<p>Users waited {total} on {whose}.</p>");
    if verdict.most_significant.is_none() && verdict.failures.is_empty() {
        page.push_str(if verdict.healthy {
            "<p>Nothing stands out: no part of this is worth changing.</p>\n"
        } else {
            "<p>Nothing can be judged: what would show it is not in the capture.</p>\n"
        });
    }
    for failure in &verdict.failures {
        write_failure(page, failure, connection);
    }
    let findings = verdict.most_significant.iter().chain(&verdict.next);
    for (rank, finding) in findings.enumerate() {
        write_finding(page, rank, finding, connection);
    }
}

fn write_failure(page: &mut String, failure: &FailureFinding, connection: Option<u32>) {
    let id = anchor(failure.code.name(), connection);
    let _ = writeln!(
        page,
        "<div class=\"failure\" id=\"{0}\"><b>Failed: {1}</b> <small>{2} · cause: {3}</small><p>{4}</p><p>{5}.</p>{6}</div>",
        id,
        failure.code.title(),
        failure.code.name(),
        failure.owner.name(),
        escaped(&failure.sentence),
        escaped(&failure.check),
        evidence_links(&id, &failure.evidence.filter, failure.evidence.connection, connection),
    );
}

fn write_finding(
    page: &mut String,
    rank: usize,
    finding: &BottleneckFinding,
    connection: Option<u32>,
) {
    let name = match rank {
        0 => "Most significant",
        1 => "Next",
        _ => "After it",
    };
    let id = anchor(&format!("{}-{}", finding.code.code(), finding.phase), connection);
    let more = [finding.hint.as_deref(), finding.alternative.as_deref()];
    let more: String =
        more.iter().flatten().map(|text| format!("<p>{}</p>", escaped(text))).collect();
    let _ = writeln!(
        page,
        "<div class=\"finding {}\" id=\"{id}\" data-rank=\"{rank}\" data-start=\"{}\" data-length=\"{}\"><b>{name}: {}</b> <small>{} · {}'s time</small><p>{}</p>{more}<p>{}</p>{}</div>",
        finding.owner.name(),
        finding.evidence.start_seconds,
        finding.evidence.longest_seconds,
        finding.code.title(),
        finding.code.code(),
        finding.owner.name(),
        escaped(&finding.sentence),
        escaped(&finding.fix),
        evidence_links(&id, &finding.evidence.filter, finding.evidence.connection, connection),
    );
}

/// The place of a finding in the page.
fn anchor(name: &str, connection: Option<u32>) -> String {
    connection.map_or_else(|| name.to_owned(), |number| format!("c{number}-{name}"))
}

/// The filter for Wireshark, a link to this place of the page that can be passed on, and one to the connection that shows
/// it best.
fn evidence_links(id: &str, filter: &str, shown: u32, connection: Option<u32>) -> String {
    let best = match connection {
        Some(_) => String::new(),
        None => format!(" · <a href=\"#connection-{shown}\">connection {shown}</a>"),
    };
    format!(
        "<p><small>Wireshark: <code>{}</code> · <a href=\"#{id}\">link to this</a>{best}</small></p>",
        escaped(filter)
    )
}
