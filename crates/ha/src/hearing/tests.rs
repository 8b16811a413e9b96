//! Two members that hear each other, and whoever plays with what they say.

use super::*;
use crate::beat::Digest;

const EVERY: Duration = Duration::from_millis(100);

fn at(ms: u64) -> Moment {
    Moment(1_000_000_000 + ms * 1_000_000)
}

fn member(peer: &str, session: u64) -> Hearing {
    let settings = Settings { peer: peer.to_owned(), every: EVERY, timeout: EVERY * 3, paths: 2 };
    Hearing::new(settings, session, at(0))
}

fn claim(state: State) -> Claim {
    let source = [192, 0, 2, 1].into();
    Claim { id: 1, v6: false, fit: true, state, priority: 100, source, vote: None }
}

/// The beats of a round that is due, one a path.
fn beats(from: &mut Hearing, name: &str, now: Moment, state: State) -> Vec<Beat> {
    let claims = vec![claim(state)];
    let Some(round) = from.round(now, &claims) else { return Vec::new() };
    let beat = |echo| Beat {
        version: crate::beat::VERSION,
        session: from.session(),
        number: round.number,
        echo,
        name: name.to_owned(),
        product: String::new(),
        config: Digest::default(),
        reach: None,
        heard: None,
        claims: claims.clone(),
    };
    round.echoes.into_iter().map(beat).collect()
}

/// Both talk over the paths of which `open` says so, until the time is over.
struct Talk {
    left: Hearing,
    right: Hearing,
    now: u64,
    changes: Vec<Change>,
    /// All that the right one ever sent, with its path.
    recorded: Vec<(usize, Beat)>,
}

impl Talk {
    fn new() -> Talk {
        let (left, right) = (member("right", 11), member("left", 22));
        Talk { left, right, now: 0, changes: Vec::new(), recorded: Vec::new() }
    }

    fn run(&mut self, ms: u64, open: impl Fn(usize) -> bool) {
        for _ in 0..ms {
            self.now += 1;
            let now = at(self.now);
            for (path, beat) in
                beats(&mut self.left, "left", now, State::Active).into_iter().enumerate()
            {
                if open(path) {
                    self.right.hear(now, path, beat, &mut Vec::new()).unwrap();
                }
            }
            for (path, beat) in
                beats(&mut self.right, "right", now, State::Standby).into_iter().enumerate()
            {
                self.recorded.push((path, beat.clone()));
                if open(path) {
                    self.left.hear(now, path, beat, &mut self.changes).unwrap();
                }
            }
            self.left.pass(now, &mut self.changes);
            self.right.pass(now, &mut Vec::new());
        }
    }
}

#[test]
fn two_that_begin_believe_each_other_within_a_round() {
    let mut talk = Talk::new();
    assert!(talk.left.unsure(at(0)) && talk.left.peer().is_none());
    talk.run(60, |_| true);
    assert_eq!(talk.left.peer().map(|beat| beat.session), Some(22));
    assert_eq!(talk.right.peer().map(|beat| beat.session), Some(11));
    assert!(!talk.left.unsure(at(talk.now)));
    assert_eq!(
        talk.changes,
        [Change::PathUp(0), Change::Heard, Change::PathUp(1)],
        "each is told once"
    );
    talk.run(1_000, |_| true);
    assert_eq!((talk.left.loss(0), talk.right.introductions), (0.0, 2));
    assert_eq!(talk.left.paths()[0].round_trip(), Some(Duration::ZERO));
    let claimed = talk.right.claimed(1, false).unwrap();
    assert_eq!((claimed.claim.state, claimed.knows), (State::Active, false));
}

#[test]
fn all_paths_must_fail_before_the_peer_counts_as_dead() {
    let mut talk = Talk::new();
    talk.run(500, |_| true);
    talk.changes.clear();
    talk.run(2_000, |path| path == 1);
    assert_eq!(talk.changes, [Change::PathDown(0)]);
    assert!(talk.left.peer().is_some() && talk.left.loss(0) > 0.7 && talk.left.loss(1) == 0.0);
    talk.changes.clear();
    talk.run(199, |_| false);
    assert!(talk.left.peer().is_some());
    talk.run(201, |_| false);
    assert_eq!(talk.changes, [Change::PathDown(1), Change::Lost]);
    assert!(talk.left.peer().is_none() && talk.left.claimed(1, false).is_none());
    assert!(!talk.left.unsure(at(talk.now)), "it was there: its silence says something");
    talk.changes.clear();
    talk.run(200, |_| true);
    assert_eq!(talk.changes, [Change::PathUp(0), Change::Heard, Change::PathUp(1)]);
}

