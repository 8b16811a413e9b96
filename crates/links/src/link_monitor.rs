//! Whether a link is alive, its delay and its loss, from its carrier and from replies of its next hop. Pure.
//!
//! ```text
//!          carrier gone here or there, or `fall` questions in a row unanswered
//!   alive ──────────────────────────────────────────────────────▶ dead
//!     ▲                                                            │
//!     └──── carrier there, and `rise` answers in a row ────────────┘
//! ```
//! A link with a carrier starts alive, because nothing indicates a fault. Without probes only the carrier counts.

use std::collections::VecDeque;
use std::time::Duration;

use model::config::LinkProbe;
use model::monotonic_time::MonotonicTime;

/// Round trips of which the least counts: queueing does not make a link slower, even while streams fill queues for the
/// length of this window.
/// At the default interval of 100 ms, 25 s.
pub const WINDOW: usize = 256;
/// Probes over which the loss is computed.
/// A resolution below one percent; at the default interval of 100 ms, 13 s.
pub const LOSS_WINDOW: usize = 128;
/// Probes that wait for replies; an older one counts as lost.
/// At the default interval of 100 ms, the probes of 6.4 s.
const PENDING: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkChange {
    /// The interface lost its carrier, was set down, or was removed.
    NoCarrier,
    Carrier,
    NoReply,
    Replies,
    /// The far end reports that it has no carrier.
    RemoteDown,
}

/// A probe whose reply is awaited.
#[derive(Clone, Copy, Debug)]
struct SentProbe {
    number: u16,
    sent_at: MonotonicTime,
}

/// A link and its recent probes.
#[derive(Clone, Debug)]
pub struct LinkMonitor {
    probe: Option<LinkProbe>,
    carrier: bool,
    is_answering: bool,
    successes: u8,
    failures: u8,
    number: u16,
    pending: VecDeque<SentProbe>,
    round_trips: VecDeque<Duration>,
    recent_results: VecDeque<bool>,
    next_probe: MonotonicTime,
    pub probes_sent: u64,
    pub replies_received: u64,
}

impl LinkMonitor {
    /// A link whose carrier is not known yet: dead until it is.
    pub fn new(probe: Option<LinkProbe>) -> LinkMonitor {
        LinkMonitor {
            probe,
            carrier: false,
            is_answering: true,
            successes: 0,
            failures: 0,
            number: 0,
            pending: VecDeque::new(),
            round_trips: VecDeque::new(),
            recent_results: VecDeque::new(),
            next_probe: MonotonicTime(0),
            probes_sent: 0,
            replies_received: 0,
        }
    }

    pub fn is_alive(&self) -> bool {
        self.carrier && self.is_answering
    }

    pub fn has_carrier(&self) -> bool {
        self.carrier
    }

    /// The far end reports that its carrier is lost. Returns the change. Replies to later probes revive the link,
    /// because they would not arrive without a carrier.
    pub fn set_remote_down(&mut self) -> Option<LinkChange> {
        let probe = self.probe.as_ref()?;
        self.successes = 0;
        self.failures = probe.fall;
        self.pending.clear();
        if !self.is_answering {
            return None;
        }
        self.is_answering = false;
        self.round_trips.clear();
        self.carrier.then_some(LinkChange::RemoteDown)
    }

    /// Sets whether there is a carrier. Returns the change.
    pub fn set_carrier(&mut self, there: bool) -> Option<LinkChange> {
        if there == self.carrier {
            return None;
        }
        let before = self.is_alive();
        self.carrier = there;
        if there {
            // Unanswered probes without a carrier do not count.
            (self.failures, self.is_answering) = (0, self.is_answering || self.probe.is_none());
        } else {
            self.pending.clear();
        }
        let why = if there { LinkChange::Carrier } else { LinkChange::NoCarrier };
        (before != self.is_alive()).then_some(why)
    }

