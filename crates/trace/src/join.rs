//! Joins captures of both sides of a balancer. The server's time in the client's view is divided into the balancer's,
//! that of the path behind it, and the server's.
//!
//! Both captures must share a clock, as those of the balancer's own interfaces do. One capture may have both sides. A
//! client-side request is joined with the nearest server-side request that begins during it, goes to another server,
//! and has the same first line.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::report::number::rounded;
use crate::report::{ConnectionReport, TimeOwners, TraceReport, TransactionReport};

#[derive(Clone, Debug, Serialize)]
pub struct JoinedReport {
    /// Always `steelyard.trace-joined/1`; changes with the shape.
    pub schema: &'static str,
    /// Files of the client's side.
    pub front: Vec<String>,
    /// Files of the servers' side.
    pub back: Vec<String>,
    /// Transactions in front without one behind: answered by the balancer, or not captured.
    pub unmatched: usize,
    /// Seconds of all joined transactions.
    pub total_seconds: f64,
    pub owners: TimeOwners,
    /// Each joined transaction, the slowest first.
    pub transactions: Vec<JoinedTransaction>,
}

/// A transaction through the balancer.
#[derive(Clone, Debug, Serialize)]
pub struct JoinedTransaction {
    /// Method and target, for HTTP.
    pub title: Option<String>,
    pub status: Option<u16>,
    /// When its first packet passed in front.
    pub start_seconds: f64,
    pub total_seconds: f64,
    pub owners: TimeOwners,
    /// Number of the connection in front.
    pub front_connection: u32,
    /// Number of the connection behind.
    pub back_connection: u32,
    /// From the request's reaching the balancer to its first byte's leaving for the server.
    pub before_server_seconds: f64,
    /// From the server's first byte to the first byte's leaving for the client.
    pub after_server_seconds: f64,
}

/// Transactions in the report at most, so that it stays readable.
const MAX_REPORTED: usize = 1_000;

struct BackExchange<'a> {
    start: f64,
    connection: &'a ConnectionReport,
    transaction: &'a TransactionReport,
    matched: bool,
}

/// Joins two reports. Both may be the same one, of a capture with both sides.
pub fn join_reports(front: &TraceReport, back: &TraceReport) -> JoinedReport {
    let shift = back.capture.start_epoch_seconds - front.capture.start_epoch_seconds;
    let mut behind: Vec<BackExchange<'_>> = exchanges(back)
        .map(|(connection, transaction)| BackExchange {
            start: transaction.start_seconds + shift,
            connection,
            transaction,
            matched: false,
        })
        .collect();
    behind.sort_by(|a, b| a.start.total_cmp(&b.start));
    let mut front_exchanges: Vec<_> = exchanges(front).collect();
    front_exchanges.sort_by(|(_, a), (_, b)| a.start_seconds.total_cmp(&b.start_seconds));
    let mut transactions = Vec::new();
    let mut alone = Vec::new();
    // In one capture a request behind is also a request in front: it begins later, so it is known by then.
    let same = std::ptr::eq(front, back);
    let mut used: BTreeSet<(u32, u64)> = BTreeSet::new();
    let key = |connection: &ConnectionReport, transaction: &TransactionReport| {
        (connection.number, transaction.start_seconds.to_bits())
    };
    for (connection, transaction) in front_exchanges {
        if same && used.contains(&key(connection, transaction)) {
            continue;
        }
        match find_partner(connection, transaction, &mut behind) {
            Some(found) => {
                used.insert(key(found.connection, found.transaction));
                transactions.push(join_transaction(connection, transaction, found));
            }
            None => alone.push(connection.number),
        }
    }
    let is_behind = |number: &u32| same && used.iter().any(|(behind, _)| behind == number);
    let unmatched = alone.iter().filter(|number| !is_behind(number)).count();
    transactions.sort_by(|a, b| b.total_seconds.total_cmp(&a.total_seconds));
    let sum = |get: fn(&JoinedTransaction) -> f64| transactions.iter().map(get).sum::<f64>();
    let owners = TimeOwners {
        client: sum(|t| t.owners.client),
        network: sum(|t| t.owners.network),
        server: sum(|t| t.owners.server),
        balancer: sum(|t| t.owners.balancer),
        unknown: sum(|t| t.owners.unknown),
    };
    let total_seconds = sum(|t| t.total_seconds);
    transactions.truncate(MAX_REPORTED);
    JoinedReport {
        schema: "steelyard.trace-joined/1",
        front: front.files.clone(),
        back: back.files.clone(),
        unmatched,
        total_seconds,
        owners,
        transactions,
    }
}

