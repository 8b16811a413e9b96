//! Whether a link lives, how long it is, and what it loses: judged by its carrier and by answers of its next hop. Pure.
//!
//! ```text
//!          carrier gone here or there, or `fall` questions in a row unanswered
//!   alive ──────────────────────────────────────────────────────▶ dead
//!     ▲                                                            │
//!     └──── carrier there, and `rise` answers in a row ────────────┘
//! ```
//! A link begins alive where it has a carrier: nothing is known against it. Without a probe the carrier alone counts.

use std::collections::VecDeque;
use std::time::Duration;

use model::config::LinkProbe;
use model::moment::Moment;

/// Round trips of which the least counts: what waited in queues does not make a link longer, for as long as streams
/// fill queues without a pause.
pub const WINDOW: usize = 256;
/// Questions of which the loss is told.
pub const ASKED: usize = 128;
/// Questions that wait for answers; an older one is forgotten as lost.
const PENDING: usize = 64;

/// Why a link changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The interface lost its carrier, was set down, or is gone.
    NoCarrier,
    /// The carrier is there (again).
    Carrier,
    /// The next hop did not answer.
    Silence,
    /// The next hop answers.
    Answers,
    /// The far end says that it has no carrier.
    DownThere,
}

/// A link under judgement.
#[derive(Clone, Debug)]
pub struct Life {
    probe: Option<LinkProbe>,
    carrier: bool,
    answers: bool,
    good: u8,
    bad: u8,
    number: u16,
    pending: VecDeque<(u16, Moment)>,
    trips: VecDeque<Duration>,
    kept: VecDeque<bool>,
    due: Moment,
    /// Questions.
    pub asked: u64,
    /// Answers in time.
    pub answered: u64,
}

impl Life {
    /// One whose carrier is not known yet: dead until it is.
    pub fn new(probe: Option<LinkProbe>) -> Life {
        Life {
            probe,
            carrier: false,
            answers: true,
            good: 0,
            bad: 0,
            number: 0,
            pending: VecDeque::new(),
            trips: VecDeque::new(),
            kept: VecDeque::new(),
            due: Moment(0),
            asked: 0,
            answered: 0,
        }
    }

    /// Whether packets may take it.
    pub fn alive(&self) -> bool {
        self.carrier && self.answers
    }

    /// Whether the interface has a carrier.
    pub fn has_carrier(&self) -> bool {
        self.carrier
    }

    /// The far end says that it has no carrier there; what changed. Answers to questions from now on revive it: they would
    /// not come if that were so.
    pub fn is_down_there(&mut self) -> Option<Why> {
        let probe = self.probe.as_ref()?;
        (self.good, self.bad) = (0, probe.fall);
        self.pending.clear();
        if !self.answers {
            return None;
        }
        self.answers = false;
        self.trips.clear();
        self.carrier.then_some(Why::DownThere)
    }

    /// The carrier is there, or not; what changed.
    pub fn carrier(&mut self, there: bool) -> Option<Why> {
        if there == self.carrier {
            return None;
        }
        let before = self.alive();
        self.carrier = there;
        if there {
            // What was unanswered without a carrier says nothing.
            (self.bad, self.answers) = (0, self.answers || self.probe.is_none());
        } else {
            self.pending.clear();
        }
        let why = if there { Why::Carrier } else { Why::NoCarrier };
        (before != self.alive()).then_some(why)
    }

    /// The number of a question that is due now; it is taken as sent.
    pub fn ask(&mut self, now: Moment) -> Option<u16> {
        let probe = self.probe.as_ref()?;
        if !self.carrier || now < self.due {
            return None;
        }
        self.due = now + probe.every;
        self.number = self.number.wrapping_add(1);
        self.asked += 1;
        self.pending.push_back((self.number, now));
        Some(self.number)
    }

    /// An answer came; what changed. Late ones and strangers say nothing.
    pub fn answer(&mut self, number: u16, now: Moment) -> Option<Why> {
        let at = self.pending.iter().position(|(asked, _)| *asked == number)?;
        let (_, sent) = self.pending.remove(at)?;
        let trip = now.since(sent);
        if self.probe.as_ref().is_none_or(|probe| trip > probe.timeout) {
            return self.lost();
        }
        push(&mut self.trips, trip, WINDOW);
        push(&mut self.kept, true, ASKED);
        self.answered += 1;
        (self.good, self.bad) = (self.good.saturating_add(1), 0);
        let rise = self.probe.as_ref().map_or(1, |probe| probe.rise);
        if self.answers || self.good < rise {
            return None;
        }
        self.answers = true;
        self.carrier.then_some(Why::Answers)
    }

    /// Time passed: questions without an answer in time are lost; what changed.
    pub fn pass(&mut self, now: Moment) -> Option<Why> {
        let timeout = self.probe.as_ref()?.timeout;
        let mut changed = None;
        while self.pending.len() > PENDING
            || self.pending.front().is_some_and(|(_, sent)| now.since(*sent) > timeout)
        {
            self.pending.pop_front();
            changed = self.lost().or(changed);
        }
        changed
    }

    /// The least of the last round trips.
    pub fn round_trip(&self) -> Option<Duration> {
        self.trips.iter().min().copied()
    }

