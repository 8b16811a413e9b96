//! Counts the bytes of buffered bodies against the memory limit of a service, over all its exchanges.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use model::stats::ServiceStats;

/// The buffered bytes of one direction of an exchange; released when dropped.
pub struct BufferedBytes {
    live: Arc<ServiceStats>,
    bytes: u64,
}

impl BufferedBytes {
    pub fn new(live: &Arc<ServiceStats>) -> BufferedBytes {
        BufferedBytes { live: live.clone(), bytes: 0 }
    }

    /// Raises the count to at least `bytes`, if the service's total stays within `most`; false: the limit is reached.
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

/// A stream's share of the bytes that its connection buffers.
pub struct StreamBufferShare {
    buffered: Rc<Cell<usize>>,
    most: usize,
}

impl StreamBufferShare {
    /// A share of a connection that may buffer `most` bytes in total.
    pub fn new(kept: Rc<Cell<usize>>, most: usize) -> StreamBufferShare {
        StreamBufferShare { buffered: kept, most }
    }

    /// The bytes that the connection may still buffer.
    pub fn remaining(&self) -> usize {
        self.most.saturating_sub(self.buffered.get())
    }

    /// Updates the sum for a part that changed from `before` to `after`.
    pub fn change(&self, before: usize, after: usize) {
        self.buffered.set((self.buffered.get() + after).saturating_sub(before));
    }
}

/// How far a direction may read ahead of its receiver.
pub struct ReadAhead {
    /// Limit of this direction in bytes.
    pub max_bytes: u64,
    /// Limit of the service's buffered bodies in bytes.
    pub max_memory: u64,
    /// The bytes that this direction buffers.
    pub buffered: BufferedBytes,
    /// The service's limit was reached.
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
