//! The description of a target: its function, its inputs, and the code whose changes require a longer run.

use std::fmt;

/// A function of bytes that panics when a property does not hold.
pub type FuzzFunction = Box<dyn Fn(&[u8]) + Send + Sync>;

/// Numbers at their limits, which mutations insert if a target has no dictionary.
const NUMBERS: &[&[u8]] =
    &[b"\0", b"\x01", b"\x7f", b"\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff"];

pub struct FuzzTarget {
    /// The name of the target, of its corpus and of its test.
    pub name: String,
    /// The function that checks an input.
    pub function: FuzzFunction,
    /// Files and directories of the covered code, relative to the repository's top. `Cargo.lock#NAME` is the version of
    /// a library.
    pub covers: &'static [&'static str],
    /// Built-in inputs. Mutations start from these and from the stored corpus.
    pub seeds: Vec<Vec<u8>>,
    pub dictionary: &'static [&'static [u8]],
    /// The default number of blind mutations, which take about a second in a debug build.
    pub runs: u64,
    /// The length limit of inputs in a guided run, in bytes.
    pub max_bytes: usize,
}

impl FuzzTarget {
    /// A target with its seeds and default settings.
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

    pub fn with_runs(self, runs: u64) -> FuzzTarget {
        FuzzTarget { runs, ..self }
    }

    pub fn with_max_bytes(self, longest: usize) -> FuzzTarget {
        FuzzTarget { max_bytes: longest, ..self }
    }
}

impl fmt::Debug for FuzzTarget {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "Target({})", self.name)
    }
}
