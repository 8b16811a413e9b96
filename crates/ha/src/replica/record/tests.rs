//! Each record as bytes and back, and its size on the wire.

use proptest::prelude::*;

use model::capacity::replication_traffic::{self, MAX_PACKET_BYTES, MAX_RECORD_BYTES, RecordSizes};

use super::*;

fn opened(v6: bool, stamp: Option<u32>, keeps_address: bool) -> TranslatedConnection {
    let ip = |last: u8| -> IpAddr {
        if v6 { format!("2001:db8::{last}") } else { format!("192.0.2.{last}") }.parse().unwrap()
    };
    TranslatedConnection {
        phase: ReplicatedPhase::Opening,
        ttl: 112,
        udp: false,
        client: SocketAddr::new(ip(1), 40_000),
        service: SocketAddr::new(ip(2), 80),
        return_address: (!keeps_address).then(|| ip(3)),
        port: 1_025,
        server: 0x0102_0304,
        stamp,
    }
}

fn emitted(record: &ReplicaRecord) -> Vec<u8> {
    let mut out = Vec::new();
    assert!(record.emit(&mut out));
    out
}

#[test]
fn records_are_as_long_as_the_form_says() {
    let flow =
        ReplicaRecord::Flow { fingerprint: 2, server: 1, phase: ReplicatedPhase::Open, left: 9 };
    let stuck = ReplicaRecord::Sticky { fingerprint: 2, server: 1, left: 9 };
    let phase = ReplicaRecord::Phase { fingerprint: 2, phase: ReplicatedPhase::Closing, left: 9 };
    let rows = [
        (flow, 16, replication_traffic::FLOW_RECORD_BYTES),
        (stuck, 15, replication_traffic::AFFINITY_RECORD_BYTES),
        (phase, 12, replication_traffic::PHASE_RECORD_BYTES),
        (
            ReplicaRecord::Translated(opened(false, None, false)),
            26,
            replication_traffic::translated_record_bytes(false, false),
        ),
        (
            ReplicaRecord::Translated(opened(false, Some(7), false)),
            30,
            replication_traffic::translated_record_bytes(false, false)
                + replication_traffic::SYN_COOKIE_BYTES,
        ),
        (
            ReplicaRecord::Translated(opened(false, None, true)),
            22,
            replication_traffic::translated_record_bytes(false, true),
        ),
        (
            ReplicaRecord::Translated(opened(true, None, false)),
            62,
            replication_traffic::translated_record_bytes(true, false),
        ),
        (
            ReplicaRecord::Translated(opened(true, None, true)),
            46,
            replication_traffic::translated_record_bytes(true, true),
        ),
        (ReplicaRecord::Translated(opened(true, Some(7), false)), 66, MAX_RECORD_BYTES),
    ];
    for (record, bytes, reckoned) in rows {
        assert_eq!(bytes, reckoned, "{record:?}");
        let out = emitted(&record);
        assert_eq!(out.len(), bytes, "{record:?}");
        assert_eq!(ReplicaRecord::take_first(&mut &out[..]), Ok(Some(record)));
        for end in 1..out.len() {
            assert_eq!(
                ReplicaRecord::take_first(&mut &out[..end]),
                Err(ReplicaDefect::Fields),
                "{record:?} {end}"
            );
        }
    }
}

#[test]
fn a_connection_of_two_families_is_not_encoded() {
    let mixed = TranslatedConnection {
        return_address: Some("2001:db8::9".parse().unwrap()),
        ..opened(false, None, false)
    };
    let mut out = Vec::new();
    assert!(!ReplicaRecord::Translated(mixed).emit(&mut out) && out.is_empty());
}

