//! For whom an exchange waited, and how long: kept up by whoever moves its bytes.
//!
//! Every moment belongs to one of them, so that two directions at once are never counted twice. It reads no clock.

use crate::moment::Moment;

/// Whom a relay waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum For {
    /// Nobody: the turn is ours.
    #[default]
    Us,
    /// The client, to send more of its request.
    ClientSends,
    /// The server, to take more of the request.
    ServerTakes,
    /// The server, to begin its answer.
    Answer,
    /// The server, to send more of its answer.
    ServerSends,
    /// The client, to take more of the answer.
    ClientTakes,
    /// The client, to take more of a stream whose window is full.
    StreamTakes,
    /// The client, to say something: everything was answered.
    ClientThinks,
    /// Either side: nobody has said anything yet.
    Either,
}

/// How many there are.
pub const COUNT: usize = 9;

impl For {
    /// All, in the order of the discriminant.
    pub const ALL: [For; COUNT] = [
        For::Us,
        For::ClientSends,
        For::ServerTakes,
        For::Answer,
        For::ServerSends,
        For::ClientTakes,
        For::StreamTakes,
        For::ClientThinks,
        For::Either,
    ];
}

/// Nanoseconds of waiting, by whom was waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    spent: [u64; COUNT],
    on: For,
    since: Option<Moment>,
}

impl Waits {
    /// From now on `on` is waited for.
    #[inline]
    pub fn on(&mut self, on: For, now: Moment) {
        self.until(now);
        self.on = on;
        self.since = Some(now);
    }

    /// What is waited for now, if it is `was`, has been `on` since this moment, which may be long before the waiting
    /// began or somewhere within it.
    #[inline]
    pub fn was_since(&mut self, was: For, on: For, since: Moment) {
        if self.on == was && self.since.is_some() {
            self.until(since);
            self.on = on;
        }
    }

    /// Counts what was waited so far.
    #[inline]
    pub fn until(&mut self, now: Moment) {
        if let Some(since) = self.since {
            let spent = &mut self.spent[self.on as usize];
            *spent = spent.saturating_add(now.0.saturating_sub(since.0));
            self.since = Some(now.max(since));
        }
    }

    /// Waiting is over; an attempt that follows begins to count anew.
    pub fn stop(&mut self, now: Moment) {
        self.until(now);
        self.since = None;
    }

    /// Nanoseconds that were waited for `whom`.
    #[inline]
    pub fn of(&self, whom: For) -> u64 {
        self.spent[whom as usize]
    }

    /// Sets what was waited for `whom`, nanoseconds.
    pub fn set(&mut self, whom: For, nanos: u64) {
        self.spent[whom as usize] = nanos;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_moment_is_counted_once() {
        let mut waits = Waits::default();
        waits.until(Moment(5));
        assert_eq!(waits, Waits::default(), "nothing has begun");
        waits.on(For::ClientSends, Moment(10));
        waits.on(For::Answer, Moment(30));
        waits.on(For::Answer, Moment(31));
        waits.until(Moment(20));
        waits.was_since(For::ClientTakes, For::StreamTakes, Moment(50));
        waits.stop(Moment(100));
        waits.until(Moment(1_000));
        waits.was_since(For::Answer, For::StreamTakes, Moment(1_000));
        waits.on(For::ClientTakes, Moment(1_000));
        waits.stop(Moment(1_001));
        let spent: Vec<u64> = For::ALL.map(|whom| waits.of(whom)).into();
        assert_eq!(spent, [0, 20, 0, 70, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn a_wait_is_given_to_another_from_within_it() {
        let mut waits = Waits::default();
        waits.on(For::ClientTakes, Moment(10));
        waits.was_since(For::ClientTakes, For::StreamTakes, Moment(25));
        waits.on(For::ClientTakes, Moment(100));
        waits.was_since(For::ClientTakes, For::StreamTakes, Moment(3));
        waits.stop(Moment(110));
        assert_eq!((waits.of(For::ClientTakes), waits.of(For::StreamTakes)), (15, 75 + 10));
    }
}
