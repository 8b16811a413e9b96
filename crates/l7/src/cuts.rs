//! Whether a server's connections were ordered to be cut since an attempt began. It cuts nothing itself.

use std::sync::Arc;

use model::live::ServerLive;

/// Remembers how often the server had been cut when an attempt began.
#[derive(Clone, Debug)]
pub struct Cuts {
    live: Arc<ServerLive>,
    seen: u32,
}

impl Cuts {
    /// From now on.
    pub fn of(live: &Arc<ServerLive>) -> Cuts {
        Cuts { live: live.clone(), seen: live.cuts.get() }
    }

    /// An order came since.
    #[inline]
    pub fn due(&self) -> bool {
        self.live.cuts.get() != self.seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_orders_that_come_later_count() {
        let live = Arc::new(ServerLive::new(1));
        live.cuts.up();
        let cuts = Cuts::of(&live);
        assert!(!cuts.due());
        live.cuts.up();
        assert!(cuts.due() && !Cuts::of(&live).due());
    }
}
