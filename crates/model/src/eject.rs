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

use std::collections::{HashMap, VecDeque};
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
        self.seats.retain(|id, _| seen.iter().any(|one| one.id == *id));
        for one in seen {
            self.seats.entry(one.id).or_default().count(terms, now, one.tally);
        }
        let mut orders = self.readmit(now, seen);
        let back: Vec<ServerId> = orders.iter().map(Order::server).collect();
        // What failed before a server went out says nothing of what it is now.
        let mut seen = seen.to_vec();
        seen.iter_mut().filter(|one| back.contains(&one.id)).for_each(|one| one.in_a_row = 0);
        for one in &seen {
            let sum = self.sum(terms, one, &seen);
            if let Verdict::Ejected(_) = sum.verdict
                && let Some(seat) = self.seats.get_mut(&one.id)
            {
                let time = seat.eject(terms, now, draw());
                orders.push(Order::Eject { id: one.id, time, sum: sum.clone() });
            }
            if let Some(seat) = self.seats.get_mut(&one.id) {
                seat.keep(now, sum);
            }
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

    /// The arithmetic for one server as things stand.
    fn sum(&self, terms: &Eject, one: &Seen, seen: &[Seen]) -> Sum {
        let tally = |id: &ServerId| self.seats.get(id).map(Seat::within).unwrap_or_default();
        let is_out = |id: &ServerId| self.seats.get(id).is_some_and(|seat| seat.out.is_some());
        let mut others = Tally::default();
        let (mut of, mut out) = (0_u32, 0_u32);
        for other in seen.iter().filter(|other| other.standing != Standing::Out) {
            of += 1;
            out += u32::from(other.standing == Standing::Down || is_out(&other.id));
            if other.id != one.id && !is_out(&other.id) {
                others = others.plus(tally(&other.id));
            }
        }
        let failing = |other: &&Seen| other.in_a_row > 0 && other.id != one.id;
        let failing = seen.iter().filter(failing).count() as u32;
        let mut sum = Sum {
            own: tally(&one.id),
            in_a_row: one.in_a_row,
            others,
            others_failing: failing,
            out,
            of,
            allowed: of * u32::from(terms.share) / 100,
            times: self.seats.get(&one.id).map_or(0, |seat| seat.times),
            verdict: Verdict::Good,
        };
        let may = one.standing == Standing::In && !is_out(&one.id);
        sum.verdict = if may { sum.judged(terms) } else { Verdict::NotJudged };
        sum
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
