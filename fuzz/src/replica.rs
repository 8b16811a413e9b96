//! Targets of replication: packets as they come, and a partner that hears anything at any time.
//!
//! Beside never panicking: what is not signed with our keys is never read, a record that is read is what would be
//! written, and a partner takes no record of anybody who cannot know both processes, nor one twice.

use std::time::Duration;

use ha::keys::Keys;
use ha::replica::datagram::{Batch, Body, parse};
use ha::replica::partner::{Partner, Said};
use ha::replica::record::{Phase, Record};
use ha::replica::seal::Secret;
use ha::replica::window::WINDOW;
use model::moment::Moment;

/// Processes that no input is long enough to guess.
const OURS: u64 = 0x5eed_5eed_5eed_5eed;
const THEIRS: u64 = 0xbead_bead_bead_bead;
const SECRET: Secret = [7; 32];

fn keys(letter: &str) -> Keys {
    Keys::parse(&format!("1 {}\n2 {}", letter.repeat(40), "s".repeat(32))).unwrap()
}

/// A packet: as it came, and as somebody who has the key would have signed it.
pub fn packet(bytes: &[u8]) {
    let (ours, others) = (keys("a"), keys("b"));
    let mut signed = bytes.to_vec();
    if signed.len() > 6 {
        signed[6] = 1;
    }
    ours.sign(&mut signed);
    for bytes in [bytes, &signed] {
        let Ok(datagram) = parse(bytes, &ours) else { continue };
        assert!(parse(bytes, &others).is_err(), "another secret reads it");
        if let Body::Records(records) = datagram.body {
            let mut out = Vec::new();
            assert!(records.iter().all(|record| record.emit(&mut out)));
            assert!(bytes.windows(out.len().max(1)).any(|part| part == out) || out.is_empty());
        }
    }
}

/// A partner that is told what the bytes say: time, packets of the other one or of strangers, batches to send.
pub fn talk(bytes: &[u8]) {
    let keys = keys("a");
    let (mut ours, mut theirs, mut stranger) =
        (Partner::default(), Partner::default(), Partner::default());
    ours.meet(Some((OURS, THEIRS)));
    theirs.meet(Some((THEIRS, OURS)));
    stranger.meet(Some((THEIRS, 1)));
    let (mut now, mut last, mut taken) = (Moment(1), Vec::new(), 0);
    for each in bytes.chunks_exact(4) {
        now = now + Duration::from_millis(u64::from(each[1]));
        let from = if each[2].is_multiple_of(4) { &mut stranger } else { &mut theirs };
        let packet = match each[0] % 6 {
            0 => from.hello(each[3] > 128, &[each[3] % 9; 32], &keys),
            1 => from.heard(&keys),
            2 => send(from, now, u64::from(each[3]), &keys),
            3 => Some(std::mem::take(&mut last)),
            4 => {
                drop(send(&mut ours, now, u64::from(each[3]), &keys));
                None
            }
            _ => {
                ours.noted();
                ours.emptied(now);
                let lost = ours.pass(now);
                assert!(lost.len() <= WINDOW);
                None
            }
        };
        let Some(packet) = packet else { continue };
        match ours.hear(now, &packet, (each[3] < 64, &SECRET), &keys) {
            Ok(Said::Records(_)) => {
                assert!(each[0] % 6 == 3 || !each[2].is_multiple_of(4), "a stranger is believed");
                assert!(packet != last, "the same packet twice");
                taken += 1;
            }
            Ok(Said::Lost(places)) => assert!(places.len() <= WINDOW),
            Ok(_) => {}
            Err(_) => assert!(!ours.counts.refused.is_empty()),
        }
        last = packet;
    }
    assert_eq!(ours.counts.received, taken);
}

fn send(from: &mut Partner, now: Moment, place: u64, keys: &Keys) -> Option<Vec<u8>> {
    let mut batch = Batch::default();
    let record = Record::Phase { print: place + 2, phase: Phase::Open, left: 1 };
    (from.may_send() && batch.push(place, &record)).then(|| from.send(now, batch, keys))?
}

/// A packet of each kind, unsigned at the end as a target signs it again.
pub fn seeds() -> Vec<Vec<u8>> {
    let keys = keys("a");
    let mut partner = Partner::default();
    partner.meet(Some((OURS, THEIRS)));
    let hello = partner.hello(true, &SECRET, &keys);
    let heard = partner.heard(&keys);
    let mut batch = Batch::default();
    let end = |last: u8| ([192, 0, 2, last].into(), 80);
    let opened = ha::replica::record::Opened {
        phase: Phase::Opening,
        left: 100,
        udp: false,
        client: end(1),
        service: end(2),
        back: Some(end(3).0),
        port: 1_025,
        server: 9,
        stamp: Some(3),
    };
    for record in [
        Record::Flow { print: 9, server: 1, phase: Phase::Open, left: 5 },
        Record::Stuck { print: 9, server: 1, left: 5 },
        Record::Phase { print: 9, phase: Phase::Closing, left: 5 },
        Record::Opened(opened),
    ] {
        assert!(batch.push(1, &record));
    }
    let records = partner.send(Moment(1), batch, &keys);
    let all = [hello, heard, records].into_iter().flatten();
    all.map(|packet| packet[..packet.len() - ha::keys::TAG].to_vec()).collect()
}

/// What a partner is told.
pub fn talks() -> Vec<Vec<u8>> {
    // Hello of the same secret, records, an acknowledgement, a copy, time.
    vec![vec![0, 1, 1, 7, 2, 1, 1, 9, 1, 2, 1, 0, 3, 1, 1, 0, 4, 1, 1, 4, 5, 200, 1, 0, 2, 1, 4, 9]]
}
