//! Which peers are accepted, and when everything has arrived.

use std::time::Duration;

use super::super::record::ReplicatedPhase;
use super::*;

const OURS: HashSecret = [1; 32];
const THEIRS: HashSecret = [2; 32];

fn at(ms: u64) -> MonotonicTime {
    MonotonicTime::default() + Duration::from_millis(ms)
}

fn keys() -> ClusterKeys {
    ClusterKeys::parse("1 0123456789abcdef0123456789abcdef").unwrap()
}

fn pair() -> (ReplicaPeer, ReplicaPeer) {
    let mut one = ReplicaPeer::default();
    let mut other = ReplicaPeer::default();
    one.set_sessions(Some(ReplicaSessions { ours: 7, theirs: 8 }));
    other.set_sessions(Some(ReplicaSessions { ours: 8, theirs: 7 }));
    (one, other)
}

/// Both exchange hellos with the same secret.
fn agree(one: &mut ReplicaPeer, other: &mut ReplicaPeer) {
    for _ in 0..2 {
        let bytes = one.build_hello(true, &OURS, &keys()).unwrap();
        assert_eq!(other.receive(at(0), &bytes, false, &OURS, &keys()), Ok(ReplicaEvent::Agreed));
        let bytes = other.build_hello(false, &OURS, &keys()).unwrap();
        assert_eq!(one.receive(at(0), &bytes, true, &OURS, &keys()), Ok(ReplicaEvent::Agreed));
    }
}

fn packet(one: &mut ReplicaPeer, place: u64) -> Vec<u8> {
    let mut batch = RecordBatch::default();
    assert!(batch.push(
        place,
        &ReplicaRecord::Phase { fingerprint: 9, phase: ReplicatedPhase::Open, left: 5 }
    ));
    one.send_batch(MonotonicTime::default(), batch, &keys()).unwrap()
}

#[test]
fn a_secret_is_taken_from_who_is_active() {
    let (mut one, mut other) = pair();
    let bytes = one.build_hello(true, &OURS, &keys()).unwrap();
    assert_eq!(
        other.receive(at(0), &bytes, false, &THEIRS, &keys()),
        Ok(ReplicaEvent::Adopt(OURS))
    );
    assert_eq!(
        other.receive(at(0), &bytes, true, &THEIRS, &keys()),
        Ok(ReplicaEvent::SecretsDiffer)
    );
    assert!(other.secrets_differ() && !other.is_agreed());
    let back = other.build_hello(false, &THEIRS, &keys()).unwrap();
    assert_eq!(one.receive(at(0), &back, true, &OURS, &keys()), Ok(ReplicaEvent::AwaitPeer));
    agree(&mut one, &mut other);
    assert!(one.is_agreed() && other.is_agreed() && !other.secrets_differ());
}

#[test]
fn all_has_come_when_nothing_of_it_is_under_way_or_lost() {
    let (mut one, mut other) = pair();
    agree(&mut one, &mut other);
    assert!(one.needs_full_sync() && one.may_send());
    one.start_full_scan();
    let first = packet(&mut one, 1);
    one.note_all_sent(at(0));
    assert!(!one.needs_full_sync() && !one.is_peer_synced(), "not everything was looked at");
    let second = packet(&mut one, 2);
    one.finish_full_scan();
    one.note_all_sent(at(0));
    assert!(!one.is_peer_synced());
    // The first packet is lost.
    assert!(matches!(
        other.receive(at(0), &second, false, &OURS, &keys()),
        Ok(ReplicaEvent::Records(_))
    ));
    assert_eq!(other.receive(at(0), &first, false, &OURS, &keys()), Err(ReplicaDefect::Late));
    let came = other.take_acknowledgement(&keys()).unwrap();
    assert_eq!(one.receive(at(0), &came, true, &OURS, &keys()), Ok(ReplicaEvent::Lost(vec![1])));
    assert!(!one.is_peer_synced(), "a place is owed");
    let third = packet(&mut one, 1);
    one.note_all_sent(at(0));
    let later = packet(&mut one, 3);
    assert!(other.receive(at(0), &third, false, &OURS, &keys()).is_ok());
    let came = other.take_acknowledgement(&keys()).unwrap();
    assert_eq!(one.receive(at(0), &came, true, &OURS, &keys()), Ok(ReplicaEvent::Lost(vec![])));
    assert!(one.is_peer_synced(), "what began since does not count");
    assert!(other.receive(at(0), &later, false, &OURS, &keys()).is_ok());
    agree(&mut one, &mut other);
    assert!(other.is_synced() && !one.is_synced());
    assert_eq!((one.counts.sent, one.counts.resent, other.counts.received), (4, 1, 3));
    assert_eq!(other.counts.refused, BTreeMap::from([("late", 1)]));
}

#[test]
fn only_current_sessions_are_accepted() {
    let (mut one, mut other) = pair();
    agree(&mut one, &mut other);
    let bytes = packet(&mut one, 1);
    assert_eq!(one.receive(at(0), &bytes, true, &OURS, &keys()), Err(ReplicaDefect::Reflected));
    let mut stranger = ReplicaPeer::default();
    assert_eq!(stranger.receive(at(0), &bytes, false, &OURS, &keys()), Err(ReplicaDefect::Session));
    other.set_sessions(Some(ReplicaSessions { ours: 8, theirs: 6 }));
    assert_eq!(other.receive(at(0), &bytes, false, &OURS, &keys()), Err(ReplicaDefect::Session));
    other.set_sessions(Some(ReplicaSessions { ours: 8, theirs: 7 }));
    assert_eq!(
        other.receive(at(0), &bytes, false, &OURS, &keys()),
        Err(ReplicaDefect::Session),
        "not agreed yet"
    );
    assert!(!other.is_agreed());
}

#[test]
fn a_silent_member_stops_sending_without_buffering() {
    let (mut one, mut other) = pair();
    agree(&mut one, &mut other);
    one.start_full_scan();
    one.finish_full_scan();
    let mut sent = 0;
    while one.may_send() {
        assert_eq!(one.has_room_for_sync(), sent < super::super::send_window::WINDOW as u64 / 2);
        packet(&mut one, sent);
        sent += 1;
    }
    assert_eq!((sent, one.counts.window_full), (super::super::send_window::WINDOW as u64, 1));
    let lost = one.handle_timeouts(MonotonicTime::default() + Duration::from_secs(1));
    assert_eq!(lost, (0..sent).collect::<Vec<u64>>());
    assert!(one.may_send() && !one.is_peer_synced());
}
