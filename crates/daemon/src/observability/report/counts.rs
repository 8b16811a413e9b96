//! Two sums of the same object → its counts, rates and times. Pure.
//!
//! It reads no slot and no clock: `sums` and `sample` did.

use std::collections::BTreeMap;
use std::time::Duration;

use api::types::report::{OCTAVE_US, OCTAVES};
use api::types::{
    Bytes, CauseCount, Connections, Counter, ErrorCounts, NamedCount, PhaseTimes, Requests,
    ServiceCounts, SloReport, Statuses,
};
use model::cause::Cause;
use model::exchange_error::{ErrorOrigin, ErrorTally};
use model::slo::outcome::TcpError;
use model::slo::outcome_counts::SloOutcomeCounts;
use model::stats::{Count, ExchangePhaseHistograms, HistogramSum, ServerCounters, ServiceCounters};

use super::totals::{HistogramTimes, ServerTotals, ServiceTotals};

/// A counter of a plane with the name that reports and metrics show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportedCounter {
    pub name: &'static str,
    pub count: u64,
}

/// The counters as the API has them.
pub fn counts_by_name(
    counters: impl IntoIterator<Item = ReportedCounter>,
) -> BTreeMap<String, u64> {
    counters.into_iter().map(|it| (it.name.to_owned(), it.count)).collect()
}

/// A service over `seconds`.
pub fn service_counts(
    before: &ServiceTotals,
    now: &ServiceTotals,
    seconds: f64,
    defect: fn(usize) -> String,
) -> ServiceCounts {
    let old = &before.counters;
    let new = &now.counters;
    let count = |field: fn(&ServiceCounters) -> &Count| {
        total_and_rate(field(old).get(), field(new).get(), seconds)
    };
    ServiceCounts {
        connections: Connections::new(
            count(|c| &c.accepted),
            count(|c| &c.refused),
            count(|c| &c.closed),
            u64::from(now.open),
        ),
        requests: Requests::new(
            count(|c| &c.requests),
            count(|c| &c.answered),
            count(|c| &c.answered_by_us),
            count(|c| &c.aborted),
            count(|c| &c.upgraded),
            u64::from(now.in_flight),
        ),
        errors: error_counts(&before.errors, &now.errors, seconds),
        statuses: Statuses {
            informational: count(|c| &c.informational),
            success: count(|c| &c.status_2xx),
            redirect: count(|c| &c.status_3xx),
            client_error: count(|c| &c.status_4xx),
            server_error: count(|c| &c.status_5xx),
        },
        retried: count(|c| &c.retried),
        replayed: count(|c| &c.replayed),
        bytes: Bytes {
            received: count(|c| &c.client_in),
            sent: count(|c| &c.client_out),
            spliced: count(|c| &c.spliced),
        },
        causes: causes(&before.causes, &now.causes, seconds),
        defects: named_count(&before.defects, &now.defects, seconds, defect),
        limits: limits(&count),
        tls: [
            ("handshakes", count(|c| &c.tls_handshakes)),
            ("resumed", count(|c| &c.tls_resumed)),
            ("failed", count(|c| &c.tls_failed)),
        ]
        .into_iter()
        .filter(|(_, count)| count.total > 0)
        .map(|(name, count)| NamedCount { name: name.into(), count })
        .collect(),
        bodies: bodies(&count),
        phases: shaped_phases(&before.phases, &now.phases),
    }
}

/// Counters of what was closed, dropped or rejected because of limits.
fn limits(count: &dyn Fn(fn(&ServiceCounters) -> &Count) -> Counter) -> Vec<NamedCount> {
    [
        ("idle-closed", count(|c| &c.idle_closed)),
        ("evicted-silent", count(|c| &c.evicted_silent)),
        ("evicted-stalled", count(|c| &c.evicted_stalled)),
        ("evicted-idle", count(|c| &c.evicted_idle)),
        ("log-lines-dropped", count(|c| &c.log_dropped)),
        ("trailers-dropped", count(|c| &c.trailers_dropped)),
        ("fields-dropped", count(|c| &c.fields_dropped)),
        ("clients-unnamed", count(|c| &c.clients_unnamed)),
        ("edits-ambiguous", count(|c| &c.edits_ambiguous)),
        ("accept-no-descriptor", count(|c| &c.accept_no_descriptor)),
        ("accept-failed", count(|c| &c.accept_failed)),
        ("http2-aged", count(|c| &c.http2_aged)),
        ("http2-refused-streams", count(|c| &c.http2_refused)),
        ("http2-resets", count(|c| &c.http2_resets)),
        ("http2-control-frames", count(|c| &c.http2_control_frames)),
        ("http2-tiny-frames", count(|c| &c.http2_tiny_frames)),
        ("http2-malformed", count(|c| &c.http2_malformed)),
        ("http3-aged", count(|c| &c.http3_aged)),
        ("http3-resets", count(|c| &c.http3_resets)),
        ("http3-address-proofs", count(|c| &c.http3_proven)),
        ("quic-lost", count(|c| &c.quic_lost)),
        ("quic-withheld", count(|c| &c.quic_withheld)),
        ("quic-refused", count(|c| &c.quic_refused)),
    ]
    .into_iter()
    .filter(|(_, count)| count.total > 0)
    .map(|(name, count)| NamedCount { name: name.into(), count })
    .collect()
}

