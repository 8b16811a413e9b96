//! The waits of an exchange by reason, updated by the relay of its bytes.
//!
//! Every moment belongs to one reason, so that concurrent waits of both directions are never counted twice. It reads no
//! clock.

use std::time::Duration;

use crate::monotonic_time::MonotonicTime;

/// The party that a relay waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum WaitReason {
    /// No wait: the balancer has work to do.
    #[default]
    Balancer,
    /// The client, to send more of its request.
    ClientSend,
    /// The server, to read more of the request.
    ServerReceive,
    /// The server, to start its response.
    ServerResponse,
    /// The server, to send more of its response.
    ServerSend,
    /// The client, to read more of the response.
    ClientReceive,
    /// The client, to read more of a stream whose window is full.
    StreamWindow,
    /// The client, to send its next request.
    ClientThink,
    /// Either side: no byte was sent yet.
    Either,
    /// The server, to read more of a stream whose window is full.
    ServerStreamWindow,
    /// The processor: the balancer's thread was ready to run and did not.
    Processor,
    /// A service of `[auth]`, to say whether the request may pass.
    AuthAnswer,
}

/// The number of reasons above; `ALL` fails to compile with another one.
pub const COUNT: usize = 12;

impl WaitReason {
    /// All, in the order of the discriminant.
    pub const ALL: [WaitReason; COUNT] = [
        WaitReason::Balancer,
        WaitReason::ClientSend,
        WaitReason::ServerReceive,
        WaitReason::ServerResponse,
        WaitReason::ServerSend,
        WaitReason::ClientReceive,
        WaitReason::StreamWindow,
        WaitReason::ClientThink,
        WaitReason::Either,
        WaitReason::ServerStreamWindow,
        WaitReason::Processor,
        WaitReason::AuthAnswer,
    ];
}

/// Nanoseconds of waiting, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitTimes {
    totals: [u64; COUNT],
    reason: WaitReason,
    since: Option<MonotonicTime>,
    /// How often the client, and the server, were waited for to send more.
    arrivals: [u32; 2],
}

impl WaitTimes {
    /// The exchange waits for `on` from now on.
    #[inline]
    pub fn wait_for(&mut self, on: WaitReason, now: MonotonicTime) {
        self.account_until(now);
        self.reason = on;
        self.since = Some(now);
        self.count_arrival();
    }

    #[inline]
    fn count_arrival(&mut self) {
        match self.reason {
            WaitReason::ClientSend => self.arrivals[0] = self.arrivals[0].saturating_add(1),
            WaitReason::ServerSend => self.arrivals[1] = self.arrivals[1].saturating_add(1),
            _ => {}
        }
    }

    /// How often the client, and the server, were waited for to send more.
    pub fn arrivals(&self) -> [u32; 2] {
        self.arrivals
    }

    pub fn set_arrivals(&mut self, arrivals: [u32; 2]) {
        self.arrivals = arrivals;
    }

    /// Whatever the exchange waits for, it has actually waited for `on` since this time.
    #[inline]
    pub fn give_rest(&mut self, on: WaitReason, since: MonotonicTime) {
        self.backdate(self.reason, on, since);
    }

    /// Whatever the exchange waits for, it has actually waited for `on` from one time to another.
    #[inline]
    pub fn give_part(&mut self, on: WaitReason, from: MonotonicTime, to: MonotonicTime) {
        let reason = self.reason;
        self.account_until(from);
        self.reason = on;
        self.account_until(to);
        self.reason = reason;
    }

    /// If the exchange waits for `was`, it has actually waited for `on` since this time, which may be before or after
    /// the start of the wait.
    #[inline]
    pub fn backdate(&mut self, was: WaitReason, on: WaitReason, since: MonotonicTime) {
        if self.reason == was && self.since.is_some() {
            self.account_until(since);
            self.reason = on;
        }
    }

    /// If the exchange waits for `was`, and not for longer than `most`, it has actually waited for `on` since the wait
    /// began. Returns whether it has.
    #[inline]
    pub fn replace_short(
        &mut self,
        was: WaitReason,
        on: WaitReason,
        most: Duration,
        now: MonotonicTime,
    ) -> bool {
        let is_short = self.since.is_some_and(|since| now.since(since) <= most);
        let is_replaced = self.reason == was && is_short;
        if is_replaced {
            self.reason = on;
            self.count_arrival();
        }
        is_replaced
    }

    /// Counts the wait so far.
    #[inline]
    pub fn account_until(&mut self, now: MonotonicTime) {
        if let Some(since) = self.since {
            let spent = &mut self.totals[self.reason as usize];
            *spent = spent.saturating_add(now.0.saturating_sub(since.0));
            self.since = Some(now.max(since));
        }
    }

