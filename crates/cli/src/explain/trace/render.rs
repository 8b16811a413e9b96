//! Reports on one screen: totals, time attribution, the most significant bottlenecks, the slowest transactions.

use trace::compare::{CaptureComparison, SecondsPair};
use trace::join::JoinedReport;
use trace::report::{
    BottleneckFinding, ConnectionReport, FailureFinding, TimeDiagnosis, TimeOwners, TraceReport,
    TransactionReport,
};

use super::connections::{render_connections, render_quic};
use crate::show::paint::{Colour, Paint};
use crate::show::paragraph::wrapped;
use crate::show::plain::plain;
use crate::show::table::{TextTable, left, right};
use crate::show::unit::count;

/// Transactions in the table.
const SLOWEST: usize = 8;

pub fn render_report(report: &TraceReport, width: usize, paint: Paint) -> String {
    let mut out = render_head(report, paint);
    for failure in &report.verdict.failures {
        out.push_str(&render_failure(failure, report, width, paint));
    }
    let verdict = &report.verdict;
    if report.transactions_total > 0 {
        out.push_str(&render_owner_bars(&verdict.owners, verdict.total_seconds, width, paint));
        out.push('\n');
    }
    out.push_str(&render_findings(&report.verdict, report, width, paint));
    out.push_str(&render_slowest(report, width, paint));
    out.push_str(&render_connections(report, width, paint));
    out.push_str(&render_quic(report, width, paint));
    out
}

fn render_head(report: &TraceReport, paint: Paint) -> String {
    let capture = &report.capture;
    let of_quic = match capture.quic_datagrams {
        0 => String::new(),
        datagrams => format!(" and {} of QUIC", count(datagrams)),
    };
    let mut out = format!(
        "{}\n{} packets, {} of TCP{}, in {}; {} connections, {} transactions; users waited {}\n",
        paint.text(Colour::Strong, &plain(&report.files.join(", "))),
        count(capture.frames),
        count(capture.tcp_packets),
        of_quic,
        span(capture.seconds),
        count(report.connections_total as u64),
        count(report.transactions_total),
        span(report.verdict.total_seconds),
    );
    out.push_str(&render_notes(report));
    if let Some(damage) = &capture.damage {
        let text = plain(&format!("Damaged: {damage}. What came before was analysed."));
        out.push_str(&format!("{}\n", paint.text(Colour::Bad, &text)));
    }
    out.push('\n');
    out
}

/// What else is to be known about the capture, a line each.
fn render_notes(report: &TraceReport) -> String {
    let capture = &report.capture;
    let counted = [
        (capture.duplicates, "packets are in the capture twice, and counted once"),
        (capture.drops, "packets were lost by the capturing program"),
        (capture.broken, "packets are cut or broken before the end of TCP's header"),
        (capture.fragments, "later fragments were passed over"),
        (capture.beyond_limit, "packets are of connections beyond the limit, and only counted"),
        (capture.one_way_connections, "connections were captured in one direction only"),
    ];
    let mut out = String::new();
    for (number, text) in counted.into_iter().filter(|(number, _)| *number > 0) {
        out.push_str(&format!("{} {text}\n", count(number)));
    }
    if !capture.unread.is_empty() {
        out.push_str(&format!("not TCP, or not read: {}\n", plain(&capture.describe_unread())));
    }
    if capture.missing_pieces > 0 {
        out.push_str(&format!(
            "{} bytes in {} places passed, by their acknowledgements, and are not in the capture\n",
            count(capture.missing_bytes.max(0).cast_unsigned()),
            count(capture.missing_pieces),
        ));
    }
    let pauses = report.verdict.pause_seconds;
    if pauses > report.verdict.total_seconds / 10.0 {
        out.push_str(&format!(
            "clients paused for {} between requests (CLIENT_THINK), which is no part of the wait\n",
            span(pauses)
        ));
    }
    out
}