/// Counters of request bodies.
fn bodies(count: &dyn Fn(fn(&ServiceCounters) -> &Count) -> Counter) -> Vec<NamedCount> {
    [
        ("proxy-headers", count(|c| &c.proxy_headers)),
        ("compressed", count(|c| &c.compressed)),
        ("compress-bytes-in", count(|c| &c.compress_in)),
        ("compress-bytes-out", count(|c| &c.compress_out)),
        ("compress-skipped-coded", count(|c| &c.compress_coded)),
        ("compress-skipped-kept", count(|c| &c.compress_kept)),
        ("compress-skipped-type", count(|c| &c.compress_type)),
        ("compress-skipped-small", count(|c| &c.compress_small)),
        ("compress-skipped-old", count(|c| &c.compress_old)),
        ("compress-skipped-client", count(|c| &c.compress_client)),
        ("compress-skipped-busy", count(|c| &c.compress_busy)),
        ("compress-skipped-full", count(|c| &c.compress_full)),
        ("buffered-requests", count(|c| &c.buffered_requests)),
        ("buffered-answers", count(|c| &c.buffered_answers)),
        ("buffer-beyond", count(|c| &c.buffer_beyond)),
        ("buffer-full", count(|c| &c.buffer_full)),
    ]
    .into_iter()
    .filter(|(_, count)| count.total > 0)
    .map(|(name, count)| NamedCount { name: name.into(), count })
    .collect()
}

/// A server's parts that are more than a number.
pub struct ServerParts {
    pub statuses: Statuses,
    pub bytes: Bytes,
    pub causes: Vec<CauseCount>,
    pub phases: Vec<PhaseTimes>,
}

/// A server over `seconds`.
pub fn server_counts(before: &ServerTotals, now: &ServerTotals, seconds: f64) -> ServerParts {
    let count = |field| server_count(before, now, seconds, field);
    ServerParts {
        statuses: Statuses {
            informational: Counter::default(),
            success: count(|c| &c.status_2xx),
            redirect: count(|c| &c.status_3xx),
            client_error: count(|c| &c.status_4xx),
            server_error: count(|c| &c.status_5xx),
        },
        bytes: Bytes {
            received: count(|c| &c.bytes_in),
            sent: count(|c| &c.bytes_out),
            spliced: Counter::default(),
        },
        causes: causes(&before.causes, &now.causes, seconds),
        phases: phases(&before.phases, &now.phases),
    }
}

/// Errors by who caused them.
pub fn error_counts(before: &ErrorTally, now: &ErrorTally, seconds: f64) -> ErrorCounts {
    let of = |origin| total_and_rate(before.count(origin), now.count(origin), seconds);
    let counts = ErrorCounts {
        ended: total_and_rate(before.ended, now.ended, seconds),
        errors: total_and_rate(before.errors(), now.errors(), seconds),
        balancer: of(ErrorOrigin::Balancer),
        server_5xx: of(ErrorOrigin::ServerStatus),
        server: of(ErrorOrigin::Server),
        network: of(ErrorOrigin::Network),
        client: of(ErrorOrigin::Client),
        percent: None,
    };
    counts.with_percent()
}

/// One counter of a server.
pub fn server_count(
    before: &ServerTotals,
    now: &ServerTotals,
    seconds: f64,
    field: fn(&ServerCounters) -> &Count,
) -> Counter {
    total_and_rate(field(&before.counters).get(), field(&now.counters).get(), seconds)
}

/// A total and its growth a second; a total that is smaller than before is a new object's.
pub fn total_and_rate(before: u64, now: u64, seconds: f64) -> Counter {
    let grown = now.saturating_sub(before) as f64;
    Counter { total: now, rate: if seconds > 0.0 { grown / seconds } else { 0.0 } }
}

/// Adds one service's counts to the total. Durations are not added, because the caller reads them from merged
/// histograms.
pub fn add_counts(total: &mut ServiceCounts, one: &ServiceCounts) {
    total.connections += one.connections;
    total.requests += one.requests;
    total.errors += one.errors;
    total.statuses += one.statuses;
    total.retried += one.retried;
    total.replayed += one.replayed;
    total.bytes += one.bytes;
    for cause in &one.causes {
        match total.causes.iter_mut().find(|known| known.cause == cause.cause) {
            Some(known) => known.count += cause.count,
            None => total.causes.push(cause.clone()),
        }
    }
    add_named_count(&mut total.defects, &one.defects);
    add_named_count(&mut total.limits, &one.limits);
    add_named_count(&mut total.tls, &one.tls);
    add_named_count(&mut total.bodies, &one.bodies);
}

