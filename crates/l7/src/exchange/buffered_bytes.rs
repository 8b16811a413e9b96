//! Bytes of buffered bodies, counted against the limit of a service over all its exchanges. It only counts.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use model::stats::ServiceStats;

/// What one direction of one exchange keeps; given back when it goes.
pub struct BufferedBytes {
    live: Arc<ServiceStats>,
    bytes: u64,
}

impl BufferedBytes {
    pub fn new(live: &Arc<ServiceStats>) -> BufferedBytes {
        BufferedBytes { live: live.clone(), bytes: 0 }
    }

    /// Makes them `bytes` at least, while all together stay within `most`; false: they do not fit.
    pub fn grow_to(&mut self, bytes: u64, most: u64) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        if more > 0 && !self.live.buffered_bytes.try_add(more, most) {
            return false;
        }
        self.bytes += more;
        true
    }
}

impl Drop for BufferedBytes {
    fn drop(&mut self) {
        self.live.buffered_bytes.subtract(self.bytes);
    }
}

/// A stream's part in what its connection keeps.
pub struct StreamBufferShare {
    buffered: Rc<Cell<usize>>,
    most: usize,
}

impl StreamBufferShare {
    /// Of a connection that may keep `most`.
    pub fn new(kept: Rc<Cell<usize>>, most: usize) -> StreamBufferShare {
        StreamBufferShare { buffered: kept, most }
    }

    /// What is left of that.
    pub fn remaining(&self) -> usize {
        self.most.saturating_sub(self.buffered.get())
    }

    /// A part of the sum was `before` and is `after`.
    pub fn change(&self, before: usize, after: usize) {
        self.buffered.set((self.buffered.get() + after).saturating_sub(before));
    }
}

/// How far a direction may read ahead of its receiver.
pub struct ReadAhead {
    /// Bytes of this direction.
    pub max_bytes: u64,
    /// Bytes of all that the service keeps.
    pub max_memory: u64,
    /// What this direction has of these.
    pub buffered: BufferedBytes,
    /// Those were used up.
    pub full: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_together_stay_within_the_limit_and_all_is_given_back() {
        let live = Arc::new(ServiceStats::new(1));
        let mut one = BufferedBytes::new(&live);
        let mut two = BufferedBytes::new(&live);
        assert!(one.grow_to(60, 100) && one.grow_to(10, 100), "it never shrinks");
        assert!(!two.grow_to(41, 100));
        assert!(two.grow_to(40, 100));
        assert!(!one.grow_to(61, 100));
        assert_eq!(live.buffered_bytes.get(), 100);
        drop(one);
        assert_eq!(live.buffered_bytes.get(), 40);
        drop(two);
        assert_eq!(live.buffered_bytes.get(), 0);
    }
}