    /// The number of a probe that is due now; the probe counts as sent.
    pub fn take_probe(&mut self, now: MonotonicTime) -> Option<u16> {
        let probe = self.probe.as_ref()?;
        if !self.carrier || now < self.next_probe {
            return None;
        }
        self.next_probe = now + probe.every;
        self.number = self.number.wrapping_add(1);
        self.probes_sent += 1;
        self.pending.push_back(SentProbe { number: self.number, sent_at: now });
        Some(self.number)
    }

    /// A reply arrived. Returns the change. Late and unknown replies do not count.
    pub fn receive_reply(&mut self, number: u16, now: MonotonicTime) -> Option<LinkChange> {
        let at = self.pending.iter().position(|probe| probe.number == number)?;
        let trip = now.since(self.pending.remove(at)?.sent_at);
        if self.probe.as_ref().is_none_or(|probe| trip > probe.timeout) {
            return self.record_loss();
        }
        push_bounded(&mut self.round_trips, trip, WINDOW);
        push_bounded(&mut self.recent_results, true, LOSS_WINDOW);
        self.replies_received += 1;
        self.successes = self.successes.saturating_add(1);
        self.failures = 0;
        let rise = self.probe.as_ref().map_or(1, |probe| probe.rise);
        if self.is_answering || self.successes < rise {
            return None;
        }
        self.is_answering = true;
        self.carrier.then_some(LinkChange::Replies)
    }

    /// Handles elapsed time: probes without a reply in time are lost. Returns the change.
    pub fn expire_probes(&mut self, now: MonotonicTime) -> Option<LinkChange> {
        let timeout = self.probe.as_ref()?.timeout;
        let mut changed = None;
        while self.pending.len() > PENDING
            || self.pending.front().is_some_and(|probe| now.since(probe.sent_at) > timeout)
        {
            self.pending.pop_front();
            changed = self.record_loss().or(changed);
        }
        changed
    }

    /// The least of the recent round trips.
    pub fn round_trip(&self) -> Option<Duration> {
        self.round_trips.iter().min().copied()
    }

    /// The share of the last probes without a reply, 0–1.
    pub fn loss(&self) -> f64 {
        if self.recent_results.is_empty() {
            return 0.0;
        }
        let lost = self.recent_results.iter().filter(|answered| !**answered).count();
        lost as f64 / self.recent_results.len() as f64
    }

    fn record_loss(&mut self) -> Option<LinkChange> {
        push_bounded(&mut self.recent_results, false, LOSS_WINDOW);
        (self.successes, self.failures) = (0, self.failures.saturating_add(1));
        let fall = self.probe.as_ref().map_or(u8::MAX, |probe| probe.fall);
        if !self.is_answering || self.failures < fall {
            return None;
        }
        self.is_answering = false;
        // Round trips of the previous path do not apply to the next one.
        self.round_trips.clear();
        self.carrier.then_some(LinkChange::NoReply)
    }
}