/// The quantiles of a histogram.
pub fn phase_times(name: &str, sum: &HistogramSum) -> PhaseTimes {
    let count = sum.count();
    let micros = |q| sum.quantile(q).and_then(|time| u64::try_from(time.as_micros()).ok());
    PhaseTimes {
        phase: name.into(),
        count,
        mean_us: (sum.sum_nanos / 1000).checked_div(count),
        p50_us: micros(0.5),
        p90_us: micros(0.9),
        p99_us: micros(0.99),
        histogram: Vec::new(),
    }
}

/// How its times lie, by doublings.
pub fn octave_counts(sum: &HistogramSum) -> Vec<u64> {
    let edge = |at: usize| Duration::from_micros(OCTAVE_US << at);
    let mut below = 0;
    let row = |at: usize| {
        let now = if at + 1 == OCTAVES { sum.count() } else { sum.count_at_most(edge(at)) };
        now - std::mem::replace(&mut below, now)
    };
    (0..OCTAVES).map(row).collect()
}

fn phases(before: &[HistogramTimes; 5], now: &[HistogramTimes; 5]) -> Vec<PhaseTimes> {
    let both = before.iter().zip(now);
    ExchangePhaseHistograms::NAMES
        .iter()
        .zip(both)
        .map(|(name, (old, new))| phase_times(name, &new.since(old)))
        .collect()
}

/// With the shape of the whole time, which is the last.
fn shaped_phases(before: &[HistogramTimes; 5], now: &[HistogramTimes; 5]) -> Vec<PhaseTimes> {
    let mut all = phases(before, now);
    if let (Some(whole), [.., old], [.., new]) = (all.last_mut(), before, now) {
        whole.histogram = octave_counts(&new.since(old));
    }
    all
}

fn causes(before: &[u64], now: &[u64], seconds: f64) -> Vec<CauseCount> {
    let old = before.iter().copied().chain(std::iter::repeat(0));
    let counted = Cause::ALL.iter().zip(now.iter().zip(old)).filter(|(_, (new, _))| **new > 0);
    counted
        .map(|(cause, (new, old))| CauseCount {
            cause: cause.name().into(),
            side: cause.side(),
            count: total_and_rate(old, *new, seconds),
        })
        .collect()
}

fn named_count(
    before: &[u64],
    now: &[u64],
    seconds: f64,
    name: fn(usize) -> String,
) -> Vec<NamedCount> {
    let old = before.iter().copied().chain(std::iter::repeat(0));
    let counted = now.iter().zip(old).enumerate().filter(|(_, (new, _))| **new > 0);
    counted
        .map(|(at, (new, old))| NamedCount {
            name: name(at),
            count: total_and_rate(old, *new, seconds),
        })
        .collect()
}

fn add_named_count(total: &mut Vec<NamedCount>, more: &[NamedCount]) {
    for one in more {
        match total.iter_mut().find(|known| known.name == one.name) {
            Some(known) => known.count += one.count,
            None => total.push(one.clone()),
        }
    }
}

/// The SLO outcomes of a service since the start; `None`: it has no objective.
pub fn users_report(
    before: Option<&SloOutcomeCounts>,
    now: Option<&SloOutcomeCounts>,
    seconds: f64,
) -> Option<SloReport> {
    let now = now?;
    let before = before.copied().unwrap_or_default();
    let count = |of: fn(&SloOutcomeCounts) -> u64| total_and_rate(of(&before), of(now), seconds);
    let errors = TcpError::ALL.into_iter().filter(|kind| now.error(*kind) > 0);
    Some(SloReport {
        fast: count(SloOutcomeCounts::fast),
        slow: count(SloOutcomeCounts::slow),
        failed: count(SloOutcomeCounts::failed),
        aborted: count(SloOutcomeCounts::client_aborted),
        declined: count(SloOutcomeCounts::declined),
        tcp_errors: errors
            .map(|kind| {
                let count = total_and_rate(before.error(kind), now.error(kind), seconds);
                (kind.name().to_owned(), count)
            })
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use model::stats::Histogram;

    use super::*;

    #[test]
    fn every_time_is_in_one_doubling_and_the_longest_are_in_the_last() {
        let one = Histogram::default();
        for micros in [1, 100, 200, 900, 1_000_000, 60_000_000] {
            one.record(Duration::from_micros(micros));
        }
        let mut sum = HistogramSum::default();
        sum.add(&one);
        let rows = octave_counts(&sum);
        assert_eq!((rows.len(), rows.iter().sum::<u64>()), (OCTAVES, 6));
        assert_eq!((rows[0], rows[1], rows[3], rows[OCTAVES - 1]), (2, 1, 1, 1), "{rows:?}");
    }

    #[test]
    fn failures_of_users_are_counted_with_their_rates() {
        let mut tally = SloOutcomeCounts::default();
        tally.0[..6].copy_from_slice(&[90, 6, 4, 50, 7, 9]);
        tally.0[6 + TcpError::SilentServer as usize] = 3;
        let report = users_report(None, Some(&tally), 2.0).unwrap();
        assert_eq!((report.failed.total, report.failed.rate, report.tcp_errors.len()), (4, 2.0, 1));
    }
}
