//! How large the windows of a connection must be so that its path is full: a pure machine over bytes and pings.
//!
//! While a PING is on its way, as many bytes come as the path holds in one round trip, but never more than the window
//! lets through. When nearly a whole window came, the window is what held the sender back, and it is doubled.

/// A connection's window is that of so many streams.
const TOGETHER: u32 = 4;

/// The estimate of one connection.
#[derive(Debug)]
pub struct Bdp {
    window: u32,
    most: u32,
    /// Bytes of bodies that came since the last sample began.
    came: u64,
    /// What came since the PING that is under way.
    sample: Option<u64>,
}

impl Bdp {
    /// Windows begin with `window` bytes and grow to at most `most`.
    pub fn new(window: u32, most: u32) -> Bdp {
        Bdp { window, most, came: 0, sample: None }
    }

    /// The window of a whole connection, where each stream's is as large as it is now.
    pub fn of_connection(&self) -> u32 {
        self.window.saturating_mul(TOGETHER).min(self.most)
    }

    /// So many bytes of bodies came.
    pub fn came(&mut self, bytes: u64) {
        self.came += bytes;
        if let Some(sample) = &mut self.sample {
            *sample += bytes;
        }
    }

    /// Whether a PING would tell something: enough came, and the window may still grow.
    pub fn wants_ping(&self) -> bool {
        self.sample.is_none() && self.window < self.most && self.came >= u64::from(self.window) / 4
    }

    /// A PING is on its way.
    pub fn pinged(&mut self) {
        self.came = 0;
        self.sample.get_or_insert(0);
    }

    /// It came back; the new size of windows, if it changes.
    pub fn ponged(&mut self) -> Option<u32> {
        let sample = self.sample.take()?;
        if sample < u64::from(self.window) / 3 * 2 {
            return None;
        }
        self.window = self.window.saturating_mul(2).min(self.most);
        Some(self.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_path_doubles_the_window_until_its_bound() {
        let mut bdp = Bdp::new(100_000, 350_000);
        let mut sizes = Vec::new();
        let mut window = 100_000;
        for _ in 0..5 {
            bdp.came(u64::from(window));
            if !bdp.wants_ping() {
                break;
            }
            bdp.pinged();
            bdp.came(u64::from(window));
            let Some(next) = bdp.ponged() else { break };
            sizes.push(next);
            window = next;
        }
        assert_eq!(sizes, [200_000, 350_000]);
        assert_eq!(bdp.of_connection(), 350_000);
        assert!(!bdp.wants_ping(), "at its bound nothing is asked any more");
    }

    #[test]
    fn a_path_that_is_not_full_changes_nothing() {
        let mut bdp = Bdp::new(100_000, 1_000_000);
        assert!(!bdp.wants_ping(), "nothing came");
        bdp.came(30_000);
        assert!(bdp.wants_ping());
        bdp.pinged();
        assert!(!bdp.wants_ping(), "one is under way");
        bdp.came(30_000);
        assert_eq!(bdp.ponged(), None);
        assert_eq!(bdp.ponged(), None, "nobody was asked");
    }
}
