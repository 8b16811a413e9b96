//! Targets of replication: received packets, and a peer that receives any packets at any time.
//!
//! Properties besides not panicking: an incorrectly signed packet is rejected, and a parsed record is encoded
//! unchanged. A peer accepts no record from a sender that does not know both sessions, and accepts each packet once.

use std::net::SocketAddr;
use std::time::Duration;

use ha::keys::ClusterKeys;
use ha::replica::datagram::{RecordBatch, ReplicaBody, parse};
use ha::replica::peer::{ReplicaEvent, ReplicaPeer, ReplicaSessions};
use ha::replica::record::{ReplicaRecord, ReplicatedPhase};
use ha::replica::seal::HashSecret;
use ha::replica::send_window::WINDOW;
use model::monotonic_time::MonotonicTime;

/// Session numbers that a fuzz input is too short to guess.
const OURS: u64 = 0x5eed_5eed_5eed_5eed;
const THEIRS: u64 = 0xbead_bead_bead_bead;
const SESSIONS: ReplicaSessions = ReplicaSessions { ours: OURS, theirs: THEIRS };
const SECRET: HashSecret = [7; 32];

fn keys(letter: &str) -> ClusterKeys {
    ClusterKeys::parse(&format!("1 {}\n2 {}", letter.repeat(40), "s".repeat(32))).unwrap()
}

/// A packet, as received and with a valid signature.
pub fn packet(bytes: &[u8]) {
    let ours = keys("a");
    let others = keys("b");
    let mut signed = bytes.to_vec();
    if signed.len() > 6 {
        signed[6] = 1;
    }
    ours.sign(&mut signed);
    for bytes in [bytes, &signed] {
        let Ok(datagram) = parse(bytes, &ours) else { continue };
        assert!(parse(bytes, &others).is_err(), "another secret reads it");
        if let ReplicaBody::Records(records) = datagram.body {
            let mut out = Vec::new();
            assert!(records.iter().all(|record| record.emit(&mut out)));
            assert!(bytes.windows(out.len().max(1)).any(|part| part == out) || out.is_empty());
        }
    }
}

/// A peer whose events the bytes describe: passing time, packets of the other peer or of a stranger, and batches to
/// send.
pub fn run_partner(bytes: &[u8]) {
    let keys = keys("a");
    let mut ours = ReplicaPeer::default();
    let mut theirs = ReplicaPeer::default();
    let mut stranger = ReplicaPeer::default();
    ours.set_sessions(Some(SESSIONS));
    theirs.set_sessions(Some(ReplicaSessions { ours: THEIRS, theirs: OURS }));
    stranger.set_sessions(Some(ReplicaSessions { ours: THEIRS, theirs: 1 }));
    let mut now = MonotonicTime(1);
    let mut last = Vec::new();
    let mut taken = 0;
    for each in bytes.chunks_exact(4) {
        now = now + Duration::from_millis(u64::from(each[1]));
        let from = if each[2].is_multiple_of(4) { &mut stranger } else { &mut theirs };
        let packet = match each[0] % 6 {
            0 => from.build_hello(each[3] > 128, &[each[3] % 9; 32], &keys),
            1 => from.take_acknowledgement(&keys),
            2 => send(from, now, u64::from(each[3]), &keys),
            3 => Some(std::mem::take(&mut last)),
            4 => {
                drop(send(&mut ours, now, u64::from(each[3]), &keys));
                None
            }
            _ => {
                ours.finish_full_scan();
                ours.note_all_sent(now);
                let lost = ours.handle_timeouts(now);
                assert!(lost.len() <= WINDOW);
                None
            }
        };
        let Some(packet) = packet else { continue };
        match ours.receive(now, &packet, each[3] < 64, &SECRET, &keys) {
            Ok(ReplicaEvent::Records(_)) => {
                assert!(each[0] % 6 == 3 || !each[2].is_multiple_of(4), "a stranger is believed");
                assert!(packet != last, "the same packet twice");
                taken += 1;
            }
            Ok(ReplicaEvent::Lost(places)) => assert!(places.len() <= WINDOW),
            Ok(_) => {}
            Err(_) => assert!(!ours.counts.refused.is_empty()),
        }
        last = packet;
    }
    assert_eq!(ours.counts.received, taken);
}

fn send(
    from: &mut ReplicaPeer,
    now: MonotonicTime,
    place: u64,
    keys: &ClusterKeys,
) -> Option<Vec<u8>> {
    let mut batch = RecordBatch::default();
    let record =
        ReplicaRecord::Phase { fingerprint: place + 2, phase: ReplicatedPhase::Open, left: 1 };
    (from.may_send() && batch.push(place, &record)).then(|| from.send_batch(now, batch, keys))?
}

/// A packet of each kind, without its signature, which the target adds.
pub fn seeds() -> Vec<Vec<u8>> {
    let keys = keys("a");
    let mut partner = ReplicaPeer::default();
    partner.set_sessions(Some(SESSIONS));
    let hello = partner.build_hello(true, &SECRET, &keys);
    let heard = partner.take_acknowledgement(&keys);
    let mut batch = RecordBatch::default();
    let end = |last: u8| SocketAddr::from(([192, 0, 2, last], 80));
    let opened = ha::replica::record::TranslatedConnection {
        phase: ReplicatedPhase::Opening,
        ttl: 100,
        udp: false,
        client: end(1),
        service: end(2),
        return_address: Some(end(3).ip()),
        port: 1_025,
        server: 9,
        stamp: Some(3),
    };
    for record in [
        ReplicaRecord::Flow { fingerprint: 9, server: 1, phase: ReplicatedPhase::Open, left: 5 },
        ReplicaRecord::Sticky { fingerprint: 9, server: 1, left: 5 },
        ReplicaRecord::Phase { fingerprint: 9, phase: ReplicatedPhase::Closing, left: 5 },
        ReplicaRecord::Translated(opened),
    ] {
        assert!(batch.push(1, &record));
    }
    let records = partner.send_batch(MonotonicTime(1), batch, &keys);
    let all = [hello, heard, records].into_iter().flatten();
    all.map(|packet| packet[..packet.len() - ha::keys::TAG].to_vec()).collect()
}

/// The events of a dialogue.
pub fn talk_seeds() -> Vec<Vec<u8>> {
    // A hello with the same secret, records, an acknowledgement, a repeated packet, and passing time.
    vec![vec![0, 1, 1, 7, 2, 1, 1, 9, 1, 2, 1, 0, 3, 1, 1, 0, 4, 1, 1, 4, 5, 200, 1, 0, 2, 1, 4, 9]]
}
