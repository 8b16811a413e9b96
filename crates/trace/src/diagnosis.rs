//! From sums to findings: the most significant bottleneck, and the next ones down to the insignificant.
//!
//! This module decides which findings are reported and what a change would save. `sentence` writes the text.

use model::limit::{Limit, TimeOwner};

use crate::attribution::window_flag::WindowFlag;
use crate::conversation::Conversation;
use crate::display_filter::{self, FilteredTransport};
use crate::event::ConnectionSide;
use crate::ledger::{AnalysedConnection, ConnectionLedger};
use crate::limit_tally::{LimitCell, LimitTally, TransactionPlace};
use crate::report::number::{rounded, seconds, share};
use crate::report::{BottleneckFinding, EvidenceReport, FailureFinding, FirstCause, TimeDiagnosis};
use crate::sentence::{self, SentenceFacts};

/// Less than one part in this many of the users' wait is insignificant.
/// Two percent: users do not notice the gain.
const INSIGNIFICANT: i64 = 50;
/// Shorter sums are no bottleneck, in nanoseconds.
/// A tenth of what feels immediate to users, 100 ms (Nielsen).
const SHORTEST_NS: i64 = 10_000_000;
/// Findings in a report at most, so that it stays readable.
const MAX_FINDINGS: usize = 8;
/// The number of turns from which the path's latency is a separate finding.
/// Ten turns over a path of 50 ms are half a second.
const CHATTY: u64 = 10;
/// Bytes in flight in one round trip without window scaling, which any receiver should allow.
const USUAL_WINDOW: i64 = 65_536;

/// Where missing packets hide more than one part in this many, nothing is called healthy.
const HIDDEN: i64 = 10;

/// The connections that sums are about, in the order of their numbers.
pub trait ConnectionLookup {
    fn find_connection(&self, number: u32) -> Option<&AnalysedConnection>;
}

impl ConnectionLookup for [AnalysedConnection] {
    fn find_connection(&self, number: u32) -> Option<&AnalysedConnection> {
        let at = self.binary_search_by_key(&number, |one| one.ledger.number).ok()?;
        self.get(at)
    }
}

pub fn diagnose<C: ConnectionLookup + ?Sized>(
    tally: &LimitTally,
    failures: Vec<FailureFinding>,
    connections: &C,
) -> TimeDiagnosis {
    let ranked = tally.ranked();
    let significant = ranked.iter().filter(|cell| is_significant(cell, tally));
    let mut findings: Vec<BottleneckFinding> = significant
        .take(MAX_FINDINGS)
        .map(|cell| build_finding(cell, tally, connections))
        .collect();
    let most_significant = (!findings.is_empty()).then(|| findings.remove(0));
    let transport = |finding: &&BottleneckFinding| is_transport(finding.code);
    let next_among_transport = findings.iter().find(transport).map(|finding| finding.code);
    let first_among_transport =
        most_significant.iter().chain(&findings).find(transport).map(|finding| finding.code);
    TimeDiagnosis {
        total_seconds: seconds(tally.total_ns),
        pause_seconds: seconds(tally.pause_ns),
        location: (&tally.bands).into(),
        owners: (&tally.bands).into(),
        first_cause: first_cause(&failures, most_significant.as_ref()),
        healthy: failures.is_empty()
            && tally.bands.unknown.saturating_mul(HIDDEN) <= tally.total_ns
            && tally.unjudged.saturating_mul(HIDDEN.cast_unsigned()) <= tally.connections
            && most_significant.as_ref().is_none_or(is_healthy),
        failures,
        most_significant,
        next: findings,
        first_among_transport,
        next_among_transport,
    }
}

fn first_cause(
    failures: &[FailureFinding],
    most_significant: Option<&BottleneckFinding>,
) -> Option<FirstCause> {
    let failed =
        failures.first().map(|first| FirstCause { code: first.code.name(), owner: first.owner });
    failed.or_else(|| {
        most_significant.map(|first| FirstCause { code: first.code.code(), owner: first.owner })
    })
}

fn is_significant(cell: &LimitCell, tally: &LimitTally) -> bool {
    let long = cell.ns >= SHORTEST_NS && cell.ns.saturating_mul(INSIGNIFICANT) >= tally.total_ns;
    let much = cell.ns.saturating_mul(3) >= tally.total_ns;
    match cell.limit {
        // Latency is inherent to the path: it is reported only when many turns pay for it.
        Limit::Latency | Limit::Connect => long && much && cell.turns >= CHATTY,
        // What is missing in the capture is no finding; it has a share of its own.
        Limit::Send | Limit::Unknown => false,
        // Every transfer starts slowly: it is reported only where a change would save time.
        Limit::SlowStart | Limit::Cwnd => long && possible_saving_ns(cell) > 0,
        _ => long,
    }
}

/// Whether no change at any side would save a tenth.
fn is_healthy(first: &BottleneckFinding) -> bool {
    first.owner == TimeOwner::Network && first.saving_seconds < first.seconds / 10.0
}

fn is_transport(limit: Limit) -> bool {
    !matches!(
        limit,
        Limit::ServerThink
            | Limit::ClientThink
            | Limit::AppSender
            | Limit::Latency
            | Limit::Connect
            | Limit::BalancerHold
    )
}

