//! A reader that knows how much was read, and whether the end was seen.

use std::io::{self, Read};

/// Counts what is read, and notes the end.
pub struct CountedReader<R> {
    pub from: R,
    pub taken: u64,
    pub has_ended: bool,
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(into)?;
        self.taken += n as u64;
        self.has_ended |= n == 0 && !into.is_empty();
        Ok(n)
    }
}
