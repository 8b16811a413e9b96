//! The counters that are updated when an exchange ends.
//!
//! Results, statuses, causes and times are known only at the end. Connections, started requests, retries and bytes are
//! counted when they occur: counted here, a long download would appear as a silence and then a jump. So, while no
//! update is in progress, `requests = answered + answered-by-us + aborted + in flight`.

use model::cause::Cause;
use model::stats::{
    ExchangePhaseHistograms, RequestPhaseHistograms, ServerWorkerStats, ServiceWorkerStats,
};

use super::exchange_record::ExchangeRecord;

/// Adds a closed exchange to its service and, if the last attempt has a server, to that server. Counts exactly one of
/// `answered`, `answered-by-us` and `aborted`, a status from a server, the cause, and the phases that took place. Call
/// it once, after [`ExchangeRecord::close`].
pub fn count_exchange(
    record: &ExchangeRecord,
    service: &ServiceWorkerStats,
    server: Option<&ServerWorkerStats>,
) {
    let counters = &service.counters;
    match (record.cause, record.local_reply) {
        (_, true) => counters.answered_by_us.add(1),
        (None, false) => counters.answered.add(1),
        (Some(_), false) => counters.aborted.add(1),
    }
    if let Some(cause) = record.cause {
        service.causes[cause as usize].add(1);
    }
    let class = if record.local_reply { 0 } else { record.counted_status() / 100 };
    let complete_5xx = class == 5 && record.cause.is_none();
    match class {
        2 => counters.status_2xx.add(1),
        3 => counters.status_3xx.add(1),
        4 => counters.status_4xx.add(1),
        5 => counters.status_5xx.add(1),
        _ => {}
    }
    counters.complete_5xx.add(u64::from(complete_5xx));
    count_phases(record, &service.phases);
    count_beginnings(record, &service.request_phases);
    let Some(server) = server else { return };
    let counters = &server.counters;
    counters.requests.add(u64::from(record.bytes_to_server > 0));
    match record.cause {
        None => counters.answered.add(1),
        Some(cause) => server.causes[cause as usize].add(1),
    }
    match class {
        2 => counters.status_2xx.add(1),
        3 => counters.status_3xx.add(1),
        4 => counters.status_4xx.add(1),
        5 => counters.status_5xx.add(1),
        _ => {}
    }
    counters.complete_5xx.add(u64::from(complete_5xx));
    count_phases(record, &server.phases);
}

/// Adds a failed attempt to its server: one that was not the last, or that `count_exchange` does not attribute to a
/// server. `sent`: at least one byte of the request was sent.
pub fn count_failed_attempt(cause: Cause, sent: bool, server: &ServerWorkerStats) {
    server.counters.requests.add(u64::from(sent));
    server.causes[cause as usize].add(1);
}

fn count_beginnings(record: &ExchangeRecord, beginnings: &RequestPhaseHistograms) {
    if let Some(opening) = record.sample.connection_setup {
        beginnings.accept.record(opening.accept);
        if let Some(tls) = opening.tls {
            beginnings.tls.record(tls);
        }
    }
    beginnings.head.record(record.head_at.since(record.begun_at));
    if let Some(sending) = record.send_time() {
        beginnings.body_in.record(sending);
    }
}

