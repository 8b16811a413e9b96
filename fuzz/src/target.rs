//! What is known of a target: its function, what feeds it, and the code whose changes call for a longer run of it.

use std::fmt;

/// A function of bytes that panics when a property does not hold.
pub type FuzzFunction = Box<dyn Fn(&[u8]) + Send + Sync>;

/// What mutations insert when a target has no words of its own: numbers at their ends.
const NUMBERS: &[&[u8]] =
    &[b"\0", b"\x01", b"\x7f", b"\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff"];

pub struct FuzzTarget {
    /// Its name: that of its corpus, its test and its row in the record.
    pub name: String,
    /// What judges an input.
    pub function: FuzzFunction,
    /// Files and directories of the code that it covers, from the top of the repository; `Cargo.lock#NAME` is the version
    /// of a library.
    pub covers: &'static [&'static str],
    /// Inputs that are written here: mutations begin with them and with the kept corpus.
    pub seeds: Vec<Vec<u8>>,
    pub dictionary: &'static [&'static [u8]],
    /// Blind mutations when nothing is set: about a second's worth in a debug build.
    pub runs: u64,
    /// Bytes of the longest input that a guided run makes.
    pub max_bytes: usize,
}

impl FuzzTarget {
    /// A target with its seeds; the rest has defaults.
    pub fn new(
        name: &str,
        judge: impl Fn(&[u8]) + Send + Sync + 'static,
        covers: &'static [&'static str],
        seeds: Vec<Vec<u8>>,
    ) -> FuzzTarget {
        let name = name.to_owned();
        let judge = Box::new(judge);
        FuzzTarget {
            name,
            function: judge,
            covers,
            seeds,
            dictionary: NUMBERS,
            runs: 20_000,
            max_bytes: 4_096,
        }
    }

    pub fn with_dictionary(self, words: &'static [&'static [u8]]) -> FuzzTarget {
        FuzzTarget { dictionary: words, ..self }
    }

    /// With so many blind mutations.
    pub fn with_runs(self, runs: u64) -> FuzzTarget {
        FuzzTarget { runs, ..self }
    }

    /// With inputs of at most so many bytes.
    pub fn with_max_bytes(self, longest: usize) -> FuzzTarget {
        FuzzTarget { max_bytes: longest, ..self }
    }
}

impl fmt::Debug for FuzzTarget {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Target({})", self.name)
    }
}
