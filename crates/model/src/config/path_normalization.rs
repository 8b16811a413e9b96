//! Handling of ambiguous paths of a service's requests.

mod keys;
mod types;

pub(super) use keys::{CASE, NORMALIZATION};
pub use types::{PathCase, PathNormalization};