fn exchanges(
    report: &TraceReport,
) -> impl Iterator<Item = (&ConnectionReport, &TransactionReport)> {
    let all = report.connections.iter();
    let of = |connection| move |transaction| (connection, transaction);
    all.flat_map(move |connection| connection.transactions.iter().map(of(connection)))
        .filter(|(_, transaction)| transaction.kind == "exchange" && transaction.response.is_some())
}

fn find_partner<'a, 'b>(
    connection: &ConnectionReport,
    front: &TransactionReport,
    behind: &'b mut [BackExchange<'a>],
) -> Option<&'b BackExchange<'a>> {
    let until = front.start_seconds + front.total_seconds;
    let first = behind.partition_point(|one| one.start < front.start_seconds);
    let server_end = |of: &ConnectionReport| (of.server.address.clone(), of.server.port);
    let here = server_end(connection);
    let fits = |one: &&mut BackExchange<'_>| {
        let same_words = one.transaction.title == front.title || front.title.is_none();
        !one.matched && same_words && server_end(one.connection) != here
    };
    let within = behind[first..].iter_mut().take_while(|one| one.start <= until);
    let found = within.into_iter().find(fits)?;
    found.matched = true;
    Some(found)
}

fn join_transaction(
    connection: &ConnectionReport,
    front: &TransactionReport,
    back: &BackExchange<'_>,
) -> JoinedTransaction {
    let behind = back.transaction;
    let near = connection.rtt_server_s.unwrap_or(0.0);
    let answer = |of: &TransactionReport, start: f64| {
        start + of.request.seconds + of.queue_seconds + of.server_seconds
    };
    let arrived = front.start_seconds + front.request.seconds;
    let first_out = answer(front, front.start_seconds) + near;
    let first_in = answer(behind, back.start) + behind.latency_seconds;
    let before = (back.start - arrived).clamp(0.0, front.server_seconds);
    let held = front.server_seconds - before;
    let after = (first_out - first_in).clamp(0.0, held);
    // Between: the time behind the balancer until its first response byte.
    let between = held - after;
    let known = behind.request.seconds + behind.server_seconds + behind.latency_seconds;
    let scale = if known > 0.0 { between / known } else { 0.0 };
    let server = behind.server_seconds * scale;
    let network = between - server;
    // While the balancer had nothing to send, the server had not delivered its data yet.
    let starved: f64 = front
        .response
        .iter()
        .flat_map(|phase| &phase.causes)
        .map(|cause| {
            let is = cause.code == model::limit::Limit::AppSender;
            if is { cause.seconds } else { 0.0 }
        })
        .sum();
    let late = behind.response.as_ref().map_or(0.0, |phase| phase.seconds).min(starved);
    let of_server = (front.owners.server - front.server_seconds - late).max(0.0);
    let owners = TimeOwners {
        client: front.owners.client,
        network: front.owners.network + network,
        server: server + late,
        balancer: before + after + of_server,
        unknown: front.owners.unknown,
    };
    let rounded_owners = TimeOwners {
        client: rounded(owners.client, 9),
        network: rounded(owners.network, 9),
        server: rounded(owners.server, 9),
        balancer: rounded(owners.balancer, 9),
        unknown: rounded(owners.unknown, 9),
    };
    JoinedTransaction {
        title: front.title.clone().or_else(|| behind.title.clone()),
        status: front.status,
        start_seconds: front.start_seconds,
        total_seconds: front.total_seconds,
        owners: rounded_owners,
        front_connection: connection.number,
        back_connection: back.connection.number,
        before_server_seconds: rounded(before, 9),
        after_server_seconds: rounded(after, 9),
    }
}
