//! Rows of the votes: what counts how long, and what is asked.

use super::*;

const LEASE: Duration = Duration::from_secs(3);
const MS: Duration = Duration::from_millis(1);
/// Ours.
const US: u64 = 1;
/// The other one's.
const THEM: u64 = 2;

fn at(ms: u32) -> Moment {
    Moment(1_000_000_000) + MS * ms
}

fn beat(number: u64, vote: Vote) -> Other {
    Other { beat: Heard { session: THEM, number }, heard: None, vote, first: false }
}

/// The other one heard our beat of this number, which was sent then.
fn answers(other: Other, number: u64, sent: u32) -> Other {
    Other { heard: Some((Heard { session: US, number }, at(sent))), ..other }
}

const KEEPS: Vote = Vote { keeps: true, wants: false, lends: None };
const WANTS: Vote = Vote { keeps: false, wants: true, lends: None };
const LENDS: Vote = Vote { keeps: false, wants: false, lends: Some(LEASE) };

/// One that has begun long ago, and lends nothing.
fn votes() -> Votes {
    Votes::new(at(0), LEASE, US, Some(at(0)))
}

#[test]
fn what_is_lent_counts_from_when_it_was_asked_for_and_less_than_it_is_lent() {
    let mut votes = votes();
    votes.follow(at(10), false, false);
    assert_eq!(votes.say(at(20), 5), Vote::default());
    votes.follow(at(30), false, true);
    assert_eq!(votes.say(at(40), 6), WANTS);
    votes.hear(at(900), answers(beat(9, LENDS), 4, 10));
    assert_eq!(votes.leave(at(900)), Moment::default(), "for a beat before we renounced");
    votes.hear(at(900), answers(beat(10, LENDS), 5, 20));
    assert_eq!(votes.leave(at(900)), at(20) + LEASE - LEASE / 16);
    votes.follow(at(901), true, false);
    assert_eq!(votes.say(at(910), 7), KEEPS);
    assert!(votes.leave(at(910)) > at(910), "it counts on");
    votes.follow(at(920), false, false);
    assert_eq!(votes.leave(at(920)), Moment::default(), "given up");
    votes.say(at(920), 8);
    votes.follow(at(930), false, true);
    votes.hear(at(940), answers(beat(11, LENDS), 7, 910));
    assert_eq!(votes.leave(at(940)), Moment::default(), "an answer from before that");
}

#[test]
fn a_vote_that_is_lent_is_ours_again_when_its_time_is_over_or_it_is_said_to_be_unused() {
    let mut votes = votes();
    votes.follow(at(0), false, false);
    assert_eq!(votes.say(at(0), 1), Vote::default(), "nobody wants it");
    votes.hear(at(100), beat(20, KEEPS));
    assert_eq!(votes.say(at(200), 2), LENDS);
    assert_eq!(votes.lent(), at(100) + LEASE);
    votes.leased = at(9_000);
    assert_eq!(votes.leave(at(200)), Moment::default(), "the witness alone is not enough");
    assert_eq!(votes.leave(at(3_100)), at(9_000));
    let quiet = |number| answers(beat(number, Vote::default()), 2, 200);
    votes.hear(at(300), quiet(20));
    assert!(votes.lent() > at(300), "it was said before the vote was lent");
    votes.hear(at(300), beat(21, Vote::default()));
    assert!(votes.lent() > at(300), "it may be of before this process");
    votes.hear(at(300), quiet(22));
    assert_eq!(votes.lent(), Moment::default());
}

#[test]
fn a_vote_is_lent_to_whoever_is_active_or_comes_first() {
    let rows = [
        (false, false, beat(1, KEEPS), true),
        (true, false, beat(1, KEEPS), false),
        (false, true, beat(1, KEEPS), true),
        (false, false, beat(1, WANTS), true),
        (false, true, beat(1, WANTS), false),
        (false, true, Other { first: true, ..beat(1, WANTS) }, true),
        (false, false, beat(1, Vote::default()), false),
    ];
    for (active, wants, other, lends) in rows {
        let mut votes = votes();
        votes.follow(at(0), active, wants);
        votes.hear(at(0), other);
        assert_eq!(votes.would_say(at(0)).lends.is_some(), lends, "{active} {wants} {other:?}");
        assert!(votes.would_say(at(3_000)).lends.is_none(), "silent for too long");
    }
}

#[test]
fn a_process_that_begins_waits_for_what_the_one_before_may_have_lent() {
    let mut votes = Votes::new(at(0), LEASE, US, None);
    votes.follow(at(0), false, true);
    let ask = votes.ask(at(0)).unwrap();
    votes.answer(at(10), ask.number, Answer::Given(LEASE));
    assert_eq!(votes.leave(at(10)), Moment::default());
    votes.hear(at(20), beat(1, Vote::default()));
    assert_eq!(votes.leave(at(20)), Moment::default(), "it does not know this process");
    votes.hear(at(30), answers(beat(2, Vote::default()), 1, 5));
    assert_eq!(votes.leave(at(30)), at(0) + LEASE - LEASE / 16);
    assert!(Votes::new(at(0), LEASE, US, None).lent() == at(3_000), "or for its time");
}

#[test]
fn the_witness_is_asked_while_it_is_needed_and_what_is_not_is_given_back() {
    let mut votes = Votes::new(at(0), LEASE, US, None);
    votes.follow(at(0), false, false);
    assert_eq!((votes.ask(at(0)), votes.due()), (None, Moment::NEVER));
    votes.follow(at(5_000), false, true);
    let first = votes.ask(at(5_000)).unwrap();
    assert_eq!(first.what, What::Take { holds: false });
    assert_eq!(votes.ask(at(5_500)), None, "one question at a time");
    votes.answer(at(5_500), first.number, Answer::Refused);
    let second = votes.ask(votes.due()).unwrap();
    assert_eq!((second.ticket, second.number), (first.ticket, first.number + 1));
    votes.answer(at(6_000), first.number, Answer::Given(LEASE));
    assert_eq!(votes.leased(), Moment::default(), "an answer to another question");
    votes.answer(at(6_000), second.number, Answer::Given(LEASE));
    assert_eq!(votes.leave(at(6_000)), at(5_875) + LEASE - LEASE / 16);
    votes.follow(at(6_000), true, false);
    assert_eq!(votes.due(), at(6_875), "a third of it later");
    let third = votes.ask(at(6_875)).unwrap();
    assert_eq!(third.what, What::Take { holds: true });
    votes.follow(at(6_900), false, false);
    votes.answer(at(6_950), third.number, Answer::Given(LEASE));
    assert_eq!(votes.leased(), Moment::default(), "it came too late to be used");
    let back = votes.ask(at(7_300)).unwrap();
    assert_eq!((back.what, back.ticket), (What::Release, first.ticket));
    votes.answer(at(7_310), back.number, Answer::Released);
    assert_eq!(votes.due(), Moment::NEVER);
    votes.follow(at(7_400), false, true);
    let again = votes.ask(at(7_400)).unwrap();
    assert!(again.ticket > first.ticket);
    assert_eq!(votes.ask(at(8_400)).map(|ask| ask.number), Some(again.number + 1), "no answer");
    assert_eq!((votes.renewed, votes.refused, votes.unanswered), (2, 1, 1));
}
