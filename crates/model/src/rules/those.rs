//! Which readings of a path something holds for, and whether the rest of the request leaves a doubt.

/// Some of the readings of a path, by their positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Those(u64);

impl Those {
    /// The first so many.
    pub fn all(count: usize) -> Those {
        Those((1 << count.min(63)) - 1)
    }

    /// Those for which something holds.
    pub fn which(paths: &[&[u8]], holds: impl Fn(&[u8]) -> bool) -> Those {
        let each = paths.iter().enumerate();
        Those(each.fold(0, |those, (at, path)| those | u64::from(holds(path)) << at))
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

/// Whether something holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// In no reading.
    No,
    /// In some readings and in others not.
    Unsure,
    /// In every reading.
    Yes,
}

impl From<bool> for Truth {
    fn from(holds: bool) -> Truth {
        if holds { Truth::Yes } else { Truth::No }
    }
}

/// For which readings of a path a condition holds, however the rest of the request is read, and for which in some
/// reading of the rest. Each condition is asked alone: two that look at the same field may leave a doubt where there is
/// none, and never the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    /// In every reading of the rest.
    pub sure: Those,
    /// In some reading of the rest.
    pub possible: Those,
}

impl Fit {
    /// What does not depend on the path, for so many readings of it.
    pub fn of(truth: Truth, count: usize) -> Fit {
        let when = |holds: bool| if holds { Those::all(count) } else { Those::default() };
        Fit { sure: when(truth == Truth::Yes), possible: when(truth != Truth::No) }
    }

    /// What depends on the path alone.
    pub fn sure(those: Those) -> Fit {
        Fit { sure: those, possible: those }
    }

    /// Both hold.
    #[must_use]
    pub fn and(self, other: Fit) -> Fit {
        Fit { sure: self.sure.and(other.sure), possible: self.possible.and(other.possible) }
    }

    /// One of both holds.
    #[must_use]
    pub fn or(self, other: Fit) -> Fit {
        Fit { sure: self.sure.or(other.sure), possible: self.possible.or(other.possible) }
    }

    /// It does not hold, of so many readings.
    #[must_use]
    pub fn not(self, count: usize) -> Fit {
        let all = Those::all(count);
        Fit { sure: all.without(self.possible), possible: all.without(self.sure) }
    }
}

/// There are fewer readings than bits.
const _: () = assert!(crate::path::MOST < 64);
