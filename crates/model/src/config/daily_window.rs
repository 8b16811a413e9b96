//! A daily time window.

use std::fmt;

use serde::Serialize;

/// A daily time window in minutes since midnight, from `from` until before `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct DailyWindow {
    pub from: u16,
    /// The minute after the last. A smaller value than `from` is on the next day; an equal one means the whole day.
    pub to: u16,
}

impl fmt::Display for DailyWindow {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = self.from;
        let end = self.to;
        if from == end {
            // The hour form with the last hour included is the only spelling of the whole day.
            return write!(to, "{}-{}", from / 60, (from / 60 + 23) % 24);
        }
        write!(to, "{:02}:{:02}-{:02}:{:02}", from / 60, from % 60, end / 60, end % 60)
    }
}

impl DailyWindow {
    /// Whether a minute of the day is in the window.
    pub fn contains(self, minute: u16) -> bool {
        if self.from < self.to {
            (self.from..self.to).contains(&minute)
        } else {
            minute >= self.from || minute < self.to
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rows: I13
    #[test]
    fn hours_pass_midnight() {
        let night = DailyWindow { from: 22 * 60, to: 6 * 60 };
        let inside: Vec<bool> = [22 * 60, 0, 359, 360, 1_319].map(|m| night.contains(m)).into();
        assert_eq!(inside, [true, true, true, false, false]);
        assert_eq!(night.to_string(), "22:00-06:00");
    }
}