fn count_phases(record: &ExchangeRecord, phases: &ExchangePhaseHistograms) {
    let each = [
        (&phases.queue, record.queue_time()),
        (&phases.connect, record.connect_time()),
        (&phases.first_byte, record.server_time()),
        (&phases.transfer, record.transfer_time()),
        (&phases.total, record.request_time()),
    ];
    for (histogram, time) in each {
        if let Some(time) = time {
            histogram.record(time);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use model::monotonic_time::MonotonicTime;
    use model::stats::{Histogram, HistogramSum};

    use super::*;

    fn at(micros: u64) -> MonotonicTime {
        MonotonicTime(micros * 1000)
    }

    fn counts(histogram: &Histogram) -> (u64, u64) {
        let mut sum = HistogramSum::default();
        sum.add(histogram);
        (sum.count(), sum.sum_nanos / 1000)
    }

    #[test]
    fn every_end_is_counted_once() {
        let rows = [
            ("answered", None, false, 200, [1, 0, 0], [1, 0, 0, 0]),
            ("the server's own 503", None, false, 503, [1, 0, 0], [0, 0, 0, 1]),
            ("upgraded", None, false, 101, [1, 0, 0], [0; 4]),
            ("our 503", Some(Cause::NoServer), true, 503, [0, 1, 0], [0; 4]),
            ("cut in the middle", Some(Cause::ServerCut), false, 200, [0, 0, 1], [1, 0, 0, 0]),
            ("cut in an error", Some(Cause::ServerCut), false, 500, [0, 0, 1], [0, 0, 0, 1]),
            ("gone before anything", Some(Cause::ClientReset), false, 0, [0, 0, 1], [0; 4]),
            ("a moved page", None, false, 301, [1, 0, 0], [0, 1, 0, 0]),
            ("not found", None, false, 404, [1, 0, 0], [0, 0, 1, 0]),
        ];
        for (what, cause, by_us, status, ends, classes) in rows {
            let service = ServiceWorkerStats::default();
            let server = ServerWorkerStats::default();
            let mut record = ExchangeRecord::begin(at(0), at(1));
            record.cause = cause;
            record.local_reply = by_us;
            record.status = status;
            record.bytes_to_server = 1;
            record.close(at(9));
            count_exchange(&record, &service, Some(&server));
            let c = &service.counters;
            assert_eq!([c.answered.get(), c.answered_by_us.get(), c.aborted.get()], ends, "{what}");
            let of_service = [&c.status_2xx, &c.status_3xx, &c.status_4xx, &c.status_5xx];
            let c = &server.counters;
            let of_server = [&c.status_2xx, &c.status_3xx, &c.status_4xx, &c.status_5xx];
            assert_eq!(of_service.map(|count| count.get()), classes, "{what}");
            assert_eq!(of_server.map(|count| count.get()), classes, "{what}");
            let complete = u64::from(classes[3] == 1 && cause.is_none());
            assert_eq!(service.counters.complete_5xx.get(), complete, "{what}");
            assert_eq!(c.complete_5xx.get(), complete, "{what}");
            assert_eq!(c.requests.get(), 1, "{what}");
            assert_eq!(c.answered.get(), u64::from(cause.is_none()), "{what}");
            for each in Cause::ALL {
                let want = u64::from(cause == Some(*each));
                assert_eq!(service.causes[*each as usize].get(), want, "{what}");
                assert_eq!(server.causes[*each as usize].get(), want, "{what}");
            }
        }
    }

    #[test]
    fn phases_are_those_that_came() {
        let service = ServiceWorkerStats::default();
        let mut record = ExchangeRecord::begin(at(0), at(10));
        record.queue_begin = Some(at(10));
        record.queue_end = Some(at(15));
        record.connect_begin = Some(at(15));
        record.begin_retry();
        record.queue_begin = Some(at(20));
        record.queue_end = Some(at(22));
        record.connect_begin = Some(at(22));
        record.connect_end = Some(at(30));
        record.request_sent = Some(at(31));
        record.first_byte = Some(at(131));
        record.ended_at = Some(at(141));
        record.close(at(999));
        count_exchange(&record, &service, None);
        let phases = &service.phases;
        assert_eq!(counts(&phases.queue), (1, 7));
        assert_eq!(counts(&phases.connect), (1, 8));
        assert_eq!(counts(&phases.first_byte), (1, 100));
        assert_eq!(counts(&phases.transfer), (1, 10));
        assert_eq!(counts(&phases.total), (1, 141));
        assert_eq!(service.request_phases.all().map(counts), [(0, 0), (0, 0), (1, 10), (0, 0)]);
        assert_eq!(record.attempts, 2);
    }

    #[test]
    fn a_refused_exchange_has_a_whole_and_perhaps_a_queue() {
        let service = ServiceWorkerStats::default();
        let mut record = ExchangeRecord::begin(at(0), at(10));
        record.queue_begin = Some(at(10));
        record.cause = Some(Cause::QueueTimeout);
        record.local_reply = true;
        record.status = 503;
        record.close(at(1010));
        count_exchange(&record, &service, None);
        assert_eq!(counts(&service.phases.queue), (1, 1000));
        assert_eq!(counts(&service.phases.total), (1, 1010));
        for histogram in
            [&service.phases.connect, &service.phases.first_byte, &service.phases.transfer]
        {
            assert_eq!(counts(histogram), (0, 0));
        }
        assert_eq!(record.request_time(), Some(Duration::from_micros(1010)));
    }

    #[test]
    fn failed_attempts_belong_to_their_server() {
        let server = ServerWorkerStats::default();
        count_failed_attempt(Cause::ServerRefused, false, &server);
        count_failed_attempt(Cause::ServerReset, true, &server);
        assert_eq!(server.counters.requests.get(), 1);
        assert_eq!(server.causes[Cause::ServerRefused as usize].get(), 1);
        assert_eq!(server.causes[Cause::ServerReset as usize].get(), 1);
    }
}
