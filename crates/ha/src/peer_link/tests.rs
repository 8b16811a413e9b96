//! Two members that exchange heartbeats, and an attacker who replays, delays and reflects them.

use super::*;
use crate::heartbeat::ConfigDigest;

const EVERY: Duration = Duration::from_millis(100);

fn at(ms: u64) -> MonotonicTime {
    MonotonicTime(1_000_000_000 + ms * 1_000_000)
}

fn member(peer: &str, session: u64) -> PeerLink {
    let settings =
        PeerLinkSettings { peer: peer.to_owned(), interval: EVERY, timeout: EVERY * 3, paths: 2 };
    PeerLink::new(settings, session, at(0))
}

fn claim(state: VrrpState) -> GroupClaim {
    let source = [192, 0, 2, 1].into();
    GroupClaim { id: 1, v6: false, is_capable: true, state, priority: 100, source, vote: None }
}

/// The heartbeats of a round that is due, one for each path.
fn beats(
    from: &mut PeerLink,
    name: &str,
    now: MonotonicTime,
    state: VrrpState,
) -> Vec<PeerHeartbeat> {
    let claims = vec![claim(state)];
    let Some(round) = from.take_round(now, &claims) else { return Vec::new() };
    let beat = |echo| PeerHeartbeat {
        version: crate::heartbeat::VERSION,
        session: from.session(),
        number: round.number,
        echo,
        name: name.to_owned(),
        product: String::new(),
        config: ConfigDigest::default(),
        reach: None,
        last_received: None,
        claims: claims.clone(),
    };
    round.echoes.into_iter().map(beat).collect()
}

/// A heartbeat that the right member sent over a path.
#[derive(Clone)]
struct RecordedHeartbeat {
    path: usize,
    beat: PeerHeartbeat,
}

/// Both members exchange heartbeats over the open paths until the time is over.
struct PeerLinkExchange {
    left: PeerLink,
    right: PeerLink,
    now: u64,
    changes: Vec<PeerLinkChange>,
    recorded: Vec<RecordedHeartbeat>,
}

impl PeerLinkExchange {
    fn new() -> PeerLinkExchange {
        let (left, right) = (member("right", 11), member("left", 22));
        PeerLinkExchange { left, right, now: 0, changes: Vec::new(), recorded: Vec::new() }
    }

    fn run(&mut self, ms: u64, open: impl Fn(usize) -> bool) {
        for _ in 0..ms {
            self.now += 1;
            let now = at(self.now);
            for (path, beat) in
                beats(&mut self.left, "left", now, VrrpState::Active).into_iter().enumerate()
            {
                if open(path) {
                    self.right.receive_heartbeat(now, path, beat, &mut Vec::new()).unwrap();
                }
            }
            for (path, beat) in
                beats(&mut self.right, "right", now, VrrpState::Standby).into_iter().enumerate()
            {
                self.recorded.push(RecordedHeartbeat { path, beat: beat.clone() });
                if open(path) {
                    self.left.receive_heartbeat(now, path, beat, &mut self.changes).unwrap();
                }
            }
            self.left.handle_timeouts(now, &mut self.changes);
            self.right.handle_timeouts(now, &mut Vec::new());
        }
    }
}

#[test]
fn two_that_begin_believe_each_other_within_a_round() {
    let mut talk = PeerLinkExchange::new();
    assert!(talk.left.is_undecided(at(0)) && talk.left.peer().is_none());
    talk.run(60, |_| true);
    assert_eq!(talk.left.peer().map(|beat| beat.session), Some(22));
    assert_eq!(talk.right.peer().map(|beat| beat.session), Some(11));
    assert!(!talk.left.is_undecided(at(talk.now)));
    assert_eq!(
        talk.changes,
        [PeerLinkChange::PathUp(0), PeerLinkChange::PeerUp, PeerLinkChange::PathUp(1)],
        "each is told once"
    );
    talk.run(1_000, |_| true);
    assert_eq!((talk.left.loss(0), talk.right.introductions), (0.0, 2));
    assert_eq!(talk.left.paths()[0].round_trip(), Some(Duration::ZERO));
    let claimed = talk.right.peer_claim(1, false).unwrap();
    assert_eq!((claimed.claim.state, claimed.knows_our_claim), (VrrpState::Active, false));
}