    /// Of the last questions, the share without an answer, 0–1.
    pub fn loss(&self) -> f64 {
        if self.kept.is_empty() {
            return 0.0;
        }
        let lost = self.kept.iter().filter(|kept| !**kept).count();
        lost as f64 / self.kept.len() as f64
    }

    fn lost(&mut self) -> Option<Why> {
        push(&mut self.kept, false, ASKED);
        (self.good, self.bad) = (0, self.bad.saturating_add(1));
        let fall = self.probe.as_ref().map_or(u8::MAX, |probe| probe.fall);
        if !self.answers || self.bad < fall {
            return None;
        }
        self.answers = false;
        // What was measured of a path that is gone says nothing about the one that comes.
        self.trips.clear();
        self.carrier.then_some(Why::Silence)
    }
}

fn push<T>(queue: &mut VecDeque<T>, one: T, most: usize) {
    if queue.len() == most {
        queue.pop_front();
    }
    queue.push_back(one);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn probe() -> LinkProbe {
        let (every, timeout) = (Duration::from_millis(100), Duration::from_millis(300));
        LinkProbe { every, timeout, rise: 2, fall: 3 }
    }

    fn at(ms: u64) -> Moment {
        Moment(ms * 1_000_000)
    }

    #[test]
    fn the_carrier_rules_at_once() {
        let mut life = Life::new(Some(probe()));
        assert!(!life.alive());
        assert_eq!(life.carrier(true), Some(Why::Carrier));
        assert!(life.alive());
        assert_eq!((life.carrier(true), life.carrier(false)), (None, Some(Why::NoCarrier)));
        assert!(!life.alive());
        assert_eq!(life.ask(at(0)), None, "nothing can be asked");
    }

    #[test]
    fn silence_kills_after_fall_and_answers_revive_after_rise() {
        let mut life = Life::new(Some(probe()));
        life.carrier(true);
        let asked: Vec<u16> = (0..4).filter_map(|n| life.ask(at(n * 100))).collect();
        assert_eq!(asked, [1, 2, 3, 4]);
        assert_eq!(life.answer(1, at(18)), None);
        assert_eq!(life.round_trip(), Some(Duration::from_millis(18)));
        assert_eq!(life.pass(at(600)), None, "two are lost");
        assert_eq!(life.pass(at(601)), Some(Why::Silence));
        assert!(!life.alive());
        assert_eq!(life.round_trip(), None);
        let next = life.ask(at(700)).unwrap();
        assert_eq!(life.answer(next, at(701)), None);
        let next = life.ask(at(800)).unwrap();
        assert_eq!(life.answer(next, at(801)), Some(Why::Answers));
        assert!(life.alive());
        assert_eq!(life.answer(next, at(802)), None, "an answer counts once");
        assert_eq!(life.loss(), 0.5);
    }

    #[test]
    fn what_the_far_end_says_kills_at_once_and_answers_revive() {
        let mut life = Life::new(Some(probe()));
        life.carrier(true);
        let before = life.ask(at(0)).unwrap();
        assert_eq!(life.is_down_there(), Some(Why::DownThere));
        assert_eq!(life.is_down_there(), None, "said again");
        assert!(!life.alive());
        assert_eq!(life.answer(before, at(1)), None, "what was asked before says nothing");
        let first = life.ask(at(100)).unwrap();
        assert_eq!((life.answer(first, at(101)), life.alive()), (None, false));
        // Said again in between, it begins anew.
        assert_eq!(life.is_down_there(), None);
        for (ms, wanted) in [(200, None), (300, Some(Why::Answers))] {
            let number = life.ask(at(ms)).unwrap();
            assert_eq!(life.answer(number, at(ms + 1)), wanted);
        }
        assert!(life.alive());
        // Without a probe nothing could revive it.
        let mut unasked = Life::new(None);
        unasked.carrier(true);
        assert_eq!((unasked.is_down_there(), unasked.alive()), (None, true));
    }

    #[test]
    fn an_answer_that_is_late_is_none() {
        let mut life = Life::new(Some(probe()));
        life.carrier(true);
        let number = life.ask(at(0)).unwrap();
        life.answer(number, at(301));
        assert_eq!((life.answered, life.loss()), (0, 1.0));
    }

    #[test]
    fn without_a_probe_only_the_carrier_counts() {
        let mut life = Life::new(None);
        assert_eq!(life.carrier(true), Some(Why::Carrier));
        assert_eq!((life.ask(at(0)), life.pass(at(9_000))), (None, None));
        assert!(life.alive());
    }

    proptest! {
        #[test]
        fn whatever_happens_memory_is_bounded_and_no_carrier_is_dead(
            acts in prop::collection::vec((0..5_u8, 0..400_u64, any::<u16>()), 0..400)
        ) {
            let mut life = Life::new(Some(probe()));
            let mut now = 0;
            for (act, pause, number) in acts {
                now += pause;
                match act {
                    4 => drop(life.is_down_there()),
                    0 => drop(life.carrier(number % 2 == 0)),
                    1 => drop(life.ask(at(now))),
                    2 => drop(life.answer(number % 64, at(now))),
                    _ => drop(life.pass(at(now))),
                }
                prop_assert!(life.carrier || !life.alive());
                prop_assert!(life.pending.len() <= 400 && life.trips.len() <= WINDOW);
                prop_assert!((0.0..=1.0).contains(&life.loss()));
            }
        }
    }
}
