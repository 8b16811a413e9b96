//! Packets as bytes and back, and what is wrong with others.

use super::*;
use crate::replica::record::ReplicatedPhase;

const KEY: &str = "1 0123456789abcdef0123456789abcdef";
const OTHER: &str = "1 fedcba9876543210fedcba9876543210";

fn keys(text: &str) -> ClusterKeys {
    ClusterKeys::parse(text).unwrap()
}

fn full() -> Vec<u8> {
    let mut batch = RecordBatch::default();
    let record = ReplicaRecord::Phase { fingerprint: 9, phase: ReplicatedPhase::Open, left: 5 };
    while !batch.is_full() {
        assert!(batch.push(1, &record));
    }
    batch.emit(7, 8, 1, &keys(KEY))
}

/// The bytes, signed with this key.
fn signed(mut bytes: Vec<u8>, by: &str) -> Vec<u8> {
    keys(by).sign(&mut bytes);
    bytes
}

#[test]
fn packets_read_as_they_were_written() {
    let datagram = parse(&full(), &keys(KEY)).unwrap();
    let ReplicaBody::Records(records) = &datagram.body else { panic!("{datagram:?}") };
    assert_eq!(
        records.len(),
        (RECORD_SPACE_BYTES - MAX_RECORD_BYTES).div_ceil(12)
            + usize::from((RECORD_SPACE_BYTES - MAX_RECORD_BYTES).is_multiple_of(12))
    );
    assert_eq!((datagram.from, datagram.to, datagram.number, datagram.key), (7, 8, 1, 1));
    let came = Acknowledgement { newest: 300, received: [1, 2, 3, 4] };
    let datagram = parse(&emit_acknowledgement(7, 8, &came, &keys(KEY)), &keys(KEY)).unwrap();
    assert_eq!((datagram.body, datagram.number), (ReplicaBody::Acknowledgement(came), 0));
    let stands = ReplicaHello { active: true, epoch: 3, synced_epoch: 4, tag: 5, sealed: [6; 32] };
    let datagram = parse(&emit_hello(7, 8, &stands, &keys(KEY)), &keys(KEY)).unwrap();
    assert_eq!(datagram.body, ReplicaBody::Hello(stands));
}

#[test]
fn each_defect_has_its_name() {
    let good = full();
    let body = &good[..good.len() - TAG];
    let with = |at: usize, byte: u8| {
        let mut bytes = body.to_vec();
        bytes[at] = byte;
        bytes
    };
    let rows = [
        ("too-short", good[..HEADER_BYTES + TAG - 1].to_vec()),
        ("too-long", vec![0; MAX_PACKET_BYTES + 1]),
        ("not-replication", signed(with(0, b'X'), KEY)),
        ("unknown-key", signed(with(6, 2), KEY)),
        ("wrong-signature", signed(body.to_vec(), OTHER)),
        ("other-version", signed(with(5, VERSION + 1), KEY)),
        ("malformed", signed(with(7, 9), KEY)),
        ("malformed", signed(with(31, 0), KEY)),
        ("malformed", signed(body[..body.len() - 1].to_vec(), KEY)),
    ];
    for (name, bytes) in rows {
        assert_eq!(parse(&bytes, &keys(KEY)).map_err(ReplicaDefect::name), Err(name));
    }
    assert!(
        parse(&signed(with(4, 9), KEY), &keys(KEY)).is_ok(),
        "newer, and readable by its own word"
    );
}

#[test]
fn no_byte_can_be_changed() {
    let good = full();
    for at in (0..good.len()).step_by(7) {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        assert!(parse(&bytes, &keys(KEY)).is_err(), "{at}");
    }
}
