//! An array map in shared memory: reading all entries needs no system call for each.
//!
//! Words are read and exchanged atomically, because the datapath writes them at the same time. The tenant knows their
//! meaning.

use std::io;
use std::os::fd::AsFd;

use crate::sys;

/// The words of a map made with `BPF_F_MMAPABLE`.
#[derive(Debug)]
pub struct MappedArray {
    region: sys::MappedRegion,
}

impl MappedArray {
    /// Maps `bytes` of the array (entries times their size) into memory.
    pub fn new(map: impl AsFd, bytes: usize) -> io::Result<MappedArray> {
        Ok(MappedArray { region: sys::MappedRegion::new(map.as_fd(), bytes)? })
    }

    pub fn word_count(&self) -> usize {
        self.region.word_count()
    }

    /// The word at `index` (not bytes); 0 beyond the end.
    pub fn load(&self, index: usize) -> u64 {
        // Acquire, and Release in the stores below: an entry's other words are written before the word that publishes
        // it.
        self.region.word(index).map_or(0, |word| word.load(std::sync::atomic::Ordering::Acquire))
    }

    /// Stores a word; ignores an index beyond the end.
    pub fn store(&self, index: usize, new: u64) {
        if let Some(word) = self.region.word(index) {
            word.store(new, std::sync::atomic::Ordering::Release);
        }
    }

    /// Replaces the word by 0 and returns it.
    pub fn take_word(&self, index: usize) -> u64 {
        let word = self.region.word(index);
        word.map_or(0, |word| word.swap(0, std::sync::atomic::Ordering::AcqRel))
    }

    pub fn set_bits(&self, index: usize, bits: u64) {
        if let Some(word) = self.region.word(index) {
            word.fetch_or(bits, std::sync::atomic::Ordering::AcqRel);
        }
    }

    /// Replaces `old` by `new`; `false` when the word was another one.
    pub fn compare_exchange(&self, index: usize, old: u64, new: u64) -> bool {
        use std::sync::atomic::Ordering::{AcqRel, Acquire};
        let word = self.region.word(index);
        word.is_some_and(|word| word.compare_exchange(old, new, AcqRel, Acquire).is_ok())
    }
}
