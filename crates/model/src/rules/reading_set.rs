//! Sets of readings of a path that a condition matches, and whether the rest of the request is ambiguous.

/// Some of the readings of a path, by their positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadingSet(u64);

impl ReadingSet {
    /// The first `count` readings.
    pub fn all(count: usize) -> ReadingSet {
        // A shift by 64 would overflow; paths have at most 32 readings (`MAX_READINGS`).
        ReadingSet((1 << count.min(63)) - 1)
    }

    /// The readings for which a condition holds.
    pub fn matching(paths: &[&[u8]], holds: impl Fn(&[u8]) -> bool) -> ReadingSet {
        let each = paths.iter().enumerate();
        ReadingSet(each.fold(0, |those, (at, path)| those | u64::from(holds(path)) << at))
    }

    #[must_use]
    pub fn and(self, other: ReadingSet) -> ReadingSet {
        ReadingSet(self.0 & other.0)
    }

    #[must_use]
    pub fn or(self, other: ReadingSet) -> ReadingSet {
        ReadingSet(self.0 | other.0)
    }

    #[must_use]
    pub fn without(self, other: ReadingSet) -> ReadingSet {
        ReadingSet(self.0 & !other.0)
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it is all of `count` readings.
    pub fn is_complete(self, count: usize) -> bool {
        self == ReadingSet::all(count)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TernaryTruth {
    No,
    /// Matches in some readings and not in others.
    Unsure,
    Yes,
}

impl From<bool> for TernaryTruth {
    fn from(holds: bool) -> TernaryTruth {
        if holds { TernaryTruth::Yes } else { TernaryTruth::No }
    }
}

/// The readings of a path for which a condition holds in every reading of the rest of the request, and those for which
/// it holds in some. Each condition is evaluated alone. So two conditions on the same field may count as ambiguous
/// although they are not, never the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadingMatch {
    /// The condition holds in every reading of the rest.
    pub certain: ReadingSet,
    /// The condition holds in some reading of the rest.
    pub possible: ReadingSet,
}

impl ReadingMatch {
    /// A condition that does not depend on the path, for `count` readings of it.
    pub fn from_truth(truth: TernaryTruth, count: usize) -> ReadingMatch {
        let when = |holds: bool| if holds { ReadingSet::all(count) } else { ReadingSet::default() };
        ReadingMatch {
            certain: when(truth == TernaryTruth::Yes),
            possible: when(truth != TernaryTruth::No),
        }
    }

    /// A condition that depends on the path alone.
    pub fn from_readings(those: ReadingSet) -> ReadingMatch {
        ReadingMatch { certain: those, possible: those }
    }

    #[must_use]
    pub fn and(self, other: ReadingMatch) -> ReadingMatch {
        ReadingMatch {
            certain: self.certain.and(other.certain),
            possible: self.possible.and(other.possible),
        }
    }

    /// One of both holds.
    #[must_use]
    pub fn or(self, other: ReadingMatch) -> ReadingMatch {
        ReadingMatch {
            certain: self.certain.or(other.certain),
            possible: self.possible.or(other.possible),
        }
    }

    /// The negation, for `count` readings.
    #[must_use]
    pub fn not(self, count: usize) -> ReadingMatch {
        let all = ReadingSet::all(count);
        ReadingMatch { certain: all.without(self.possible), possible: all.without(self.certain) }
    }
}

/// The bit set has room for all readings.
const _: () = assert!(crate::path::MAX_READINGS < 64);
