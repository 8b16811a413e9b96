//! Whether bytes have moved recently, for the timeouts of a direction.

use model::monotonic_time::MonotonicTime;

/// The bytes that have moved so far, and when their number last grew.
#[derive(Clone, Copy, Debug)]
pub struct TransferProgress {
    total_bytes: u64,
    pub moved_at: MonotonicTime,
}

impl TransferProgress {
    /// Nothing has moved yet; timeouts run from `now`.
    pub fn new(now: MonotonicTime) -> TransferProgress {
        TransferProgress { total_bytes: 0, moved_at: now }
    }

    /// Takes the bytes that have moved so far.
    #[inline]
    pub fn update(&mut self, total_bytes: u64, now: MonotonicTime) {
        if total_bytes != self.total_bytes {
            *self = TransferProgress { total_bytes, moved_at: now };
        }
    }
}
