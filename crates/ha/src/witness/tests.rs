//! Rows of the votes: which counts for how long, and what is requested.

use super::*;

const LEASE: Duration = Duration::from_secs(3);
const MS: Duration = Duration::from_millis(1);
const US: u64 = 1;
const THEM: u64 = 2;

fn at(ms: u32) -> MonotonicTime {
    MonotonicTime(1_000_000_000) + MS * ms
}

fn beat(number: u64, vote: Vote) -> PeerVote {
    PeerVote { beat: HeartbeatId { session: THEM, number }, acknowledged: None, vote, first: false }
}

/// The peer received our heartbeat of this number, sent at that time.
fn answers(other: PeerVote, number: u64, sent: u32) -> PeerVote {
    let beat = HeartbeatId { session: US, number };
    let acknowledged = Some(AcknowledgedHeartbeat { beat, sent_at: at(sent) });
    PeerVote { acknowledged, ..other }
}

const ACTIVE_VOTE: Vote = Vote { is_active: true, wants_vote: false, grants_for: None };
const WANTING_VOTE: Vote = Vote { is_active: false, wants_vote: true, grants_for: None };
const LENDS: Vote = Vote { is_active: false, wants_vote: false, grants_for: Some(LEASE) };

/// A member that started long ago and lends nothing.
fn votes() -> QuorumVotes {
    QuorumVotes::new(at(0), LEASE, US, Some(at(0)))
}

#[test]
fn a_lent_vote_counts_from_its_request_and_less_a_margin() {
    let mut votes = votes();
    votes.set_group_state(at(10), false, false);
    assert_eq!(votes.take_vote(at(20), 5), Vote::default());
    votes.set_group_state(at(30), false, true);
    assert_eq!(votes.take_vote(at(40), 6), WANTING_VOTE);
    votes.receive_vote(at(900), answers(beat(9, LENDS), 4, 10));
    assert_eq!(
        votes.permitted_until(at(900)),
        MonotonicTime::default(),
        "for a beat before we renounced"
    );
    votes.receive_vote(at(900), answers(beat(10, LENDS), 5, 20));
    assert_eq!(votes.permitted_until(at(900)), at(20) + LEASE - LEASE / 16);
    votes.set_group_state(at(901), true, false);
    assert_eq!(votes.take_vote(at(910), 7), ACTIVE_VOTE);
    assert!(votes.permitted_until(at(910)) > at(910), "it counts on");
    votes.set_group_state(at(920), false, false);
    assert_eq!(votes.permitted_until(at(920)), MonotonicTime::default(), "given up");
    votes.take_vote(at(920), 8);
    votes.set_group_state(at(930), false, true);
    votes.receive_vote(at(940), answers(beat(11, LENDS), 7, 910));
    assert_eq!(
        votes.permitted_until(at(940)),
        MonotonicTime::default(),
        "an answer from before that"
    );
}

#[test]
fn a_lent_vote_returns_when_it_expires_or_is_unused() {
    let mut votes = votes();
    votes.set_group_state(at(0), false, false);
    assert_eq!(votes.take_vote(at(0), 1), Vote::default(), "nobody wants it");
    votes.receive_vote(at(100), beat(20, ACTIVE_VOTE));
    assert_eq!(votes.take_vote(at(200), 2), LENDS);
    assert_eq!(votes.granted_until(), at(100) + LEASE);
    votes.lease_until = at(9_000);
    assert_eq!(
        votes.permitted_until(at(200)),
        MonotonicTime::default(),
        "the witness alone is not enough"
    );
    assert_eq!(votes.permitted_until(at(3_100)), at(9_000));
    let quiet = |number| answers(beat(number, Vote::default()), 2, 200);
    votes.receive_vote(at(300), quiet(20));
    assert!(votes.granted_until() > at(300), "it was said before the vote was lent");
    votes.receive_vote(at(300), beat(21, Vote::default()));
    assert!(votes.granted_until() > at(300), "it may be of before this process");
    votes.receive_vote(at(300), quiet(22));
    assert_eq!(votes.granted_until(), MonotonicTime::default());
}