#[test]
fn malformed_records_are_rejected() {
    let flow = emitted(&ReplicaRecord::Flow {
        fingerprint: 2,
        server: 1,
        phase: ReplicatedPhase::Open,
        left: 9,
    });
    let changed = |at: usize, byte: u8| {
        let mut out = flow.clone();
        out[at] = byte;
        ReplicaRecord::take_first(&mut &out[..])
    };
    assert_eq!(changed(0, 9), Err(ReplicaDefect::Fields), "a kind that is not known");
    assert_eq!(changed(8, 1), Err(ReplicaDefect::Fields), "a hash that means something else");
    assert_eq!(changed(13, 0), Err(ReplicaDefect::Fields), "a phase that is none");
    assert_eq!(ReplicaRecord::take_first(&mut &[][..]), Ok(None));
}

#[test]
fn opening_and_closing_a_connection_cost_less_than_ninety_bytes() {
    const _: () = assert!(MAX_PACKET_BYTES + 40 + 8 <= 1_500);
    // Study S0: packets of 26 updates of 43 bytes, with headers of 54.
    let study = (26.0 * 43.0 + 54.0) / 26.0;
    let at_3500 = |bytes: f64| bytes * 8.0 * 3_500.0 / 1e6;
    assert_eq!((at_3500(study) * 1e3).round() / 1e3, 1.262);
    let rows = [
        ("mac, tunnel", RecordSizes::FLOW),
        ("nat, IPv4", RecordSizes::for_translated(false, false)),
        ("nat, IPv6", RecordSizes::for_translated(true, false)),
    ];
    for (name, told) in rows {
        let bytes = told.change_bytes().0;
        println!(
            "{name}: open and close {bytes:.1} bytes, {:.3} Mbit/s at 3,500 connections/s; the study's {:.1}, {:.3}",
            at_3500(bytes),
            2.0 * study,
            at_3500(2.0 * study)
        );
        assert!(bytes <= 90.0 && bytes < 2.0 * study, "{name}: {bytes}");
    }
}

fn phases() -> impl Strategy<Value = ReplicatedPhase> {
    (0..6_usize).prop_map(|at| ReplicatedPhase::ALL[at])
}

fn records() -> impl Strategy<Value = ReplicaRecord> {
    let flow = (2..u64::MAX, any::<u32>(), phases(), any::<u16>());
    let stuck = (2..u64::MAX, any::<u32>(), any::<u16>());
    let phase = (2..u64::MAX, phases(), any::<u16>());
    let opened = (any::<bool>(), any::<Option<u32>>(), any::<bool>(), any::<u16>(), any::<u32>());
    prop_oneof![
        flow.prop_map(|(print, server, phase, left)| ReplicaRecord::Flow {
            fingerprint: print,
            server,
            phase,
            left
        }),
        stuck.prop_map(|(print, server, left)| ReplicaRecord::Sticky {
            fingerprint: print,
            server,
            left
        }),
        phase.prop_map(|(print, phase, left)| ReplicaRecord::Phase {
            fingerprint: print,
            phase,
            left
        }),
        opened.prop_map(|(v6, stamp, keeps_address, port, server)| {
            ReplicaRecord::Translated(TranslatedConnection {
                port,
                server,
                ..self::opened(v6, stamp, keeps_address)
            })
        }),
    ]
}

proptest! {
    #[test]
    fn records_read_as_they_were_written(all in prop::collection::vec(records(), 0..20)) {
        let mut out = Vec::new();
        prop_assert!(all.iter().all(|record| record.emit(&mut out)));
        let mut rest = &out[..];
        for record in all {
            prop_assert_eq!(ReplicaRecord::take_first(&mut rest), Ok(Some(record)));
        }
        prop_assert_eq!(ReplicaRecord::take_first(&mut rest), Ok(None));
    }

    #[test]
    fn decoded_records_encode_to_the_same_bytes(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let mut rest = &bytes[..];
        if let Ok(Some(record)) = ReplicaRecord::take_first(&mut rest) {
            let mut out = Vec::new();
            // A reader accepts only what a writer can produce.
            prop_assert!(record.emit(&mut out));
            prop_assert_eq!(&out[..], &bytes[..bytes.len() - rest.len()]);
        }
    }
}
