//! Rows and properties of the bytes: what is written can be read, and nothing else is accepted.

use proptest::prelude::*;

use super::*;

fn keys(id: u8, letter: char) -> ClusterKeys {
    ClusterKeys::parse(&format!("{id} {}", letter.to_string().repeat(40))).unwrap()
}

fn beat() -> PeerHeartbeat {
    let claim = |v6: bool, state| GroupClaim {
        id: 51,
        v6,
        is_capable: !v6,
        state,
        priority: 150,
        source: if v6 { "fe80::1".parse().unwrap() } else { [192, 0, 2, 1].into() },
        vote: None,
    };
    PeerHeartbeat {
        version: VERSION,
        session: 7,
        number: 3,
        echo: HeartbeatEcho { session: 9, newest: 12, number: 11, delay_us: 1_500 },
        name: "left".to_owned(),
        product: "0.1.0".to_owned(),
        config: ConfigDigest { generation: 4, parts: [1, 2, 3, 4] },
        reach: Some(ReachScore { reached: 1, total: 2 }),
        last_received: None,
        claims: vec![claim(false, VrrpState::Active), claim(true, VrrpState::Idle)],
    }
}

/// A heartbeat with changed bytes and a new, valid signature.
fn forged(keys: &ClusterKeys, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = emit(&beat(), keys);
    bytes.truncate(bytes.len() - TAG);
    change(&mut bytes);
    keys.sign(&mut bytes);
    bytes
}

#[test]
fn encoding_round_trips() {
    let keys = keys(1, 'a');
    assert_eq!(parse(&emit(&beat(), &keys), &keys), Ok(beat()));
    let bare = PeerHeartbeat { reach: None, claims: Vec::new(), ..beat() };
    assert_eq!(parse(&emit(&bare, &keys), &keys), Ok(bare));
    let votes = [
        Vote::default(),
        Vote { is_active: true, ..Vote::default() },
        Vote { wants_vote: true, grants_for: Some(Duration::from_secs(3)), ..Vote::default() },
    ];
    for vote in votes {
        let claims =
            beat().claims.into_iter().map(|claim| GroupClaim { vote: Some(vote), ..claim });
        let heard = Some(HeartbeatId { session: 9, number: 12 });
        let voting = PeerHeartbeat { last_received: heard, claims: claims.collect(), ..beat() };
        assert_eq!(parse(&emit(&voting, &keys), &keys), Ok(voting));
    }
}

#[test]
fn every_defect_has_its_name() {
    let ours = keys(1, 'a');
    let good = emit(&beat(), &ours);
    let rows = [
        (Vec::new(), HeartbeatDefect::Short),
        (good[..HEAD + TAG - 1].to_vec(), HeartbeatDefect::Short),
        (vec![0; LARGEST + 1], HeartbeatDefect::Long),
        (vec![0; 200], HeartbeatDefect::Foreign),
        (emit(&beat(), &keys(2, 'a')), HeartbeatDefect::Key),
        (emit(&beat(), &keys(1, 'b')), HeartbeatDefect::Signature),
        (good[..good.len() - 1].to_vec(), HeartbeatDefect::Signature),
        (forged(&ours, |bytes| bytes[5] = VERSION + 1), HeartbeatDefect::Version),
        (forged(&ours, |bytes| bytes.truncate(bytes.len() - 1)), HeartbeatDefect::Fields),
        (forged(&ours, |bytes| bytes.push(9)), HeartbeatDefect::Fields),
        (forged(&ours, |bytes| bytes[8..16].fill(0)), HeartbeatDefect::Fields),
        (forged(&ours, |bytes| bytes.truncate(HEAD)), HeartbeatDefect::Fields),
        (forged(&ours, |bytes| bytes[HEAD + 2] = 7), HeartbeatDefect::Fields),
        (forged(&ours, |bytes| bytes.extend([5, 4, 1, 0, 9, 1])), HeartbeatDefect::Fields),
        (
            forged(&ours, |bytes| bytes.extend([5, 8, 1, 1, 1, 1, 0, 0, 0, 0])),
            HeartbeatDefect::Fields,
        ),
    ];
    for (bytes, defect) in rows {
        assert_eq!(parse(&bytes, &ours), Err(defect));
    }
}

#[test]
fn newer_versions_are_read_where_they_allow_it() {
    let keys = keys(1, 'a');
    let newer = forged(&keys, |bytes| {
        bytes[4] = VERSION + 3;
        bytes.extend([200, 3, 1, 2, 3]);
        // A claim with extra bytes, as a newer version would send.
        bytes.extend([5, 9, 52, 0, 1, 100, 192, 0, 2, 9, 77]);
    });
    let read = parse(&newer, &keys).unwrap();
    assert_eq!((read.version, read.name.as_str(), read.claims.len()), (4, "left", 3));
    assert_eq!((read.claims[2].id, read.claims[2].priority), (52, 100));
}

#[test]
fn texts_are_cut_between_characters() {
    let keys = keys(1, 'a');
    let long = PeerHeartbeat { name: "é".repeat(TEXT), ..beat() };
    let read = parse(&emit(&long, &keys), &keys).unwrap();
    assert_eq!(read.name, "é".repeat(TEXT / 2));
}

proptest! {
    /// A packet with one flipped bit is rejected, wherever the bit is.
    #[test]
    fn nothing_changed_on_the_way_is_taken(at: prop::sample::Index, bit in 0..8_u8) {
        let keys = keys(1, 'a');
        let mut bytes = emit(&beat(), &keys);
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let found = parse(&bytes, &keys);
        prop_assert!(
            matches!(found, Err(HeartbeatDefect::Foreign | HeartbeatDefect::Key | HeartbeatDefect::Signature)),
            "{found:?}"
        );
    }

    /// A holder of the key may send any bytes. A heartbeat that is not rejected stays the same when written and read.
    #[test]
    fn any_signed_bytes_are_read_or_rejected(body in prop::collection::vec(any::<u8>(), 0..300)) {
        let keys = keys(1, 'a');
        let bytes = forged(&keys, |bytes| { bytes.truncate(HEAD); bytes.extend(&body); });
        if let Ok(beat) = parse(&bytes, &keys) {
            prop_assert_eq!(parse(&emit(&beat, &keys), &keys), Ok(beat));
        }
        let _ = parse(&body, &keys);
    }
}
