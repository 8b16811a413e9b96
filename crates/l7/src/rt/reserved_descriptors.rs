//! Descriptors that workers leave to control work, so that the API responds when clients use all others.
//!
//! The kernel assigns the lowest free number, so a descriptor with one of the highest numbers means that all lower ones
//! are in use. A worker that gets such a descriptor closes it again. This module opens none.

use std::os::fd::{AsFd, AsRawFd};

use rustix::process::{Resource, getrlimit};

/// Number of reserved descriptors: a few API connections, and reading a file.
const RESERVED: u64 = 8;

/// Below this descriptor limit nothing is reserved, since workers could not work.
const MIN_LIMIT: u64 = 64;

/// The reserved descriptor numbers.
#[derive(Clone, Copy, Debug)]
pub struct ReservedDescriptors {
    first: i64,
}

impl ReservedDescriptors {
    /// The highest numbers below this process's current limit.
    pub fn for_this_process() -> ReservedDescriptors {
        ReservedDescriptors::below(getrlimit(Resource::Nofile).current)
    }

    /// The highest numbers below `limit`; none without a limit.
    fn below(limit: Option<u64>) -> ReservedDescriptors {
        let from = limit.filter(|limit| *limit >= MIN_LIMIT).map(|limit| limit - RESERVED);
        ReservedDescriptors {
            first: from.and_then(|from| i64::try_from(from).ok()).unwrap_or(i64::MAX),
        }
    }

    /// Whether this descriptor is reserved.
    #[inline]
    pub fn contains(self, descriptor: &impl AsFd) -> bool {
        i64::from(descriptor.as_fd().as_raw_fd()) >= self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_numbers_are_kept_back() {
        let file = std::fs::File::open("/dev/null").unwrap();
        let number = file.as_raw_fd() as u64;
        for (limit, has) in [(number + 9, false), (number + 8, true), (number + 1, true)] {
            let reserved = ReservedDescriptors { first: limit as i64 - RESERVED as i64 };
            assert_eq!(reserved.contains(&file), has, "{number} below {limit}");
        }
        assert!(!ReservedDescriptors::below(None).contains(&file));
        assert_eq!(
            ReservedDescriptors::below(Some(MIN_LIMIT)).first,
            (MIN_LIMIT - RESERVED) as i64
        );
        assert_eq!(ReservedDescriptors::below(Some(MIN_LIMIT - 1)).first, i64::MAX);
    }
}
