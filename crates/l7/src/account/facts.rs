//! A closed exchange in the form in which it is judged. Nothing is read here, and nothing decided.

use std::net::SocketAddr;
use std::time::Duration;

use model::attribute::{Facts, Flags, Phases};
use model::id::ServiceId;
use model::moment::Moment;

use super::id::Ids;
use super::record::Record;

/// The facts of a closed exchange. `slow`: it took longer than its service's bound.
pub fn facts(
    record: &mut Record,
    service: ServiceId,
    client: SocketAddr,
    slow: bool,
    ids: &Ids,
) -> Facts {
    let id = record.id(ids).number();
    let measured = &record.measured;
    let opening = measured.opening.unwrap_or_default();
    let sockets = measured.sockets.as_deref().copied().unwrap_or_default();
    let nanos = |time: Option<Duration>| {
        time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    };
    let phases = Phases {
        accept: nanos(Some(opening.accept)),
        tls: nanos(opening.tls),
        head: nanos(Some(record.head.since(record.begun))),
        queue: nanos(record.queued()),
        connect: nanos(record.connecting_at_all()),
        body_in: nanos(record.sending()),
        first_byte: nanos(record.thinking()),
        body_out: nanos(record.transferring()),
    };
    Facts {
        id,
        at: record.done.unwrap_or(Moment(0)).0,
        service: service.0,
        server: record.server.map(|server| server.0),
        flags: Flags {
            slow,
            drawn: measured.drawn,
            reused: record.reused,
            client_shared: sockets.client_shared,
            server_shared: sockets.server_shared,
            tunnel: measured.tunnel,
            by_us: record.by_us,
            server_tls: sockets.server_tls,
        },
        attempts: u16::try_from(record.attempts).unwrap_or(u16::MAX),
        status: record.status,
        cause: record.cause.map(|cause| cause as u8),
        phases,
        waits: measured.waits,
        bytes: [
            record.bytes_from_client,
            record.bytes_to_server,
            record.bytes_from_server,
            record.bytes_to_client,
        ],
        client_tcp: sockets.client,
        server_tcp: sockets.server,
        traced: measured.traced,
        client_port: client.port(),
        server_port: sockets.port.unwrap_or(0),
        ..Facts::of(client.ip(), nanos(Some(record.took())))
    }
}

#[cfg(test)]
mod tests {
    use model::attribute::{For, judge};
    use model::limit::Owner;

    use super::super::measured::Opening;
    use super::*;

    #[test]
    fn an_exchange_sums_to_what_it_took() {
        let at = |millis: u64| Moment(millis * 1_000_000);
        let mut record = Record::begin(at(100), at(110));
        record.measured.opening = Some(Opening {
            accept: Duration::from_millis(1),
            tls: Some(Duration::from_millis(9)),
            group: None,
        });
        (record.queue_begin, record.queue_end) = (Some(at(110)), Some(at(150)));
        (record.connect_begin, record.connect_end) = (Some(at(150)), Some(at(160)));
        record.measured.attempt = Some(at(160));
        record.measured.waits.on(For::ClientSends, at(160));
        record.measured.waits.on(For::Answer, at(165));
        (record.request_sent, record.first_byte) = (Some(at(165)), Some(at(365)));
        record.measured.waits.on(For::ClientTakes, at(365));
        record.measured.waits.stop(at(370));
        record.close(at(370));
        let ids = Ids::new(1, 5);
        let facts = facts(&mut record, ServiceId(3), ([192, 0, 2, 1], 7).into(), true, &ids);
        let millis = facts.phases.all().map(|nanos| nanos / 1_000_000);
        assert_eq!(millis, [1, 9, 10, 40, 10, 5, 200, 5]);
        assert_eq!(millis.iter().sum::<u64>(), 280);
        let id = record.id(&ids).number();
        assert_eq!((facts.total / 1_000_000, facts.service, facts.id), (280, 3, id));
        let bars = judge(&facts);
        assert_eq!(bars.of(Some(Owner::Server)) / 1_000_000, 200);
        assert_eq!(bars.of(Some(Owner::Client)) / 1_000_000, 15, "head and body");
        assert_eq!(bars.of(Some(Owner::Balancer)) / 1_000_000, 41, "accept and queue");
        assert_eq!(bars.total(), facts.total);
    }

    #[test]
    fn a_connection_that_is_never_made_is_connecting_until_the_end() {
        let at = |millis: u64| Moment(millis * 1_000_000);
        let mut record = Record::begin(at(0), at(0));
        record.connect_begin = Some(at(1));
        record.close(at(3_001));
        let ids = Ids::new(0, 0);
        let facts = facts(&mut record, ServiceId(0), ([192, 0, 2, 1], 7).into(), true, &ids);
        assert_eq!(judge(&facts).of(Some(Owner::Network)), 3_000_000_000);
    }
}
