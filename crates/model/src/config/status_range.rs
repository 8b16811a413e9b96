//! One range of HTTP statuses.

use std::fmt;

use serde::Serialize;

/// HTTP statuses from the first to the last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(into = "(u16, u16)")]
pub struct StatusRange {
    pub first: u16,
    pub last: u16,
}

impl StatusRange {
    #[inline]
    pub fn contains(self, status: u16) -> bool {
        (self.first..=self.last).contains(&status)
    }
}

impl fmt::Display for StatusRange {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            return write!(to, "{}", self.first);
        }
        write!(to, "{}-{}", self.first, self.last)
    }
}

impl From<StatusRange> for (u16, u16) {
    fn from(range: StatusRange) -> (u16, u16) {
        (range.first, range.last)
    }
}
