//! Which servers of a pool are put out for what they answer, and when they come back: a pure machine for one pool.
//!
//! It is told every tenth of a second or so what the counters say of each server, and answers with orders. A server is put
//! out for
//!
//! - failures in a row (`failures`),
//! - its rate of failures over the last interval (`rate`, of at least `volume` answers),
//! - its rate of answers cut in the middle (`cut-rate`, at least three of them): no further attempt can mend those.
//!
//! What all servers suffer is no fault of one: it stays while the others together fail at more than half of its rate. And a
//! pool is never emptied: at most `share` of the servers that are to take work may be out, those that are down counted, and
//! when nothing else is up all of them come back. The time out doubles with each ejection up to `most`; a minute without
//! one takes one doubling back.
//!
//! It counts nothing, reads no clock and knows nothing of probes: a server that comes back is what its probe says of it.

pub mod sum;

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Duration;

use crate::cause::{Cause, Side};
use crate::config::Eject;
use crate::id::ServerId;
use crate::moment::Moment;
pub use sum::{Ground, Sum, Tally, Verdict};

/// In for so long without another ejection, one doubling is taken back.
const FORGIVEN: Duration = Duration::from_secs(60);

/// Random share of a time out, percent: what went out together does not come back together.
const JITTER: u128 = 10;

/// What a server is apart from ejection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is to take work and may.
    In,
    /// It is to take work, and is judged to be down.
    Down,
    /// It is not to take work: drained, disabled, of no weight or without an address.
    Out,
}

/// What is known of a server at a look.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Which.
    pub id: ServerId,
    /// What it is.
    pub standing: Standing,
    /// What was counted of it since the process began.
    pub tally: Tally,
    /// Failures since its last good answer.
    pub in_a_row: u64,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    /// Put it out.
    Eject {
        /// Which.
        id: ServerId,
        /// For so long.
        time: Duration,
        /// Why, with its arithmetic.
        sum: Sum,
    },
    /// Let it come back; its failures in a row are forgotten.
    Readmit {
        /// Which.
        id: ServerId,
        /// After which time out it comes back.
        after: Duration,
        /// Nothing else was up.
        needed: bool,
    },
}

impl Order {
    /// Whom it is about.
    pub fn server(&self) -> ServerId {
        match self {
            Order::Eject { id, .. } | Order::Readmit { id, .. } => *id,
        }
    }
}

/// What a failed attempt says of its server; `None`: nothing.
pub fn weighs(cause: Cause) -> Option<Fault> {
    match cause {
        Cause::ServerCut | Cause::ServerBodyTimeout => Some(Fault::Cut),
        // It was taken away for a judgement that stands already.
        Cause::ServerMarkedDown => None,
        cause => match cause.side() {
            Side::Server | Side::Network => Some(Fault::Bad),
            Side::Client | Side::Us => None,
        },
    }
}

/// How a failed attempt counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// As a failure.
    Bad,
    /// As a failure, and as an answer cut in the middle.
    Cut,
}

/// One pool.
#[derive(Debug, Default)]
pub struct Court {
    seats: HashMap<ServerId, Seat>,
}

/// One server.
#[derive(Debug, Default)]
struct Seat {
    /// What was counted at each look of the last interval, and one before it.
    looks: VecDeque<(Moment, Tally)>,
    /// It is out: since when, until when.
    out: Option<(Moment, Moment)>,
    /// Ejections that are not forgiven.
    times: u32,
    /// In since then, or when a doubling was taken back last.
    good_since: Option<Moment>,
    sum: Option<Sum>,
}

impl Court {
    /// Looks at the whole pool once. `draw` gives 64 random bits.
    pub fn look(
        &mut self,
        terms: &Eject,
        now: Moment,
        seen: &[Seen],
        mut draw: impl FnMut() -> u64,
    ) -> Vec<Order> {
        let here: HashSet<ServerId> = seen.iter().map(|one| one.id).collect();
        self.seats.retain(|id, _| here.contains(id));
        for one in seen {
            self.seats.entry(one.id).or_default().count(terms, now, one.tally);
        }
        let mut orders = self.readmit(now, seen);
        let back: HashSet<ServerId> = orders.iter().map(Order::server).collect();
        // What failed before a server went out says nothing of what it is now.
        let mut seen = seen.to_vec();
        seen.iter_mut().filter(|one| back.contains(&one.id)).for_each(|one| one.in_a_row = 0);
        let mut whole = self.whole(&seen);
        for one in &seen {
            let Some(seat) = self.seats.get_mut(&one.id) else { continue };
            let sum = whole.sum(terms, one, seat);
            if let Verdict::Ejected(_) = sum.verdict {
                let time = seat.eject(terms, now, draw());
                whole.leaves(sum.own);
                orders.push(Order::Eject { id: one.id, time, sum: sum.clone() });
            }
            seat.keep(now, sum);
        }
        orders
    }

    /// The arithmetic of the last look; while a server is out, that of its ejection.
    pub fn arithmetic(&self, id: ServerId) -> Option<&Sum> {
        self.seats.get(&id)?.sum.as_ref()
    }

