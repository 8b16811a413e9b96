//! Two of three: a group whose address must never be at two machines is active only while two of both members and a
//! third machine, the witness, agree. Pure.
//!
//! Each of the three gives its vote to one member at a time, for a time that it measures itself. The witness' vote is a
//! lease. A member's own vote is its own while it is active; one that stands by lends it to the other one by its beats,
//! and takes nothing over before that time is over, or the other one has said that it does not use it. So two that are
//! active at a time would have a vote that was given twice.
//!
//! ```text
//!   ours    a beat, number n ──▶ heard at h, answered: "for your beat n, for L"     theirs
//!   counts until sent(n) + L − margin      ≤      h + L: until then it takes nothing over
//! ```
//! What was sent before it was asked for is never counted longer than the giver keeps it, however late it comes; the
//! margin is for clocks that run differently fast. A process that begins has forgotten what it lent: it waits for as long
//! as that can last, or until the other one says, having heard this process, that it neither is nor wants to be active.

use std::net::IpAddr;
use std::time::Duration;

use model::moment::Moment;

use crate::beat::{Heard, Vote};
use crate::hearing::Hearing;

/// The part of a lease that is not used: clocks may differ by so much in speed.
const MARGIN: u32 = 16;
/// A lease is renewed after this part of it, and a question is answered within that or not at all.
const RENEW: u32 = 3;
/// Somebody who wants it asks again after this part.
const AGAIN: u32 = 8;
/// And not sooner than so.
const LEAST: Duration = Duration::from_millis(50);

/// A question to the witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Its number, which the answer has too.
    pub number: u64,
    /// When this member began to want the lease; it only grows.
    pub ticket: u64,
    /// What is wanted.
    pub what: What,
}

/// What is asked of the witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// The lease. `holds`: it is this member's now.
    Take {
        /// It still counts.
        holds: bool,
    },
    /// The lease is given back.
    Release,
}

/// What the witness said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The lease is ours for so long from when it was decided.
    Given(Duration),
    /// It is somebody else's.
    Refused,
    /// It was given back.
    Released,
    /// Nothing that could be understood, in time.
    Nothing,
}

/// What the other member says of this group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Other {
    /// Which beat it is: its process, and its number.
    pub beat: Heard,
    /// Which of ours it heard last when it said so, and when that one was sent.
    pub heard: Option<(Heard, Moment)>,
    /// Its vote.
    pub vote: Vote,
    /// Both want the address, and it comes first.
    pub first: bool,
}

/// The votes for one group, as one member knows them.
#[derive(Clone, Debug)]
pub struct Votes {
    lease: Duration,
    session: u64,
    /// What this member is.
    active: bool,
    wants: bool,
    /// Our vote is lent until then, for this beat of the other member.
    lent: Moment,
    lent_for: Heard,
    /// The other member's newest beat: when it came, and what it said.
    heard: Option<(Moment, Other)>,
    /// The number of our last beat that said we need no vote: what answers an earlier one does not count.
    floor: u64,
    /// Until when the other member's vote counts.
    given: Moment,
    /// Until when the witness' counts.
    leased: Moment,
    asked: Option<(Ask, Moment)>,
    next: Moment,
    number: u64,
    ticket: u64,
    /// Something may be there to give back.
    owes: bool,
    /// Times that a lease was given.
    pub renewed: u64,
    /// Times that it was refused.
    pub refused: u64,
    /// Times that nothing came.
    pub unanswered: u64,
}

impl Votes {
    /// Of a process that begins, which beats know by `session`. `held`: the group is active, until then.
    pub fn new(now: Moment, lease: Duration, session: u64, held: Option<Moment>) -> Votes {
        Votes {
            lease,
            session,
            active: held.is_some(),
            wants: false,
            lent: if held.is_some() { Moment::default() } else { now + lease },
            lent_for: Heard::default(),
            heard: None,
            floor: 0,
            given: Moment::default(),
            leased: held.unwrap_or_default(),
            asked: None,
            next: Moment::default(),
            number: 0,
            ticket: now.0,
            owes: held.is_some(),
            renewed: 0,
            refused: 0,
            unanswered: 0,
        }
    }

    /// Until when this member may be active.
    pub fn leave(&self, now: Moment) -> Moment {
        if now < self.lent { Moment::default() } else { self.given.max(self.leased) }
    }

    /// Until when the witness' vote counts.
    pub fn leased(&self) -> Moment {
        self.leased
    }

    /// Until when the other member's vote counts.
    pub fn given(&self) -> Moment {
        self.given
    }

    /// Until when our vote is lent.
    pub fn lent(&self) -> Moment {
        self.lent
    }

    /// What the group is now.
    pub fn follow(&mut self, now: Moment, active: bool, wants: bool) {
        let needs = active || wants;
        if needs && !(self.active || self.wants) {
            (self.ticket, self.next) = (self.ticket.max(now.0) + 1, now);
        }
        if !needs || (self.active && !active) {
            // What counted counts no more: others are told so.
            (self.given, self.leased) = (Moment::default(), Moment::default());
        }
        if !needs && self.owes {
            self.next = self.next.min(now);
        }
        (self.active, self.wants) = (active, wants);
    }

