//! Which readings of a path something holds for.

/// Some of the readings of a path, by their positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Those(u64);

impl Those {
    /// The first so many.
    pub fn all(count: usize) -> Those {
        Those((1 << count.min(63)) - 1)
    }

    /// With the one at a position, if it is one.
    #[must_use]
    pub fn with(self, at: usize, one: bool) -> Those {
        Those(self.0 | u64::from(one) << at)
    }

    /// Those that are in both.
    #[must_use]
    pub fn and(self, other: Those) -> Those {
        Those(self.0 & other.0)
    }

    /// Those that are in one of both.
    #[must_use]
    pub fn or(self, other: Those) -> Those {
        Those(self.0 | other.0)
    }

    /// Those that are not in the other.
    #[must_use]
    pub fn without(self, other: Those) -> Those {
        Those(self.0 & !other.0)
    }

    /// Whether there are none.
    pub fn none(self) -> bool {
        self.0 == 0
    }

    /// Whether they are all of so many.
    pub fn every(self, count: usize) -> bool {
        self == Those::all(count)
    }
}

/// There are fewer readings than bits.
const _: () = assert!(crate::path::MOST < 64);
