//! The newest lines of the access log in bounded memory, numbered from 1 since the start. It reads nothing in them.

use std::collections::VecDeque;

/// Bytes that are kept: some 2,500 lines of 400 bytes, and no part of a daemon's memory that matters.
const BYTES_MAX: usize = 1 << 20;

/// Batches of whole lines, the oldest first.
#[derive(Debug, Default)]
pub struct RecentLines {
    batches: VecDeque<LineBatch>,
    bytes: usize,
    /// The number of the newest line; 0: there was none.
    newest: u64,
}

#[derive(Debug)]
struct LineBatch {
    /// The number of its first line.
    first: u64,
    lines: u64,
    text: Box<[u8]>,
}

/// Lines after a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinesAfter {
    /// Whole lines, the oldest first.
    pub text: Vec<u8>,
    /// The number of the newest line.
    pub newest: u64,
    /// Lines in between that are not kept any more.
    pub lost: u64,
}

impl RecentLines {
    /// Adds `lines` whole lines; the oldest make room.
    pub fn add(&mut self, text: Vec<u8>, lines: u64) {
        let first = self.newest + 1;
        self.newest += lines;
        self.bytes += text.len();
        // A batch has spare room, which would be kept with it.
        self.batches.push_back(LineBatch { first, lines, text: text.into_boxed_slice() });
        while self.bytes > BYTES_MAX {
            let Some(oldest) = self.batches.pop_front() else { return };
            self.bytes -= oldest.text.len();
        }
    }

    /// The lines after a number. A number that was never given, such as one of the process before, is after none.
    pub fn after(&self, number: Option<u64>) -> LinesAfter {
        let after = number.filter(|number| *number <= self.newest).unwrap_or(0);
        let mut found = LinesAfter { newest: self.newest, ..LinesAfter::default() };
        for batch in self.batches.iter().filter(|batch| batch.first + batch.lines > after + 1) {
            let skipped = usize::try_from((after + 1).saturating_sub(batch.first));
            let mut lines = batch.text.split_inclusive(|byte| *byte == b'\n');
            for line in lines.by_ref().skip(skipped.unwrap_or(usize::MAX)) {
                found.text.extend_from_slice(line);
            }
        }
        let oldest = self.batches.front().map_or(self.newest + 1, |batch| batch.first);
        if number.is_some() {
            found.lost = oldest.saturating_sub(after + 1);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(found: &LinesAfter) -> &str {
        std::str::from_utf8(&found.text).unwrap()
    }

    #[test]
    fn lines_are_found_by_the_number_before_them() {
        let mut recent = RecentLines::default();
        recent.add(b"1\n2\n".to_vec(), 2);
        recent.add(b"3\n".to_vec(), 1);
        for (after, expected) in [
            (None, "1\n2\n3\n"),
            (Some(0), "1\n2\n3\n"),
            (Some(1), "2\n3\n"),
            (Some(2), "3\n"),
            (Some(3), ""),
        ] {
            let found = recent.after(after);
            assert_eq!((text(&found), found.newest, found.lost), (expected, 3, 0), "{after:?}");
        }
        assert_eq!(text(&recent.after(Some(99))), "1\n2\n3\n", "a number of another process");
    }

    #[test]
    fn memory_is_bounded_and_what_is_gone_is_counted() {
        let mut recent = RecentLines::default();
        let line = [vec![b'x'; 1023], b"\n".to_vec()].concat();
        for _ in 0..3_000 {
            recent.add(line.clone(), 1);
        }
        assert!(recent.bytes <= BYTES_MAX);
        let found = recent.after(Some(10));
        assert_eq!(
            (found.text.len(), found.newest, found.lost),
            (BYTES_MAX, 3_000, 3_000 - 10 - 1_024)
        );
        assert_eq!(recent.after(None).lost, 0, "nothing was expected");
    }
}