    /// Ends the wait; the next attempt starts a new one.
    pub fn stop(&mut self, now: MonotonicTime) {
        self.account_until(now);
        self.since = None;
    }

    /// Nanoseconds that the exchange waited for `whom`.
    #[inline]
    pub fn total(&self, whom: WaitReason) -> u64 {
        self.totals[whom as usize]
    }

    /// Adds to the nanoseconds that the exchange waited for `whom`.
    pub fn add(&mut self, whom: WaitReason, nanos: u64) {
        let spent = &mut self.totals[whom as usize];
        *spent = spent.saturating_add(nanos);
    }

    /// Sets the nanoseconds that the exchange waited for `whom`.
    pub fn set(&mut self, whom: WaitReason, nanos: u64) {
        self.totals[whom as usize] = nanos;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_moment_is_counted_once() {
        let mut waits = WaitTimes::default();
        waits.account_until(MonotonicTime(5));
        assert_eq!(waits, WaitTimes::default(), "nothing has begun");
        waits.wait_for(WaitReason::ClientSend, MonotonicTime(10));
        waits.wait_for(WaitReason::ServerResponse, MonotonicTime(30));
        waits.wait_for(WaitReason::ServerResponse, MonotonicTime(31));
        waits.account_until(MonotonicTime(20));
        waits.backdate(WaitReason::ClientReceive, WaitReason::StreamWindow, MonotonicTime(50));
        waits.stop(MonotonicTime(100));
        waits.account_until(MonotonicTime(1_000));
        waits.backdate(WaitReason::ServerResponse, WaitReason::StreamWindow, MonotonicTime(1_000));
        waits.wait_for(WaitReason::ClientReceive, MonotonicTime(1_000));
        waits.stop(MonotonicTime(1_001));
        let spent: Vec<u64> = WaitReason::ALL.map(|whom| waits.total(whom)).into();
        assert_eq!(spent, [0, 20, 0, 70, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(waits.arrivals(), [1, 0]);
    }

    #[test]
    fn a_part_of_a_wait_is_given_to_another_once() {
        let mut waits = WaitTimes::default();
        waits.give_part(WaitReason::Processor, MonotonicTime(1), MonotonicTime(5));
        waits.wait_for(WaitReason::ServerResponse, MonotonicTime(10));
        for _ in 0..2 {
            waits.give_part(WaitReason::Processor, MonotonicTime(7), MonotonicTime(30));
        }
        waits.stop(MonotonicTime(100));
        assert_eq!(
            (waits.total(WaitReason::Processor), waits.total(WaitReason::ServerResponse)),
            (20, 70)
        );
    }

    #[test]
    fn a_short_wait_is_replaced_by_another() {
        let most = Duration::from_nanos(50);
        let mut waits = WaitTimes::default();
        let replace = |waits: &mut WaitTimes, now| {
            let [was, on] = [WaitReason::ClientThink, WaitReason::ServerSend];
            waits.replace_short(was, on, most, MonotonicTime(now))
        };
        assert!(!replace(&mut waits, 5), "nothing has begun");
        waits.wait_for(WaitReason::ClientThink, MonotonicTime(10));
        assert!(!replace(&mut waits, 61), "too long");
        waits.wait_for(WaitReason::ClientThink, MonotonicTime(61));
        assert!(replace(&mut waits, 100));
        waits.wait_for(WaitReason::ServerResponse, MonotonicTime(100));
        assert!(!replace(&mut waits, 101), "another wait");
        waits.stop(MonotonicTime(101));
        let totals = [WaitReason::ClientThink, WaitReason::ServerSend, WaitReason::ServerResponse];
        assert_eq!(totals.map(|whom| waits.total(whom)), [51, 39, 1]);
        assert_eq!(waits.arrivals(), [0, 1]);
    }

    #[test]
    fn a_wait_is_given_to_another_from_within_it() {
        let mut waits = WaitTimes::default();
        waits.wait_for(WaitReason::ClientReceive, MonotonicTime(10));
        waits.backdate(WaitReason::ClientReceive, WaitReason::StreamWindow, MonotonicTime(25));
        waits.wait_for(WaitReason::ClientReceive, MonotonicTime(100));
        waits.backdate(WaitReason::ClientReceive, WaitReason::StreamWindow, MonotonicTime(3));
        waits.stop(MonotonicTime(110));
        assert_eq!(
            (waits.total(WaitReason::ClientReceive), waits.total(WaitReason::StreamWindow)),
            (15, 75 + 10)
        );
    }
}
