//! Packets of records that are under way, and the places that they tell of. Pure.

use std::collections::VecDeque;
use std::time::Duration;

use model::moment::Moment;

use super::taken::{Heard, SEEN};

/// Packets that may be under way. When there are so many, nothing is sent; what changes meanwhile is told of later.
pub const WINDOW: usize = 128;
/// A packet that is not known to have come after so long is lost.
pub const PATIENCE: Duration = Duration::from_millis(150);

/// How old a change may be when it is known to have come, to count as told in time.
pub const PROMPT: Duration = Duration::from_millis(50);

const _: () = assert!(WINDOW < SEEN, "each packet that is under way is told of");

/// What is under way.
#[derive(Clone, Debug, Default)]
pub struct Window {
    sent: VecDeque<Sent>,
    number: u64,
}

#[derive(Clone, Debug)]
struct Sent {
    number: u64,
    at: Moment,
    /// What it tells is no older than this; `None`: it is told to a member that joins, and may be as old as it likes.
    since: Option<Moment>,
    places: Vec<u64>,
}

/// What became of packets that were under way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Places that are to be told of anew.
    pub lost: Vec<u64>,
    /// Places that were told of in time.
    pub prompt: u64,
    /// Places that were told of later, or were lost.
    pub slow: u64,
}

impl Ended {
    fn add(&mut self, now: Moment, sent: Sent, came: bool) {
        let places = sent.places.len() as u64;
        match sent.since {
            Some(since) if came && now.since(since) <= PROMPT => self.prompt += places,
            Some(_) => self.slow += places,
            None => {}
        }
        if !came {
            self.lost.extend(sent.places);
        }
    }
}

impl Window {
    /// Packets that may be sent now.
    pub fn room(&self) -> usize {
        WINDOW - self.sent.len()
    }

    /// Nothing is under way.
    pub fn is_empty(&self) -> bool {
        self.sent.is_empty()
    }

    /// The number of the packet that was sent last.
    pub fn newest(&self) -> u64 {
        self.number
    }

    /// The number of the first packet that is under way.
    pub fn oldest(&self) -> Option<u64> {
        self.sent.front().map(|sent| sent.number)
    }

    /// A packet goes out that tells of these places, of nothing older than `since`; its number.
    pub fn send(&mut self, now: Moment, places: Vec<u64>, since: Option<Moment>) -> u64 {
        self.number += 1;
        self.sent.push_back(Sent { number: self.number, at: now, since, places });
        self.number
    }

    /// The receiver says what came.
    pub fn heard(&mut self, now: Moment, heard: &Heard) -> Ended {
        let mut ended = Ended::default();
        while let Some(came) = self.sent.front().and_then(|sent| heard.of(sent.number)) {
            self.sent.pop_front().into_iter().for_each(|sent| ended.add(now, sent, came));
        }
        ended
    }

    /// Time has passed: what must be lost.
    pub fn pass(&mut self, now: Moment) -> Ended {
        let mut ended = Ended::default();
        let lost = |sent: &Sent| now.since(sent.at) >= PATIENCE;
        while self.sent.front().is_some_and(lost) {
            self.sent.pop_front().into_iter().for_each(|sent| ended.add(now, sent, false));
        }
        ended
    }

    /// Nobody is there any more who could say what came.
    pub fn clear(&mut self) {
        self.sent.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replica::taken::Taken;

    fn at(ms: u64) -> Moment {
        Moment::default() + Duration::from_millis(ms)
    }

    #[test]
    fn what_did_not_come_is_told_of_anew() {
        let (mut window, mut taken) = (Window::default(), Taken::default());
        let numbers: Vec<u64> = (0..4).map(|place| window.send(at(0), vec![place], None)).collect();
        assert_eq!(numbers, [1, 2, 3, 4]);
        assert!(taken.take(1) && taken.take(3));
        assert_eq!(window.heard(at(9), &taken.heard()).lost, [1], "the second packet's place");
        assert_eq!(window.heard(at(9), &taken.heard()), Ended::default(), "once");
        assert!(window.pass(at(149)).lost.is_empty() && !window.is_empty());
        assert_eq!(window.pass(at(150)).lost, [3], "the last one was never heard of");
        assert_eq!(window.room(), WINDOW);
    }

    #[test]
    fn no_more_is_under_way_than_there_is_room_for() {
        let mut window = Window::default();
        while window.room() > 0 {
            window.send(at(0), vec![7], None);
        }
        assert_eq!(window.pass(at(1_000)).lost.len(), WINDOW);
    }

    #[test]
    fn what_came_within_fifty_ms_of_its_change_came_in_time() {
        let (mut window, mut taken) = (Window::default(), Taken::default());
        for since in [Some(at(0)), Some(at(1)), None, Some(at(40))] {
            window.send(at(45), vec![1, 2, 3], since);
        }
        assert!((1..4).all(|number| taken.take(number)));
        let ended = window.heard(at(51), &taken.heard());
        assert_eq!((ended.prompt, ended.slow), (3, 3), "one in time, one late, one of who joins");
        let ended = window.pass(at(500));
        assert_eq!((ended.prompt, ended.slow, ended.lost.len()), (0, 3, 3));
    }
}