    /// A beat was believed and is the newest: what it says of this group. `ours`: priority and address of this member.
    pub fn listen(
        &mut self,
        now: Moment,
        hearing: &Hearing,
        group: (u8, bool),
        ours: (u8, IpAddr),
    ) {
        let claimed = hearing.claimed(group.0, group.1).map(|claimed| claimed.claim);
        let vote = claimed.and_then(|claim| Some((claim, claim.vote?)));
        let (Some(beat), Some((claim, vote))) = (hearing.newest(), vote) else {
            self.heard = None;
            return;
        };
        let answered = hearing.peer().and_then(|beat| beat.heard);
        let heard = answered.and_then(|ours| Some((ours, hearing.sent(ours.number)?)));
        let first = (claim.priority, claim.source) > ours;
        self.hear(now, Other { beat, heard, vote, first });
    }

    /// The other member's newest words.
    pub fn hear(&mut self, now: Moment, other: Other) {
        self.heard = Some((now, other));
        let Other { beat, heard, vote, .. } = other;
        // It had heard this process when it said that it needs no vote: none of ours for an earlier beat counts there.
        let forgotten = self.lent_for.session == 0;
        let later = (beat.session, beat.number) > (self.lent_for.session, self.lent_for.number)
            && beat.session == self.lent_for.session;
        let knows = heard.is_some_and(|(ours, _)| ours.session == self.session);
        if !vote.keeps && !vote.wants && knows && (forgotten || later) {
            self.lent = Moment::default();
        }
        let (Some(length), Some((ours, sent))) = (vote.lends, heard) else { return };
        if ours.session == self.session && ours.number >= self.floor && (self.active || self.wants)
        {
            self.given = self.given.max(sent + usable(length));
        }
    }

    /// What our next beat would say.
    pub fn would_say(&self, now: Moment) -> Vote {
        let lends = self.lending(now).map(|_| self.lease);
        Vote { keeps: self.active, wants: self.wants, lends }
    }

    fn lending(&self, now: Moment) -> Option<(Moment, Heard)> {
        let (at, other) = self.heard?;
        let worthy = other.vote.keeps || (other.vote.wants && (!self.wants || other.first));
        let until = at + self.lease;
        (!self.active && worthy && now < until).then_some((until, other.beat))
    }

    /// What our beat of this number says. What it says is bound to: it must go out, or none with this number.
    pub fn say(&mut self, now: Moment, number: u64) -> Vote {
        if !self.active && !self.wants {
            self.floor = number;
        }
        let lending = self.lending(now);
        if let Some((until, beat)) = lending {
            (self.lent, self.lent_for) = (self.lent.max(until), beat);
        }
        self.would_say(now)
    }

    /// When `ask` is to be called next.
    pub fn due(&self) -> Moment {
        let needs = self.active || self.wants || self.owes;
        let free = self.asked.map_or(Moment::default(), |(_, at)| at + self.lease / RENEW);
        if needs { self.next.max(free) } else { Moment::NEVER }
    }

    /// A question for the witness, if one is due. Another one is not answered any more.
    pub fn ask(&mut self, now: Moment) -> Option<Ask> {
        if now < self.due() {
            return None;
        }
        if self.asked.take().is_some() {
            self.unanswered += 1;
        }
        let takes = self.active || self.wants;
        let what = if takes { What::Take { holds: now < self.leased } } else { What::Release };
        self.owes = true;
        self.number += 1;
        let ask = Ask { number: self.number, ticket: self.ticket, what };
        self.asked = Some((ask, now));
        self.next = now + self.pause();
        Some(ask)
    }

    /// What is given back at the end, whatever was asked meanwhile.
    pub fn part(&mut self) -> Option<Ask> {
        let ask = Ask { number: self.number + 1, ticket: self.ticket, what: What::Release };
        self.owes.then_some(ask)
    }

    /// The witness answered the question of this number.
    pub fn answer(&mut self, now: Moment, number: u64, answer: Answer) {
        let Some((ask, sent)) = self.asked.take_if(|(ask, _)| ask.number == number) else { return };
        match answer {
            Answer::Given(length) => {
                self.renewed += 1;
                // Not of an earlier time: that ticket is given back, or was never used.
                if ask.ticket == self.ticket && (self.active || self.wants) {
                    self.leased = self.leased.max(sent + usable(length));
                    self.next = sent + length / RENEW;
                }
            }
            Answer::Refused => {
                self.refused += 1;
                self.leased = Moment::default();
                self.next = now + self.pause();
            }
            Answer::Released => {
                if ask.ticket == self.ticket && !(self.active || self.wants) {
                    self.owes = false;
                }
            }
            Answer::Nothing => {
                self.unanswered += 1;
                self.next = now + self.pause();
            }
        }
    }

    fn pause(&self) -> Duration {
        (self.lease / AGAIN).max(LEAST)
    }
}

/// What of a time that somebody else measures may be used.
fn usable(length: Duration) -> Duration {
    length - length / MARGIN
}

#[cfg(test)]
mod tests;
