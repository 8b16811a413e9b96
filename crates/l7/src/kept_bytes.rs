//! Bytes of bodies that are kept for a service, counted against what all its exchanges together may keep.
//!
//! It keeps none itself.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use model::live::ServiceLive;

/// What one direction of one exchange keeps; given back when it goes.
pub struct KeptBytes {
    live: Arc<ServiceLive>,
    bytes: u64,
}

impl KeptBytes {
    /// Nothing yet.
    pub fn none(live: &Arc<ServiceLive>) -> KeptBytes {
        KeptBytes { live: live.clone(), bytes: 0 }
    }

    /// Makes them `bytes` at least, while all together stay within `most`; false: they do not fit.
    pub fn reach(&mut self, bytes: u64, most: u64) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        if more > 0 && !self.live.kept.up_within(more, most) {
            return false;
        }
        self.bytes += more;
        true
    }
}

impl Drop for KeptBytes {
    fn drop(&mut self) {
        self.live.kept.down(self.bytes);
    }
}

/// A stream's part in what its connection keeps.
pub struct SharedBytes {
    kept: Rc<Cell<usize>>,
    most: usize,
}

impl SharedBytes {
    /// Of a connection that may keep `most`.
    pub fn new(kept: Rc<Cell<usize>>, most: usize) -> SharedBytes {
        SharedBytes { kept, most }
    }

    /// What is left of that.
    pub fn left(&self) -> usize {
        self.most.saturating_sub(self.kept.get())
    }

    /// A part of the sum was `before` and is `after`.
    pub fn change(&self, before: usize, after: usize) {
        self.kept.set((self.kept.get() + after).saturating_sub(before));
    }
}

/// How far a direction may read ahead of its receiver.
pub struct Ahead {
    /// Bytes of this direction.
    pub most: u64,
    /// Bytes of all that the service keeps.
    pub memory: u64,
    /// What this direction has of these.
    pub kept: KeptBytes,
    /// Those were used up.
    pub full: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_together_stay_within_the_limit_and_all_is_given_back() {
        let live = Arc::new(ServiceLive::new(1));
        let (mut one, mut two) = (KeptBytes::none(&live), KeptBytes::none(&live));
        assert!(one.reach(60, 100) && one.reach(10, 100), "it never shrinks");
        assert!(!two.reach(41, 100));
        assert!(two.reach(40, 100));
        assert!(!one.reach(61, 100));
        assert_eq!(live.kept.get(), 100);
        drop(one);
        assert_eq!(live.kept.get(), 40);
        drop(two);
        assert_eq!(live.kept.get(), 0);
    }
}