fn build_finding<C: ConnectionLookup + ?Sized>(
    cell: &LimitCell,
    tally: &LimitTally,
    connections: &C,
) -> BottleneckFinding {
    let shown = connections.find_connection(cell.connection);
    let saving_ns = possible_saving_ns(cell).clamp(0, cell.ns);
    let flag = shown.and_then(|shown| flag_of(cell, &shown.ledger));
    let window = match cell.limit {
        Limit::SillyWindow | Limit::ZeroWindow => cell.window.map(|window| window.smallest),
        Limit::Rwnd => cell.evidence.window.or(cell.window.map(|window| window.largest)),
        _ => None,
    };
    let of_path = matches!(cell.place, TransactionPlace::Setup | TransactionPlace::Path);
    let of_whole = if of_path { tally.total_ns } else { tally.working_ns };
    let largest = cell.window.map_or(0, |window| window.largest);
    let facts = SentenceFacts {
        cell,
        window,
        // A window well below its largest has unread data in it.
        reads_slowly: window.is_some_and(|window| window * 4 < largest * 3)
            || cell.evidence.unread_ns * 2 > cell.ns,
        segment: shown.map_or(0, |shown| segment_bytes(cell, &shown.ledger)),
        saving_ns,
        share: share(cell.ns, tally.total_ns),
        flag,
    };
    let evidence = &cell.evidence;
    let filter = shown.map_or_else(
        || display_filter::frame_filter(evidence.from, evidence.to),
        |shown| {
            let ends = shown.conversation.ends;
            display_filter::connection_filter(
                FilteredTransport::Tcp,
                ends,
                evidence.from,
                evidence.to,
            )
        },
    );
    BottleneckFinding {
        phase: cell.place.name(),
        code: cell.limit,
        owner: cell.owner,
        seconds: seconds(cell.ns),
        share: share(cell.ns, of_whole),
        share_of_total: share(cell.ns, tally.total_ns),
        saving_seconds: rounded(seconds(saving_ns), 6),
        flag: flag.map(|_| WindowFlag::CODE),
        hint: flag.map(|flag| flag.hint()),
        cap_bytes: Some(cell.cap).filter(|cap| cell.limit == Limit::SendBuffer && *cap > 0),
        window,
        alternative: shown
            .and_then(|shown| alternative_explanation(cell, &shown.conversation, &shown.ledger)),
        sentence: sentence::describe_finding(&facts),
        fix: sentence::suggest_fix(&facts),
        evidence: EvidenceReport {
            connection: cell.connection,
            from_packet: evidence.from,
            to_packet: evidence.to,
            start_seconds: seconds(evidence.from_ns),
            longest_seconds: seconds(evidence.longest_ns),
            times: evidence.times,
            filter,
        },
    }
}

/// The time in nanoseconds that a change would save. Negative if a change would save nothing.
fn possible_saving_ns(cell: &LimitCell) -> i64 {
    let round_trip_ns = cell.round_trip_ns;
    match cell.limit {
        Limit::SillyWindow | Limit::ZeroWindow | Limit::Rwnd | Limit::SendBuffer => {
            let now = cell.window.map_or(0, |window| window.largest).max(cell.cap);
            let now = if cell.limit == Limit::SillyWindow { 0 } else { now };
            // With more than the usual window in flight, a change could bring four times as much.
            let in_flight = if now < USUAL_WINDOW { USUAL_WINDOW } else { now.saturating_mul(4) };
            let by_window = if round_trip_ns > 0 {
                in_flight as f64 / round_trip_ns as f64 * 1e9
            } else {
                f64::INFINITY
            };
            let rate = if cell.link_rate > 0.0 { by_window.min(cell.link_rate) } else { by_window };
            cell.ns - (cell.bytes as f64 / rate * 1e9) as i64
        }
        Limit::DelayedAck | Limit::NagleDelayedAck => {
            cell.ns - i64::from(cell.evidence.times).saturating_mul(round_trip_ns)
        }
        Limit::SlowStart | Limit::Cwnd => {
            let turns = i64::try_from(cell.turns).unwrap_or(i64::MAX);
            cell.ns - turns.saturating_mul(round_trip_ns).max(cell.ns / 2)
        }
        Limit::LinkRate | Limit::Send => 0,
        _ => cell.ns,
    }
}

/// The side that owns a cell, if it is a side.
fn owner_side(owner: TimeOwner) -> Option<ConnectionSide> {
    match owner {
        TimeOwner::Client => Some(ConnectionSide::Client),
        TimeOwner::Server => Some(ConnectionSide::Server),
        TimeOwner::Network | TimeOwner::Balancer => None,
    }
}

fn flag_of(cell: &LimitCell, ledger: &ConnectionLedger) -> Option<WindowFlag> {
    let windows = matches!(cell.limit, Limit::SillyWindow | Limit::Rwnd | Limit::ZeroWindow);
    let side = owner_side(cell.owner).filter(|_| windows)?;
    ledger.flags.iter().find(|flag| flag.side == side).copied()
}

fn segment_bytes(cell: &LimitCell, ledger: &ConnectionLedger) -> u32 {
    let sender = if cell.place == TransactionPlace::Response { 1 } else { 0 };
    ledger.segments[sender]
}

/// A cap that equals the window under some scale may be that window, when the scale is unknown.
fn alternative_explanation(
    cell: &LimitCell,
    conversation: &Conversation,
    ledger: &ConnectionLedger,
) -> Option<String> {
    let sender = owner_side(cell.owner).filter(|_| cell.limit == Limit::SendBuffer)?;
    let receiver = sender.peer();
    let scale = ledger.scales?[receiver.index()];
    let raw = i64::from(conversation.directions[receiver.index()].raw_window?.largest);
    let near = |shift: &u8| {
        let segments = 2 * i64::from(ledger.segments[sender.index()]);
        ((raw << shift) - cell.cap).abs() <= segments
    };
    let shift = (0..=14).find(near).filter(|_| !scale.is_known())?;
    let cap = cell.cap;
    Some(format!(
        "the {} send buffer, or a window with scale factor {shift} ({raw} << {shift} is about {cap}): without the \
         handshake the capture cannot decide",
        if sender == ConnectionSide::Client { "client's" } else { "server's" },
    ))
}
