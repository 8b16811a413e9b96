//! Who is believed, and when everything has come.

use std::time::Duration;

use super::super::record::Phase;
use super::*;

const OURS: Secret = [1; 32];
const THEIRS: Secret = [2; 32];

fn at(ms: u64) -> Moment {
    Moment::default() + Duration::from_millis(ms)
}

fn keys() -> Keys {
    Keys::parse("1 0123456789abcdef0123456789abcdef").unwrap()
}

fn pair() -> (Partner, Partner) {
    let (mut one, mut other) = (Partner::default(), Partner::default());
    one.meet(Some((7, 8)));
    other.meet(Some((8, 7)));
    (one, other)
}

/// Both say how they stand, with the same secret.
fn agree(one: &mut Partner, other: &mut Partner) {
    for _ in 0..2 {
        let said = one.hello(true, &OURS, &keys()).unwrap();
        assert_eq!(other.hear(at(0), &said, (false, &OURS), &keys()), Ok(Said::Agreed));
        let said = other.hello(false, &OURS, &keys()).unwrap();
        assert_eq!(one.hear(at(0), &said, (true, &OURS), &keys()), Ok(Said::Agreed));
    }
}

fn packet(one: &mut Partner, place: u64) -> Vec<u8> {
    let mut batch = Batch::default();
    assert!(batch.push(place, &Record::Phase { print: 9, phase: Phase::Open, left: 5 }));
    one.send(Moment::default(), batch, &keys()).unwrap()
}

#[test]
fn a_secret_is_taken_from_who_is_active() {
    let (mut one, mut other) = pair();
    let said = one.hello(true, &OURS, &keys()).unwrap();
    assert_eq!(other.hear(at(0), &said, (false, &THEIRS), &keys()), Ok(Said::Adopt(OURS)));
    assert_eq!(other.hear(at(0), &said, (true, &THEIRS), &keys()), Ok(Said::Apart));
    assert!(other.apart() && !other.agrees());
    let back = other.hello(false, &THEIRS, &keys()).unwrap();
    assert_eq!(one.hear(at(0), &back, (true, &OURS), &keys()), Ok(Said::Wait));
    agree(&mut one, &mut other);
    assert!(one.agrees() && other.agrees() && !other.apart());
}

#[test]
fn all_has_come_when_nothing_of_it_is_under_way_or_lost() {
    let (mut one, mut other) = pair();
    agree(&mut one, &mut other);
    assert!(one.is_due() && one.may_send());
    one.begun();
    let first = packet(&mut one, 1);
    one.emptied(at(0));
    assert!(!one.is_due() && !one.has_whole(), "not everything was looked at");
    let second = packet(&mut one, 2);
    one.noted();
    one.emptied(at(0));
    assert!(!one.has_whole());
    // The first one is lost.
    assert!(matches!(other.hear(at(0), &second, (false, &OURS), &keys()), Ok(Said::Records(_))));
    assert_eq!(other.hear(at(0), &first, (false, &OURS), &keys()), Err(Defect::Late));
    let came = other.heard(&keys()).unwrap();
    assert_eq!(one.hear(at(0), &came, (true, &OURS), &keys()), Ok(Said::Lost(vec![1])));
    assert!(!one.has_whole(), "a place is owed");
    let third = packet(&mut one, 1);
    one.emptied(at(0));
    let later = packet(&mut one, 3);
    assert!(other.hear(at(0), &third, (false, &OURS), &keys()).is_ok());
    let came = other.heard(&keys()).unwrap();
    assert_eq!(one.hear(at(0), &came, (true, &OURS), &keys()), Ok(Said::Lost(vec![])));
    assert!(one.has_whole(), "what began since does not count");
    assert!(other.hear(at(0), &later, (false, &OURS), &keys()).is_ok());
    agree(&mut one, &mut other);
    assert!(other.is_whole() && !one.is_whole());
    assert_eq!((one.counts.sent, one.counts.again, other.counts.received), (4, 1, 3));
    assert_eq!(other.counts.refused, BTreeMap::from([("late", 1)]));
}

#[test]
fn only_the_processes_of_now_are_believed() {
    let (mut one, mut other) = pair();
    agree(&mut one, &mut other);
    let said = packet(&mut one, 1);
    assert_eq!(one.hear(at(0), &said, (true, &OURS), &keys()), Err(Defect::Reflected));
    let mut stranger = Partner::default();
    assert_eq!(stranger.hear(at(0), &said, (false, &OURS), &keys()), Err(Defect::Session));
    other.meet(Some((8, 6)));
    assert_eq!(other.hear(at(0), &said, (false, &OURS), &keys()), Err(Defect::Session));
    other.meet(Some((8, 7)));
    assert_eq!(
        other.hear(at(0), &said, (false, &OURS), &keys()),
        Err(Defect::Session),
        "not agreed yet"
    );
    assert!(!other.agrees());
}

#[test]
fn a_silent_member_holds_back_and_nothing_is_kept_for_it() {
    let (mut one, mut other) = pair();
    agree(&mut one, &mut other);
    one.begun();
    one.noted();
    let mut sent = 0;
    while one.may_send() {
        assert_eq!(one.has_room_for_old(), sent < super::super::window::WINDOW as u64 / 2);
        packet(&mut one, sent);
        sent += 1;
    }
    assert_eq!((sent, one.counts.held_back), (super::super::window::WINDOW as u64, 1));
    let lost = one.pass(Moment::default() + Duration::from_secs(1));
    assert_eq!(lost, (0..sent).collect::<Vec<u64>>());
    assert!(one.may_send() && !one.has_whole());
}
