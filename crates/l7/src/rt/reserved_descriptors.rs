//! Descriptors that workers leave to control work, so that the API answers when clients have taken all others.
//!
//! The kernel gives out the lowest number that is free: a descriptor with one of the highest numbers is only had when
//! all below are in use. Whoever gets one here closes it again and does without. It opens nothing.

use std::os::fd::{AsFd, AsRawFd};

use rustix::process::{Resource, getrlimit};

/// So many: a few API connections, and a look at a file besides.
const RESERVED: u64 = 8;

/// With fewer than this nothing is reserved: workers could not work.
const MIN_LIMIT: u64 = 64;

/// The reserved descriptor numbers.
#[derive(Clone, Copy, Debug)]
pub struct ReservedDescriptors {
    first: i64,
}

impl ReservedDescriptors {
    /// The highest of those that this process may open by now.
    pub fn for_this_process() -> ReservedDescriptors {
        ReservedDescriptors::below(getrlimit(Resource::Nofile).current)
    }

    /// The highest below `limit`; none without a limit.
    fn below(limit: Option<u64>) -> ReservedDescriptors {
        let from = limit.filter(|limit| *limit >= MIN_LIMIT).map(|limit| limit - RESERVED);
        ReservedDescriptors {
            first: from.and_then(|from| i64::try_from(from).ok()).unwrap_or(i64::MAX),
        }
    }

    /// Whether this is one of them.
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