/// A bar for each owner.
fn render_owner_bars(owners: &TimeOwners, total: f64, width: usize, paint: Paint) -> String {
    // 36 columns are for the label and the figures. Beyond 60 a longer bar shows nothing more.
    let room = width.saturating_sub(36).clamp(10, 60);
    let all = [
        ("client", owners.client, Colour::Good),
        ("network", owners.network, Colour::Doubt),
        ("server", owners.server, Colour::Bad),
        ("balancer", owners.balancer, Colour::Quiet),
        ("unknown", owners.unknown, Colour::Quiet),
    ];
    let mut out = String::new();
    for (name, seconds, colour) in all {
        if seconds <= 0.0 && ["balancer", "unknown"].contains(&name) {
            continue;
        }
        let share = if total > 0.0 { seconds / total } else { 0.0 };
        let bar = "#".repeat((share * room as f64).round() as usize);
        let bar = paint.text(colour, &format!("{bar:room$}"));
        out.push_str(&format!("{name:9} {bar} {:>5.1} %  {}\n", share * 100.0, span(seconds)));
    }
    out
}

fn render_findings(
    verdict: &TimeDiagnosis,
    report: &TraceReport,
    width: usize,
    paint: Paint,
) -> String {
    let Some(first) = &verdict.most_significant else {
        return describe_no_finding(report);
    };
    let mut out = String::new();
    let names = ["Most significant", "Next"];
    for (at, finding) in std::iter::once(first).chain(&verdict.next).enumerate() {
        let name = names.get(at).copied().unwrap_or("After it");
        out.push_str(&render_finding(name, finding, report, width, paint));
    }
    out
}

/// What to say where no time stands out.
fn describe_no_finding(report: &TraceReport) -> String {
    let verdict = &report.verdict;
    let hidden = verdict.owners.unknown > 0.0;
    let text = match report.transactions_total {
        _ if !verdict.failures.is_empty() => return String::new(),
        0 if report.connections_total == 0 && !report.quic.connections.is_empty() => {
            "No connection of TCP was captured, and of QUIC only handshakes can be judged: none failed."
                .to_owned()
        }
        0 if report.connections_total == 0 => {
            "Nothing to judge: the capture has no connection.".to_owned()
        }
        0 => format!(
            "No request was captured on {} connections, and none of them failed.",
            count(report.connections_total as u64)
        ),
        _ if hidden && !verdict.healthy => format!(
            "Whose {} that was cannot be told: its packets are not in the capture.",
            span(verdict.owners.unknown)
        ),
        _ if !verdict.healthy && report.capture.one_way_connections > 0 => {
            "Nothing can be judged: of the connections only one direction is in the capture."
                .to_owned()
        }
        _ => "Nothing stands out: no part of this is worth changing.".to_owned(),
    };
    format!("{text}\n")
}

fn render_failure(
    failure: &FailureFinding,
    report: &TraceReport,
    width: usize,
    paint: Paint,
) -> String {
    let title = format!("Failed: {} ({})", failure.code.title(), failure.code.name());
    let owner = failure.owner.name();
    let mut text = format!("{}, cause: {owner}\n", paint.text(Colour::Bad, &title));
    let evidence = &failure.evidence;
    let mut sentence = failure.sentence.clone();
    let of_quic = failure.code.is_quic();
    let all = if of_quic { report.quic.connections.len() } else { report.connections_total };
    let name = if of_quic { "QUIC connection" } else { "connection" };
    if all > 1 {
        sentence.push_str(&format!(
            " First seen in {name} {}, packets {} to {}.",
            evidence.connection, evidence.from_packet, evidence.to_packet
        ));
    }
    text.push_str(&wrapped(&sentence, width));
    text.push_str(&wrapped(&format!("=> {}.", failure.check), width));
    text.push('\n');
    text
}

fn render_finding(
    name: &str,
    finding: &BottleneckFinding,
    report: &TraceReport,
    width: usize,
    paint: Paint,
) -> String {
    let title = format!("{name}: {} ({})", finding.code.title(), finding.code.code());
    let owner = format!("{}'s time", finding.owner.name());
    let mut text = format!("{}, {owner}\n", paint.text(Colour::Strong, &title));
    let mut sentence = plain(&finding.sentence);
    if report.connections_total > 1 {
        sentence.push_str(&format!(" Best seen in connection {}.", finding.evidence.connection));
    }
    let parts = [Some(sentence), finding.hint.clone(), finding.alternative.clone()];
    for part in parts.into_iter().flatten() {
        text.push_str(&wrapped(&part, width));
    }
    text.push_str(&wrapped(&format!("=> {}", finding.fix), width));
    text
}

