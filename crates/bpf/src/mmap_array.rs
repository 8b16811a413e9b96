//! An array map laid into memory: sweeping it costs no call to the kernel an entry.
//!
//! Words are read and exchanged atomically, because the datapath writes them at the same time. What they mean is the
//! tenant's business.

use std::io;
use std::os::fd::AsFd;

use crate::sys;

/// The words of a map made with `BPF_F_MMAPABLE`.
#[derive(Debug)]
pub struct MappedArray {
    region: sys::MappedRegion,
}

impl MappedArray {
    /// Lays `bytes` of the map (entries times their size) into memory.
    pub fn new(map: impl AsFd, bytes: usize) -> io::Result<MappedArray> {
        Ok(MappedArray { region: sys::MappedRegion::new(map.as_fd(), bytes)? })
    }

    /// How many 64-bit words there are.
    pub fn word_count(&self) -> usize {
        self.region.word_count()
    }

    /// The word at `index` (not bytes); 0 beyond the end.
    pub fn load(&self, index: usize) -> u64 {
        self.region.word(index).map_or(0, |word| word.load(std::sync::atomic::Ordering::Acquire))
    }

    /// Puts a word there; nothing beyond the end.
    pub fn store(&self, index: usize, new: u64) {
        if let Some(word) = self.region.word(index) {
            word.store(new, std::sync::atomic::Ordering::Release);
        }
    }

    /// Takes the word away and leaves 0.
    pub fn take_word(&self, index: usize) -> u64 {
        let word = self.region.word(index);
        word.map_or(0, |word| word.swap(0, std::sync::atomic::Ordering::AcqRel))
    }

    /// Sets bits of the word.
    pub fn set_bits(&self, index: usize, bits: u64) {
        if let Some(word) = self.region.word(index) {
            word.fetch_or(bits, std::sync::atomic::Ordering::AcqRel);
        }
    }

    /// Puts `new` where `old` is; `false` when something else was there.
    pub fn compare_exchange(&self, index: usize, old: u64, new: u64) -> bool {
        use std::sync::atomic::Ordering::{AcqRel, Acquire};
        let word = self.region.word(index);
        word.is_some_and(|word| word.compare_exchange(old, new, AcqRel, Acquire).is_ok())
    }
}
