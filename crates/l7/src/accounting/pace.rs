//! Latency of servers, for balancing policies that use it.
//!
//! A response records its time to first byte. A server error records a failure, so that fast errors do not attract
//! load. Exchanges that end for other reasons (the client left, a limit of the balancer) record nothing.

use model::cause::Side;
use model::config::BalancePolicy;
use model::monotonic_time::MonotonicTime;
use model::stats::LatencyEwma;

use super::exchange_record::ExchangeRecord;

/// Adds a closed exchange to its server's latency average.
pub fn record_pace(
    balance: BalancePolicy,
    record: &ExchangeRecord,
    pace: &LatencyEwma,
    now: MonotonicTime,
) {
    if !balance.uses_latency() {
        return;
    }
    let theirs = record.cause.map(|cause| matches!(cause.side(), Side::Server | Side::Network));
    let error = !record.local_reply && record.counted_status() >= 500;
    match record.server_time() {
        _ if theirs == Some(true) || error => pace.record_failure(now),
        _ if theirs == Some(false) => {}
        Some(took) if balance == BalancePolicy::PeakEwma => pace.record_answer_peak(took, now),
        Some(took) => pace.record_answer(took, now),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use model::cause::Cause;

    use super::*;

    /// The mean latency in milliseconds after a first measurement of this exchange.
    fn learned(
        balance: BalancePolicy,
        cause: Option<Cause>,
        status: u16,
        by_us: bool,
    ) -> Option<u32> {
        let at = |millis: u64| MonotonicTime(millis * 1_000_000);
        let mut record = ExchangeRecord::begin(at(0), at(0));
        record.request_sent = Some(at(1));
        record.first_byte = Some(at(8));
        record.cause = cause;
        record.status = status;
        record.local_reply = by_us;
        let pace = LatencyEwma::default();
        record_pace(balance, &record, &pace, at(9));
        pace.mean().map(|mean| (mean.micros / 1e3).round() as u32)
    }

    #[test]
    fn answers_teach_and_errors_are_slow() {
        let fastest = BalancePolicy::Fastest;
        for (what, cause, status, by_us, want) in [
            ("an answer", None, 200, false, Some(7)),
            ("not found is an answer", None, 404, false, Some(7)),
            ("an error of the server", None, 503, false, Some(100)),
            ("a reset by the server", Some(Cause::ServerReset), 0, false, Some(100)),
            ("a connect that took too long", Some(Cause::ConnectTimeout), 504, true, Some(100)),
            ("the client went", Some(Cause::ClientReset), 200, false, None),
            ("our limit", Some(Cause::QueueFull), 503, true, None),
        ] {
            assert_eq!(learned(fastest, cause, status, by_us), want, "{what}");
        }
        assert_eq!(learned(BalancePolicy::PeakEwma, None, 200, false), Some(7));
        assert_eq!(learned(BalancePolicy::RoundRobin, None, 200, false), None, "nobody asks");
    }
}
