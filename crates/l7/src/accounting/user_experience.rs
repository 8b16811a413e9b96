//! Adds a closed exchange to the SLO counters of its service.

use std::net::IpAddr;

use model::slo::outcome::EndedOperation;
use model::slo::outcome_counts::outcome_indices;
use model::snapshot::ServiceView;

use super::exchange_record::ExchangeRecord;

/// The status of an accepted upgrade: the bytes after it are not a response.
const SWITCHING_PROTOCOLS: u16 = 101;

/// Counts a client's closed exchange.
#[inline]
pub fn count_user_experience(
    record: &ExchangeRecord,
    view: &ServiceView,
    worker: usize,
    client: IpAddr,
) {
    let (Some(users), Some(objective)) = (&view.slo, &view.config.objective) else { return };
    users.record(worker, client, outcome_indices(&user_outcome(record), objective.fast));
}

/// Whether the access log has the exchange also where it has only failed ones: it has a cause, or its server answered
/// with an error of its own.
pub fn is_logged_always(record: &ExchangeRecord) -> bool {
    record.cause.is_some() || user_outcome(record).error_origin().is_some()
}

fn user_outcome(record: &ExchangeRecord) -> EndedOperation {
    let ExchangeRecord { cause, local_reply: by_us, .. } = *record;
    let status = record.counted_status();
    let tunnel = (status == SWITCHING_PROTOCOLS).then(|| record.time_to_answer()).flatten();
    EndedOperation { cause, by_us, status, duration: tunnel.unwrap_or_else(|| record.total_time()) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use model::cause::Cause;
    use model::monotonic_time::MonotonicTime;

    use super::super::exchange_sample::ConnectionSetup;
    use super::*;

    fn at(millis: u64) -> MonotonicTime {
        MonotonicTime(millis * 1_000_000)
    }

    #[test]
    fn users_wait_for_all_of_an_answer_and_for_the_beginning_of_a_tunnel() {
        let mut record = ExchangeRecord::begin(at(100), at(101));
        let opening = ConnectionSetup { accept: Duration::from_millis(3), tls: None, group: None };
        record.sample.connection_setup = Some(opening);
        record.first_byte = Some(at(150));
        record.status = 200;
        record.close(at(900));
        assert_eq!(user_outcome(&record).duration, Duration::from_millis(803));
        record.status = 101;
        assert_eq!(user_outcome(&record).duration, Duration::from_millis(53));
        record.first_byte = None;
        assert_eq!(user_outcome(&record).duration, Duration::from_millis(803));
    }

    #[test]
    fn failed_exchanges_are_those_with_a_cause_and_those_that_servers_answered_with_an_error() {
        let rows = [
            (None, false, 200, false),
            (None, false, 404, false),
            (None, false, 500, true),
            (None, true, 503, false),
            (Some(Cause::RuleDenied), true, 403, true),
            (Some(Cause::ClientReset), false, 0, true),
        ];
        for (cause, local_reply, status, want) in rows {
            let mut record = ExchangeRecord::begin(at(0), at(1));
            record.cause = cause;
            record.local_reply = local_reply;
            record.status = status;
            assert_eq!(is_logged_always(&record), want, "{cause:?} {status}");
        }
    }
}
