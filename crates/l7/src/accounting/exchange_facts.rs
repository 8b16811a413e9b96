//! Converts a closed exchange to the form that time attribution reads.

use std::net::SocketAddr;
use std::time::Duration;

use model::id::ServiceId;
use model::monotonic_time::MonotonicTime;
use model::time_attribution::{ExchangeFlags, ExchangeMeasurement, ExchangePhases};

use super::exchange_record::ExchangeRecord;
use super::id::RequestIds;

/// The facts of a closed exchange. `slow`: it took longer than its service's threshold.
pub fn exchange_facts(
    record: &mut ExchangeRecord,
    service: ServiceId,
    client: SocketAddr,
    slow: bool,
    ids: &RequestIds,
) -> ExchangeMeasurement {
    let id = record.id(ids).number();
    let measured = &record.sample;
    let opening = measured.connection_setup.unwrap_or_default();
    let sockets = measured.sockets.as_deref().copied().unwrap_or_default();
    let nanos = |time: Option<Duration>| {
        time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    };
    let phases = ExchangePhases {
        accept: nanos(Some(opening.accept)),
        tls: nanos(opening.tls),
        head: nanos(Some(record.head_at.since(record.begun_at))),
        queue: nanos(record.queue_time()),
        connect: nanos(record.connect_time_or_end()),
        body_in: nanos(record.send_time()),
        first_byte: nanos(record.server_time()),
        body_out: nanos(record.transfer_time()),
    };
    ExchangeMeasurement {
        id,
        ended_at: record.ended_at.unwrap_or(MonotonicTime(0)).0,
        service: service.0,
        server: record.server.map(|server| server.0),
        flags: ExchangeFlags {
            slow,
            sampled: measured.sampled,
            reused: record.reused,
            client_shared: sockets.client_shared,
            client_quic: sockets.client_quic,
            server_shared: sockets.server_shared,
            tunnel: measured.tunnel,
            by_us: record.local_reply,
            server_tls: sockets.server_tls,
            error_replaced: !record.local_reply
                && record.replaced_status.is_some_and(|it| it >= 500),
        },
        attempts: u16::try_from(record.attempts).unwrap_or(u16::MAX),
        status: record.status,
        cause: record.cause.map(|cause| cause as u8),
        phases,
        wait_times: measured.awaited,
        bytes: [
            record.bytes_from_client,
            record.bytes_to_server,
            record.bytes_from_server,
            record.bytes_to_client,
        ],
        client_tcp: sockets.client,
        server_tcp: sockets.server,
        request_drain: measured.request_drain,
        trace: measured.trace,
        client_port: client.port(),
        server_port: sockets.port.unwrap_or(0),
        ..ExchangeMeasurement::from_total(client.ip(), nanos(Some(record.total_time())))
    }
}

#[cfg(test)]
mod tests {
    use model::limit::TimeOwner;
    use model::time_attribution::{WaitReason, attribute_time};

    use super::super::exchange_sample::ConnectionSetup;
    use super::*;

    #[test]
    fn an_exchange_sums_to_what_it_took() {
        let at = |millis: u64| MonotonicTime(millis * 1_000_000);
        let mut record = ExchangeRecord::begin(at(100), at(110));
        record.sample.connection_setup = Some(ConnectionSetup {
            accept: Duration::from_millis(1),
            tls: Some(Duration::from_millis(9)),
            group: None,
        });
        record.queue_begin = Some(at(110));
        record.queue_end = Some(at(150));
        record.connect_begin = Some(at(150));
        record.connect_end = Some(at(160));
        record.sample.attempt = Some(at(160));
        record.sample.awaited.wait_for(WaitReason::ClientSend, at(160));
        record.sample.awaited.wait_for(WaitReason::ServerResponse, at(165));
        record.request_sent = Some(at(165));
        record.first_byte = Some(at(365));
        record.sample.awaited.wait_for(WaitReason::ClientReceive, at(365));
        record.sample.awaited.stop(at(370));
        record.close(at(370));
        let ids = RequestIds::new(1, 5);
        let facts =
            exchange_facts(&mut record, ServiceId(3), ([192, 0, 2, 1], 7).into(), true, &ids);
        let millis = facts.phases.values().map(|nanos| nanos / 1_000_000);
        assert_eq!(millis, [1, 9, 10, 40, 10, 5, 200, 5]);
        assert_eq!(millis.iter().sum::<u64>(), 280);
        let id = record.id(&ids).number();
        assert_eq!((facts.total / 1_000_000, facts.service, facts.id), (280, 3, id));
        let bars = attribute_time(&facts);
        assert_eq!(bars.owner_total(Some(TimeOwner::Server)) / 1_000_000, 200);
        assert_eq!(bars.owner_total(Some(TimeOwner::Client)) / 1_000_000, 15, "head and body");
        assert_eq!(bars.owner_total(Some(TimeOwner::Balancer)) / 1_000_000, 41, "accept and queue");
        assert_eq!(bars.total(), facts.total);
    }

    #[test]
    fn a_connection_that_is_never_made_is_connecting_until_the_end() {
        let at = |millis: u64| MonotonicTime(millis * 1_000_000);
        let mut record = ExchangeRecord::begin(at(0), at(0));
        record.connect_begin = Some(at(1));
        record.close(at(3_001));
        let ids = RequestIds::new(0, 0);
        let facts =
            exchange_facts(&mut record, ServiceId(0), ([192, 0, 2, 1], 7).into(), true, &ids);
        assert_eq!(attribute_time(&facts).owner_total(Some(TimeOwner::Network)), 3_000_000_000);
    }
}
