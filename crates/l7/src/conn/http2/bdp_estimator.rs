//! Sizes flow-control windows by the bandwidth-delay product, so that a window never limits the throughput of its path.
//! A pure state machine over bytes and pings.
//!
//! While a PING is in flight, the peer sends as many bytes as the path holds in one round trip, up to the window. If
//! nearly a full window arrived, the window limited the sender, and it is doubled.

/// A connection's window is this many stream windows.
/// Several streams share a connection, and one alone must not be held up by it.
const TOGETHER: u32 = 4;

/// The estimate for one connection.
#[derive(Debug)]
pub struct BdpEstimator {
    window: u32,
    max_window: u32,
    /// Body bytes received since the last PING was sent.
    received: u64,
    /// Bytes received while the PING is in flight.
    sample: Option<u64>,
}

impl BdpEstimator {
    /// Windows start with `window` bytes and grow to at most `most`.
    pub fn new(window: u32, most: u32) -> BdpEstimator {
        BdpEstimator { window, max_window: most, received: 0, sample: None }
    }

    /// The window of the whole connection, for the current window of its streams.
    pub fn connection_window(&self) -> u32 {
        self.window.saturating_mul(TOGETHER).min(self.max_window)
    }

    pub fn add_received(&mut self, bytes: u64) {
        self.received += bytes;
        if let Some(sample) = &mut self.sample {
            *sample += bytes;
        }
    }

    /// Whether a PING is worth sending: enough bytes were received, and the window may still grow.
    pub fn wants_ping(&self) -> bool {
        self.sample.is_none()
            && self.window < self.max_window
            && self.received >= u64::from(self.window) / 4
    }

    /// Starts a sample: a PING was sent.
    pub fn ping_sent(&mut self) {
        self.received = 0;
        self.sample.get_or_insert(0);
    }

    /// Handles the PING's acknowledgement; returns the new window size if it changes.
    pub fn pong_received(&mut self) -> Option<u32> {
        let sample = self.sample.take()?;
        if sample < u64::from(self.window) / 3 * 2 {
            return None;
        }
        self.window = self.window.saturating_mul(2).min(self.max_window);
        Some(self.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_path_doubles_the_window_until_its_bound() {
        let mut bdp = BdpEstimator::new(100_000, 350_000);
        let mut sizes = Vec::new();
        let mut window = 100_000;
        for _ in 0..5 {
            bdp.add_received(u64::from(window));
            if !bdp.wants_ping() {
                break;
            }
            bdp.ping_sent();
            bdp.add_received(u64::from(window));
            let Some(next) = bdp.pong_received() else { break };
            sizes.push(next);
            window = next;
        }
        assert_eq!(sizes, [200_000, 350_000]);
        assert_eq!(bdp.connection_window(), 350_000);
        assert!(!bdp.wants_ping(), "at its bound nothing is asked any more");
    }

    #[test]
    fn a_path_that_is_not_full_changes_nothing() {
        let mut bdp = BdpEstimator::new(100_000, 1_000_000);
        assert!(!bdp.wants_ping(), "nothing came");
        bdp.add_received(30_000);
        assert!(bdp.wants_ping());
        bdp.ping_sent();
        assert!(!bdp.wants_ping(), "one is under way");
        bdp.add_received(30_000);
        assert_eq!(bdp.pong_received(), None);
        assert_eq!(bdp.pong_received(), None, "nobody was asked");
    }
}
