//! Connections of a capture as tables: the failed ones first, then those whose users waited longest; those of QUIC by
//! their handshakes.

use trace::report::{
    ConnectionReport, DirectionReport, EndReport, QuicConnectionReport, QuicEndReport, TraceReport,
};
use trace::sentence::format_span;

use crate::show::paint::Paint;
use crate::show::table::{TextTable, left, right};
use crate::show::unit::count;

/// Connections in the table.
const SHOWN: usize = 8;

pub fn render_connections(report: &TraceReport, width: usize, paint: Paint) -> String {
    let mut all: Vec<&ConnectionReport> = report.connections.iter().collect();
    all.sort_by(|a, b| {
        let failed = |one: &ConnectionReport| one.verdict.failures.is_empty();
        let waited = b.verdict.total_seconds.total_cmp(&a.verdict.total_seconds);
        failed(a).cmp(&failed(b)).then(waited)
    });
    let mut table = TextTable::new(&[
        right("CONNECTION"),
        left("CLIENT"),
        left("SERVER"),
        right("HANDSHAKE"),
        right("ROUND TRIP"),
        right("BYTES"),
        right("MBIT/S"),
        right("AGAIN"),
        right("CLOSED"),
        right("RESETS"),
        left("CAUSE"),
    ]);
    for one in all.into_iter().take(SHOWN) {
        let sent = [&one.client.sent, &one.server.sent];
        let sum = |of: fn(&DirectionReport) -> u64| {
            let number: u64 = sent.iter().map(|sent| of(sent)).sum();
            count(number)
        };
        let handshake =
            one.handshake_server_seconds.zip(one.handshake_client_seconds).map(|(a, b)| a + b);
        let bytes: u64 = sent.iter().map(|sent| sent.unique_bytes).sum();
        let rate = if one.seconds > 0.0 { bytes as f64 * 8.0 / one.seconds / 1e6 } else { 0.0 };
        let cause = one.verdict.first_cause.as_ref();
        let cause =
            cause.map_or(String::new(), |first| format!("{} {}", first.owner.name(), first.code));
        let seconds = |value: Option<f64>| {
            value.map_or("-".to_owned(), |seconds| format_span((seconds * 1e9) as i64))
        };
        table.row(vec![
            one.number.to_string().into(),
            describe_end(&one.client).into(),
            describe_end(&one.server).into(),
            seconds(handshake).into(),
            seconds(one.rtt_s).into(),
            count(bytes).into(),
            format!("{rate:.1}").into(),
            sum(|sent| sent.retransmitted_packets).into(),
            sum(|sent| sent.zero_windows).into(),
            sum(|sent| sent.resets).into(),
            cause.into(),
        ]);
    }
    let text = table.render(width, paint);
    if text.is_empty() { text } else { format!("\n{text}") }
}

/// Connections of QUIC: failed ones first, then those with the longest handshakes.
pub fn render_quic(report: &TraceReport, width: usize, paint: Paint) -> String {
    let mut all: Vec<&QuicConnectionReport> = report.quic.connections.iter().collect();
    all.sort_by(|a, b| {
        let is_well = |one: &QuicConnectionReport| one.failure.is_none();
        let handshake = |one: &QuicConnectionReport| one.handshake_seconds.unwrap_or(0.0);
        is_well(a).cmp(&is_well(b)).then(handshake(b).total_cmp(&handshake(a)))
    });
    let mut table = TextTable::new(&[
        right("QUIC"),
        left("CLIENT"),
        left("SERVER"),
        right("HANDSHAKE"),
        right("OF SERVER"),
        right("OF CLIENT"),
        right("ROUND TRIP"),
        right("BYTES"),
        left("FAILURE"),
    ]);
    let seconds = |value: Option<f64>| {
        value.map_or("-".to_owned(), |seconds| format_span((seconds * 1e9) as i64))
    };
    for one in all.into_iter().take(SHOWN) {
        let end = |end: &QuicEndReport| socket_text(&end.address, end.port);
        table.row(vec![
            one.number.to_string().into(),
            end(&one.client).into(),
            end(&one.server).into(),
            seconds(one.handshake_seconds).into(),
            seconds(one.handshake_server_seconds).into(),
            seconds(one.handshake_client_seconds).into(),
            seconds(one.rtt_s).into(),
            count(one.client.bytes + one.server.bytes).into(),
            one.failure.map_or(String::new(), |code| code.name().to_owned()).into(),
        ]);
    }
    let text = table.render(width, paint);
    if text.is_empty() { text } else { format!("\n{text}") }
}

fn describe_end(end: &EndReport) -> String {
    socket_text(&end.address, end.port)
}

fn socket_text(address: &str, port: u16) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}
