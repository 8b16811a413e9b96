//! A file in large blocks: a record reader requests a number of bytes and gets them in one piece.
//!
//! One buffer for the whole run; it grows only for a record that is larger than a block, up to a limit. It does not
//! interpret records.

use std::io::{self, Read};

use super::frame::CaptureDamage;
use super::packed::UnpackedFile;

/// Bytes of one read: large, so that system calls are few.
const BLOCK: usize = 1 << 20;

/// The largest accepted record in bytes: sixteen times the largest of any link type.
pub const MAX_RECORD: usize = 4 << 20;

pub struct BlockReader<R: Read> {
    from: UnpackedFile<R>,
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    before: u64,
}

impl<R: Read> BlockReader<R> {
    pub fn open(from: R) -> Result<BlockReader<R>, CaptureDamage> {
        let from =
            UnpackedFile::open(from).map_err(|source| CaptureDamage::Read { offset: 0, source })?;
        Ok(BlockReader { from, buffer: vec![0; BLOCK], at: 0, end: 0, before: 0 })
    }

    /// Bytes consumed so far.
    pub fn offset(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Whether `count` more bytes are there, reading as far as needed. `count` is at most `MAX_RECORD`.
    #[inline]
    pub fn ensure(&mut self, count: usize) -> Result<bool, CaptureDamage> {
        if self.end - self.at >= count {
            return Ok(true);
        }
        self.fill(count)
    }

    #[cold]
    fn fill(&mut self, count: usize) -> Result<bool, CaptureDamage> {
        self.buffer.copy_within(self.at..self.end, 0);
        self.before += self.at as u64;
        self.end -= self.at;
        self.at = 0;
        if self.buffer.len() < count {
            self.buffer.resize(count.min(MAX_RECORD), 0);
        }
        while self.end < count {
            match self.from.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(n) => self.end += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A packed file that was cut short ends like any other: in the middle of a record.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
                Err(source) => {
                    let offset = self.before + self.end as u64;
                    return Err(CaptureDamage::Read { offset, source });
                }
            }
        }
        Ok(true)
    }

    /// Bytes that `have` has confirmed, without consuming them.
    #[inline]
    pub fn peek(&self, count: usize) -> &[u8] {
        &self.buffer[self.at..self.end.min(self.at + count)]
    }

    /// Consumes bytes that `have` has confirmed.
    #[inline]
    pub fn consume(&mut self, count: usize) -> &[u8] {
        let from = self.at;
        self.at = self.end.min(from + count);
        &self.buffer[from..self.at]
    }

    /// Whether the file is at its end.
    pub fn is_at_end(&mut self) -> Result<bool, CaptureDamage> {
        Ok(!self.ensure(1)?)
    }
}
