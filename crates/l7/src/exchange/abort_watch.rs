//! Detects an operator's order to close a server's connections, given after an attempt began.

use std::sync::Arc;

use model::stats::ServerStats;

/// The server's abort count when the attempt began.
#[derive(Clone, Debug)]
pub struct AbortWatch {
    live: Arc<ServerStats>,
    seen_generation: u32,
}

impl AbortWatch {
    pub fn new(live: &Arc<ServerStats>) -> AbortWatch {
        AbortWatch { live: live.clone(), seen_generation: live.abort_generation.get() }
    }

    /// Whether an order was given since.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.live.abort_generation.get() != self.seen_generation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_orders_that_come_later_count() {
        let live = Arc::new(ServerStats::new(1));
        live.abort_generation.increment();
        let cuts = AbortWatch::new(&live);
        assert!(!cuts.is_due());
        live.abort_generation.increment();
        assert!(cuts.is_due() && !AbortWatch::new(&live).is_due());
    }
}