// Rows: I33
#[test]
fn all_paths_must_fail_before_the_peer_counts_as_dead() {
    let mut talk = PeerLinkExchange::new();
    talk.run(500, |_| true);
    talk.changes.clear();
    talk.run(2_000, |path| path == 1);
    assert_eq!(talk.changes, [PeerLinkChange::PathDown(0)]);
    assert!(talk.left.peer().is_some() && talk.left.loss(0) > 0.7 && talk.left.loss(1) == 0.0);
    talk.changes.clear();
    talk.run(199, |_| false);
    assert!(talk.left.peer().is_some());
    talk.run(201, |_| false);
    assert_eq!(talk.changes, [PeerLinkChange::PathDown(1), PeerLinkChange::PeerDown]);
    assert!(talk.left.peer().is_none() && talk.left.peer_claim(1, false).is_none());
    assert!(!talk.left.is_undecided(at(talk.now)), "it was there: its silence says something");
    talk.changes.clear();
    talk.run(200, |_| true);
    assert_eq!(
        talk.changes,
        [PeerLinkChange::PathUp(0), PeerLinkChange::PeerUp, PeerLinkChange::PathUp(1)]
    );
}

#[test]
fn replayed_heartbeats_are_never_accepted() {
    let mut talk = PeerLinkExchange::new();
    talk.run(300, |_| true);
    // The right member's process ends, and another process uses its name.
    talk.right = member("left", 33);
    let old = std::mem::take(&mut talk.recorded);
    talk.run(300, |_| true);
    assert!(talk.changes.contains(&PeerLinkChange::PeerRestarted));
    assert_eq!(talk.left.peer().map(|beat| beat.session), Some(33));
    assert_eq!(talk.left.sessions, 2);
    let replayed = |talk: &mut PeerLinkExchange, what: &[RecordedHeartbeat]| {
        for RecordedHeartbeat { path, beat } in what {
            let heard =
                talk.left.receive_heartbeat(at(talk.now), *path, beat.clone(), &mut talk.changes);
            assert!(matches!(heard, Ok(false) | Err(HeartbeatDefect::Replayed)), "{heard:?}");
        }
    };
    let new = talk.recorded.clone();
    replayed(&mut talk, &old);
    replayed(&mut talk, &new);
    assert_eq!(talk.left.peer().map(|beat| beat.session), Some(33));
    // A restarted member accepts no recorded heartbeat.
    let mut fresh = member("right", 44);
    for RecordedHeartbeat { path, beat } in old.iter().chain(&new) {
        assert_eq!(fresh.receive_heartbeat(at(1), *path, beat.clone(), &mut Vec::new()), Ok(false));
    }
    assert!(fresh.peer().is_none());
}

#[test]
fn replays_do_not_disturb_two_members() {
    let mut talk = PeerLinkExchange::new();
    talk.run(100, |_| true);
    talk.right = member("left", 33);
    let old = std::mem::take(&mut talk.recorded);
    talk.run(300, |_| true);
    talk.changes.clear();
    for round in 0..2_000 {
        let RecordedHeartbeat { path, beat } = &old[round % 4];
        let _ = talk.left.receive_heartbeat(at(talk.now), *path, beat.clone(), &mut talk.changes);
        talk.run(1, |_| true);
    }
    assert_eq!(talk.changes, [], "no path went down");
    assert!(talk.left.number < 150, "{} rounds in 24 intervals", talk.left.number);
}

