//! Which bytes of a stream were captured: a few ranges, usually one.
//!
//! When there are too many holes the two nearest ranges are joined, and the join is counted.

/// Ranges that are remembered.
/// As many as the holes that are followed at once.
const MAX: usize = 64;

#[derive(Clone, Debug, Default)]
pub struct OffsetRanges {
    /// The highest range, which nearly every packet extends.
    top: Option<(i64, i64)>,
    /// The others, ascending; never touching.
    lower: Vec<(i64, i64)>,
    joined: u64,
}

impl OffsetRanges {
    /// Adds `from..to` and returns how many of its bytes are new.
    #[inline]
    pub fn add(&mut self, from: i64, to: i64) -> i64 {
        match &mut self.top {
            Some((_, end)) if *end == from => {
                *end = to;
                to - from
            }
            None => {
                self.top = Some((from, to));
                to - from
            }
            Some(_) => self.insert(from, to),
        }
    }

    /// How often ranges were joined although bytes between them were missing.
    pub fn joined(&self) -> u64 {
        self.joined
    }

    pub fn total(&self) -> i64 {
        self.lower.iter().chain(&self.top).map(|(from, to)| to - from).sum()
    }

    #[cold]
    fn insert(&mut self, from: i64, to: i64) -> i64 {
        let before = self.total();
        let mut all = std::mem::take(&mut self.lower);
        all.extend(self.top.take());
        let at = all.partition_point(|(_, end)| *end < from);
        let behind = all.partition_point(|(start, _)| *start <= to);
        let touched = &all[at..behind.max(at)];
        let start = touched.first().map_or(from, |first| first.0.min(from));
        let end = touched.last().map_or(to, |last| last.1.max(to));
        all.splice(at..behind.max(at), [(start, end)]);
        let mut filled = 0;
        if all.len() > MAX {
            let narrow = (1..all.len()).min_by_key(|at| all[*at].0 - all[*at - 1].1).unwrap_or(1);
            filled = all[narrow].0 - all[narrow - 1].1;
            all[narrow - 1].1 = all[narrow].1;
            all.remove(narrow);
            self.joined += 1;
        }
        self.top = all.pop();
        self.lower = all;
        self.total() - before - filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_once_whatever_the_order() {
        let mut ranges = OffsetRanges::default();
        assert_eq!(ranges.add(0, 10), 10);
        assert_eq!(ranges.add(20, 30), 10);
        assert_eq!(ranges.add(5, 25), 10);
        assert_eq!(ranges.add(0, 30), 0);
        assert_eq!(ranges.add(30, 40), 10);
        assert_eq!(ranges.add(-5, 1), 5);
        assert_eq!((ranges.total(), ranges.top), (45, Some((-5, 40))));
    }

    #[test]
    fn holes_beyond_the_limit_are_joined_and_counted() {
        let mut ranges = OffsetRanges::default();
        for at in 0..200 {
            assert_eq!(ranges.add(at * 10, at * 10 + 5), 5);
        }
        assert_eq!(ranges.joined(), 200 - MAX as u64);
        assert!(ranges.total() >= 1000);
    }
}
