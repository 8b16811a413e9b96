//! Random bits without a dependency. They are no secret keys.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Sixty-four of them: the standard library's hash keys come from the system.
pub fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}
