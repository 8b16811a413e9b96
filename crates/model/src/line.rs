//! Who waits in a queue, in the order in which they leave it: the higher class first, within a class whoever came first.
//!
//! It knows no clock and wakes nobody; how long the queue may be is `shed`'s and its owner's to say.

use std::collections::VecDeque;

use crate::moment::Moment;

/// A class of priority, 0–9: a higher one leaves a queue first, a lower one is shed first.
pub type Class = u8;

/// The highest class.
pub const HIGHEST: Class = 9;

/// The class of what was given none.
pub const MIDDLE: Class = 5;

/// Who waits.
#[derive(Debug)]
pub struct Line<T> {
    waiting: VecDeque<Waiting<T>>,
}

/// One who waits.
#[derive(Debug)]
pub struct Waiting<T> {
    /// Its class.
    pub class: Class,
    /// Since when.
    pub since: Moment,
    /// Who it is.
    pub who: T,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Line { waiting: VecDeque::new() }
    }
}

impl<T> Line<T> {
    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Puts one behind all of its class and above.
    pub fn enter(&mut self, class: Class, since: Moment, who: T) {
        let at = self.waiting.partition_point(|one| one.class >= class);
        self.waiting.insert(at, Waiting { class, since, who });
    }

    /// Everybody, the first one first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.waiting.iter().map(|one| &one.who)
    }

    /// Those behind whom a newcomer of this class would stand.
    pub fn ahead(&self, class: Class) -> impl Iterator<Item = &T> {
        self.waiting.iter().take_while(move |one| one.class >= class).map(|one| &one.who)
    }

    /// Takes one out.
    pub fn remove(&mut self, which: impl Fn(&T) -> bool) -> Option<Waiting<T>> {
        let at = self.waiting.iter().position(|one| which(&one.who))?;
        self.waiting.remove(at)
    }

    /// The class of the last one.
    pub fn last_class(&self) -> Option<Class> {
        self.waiting.back().map(|one| one.class)
    }

    /// Takes the last one out: of the lowest class the newest.
    pub fn pop(&mut self) -> Option<Waiting<T>> {
        self.waiting.pop_back()
    }

    /// Since when the one who waits longest does, whatever its class. Costs a look or two a class.
    pub fn oldest(&self) -> Option<Moment> {
        let mut oldest: Option<Moment> = None;
        let mut at = 0;
        while let Some(first) = self.waiting.get(at) {
            oldest = Some(oldest.map_or(first.since, |before| before.min(first.since)));
            at = self.waiting.partition_point(|one| one.class >= first.class);
        }
        oldest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pick::Rng;

    #[test]
    fn higher_classes_leave_first_and_each_in_order() {
        let mut line = Line::default();
        for (at, class) in [5, 5, 9, 0, 5, 9, 0].into_iter().enumerate() {
            line.enter(class, Moment(at as u64), at);
        }
        assert_eq!(line.iter().copied().collect::<Vec<_>>(), [2, 5, 0, 1, 4, 3, 6]);
        assert_eq!(line.ahead(5).count(), 5);
        assert_eq!(line.ahead(6).copied().collect::<Vec<_>>(), [2, 5]);
        assert_eq!(line.oldest(), Some(Moment(0)));
        assert_eq!(line.pop().map(|one| one.who), Some(6));
        assert_eq!((line.last_class(), line.len()), (Some(0), 6));
    }

    #[test]
    fn whatever_comes_and_goes_the_order_and_the_oldest_are_those_of_a_plain_list() {
        for seed in 1..40 {
            let mut rng = Rng::new(seed);
            let (mut line, mut plain) = (Line::default(), Vec::<(Class, u64)>::new());
            for now in 0..300 {
                match rng.below(4) {
                    0 | 1 => {
                        let class = rng.below(10) as Class;
                        line.enter(class, Moment(now), now);
                        plain.push((class, now));
                        plain.sort_by_key(|(class, at)| (HIGHEST - class, *at));
                    }
                    2 => assert_eq!(line.pop().map(|one| one.who), plain.pop().map(|one| one.1)),
                    _ if plain.is_empty() => (),
                    _ => {
                        let gone = plain.remove(rng.below(plain.len() as u64) as usize);
                        assert_eq!(
                            line.remove(|at| *at == gone.1).map(|one| one.class),
                            Some(gone.0)
                        );
                    }
                }
                assert!(line.iter().eq(plain.iter().map(|(_, at)| at)), "seed {seed}");
                let oldest = plain.iter().map(|(_, at)| Moment(*at)).min();
                assert_eq!((line.oldest(), line.len()), (oldest, plain.len()), "seed {seed}");
            }
        }
    }
}