fn render_slowest(report: &TraceReport, width: usize, paint: Paint) -> String {
    let all = report.connections.iter();
    let of = |connection| move |transaction| (connection, transaction);
    let mut all: Vec<(&ConnectionReport, &TransactionReport)> = all
        .flat_map(|connection: &ConnectionReport| {
            connection.transactions.iter().map(of(connection))
        })
        .collect();
    all.sort_by(|a, b| b.1.total_seconds.total_cmp(&a.1.total_seconds));
    let mut table = TextTable::new(&[
        right("CONNECTION"),
        right("START"),
        right("TOTAL"),
        right("REQUEST"),
        right("SERVER"),
        right("RESPONSE"),
        right("LATENCY"),
        left("WHAT"),
    ]);
    for (connection, transaction) in all.iter().take(SLOWEST) {
        let response = transaction.response.as_ref().map_or(0.0, |phase| phase.seconds);
        table.row(vec![
            connection.number.to_string().into(),
            span(transaction.start_seconds).into(),
            span(transaction.total_seconds).into(),
            span(transaction.request.seconds).into(),
            span(transaction.server_seconds).into(),
            span(response).into(),
            span(transaction.latency_seconds + transaction.setup_seconds).into(),
            describe_transaction(connection, transaction).into(),
        ]);
    }
    let text = table.render(width, paint);
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn describe_transaction(connection: &ConnectionReport, transaction: &TransactionReport) -> String {
    let title = transaction.title.as_deref().unwrap_or(match transaction.kind {
        "tls-handshake" => "TLS handshake",
        _ => connection.protocol,
    });
    let status = transaction.status.map_or_else(String::new, |status| format!(" -> {status}"));
    format!("{title}{status}")
}

pub fn render_comparison(comparison: &CaptureComparison, width: usize, paint: Paint) -> String {
    let mut table = TextTable::new(&[
        left("PER TRANSACTION"),
        right("FAST"),
        right("SLOW"),
        right("MORE"),
        left("WHY"),
    ]);
    let mut row = |name: String, pair: &SecondsPair, why: &str| {
        let cells = [span(pair.fast), span(pair.slow), span(pair.more)];
        let mut all = vec![name.into()];
        all.extend(cells.map(Into::into));
        all.push(why.to_owned().into());
        table.row(all);
    };
    row("total".to_owned(), &comparison.total, "");
    for (name, pair) in comparison.location.iter().chain(&comparison.owners) {
        row((*name).to_owned(), pair, "");
    }
    for cause in &comparison.causes {
        row(format!("{} {}", cause.phase, cause.code.code()), &cause.seconds, &cause.sentence);
    }
    table.render(width, paint)
}

pub fn render_joined(joined: &JoinedReport, width: usize, paint: Paint) -> String {
    if joined.transactions.is_empty() {
        let why = "no transaction in front has one behind: no other server is asked the same while it is under way";
        return format!("{} transactions, and {why}\n", joined.unmatched);
    }
    let mut out = format!(
        "{} transactions joined, {} in front without one behind; users waited {}\n\n",
        joined.transactions.len(),
        joined.unmatched,
        span(joined.total_seconds)
    );
    out.push_str(&render_owner_bars(&joined.owners, joined.total_seconds, width, paint));
    let mut table = TextTable::new(&[
        right("START"),
        right("TOTAL"),
        right("CLIENT"),
        right("NETWORK"),
        right("BALANCER"),
        right("SERVER"),
        left("WHAT"),
    ]);
    for transaction in joined.transactions.iter().take(SLOWEST) {
        let owners = &transaction.owners;
        let title = transaction.title.clone().unwrap_or_else(|| "exchange".to_owned());
        let seconds = [
            transaction.start_seconds,
            transaction.total_seconds,
            owners.client,
            owners.network,
            owners.balancer,
            owners.server,
        ];
        let mut cells: Vec<_> = seconds.map(|seconds| span(seconds).into()).into();
        cells.push(title.into());
        table.row(cells);
    }
    let text = table.render(width, paint);
    format!("{out}{}{text}", if text.is_empty() { "" } else { "\n" })
}

fn span(seconds: f64) -> String {
    trace::sentence::format_span((seconds * 1e9) as i64)
}