#[test]
fn strangers_and_mirrors_are_named() {
    let mut talk = PeerLinkExchange::new();
    talk.run(100, |_| true);
    let now = at(talk.now);
    let RecordedHeartbeat { path, beat } = talk.recorded[0].clone();
    let mut hear =
        |beat: PeerHeartbeat| talk.left.receive_heartbeat(now, path, beat, &mut Vec::new());
    assert_eq!(
        hear(PeerHeartbeat { name: "x".to_owned(), ..beat.clone() }),
        Err(HeartbeatDefect::Member)
    );
    assert_eq!(
        hear(PeerHeartbeat { session: 11, ..beat.clone() }),
        Err(HeartbeatDefect::Reflected)
    );
    let ahead = HeartbeatEcho { session: 11, newest: 9_999, number: 0, delay_us: 0 };
    assert_eq!(hear(PeerHeartbeat { echo: ahead, ..beat.clone() }), Err(HeartbeatDefect::Fields));
    assert_eq!(
        talk.left.receive_heartbeat(now, 7, beat, &mut Vec::new()),
        Err(HeartbeatDefect::Foreign)
    );
}

#[test]
fn a_conflicting_claim_counts_once_the_peer_knew_ours() {
    let mut talk = PeerLinkExchange::new();
    talk.run(200, |_| true);
    let now = at(talk.now);
    // Both claim to be active; the right member has not received the other claim yet.
    let old = beats(&mut talk.right, "right", now + EVERY, VrrpState::Active).remove(0);
    let group = VrrpGroupKey { id: 1, v6: false };
    let active = |first_round| SentGroupState { state: VrrpState::Active, first_round };
    talk.right.sent_states.insert(group, active(talk.right.number));
    let _ = talk.left.receive_heartbeat(now, 0, old, &mut Vec::new());
    assert_eq!(talk.left.peer_claim(1, false).unwrap().claim.state, VrrpState::Active);
    talk.left.sent_states.insert(group, active(talk.left.number + 1));
    assert!(!talk.left.peer_claim(1, false).unwrap().knows_our_claim);
    talk.run(200, |_| true);
    assert!(talk.left.peer_claim(1, false).unwrap().knows_our_claim);
}

#[test]
fn who_slept_does_not_count_its_own_silence() {
    let mut talk = PeerLinkExchange::new();
    talk.run(200, |_| true);
    talk.changes.clear();
    talk.now += 60_000;
    talk.left.handle_timeouts(at(talk.now), &mut talk.changes);
    assert_eq!(talk.changes, []);
    assert!(talk.left.peer().is_some());
    // Now there is real silence.
    for _ in 0..50 {
        talk.now += 10;
        talk.left.handle_timeouts(at(talk.now), &mut talk.changes);
    }
    assert_eq!(
        talk.changes,
        [PeerLinkChange::PathDown(0), PeerLinkChange::PathDown(1), PeerLinkChange::PeerDown]
    );
}

#[test]
fn a_one_way_path_is_recognised() {
    let mut talk = PeerLinkExchange::new();
    talk.run(200, |_| true);
    for _ in 0..1_000 {
        talk.now += 1;
        let now = at(talk.now);
        for (path, beat) in
            beats(&mut talk.left, "left", now, VrrpState::Active).into_iter().enumerate()
        {
            if path == 1 {
                let _ = talk.right.receive_heartbeat(now, path, beat, &mut Vec::new());
            }
        }
        for (path, beat) in
            beats(&mut talk.right, "right", now, VrrpState::Standby).into_iter().enumerate()
        {
            let _ = talk.left.receive_heartbeat(now, path, beat, &mut talk.changes);
        }
        talk.left.handle_timeouts(now, &mut talk.changes);
        talk.right.handle_timeouts(now, &mut Vec::new());
    }
    let now = at(talk.now);
    assert!(talk.left.is_one_way(0, now) && !talk.left.is_one_way(1, now));
    assert!(!talk.right.paths()[0].up && talk.right.peer().is_some());
}