#[test]
fn what_was_said_before_is_never_believed_again() {
    let mut talk = Talk::new();
    talk.run(300, |_| true);
    // The right one ends, and another process has its name.
    talk.right = member("left", 33);
    let old = std::mem::take(&mut talk.recorded);
    talk.run(300, |_| true);
    assert!(talk.changes.contains(&Change::Renewed));
    assert_eq!(talk.left.peer().map(|beat| beat.session), Some(33));
    assert_eq!(talk.left.sessions, 2);
    let replayed = |talk: &mut Talk, what: &[(usize, Beat)]| {
        for (path, beat) in what {
            let heard = talk.left.hear(at(talk.now), *path, beat.clone(), &mut talk.changes);
            assert!(matches!(heard, Ok(false) | Err(Defect::Replayed)), "{heard:?}");
        }
    };
    let new = talk.recorded.clone();
    replayed(&mut talk, &old);
    replayed(&mut talk, &new);
    assert_eq!(talk.left.peer().map(|beat| beat.session), Some(33));
    // Whoever begins anew believes nothing that was recorded.
    let mut fresh = member("right", 44);
    for (path, beat) in old.iter().chain(&new) {
        assert_eq!(fresh.hear(at(1), *path, beat.clone(), &mut Vec::new()), Ok(false));
    }
    assert!(fresh.peer().is_none());
}

#[test]
fn recordings_do_not_keep_two_from_talking() {
    let mut talk = Talk::new();
    talk.run(100, |_| true);
    talk.right = member("left", 33);
    let old = std::mem::take(&mut talk.recorded);
    talk.run(300, |_| true);
    talk.changes.clear();
    for round in 0..2_000 {
        let (path, beat) = &old[round % 4];
        let _ = talk.left.hear(at(talk.now), *path, beat.clone(), &mut talk.changes);
        talk.run(1, |_| true);
    }
    assert_eq!(talk.changes, [], "no path went down");
    assert!(talk.left.number < 150, "{} rounds in 24 intervals", talk.left.number);
}

#[test]
fn strangers_and_mirrors_are_named() {
    let mut talk = Talk::new();
    talk.run(100, |_| true);
    let now = at(talk.now);
    let (path, beat) = talk.recorded[0].clone();
    let mut hear = |beat: Beat| talk.left.hear(now, path, beat, &mut Vec::new());
    assert_eq!(hear(Beat { name: "x".to_owned(), ..beat.clone() }), Err(Defect::Member));
    assert_eq!(hear(Beat { session: 11, ..beat.clone() }), Err(Defect::Reflected));
    let ahead = Echo { session: 11, newest: 9_999, number: 0, held_us: 0 };
    assert_eq!(hear(Beat { echo: ahead, ..beat.clone() }), Err(Defect::Fields));
    assert_eq!(talk.left.hear(now, 7, beat, &mut Vec::new()), Err(Defect::Foreign));
}

#[test]
fn what_is_claimed_against_us_counts_when_it_was_claimed_knowing_of_us() {
    let mut talk = Talk::new();
    talk.run(200, |_| true);
    let now = at(talk.now);
    // Both say that they are active; the right one has not heard of it yet.
    let old = beats(&mut talk.right, "right", now + EVERY, State::Active).remove(0);
    talk.right.said.insert((1, false), (State::Active, talk.right.number));
    let _ = talk.left.hear(now, 0, old, &mut Vec::new());
    assert_eq!(talk.left.claimed(1, false).unwrap().claim.state, State::Active);
    talk.left.said.insert((1, false), (State::Active, talk.left.number + 1));
    assert!(!talk.left.claimed(1, false).unwrap().knows);
    talk.run(200, |_| true);
    assert!(talk.left.claimed(1, false).unwrap().knows);
}

#[test]
fn who_slept_does_not_count_its_own_silence() {
    let mut talk = Talk::new();
    talk.run(200, |_| true);
    talk.changes.clear();
    talk.now += 60_000;
    talk.left.pass(at(talk.now), &mut talk.changes);
    assert_eq!(talk.changes, []);
    assert!(talk.left.peer().is_some());
    // Then it is silent indeed.
    for _ in 0..50 {
        talk.now += 10;
        talk.left.pass(at(talk.now), &mut talk.changes);
    }
    assert_eq!(talk.changes, [Change::PathDown(0), Change::PathDown(1), Change::Lost]);
}

#[test]
fn a_path_by_which_we_are_not_heard_is_told_apart() {
    let mut talk = Talk::new();
    talk.run(200, |_| true);
    for _ in 0..1_000 {
        talk.now += 1;
        let now = at(talk.now);
        for (path, beat) in
            beats(&mut talk.left, "left", now, State::Active).into_iter().enumerate()
        {
            if path == 1 {
                let _ = talk.right.hear(now, path, beat, &mut Vec::new());
            }
        }
        for (path, beat) in
            beats(&mut talk.right, "right", now, State::Standby).into_iter().enumerate()
        {
            let _ = talk.left.hear(now, path, beat, &mut talk.changes);
        }
        talk.left.pass(now, &mut talk.changes);
        talk.right.pass(now, &mut Vec::new());
    }
    let now = at(talk.now);
    assert!(talk.left.one_way(0, now) && !talk.left.one_way(1, now));
    assert!(!talk.right.paths()[0].up && talk.right.peer().is_some());
}
