//! What a shadow run is made of.

use std::path::Path;

use convert::dialect::Dialect;
use convert::notes::ConversionNote;

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub struct ShadowInput<'a> {
    /// The original's file.
    pub source: &'a str,
    pub dialect: Dialect,
    /// The converted configuration.
    pub converted: &'a str,
    pub notes: &'a [ConversionNote],
    /// Steelyard's program.
    pub program: &'a Path,
    /// The original's program; `None`: it is looked for by its name.
    pub original: Option<&'a Path>,
    pub size: CorpusSize,
}

/// How many requests are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CorpusSize {
    /// Each kind once.
    Quick,
    /// Each host with each path, and each kind for each path.
    Full,
}
