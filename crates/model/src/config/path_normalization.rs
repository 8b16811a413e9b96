//! What a service does with paths that can be read in several ways.

mod keys;
mod types;

pub(super) use keys::{CASE, NORMALIZATION};
pub use types::{PathCase, PathNormalization};