#[test]
fn a_vote_is_lent_to_the_active_or_first_member() {
    let rows = [
        (false, false, beat(1, ACTIVE_VOTE), true),
        (true, false, beat(1, ACTIVE_VOTE), false),
        (false, true, beat(1, ACTIVE_VOTE), true),
        (false, false, beat(1, WANTING_VOTE), true),
        (false, true, beat(1, WANTING_VOTE), false),
        (false, true, PeerVote { first: true, ..beat(1, WANTING_VOTE) }, true),
        (false, false, beat(1, Vote::default()), false),
    ];
    for (active, wants, other, lends) in rows {
        let mut votes = votes();
        votes.set_group_state(at(0), active, wants);
        votes.receive_vote(at(0), other);
        assert_eq!(
            votes.next_vote(at(0)).grants_for.is_some(),
            lends,
            "{active} {wants} {other:?}"
        );
        assert!(votes.next_vote(at(3_000)).grants_for.is_none(), "silent for too long");
    }
}

#[test]
fn a_process_that_begins_waits_for_what_the_one_before_may_have_lent() {
    let mut votes = QuorumVotes::new(at(0), LEASE, US, None);
    votes.set_group_state(at(0), false, true);
    let ask = votes.take_request(at(0)).unwrap();
    votes.handle_reply(at(10), ask.number, WitnessReply::Granted(LEASE));
    assert_eq!(votes.permitted_until(at(10)), MonotonicTime::default());
    votes.receive_vote(at(20), beat(1, Vote::default()));
    assert_eq!(
        votes.permitted_until(at(20)),
        MonotonicTime::default(),
        "it does not know this process"
    );
    votes.receive_vote(at(30), answers(beat(2, Vote::default()), 1, 5));
    assert_eq!(votes.permitted_until(at(30)), at(0) + LEASE - LEASE / 16);
    assert!(
        QuorumVotes::new(at(0), LEASE, US, None).granted_until() == at(3_000),
        "or for its time"
    );
}

#[test]
fn the_witness_is_asked_while_needed_and_released_after() {
    let mut votes = QuorumVotes::new(at(0), LEASE, US, None);
    votes.set_group_state(at(0), false, false);
    assert_eq!((votes.take_request(at(0)), votes.next_due()), (None, MonotonicTime::NEVER));
    votes.set_group_state(at(5_000), false, true);
    let first = votes.take_request(at(5_000)).unwrap();
    assert_eq!(first.operation, WitnessOperation::Acquire { is_holder: false });
    assert_eq!(votes.take_request(at(5_500)), None, "one question at a time");
    votes.handle_reply(at(5_500), first.number, WitnessReply::Refused);
    let second = votes.take_request(votes.next_due()).unwrap();
    assert_eq!((second.ticket, second.number), (first.ticket, first.number + 1));
    votes.handle_reply(at(6_000), first.number, WitnessReply::Granted(LEASE));
    assert_eq!(votes.lease_until(), MonotonicTime::default(), "an answer to another question");
    votes.handle_reply(at(6_000), second.number, WitnessReply::Granted(LEASE));
    assert_eq!(votes.permitted_until(at(6_000)), at(5_875) + LEASE - LEASE / 16);
    votes.set_group_state(at(6_000), true, false);
    assert_eq!(votes.next_due(), at(6_875), "a third of it later");
    let third = votes.take_request(at(6_875)).unwrap();
    assert_eq!(third.operation, WitnessOperation::Acquire { is_holder: true });
    votes.set_group_state(at(6_900), false, false);
    votes.handle_reply(at(6_950), third.number, WitnessReply::Granted(LEASE));
    assert_eq!(votes.lease_until(), MonotonicTime::default(), "it came too late to be used");
    let back = votes.take_request(at(7_300)).unwrap();
    assert_eq!((back.operation, back.ticket), (WitnessOperation::Release, first.ticket));
    votes.handle_reply(at(7_310), back.number, WitnessReply::Released);
    assert_eq!(votes.next_due(), MonotonicTime::NEVER);
    votes.set_group_state(at(7_400), false, true);
    let second_request = votes.take_request(at(7_400)).unwrap();
    assert!(second_request.ticket > first.ticket);
    assert_eq!(
        votes.take_request(at(8_400)).map(|ask| ask.number),
        Some(second_request.number + 1),
        "no answer"
    );
    assert_eq!((votes.renewed, votes.refused, votes.unanswered), (2, 1, 1));
}
