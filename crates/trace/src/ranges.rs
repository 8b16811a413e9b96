//! Which bytes of a stream were captured: a few ranges, usually one.
//!
//! When there are too many holes the two nearest ranges are joined, and the join is counted.

/// Ranges that are remembered.
/// As many as the holes that are followed at once.
const MAX: usize = 64;

/// Bytes of a direction, by their offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetRange {
    /// Offset of the first.
    pub from: i64,
    /// Offset behind the last.
    pub to: i64,
}

#[derive(Clone, Debug, Default)]
pub struct OffsetRanges {
    /// The highest range, which nearly every packet extends.
    top: Option<OffsetRange>,
    /// The others, ascending; never touching.
    lower: Vec<OffsetRange>,
    joined: u64,
    /// Bytes between ranges that were joined.
    joined_bytes: i64,
}

/// Bytes that are in no range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MissingBytes {
    pub bytes: i64,
    /// In how many pieces.
    pub gaps: u64,
}

impl OffsetRanges {
    /// Adds `from..to` and returns how many of its bytes are new.
    #[inline]
    pub fn add(&mut self, from: i64, to: i64) -> i64 {
        match &mut self.top {
            Some(range) if range.to == from => {
                range.to = to;
                to - from
            }
            None => {
                self.top = Some(OffsetRange { from, to });
                to - from
            }
            Some(_) => self.insert(from, to),
        }
    }

    /// How often ranges were joined although bytes between them were missing.
    pub fn joined(&self) -> u64 {
        self.joined
    }

    /// What is missing from `from` up to `to`; `from` is `None` for the first known byte.
    pub fn missing(&self, from: Option<i64>, to: i64) -> MissingBytes {
        let mut missing = MissingBytes { bytes: self.joined_bytes, gaps: self.joined };
        let mut reached = from;
        let mut add_gap = |from: i64, to: i64| {
            missing.bytes += (to - from).max(0);
            missing.gaps += u64::from(to > from);
        };
        for range in self.lower.iter().chain(&self.top) {
            add_gap(reached.unwrap_or(range.from), range.from.min(to));
            reached = Some(reached.map_or(range.to, |reached| reached.max(range.to)));
        }
        add_gap(reached.unwrap_or(to), to);
        missing
    }

    pub fn total(&self) -> i64 {
        self.lower.iter().chain(&self.top).map(|range| range.to - range.from).sum()
    }

    #[cold]
    fn insert(&mut self, from: i64, to: i64) -> i64 {
        let before = self.total();
        let mut all = std::mem::take(&mut self.lower);
        all.extend(self.top.take());
        let at = all.partition_point(|range| range.to < from);
        let behind = all.partition_point(|range| range.from <= to);
        let touched = &all[at..behind.max(at)];
        let joined = OffsetRange {
            from: touched.first().map_or(from, |first| first.from.min(from)),
            to: touched.last().map_or(to, |last| last.to.max(to)),
        };
        all.splice(at..behind.max(at), [joined]);
        let mut filled = 0;
        if all.len() > MAX {
            let narrow =
                (1..all.len()).min_by_key(|at| all[*at].from - all[*at - 1].to).unwrap_or(1);
            filled = all[narrow].from - all[narrow - 1].to;
            all[narrow - 1].to = all[narrow].to;
            all.remove(narrow);
            self.joined += 1;
            self.joined_bytes += filled;
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
        assert_eq!((ranges.total(), ranges.top), (45, Some(OffsetRange { from: -5, to: 40 })));
    }

    #[test]
    fn what_no_range_has_is_missing() {
        let missing = |bytes, gaps| MissingBytes { bytes, gaps };
        let mut ranges = OffsetRanges::default();
        assert_eq!(ranges.missing(None, 9), missing(0, 0));
        assert_eq!(ranges.missing(Some(0), 9), missing(9, 1));
        ranges.add(10, 20);
        ranges.add(30, 40);
        assert_eq!(ranges.missing(Some(0), 60), missing(40, 3));
        assert_eq!(ranges.missing(None, 35), missing(10, 1));
        assert_eq!(ranges.missing(None, 25), missing(5, 1));
        assert_eq!(ranges.missing(Some(10), 15), missing(0, 0));
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
