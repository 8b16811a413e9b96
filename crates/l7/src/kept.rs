//! Descriptors that workers leave to control work, so that the API answers when clients have taken all others.
//!
//! The kernel gives out the lowest number that is free: a descriptor with one of the highest numbers is only had when
//! all below are in use. Whoever gets one here closes it again and does without. It opens nothing.

use std::os::fd::{AsFd, AsRawFd};

use rustix::process::{Resource, getrlimit};

/// So many: a few API connections, and a look at a file besides.
const KEPT: u64 = 8;

/// With fewer than this nothing is kept back: workers could not work.
const FEW: u64 = 64;

/// The numbers that are kept back.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    from: i64,
}

impl Kept {
    /// The highest of those that this process may open by now.
    pub fn of_this_process() -> Kept {
        Kept::below(getrlimit(Resource::Nofile).current)
    }

    /// The highest below `limit`; none without a limit.
    fn below(limit: Option<u64>) -> Kept {
        let from = limit.filter(|limit| *limit >= FEW).map(|limit| limit - KEPT);
        Kept { from: from.and_then(|from| i64::try_from(from).ok()).unwrap_or(i64::MAX) }
    }

    /// Whether this is one of them.
    #[inline]
    pub fn has(self, descriptor: &impl AsFd) -> bool {
        i64::from(descriptor.as_fd().as_raw_fd()) >= self.from
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
            let kept = Kept { from: limit as i64 - KEPT as i64 };
            assert_eq!(kept.has(&file), has, "{number} below {limit}");
        }
        assert!(!Kept::below(None).has(&file));
        assert_eq!(Kept::below(Some(FEW)).from, (FEW - KEPT) as i64);
        assert_eq!(Kept::below(Some(FEW - 1)).from, i64::MAX);
    }
}