    /// Everybody who is out.
    pub fn ejected(&self) -> impl Iterator<Item = ServerId> {
        self.seats.iter().filter(|(_, seat)| seat.out.is_some()).map(|(id, _)| *id)
    }

    fn readmit(&mut self, now: Moment, seen: &[Seen]) -> Vec<Order> {
        let is_out = |seats: &HashMap<ServerId, Seat>, id| {
            seats.get(&id).is_some_and(|seat| seat.out.is_some())
        };
        let takes = |one: &&Seen| one.standing == Standing::In && !is_out(&self.seats, one.id);
        let empty = !seen.iter().any(|one| takes(&one));
        let mut orders = Vec::new();
        for one in seen {
            let Some(seat) = self.seats.get_mut(&one.id) else { continue };
            let Some((since, until)) = seat.out else { continue };
            let needed = empty && one.standing == Standing::In && now < until;
            if now >= until || needed || one.standing == Standing::Out {
                seat.out = None;
                seat.good_since = Some(now);
                seat.looks.clear();
                seat.looks.push_back((now, one.tally));
                orders.push(Order::Readmit { id: one.id, after: now.since(since), needed });
            }
        }
        orders
    }

    /// What all of them come to, before anybody of this look is judged.
    fn whole(&self, seen: &[Seen]) -> Whole {
        let mut whole = Whole::default();
        for one in seen {
            whole.failing += u32::from(one.in_a_row > 0);
            if one.standing == Standing::Out {
                continue;
            }
            let seat = self.seats.get(&one.id);
            let is_out = seat.is_some_and(|seat| seat.out.is_some());
            whole.of += 1;
            whole.out += u32::from(one.standing == Standing::Down || is_out);
            if !is_out {
                whole.tally = whole.tally.plus(seat.map(Seat::within).unwrap_or_default());
            }
        }
        whole
    }
}

/// A pool's servers taken together, so that judging one of very many does not look at all of them.
#[derive(Debug, Default)]
struct Whole {
    /// What the interval counted of those that are not put out and are to take work.
    tally: Tally,
    /// How many failed last.
    failing: u32,
    /// How many are to take work.
    of: u32,
    /// How many of these cannot.
    out: u32,
}

impl Whole {
    /// The arithmetic for one server as things stand.
    fn sum(&self, terms: &Eject, one: &Seen, seat: &Seat) -> Sum {
        let own = seat.within();
        let counted = one.standing != Standing::Out && seat.out.is_none();
        let mut sum = Sum {
            own,
            in_a_row: one.in_a_row,
            others: if counted { self.tally.minus(own) } else { self.tally },
            others_failing: self.failing - u32::from(one.in_a_row > 0),
            out: self.out,
            of: self.of,
            allowed: self.of * u32::from(terms.share) / 100,
            times: seat.times,
            verdict: Verdict::Good,
        };
        let may = one.standing == Standing::In && seat.out.is_none();
        sum.verdict = if may { sum.judged(terms) } else { Verdict::NotJudged };
        sum
    }

    /// A server that could take work is put out.
    fn leaves(&mut self, own: Tally) {
        self.tally = self.tally.minus(own);
        self.out += 1;
    }
}

impl Seat {
    fn count(&mut self, terms: &Eject, now: Moment, tally: Tally) {
        // Counters that went back belong to another server under the same number.
        if self.looks.back().is_some_and(|(_, last)| tally.good + tally.bad < last.good + last.bad)
        {
            self.looks.clear();
        }
        self.looks.push_back((now, tally));
        while self.looks.get(1).is_some_and(|(at, _)| now.since(*at) >= terms.interval) {
            self.looks.pop_front();
        }
    }

    /// What the interval counted.
    fn within(&self) -> Tally {
        match (self.looks.front(), self.looks.back()) {
            (Some((_, first)), Some((_, last))) => last.minus(*first),
            _ => Tally::default(),
        }
    }

    fn eject(&mut self, terms: &Eject, now: Moment, draw: u64) -> Duration {
        let whole = terms.time.saturating_mul(1 << self.times.min(20)).min(terms.most);
        let share = (whole.as_nanos() * JITTER / 100 * u128::from(draw)) >> 64;
        let time = whole - Duration::from_nanos(u64::try_from(share).unwrap_or(0));
        self.times = self.times.saturating_add(1);
        self.out = Some((now, now + time));
        self.good_since = None;
        time
    }

    fn keep(&mut self, now: Moment, sum: Sum) {
        if self.out.is_some() {
            // That of its ejection stays to be looked at.
            if matches!(sum.verdict, Verdict::Ejected(_)) {
                self.sum = Some(sum);
            }
            return;
        }
        self.sum = Some(sum);
        if let Some(since) = self.good_since
            && now.since(since) >= FORGIVEN
        {
            self.times = self.times.saturating_sub(1);
            self.good_since = (self.times > 0).then_some(now);
        }
    }
}

#[cfg(test)]
mod tests;