fn push_bounded<T>(queue: &mut VecDeque<T>, one: T, most: usize) {
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
        let every = Duration::from_millis(100);
        let timeout = Duration::from_millis(300);
        LinkProbe { every, timeout, rise: 2, fall: 3 }
    }

    fn at(ms: u64) -> MonotonicTime {
        MonotonicTime(ms * 1_000_000)
    }

    #[test]
    fn the_carrier_rules_at_once() {
        let mut life = LinkMonitor::new(Some(probe()));
        assert!(!life.is_alive());
        assert_eq!(life.set_carrier(true), Some(LinkChange::Carrier));
        assert!(life.is_alive());
        assert_eq!(
            (life.set_carrier(true), life.set_carrier(false)),
            (None, Some(LinkChange::NoCarrier))
        );
        assert!(!life.is_alive());
        assert_eq!(life.take_probe(at(0)), None, "nothing can be asked");
    }

    #[test]
    fn silence_kills_after_fall_and_answers_revive_after_rise() {
        let mut life = LinkMonitor::new(Some(probe()));
        life.set_carrier(true);
        let probe_numbers: Vec<u16> = (0..4).filter_map(|n| life.take_probe(at(n * 100))).collect();
        assert_eq!(probe_numbers, [1, 2, 3, 4]);
        assert_eq!(life.receive_reply(1, at(18)), None);
        assert_eq!(life.round_trip(), Some(Duration::from_millis(18)));
        assert_eq!(life.expire_probes(at(600)), None, "two are lost");
        assert_eq!(life.expire_probes(at(601)), Some(LinkChange::NoReply));
        assert!(!life.is_alive());
        assert_eq!(life.round_trip(), None);
        let next = life.take_probe(at(700)).unwrap();
        assert_eq!(life.receive_reply(next, at(701)), None);
        let next = life.take_probe(at(800)).unwrap();
        assert_eq!(life.receive_reply(next, at(801)), Some(LinkChange::Replies));
        assert!(life.is_alive());
        assert_eq!(life.receive_reply(next, at(802)), None, "an answer counts once");
        assert_eq!(life.loss(), 0.5);
    }

    #[test]
    fn a_remote_down_notice_kills_a_link_and_replies_revive_it() {
        let mut life = LinkMonitor::new(Some(probe()));
        life.set_carrier(true);
        let before = life.take_probe(at(0)).unwrap();
        assert_eq!(life.set_remote_down(), Some(LinkChange::RemoteDown));
        assert_eq!(life.set_remote_down(), None, "said again");
        assert!(!life.is_alive());
        assert_eq!(life.receive_reply(before, at(1)), None, "what was asked before says nothing");
        let first = life.take_probe(at(100)).unwrap();
        assert_eq!((life.receive_reply(first, at(101)), life.is_alive()), (None, false));
        // A repeated notice restarts the wait.
        assert_eq!(life.set_remote_down(), None);
        for (ms, wanted) in [(200, None), (300, Some(LinkChange::Replies))] {
            let number = life.take_probe(at(ms)).unwrap();
            assert_eq!(life.receive_reply(number, at(ms + 1)), wanted);
        }
        assert!(life.is_alive());
        // Without probes nothing could revive the link.
        let mut unasked = LinkMonitor::new(None);
        unasked.set_carrier(true);
        assert_eq!((unasked.set_remote_down(), unasked.is_alive()), (None, true));
    }

    #[test]
    fn an_answer_that_is_late_is_none() {
        let mut life = LinkMonitor::new(Some(probe()));
        life.set_carrier(true);
        let number = life.take_probe(at(0)).unwrap();
        life.receive_reply(number, at(301));
        assert_eq!((life.replies_received, life.loss()), (0, 1.0));
    }

    #[test]
    fn without_a_probe_only_the_carrier_counts() {
        let mut life = LinkMonitor::new(None);
        assert_eq!(life.set_carrier(true), Some(LinkChange::Carrier));
        assert_eq!((life.take_probe(at(0)), life.expire_probes(at(9_000))), (None, None));
        assert!(life.is_alive());
    }

    proptest! {
        #[test]
        fn whatever_happens_memory_is_bounded_and_no_carrier_is_dead(
            acts in prop::collection::vec((0..5_u8, 0..400_u64, any::<u16>()), 0..400)
        ) {
            let mut life = LinkMonitor::new(Some(probe()));
            let mut now = 0;
            for (act, pause, number) in acts {
                now += pause;
                match act {
                    4 => drop(life.set_remote_down()),
                    0 => drop(life.set_carrier(number % 2 == 0)),
                    1 => drop(life.take_probe(at(now))),
                    2 => drop(life.receive_reply(number % 64, at(now))),
                    _ => drop(life.expire_probes(at(now))),
                }
                prop_assert!(life.carrier || !life.is_alive());
                prop_assert!(life.pending.len() <= 400 && life.round_trips.len() <= WINDOW);
                prop_assert!((0.0..=1.0).contains(&life.loss()));
            }
        }
    }
}
