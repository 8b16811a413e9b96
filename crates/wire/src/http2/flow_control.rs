//! Flow control (RFC 9113 §5.2, §6.9): windows of one stream or of the connection, in either direction.

use super::frames::MAX_31_BITS;

/// A window that grew above 2^31 - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WindowOverflow;

/// What this side may still send. A change of the peer's settings can make it negative (RFC 9113 §6.9.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct OutboundWindow {
    left: i64,
}

impl OutboundWindow {
    pub(super) fn new(bytes: u32) -> OutboundWindow {
        OutboundWindow { left: i64::from(bytes) }
    }

    /// Bytes that may be sent.
    pub(super) fn available(self) -> usize {
        usize::try_from(self.left).unwrap_or(0)
    }

    /// Uses part of what is available.
    pub(super) fn consume(&mut self, bytes: usize) {
        debug_assert!(bytes <= self.available());
        self.left -= bytes as i64;
    }

    /// Moves the window by a WINDOW_UPDATE, or by a change of the initial window.
    pub(super) fn change(&mut self, bytes: i64) -> Result<(), WindowOverflow> {
        let left = self.left + bytes;
        if left > i64::from(MAX_31_BITS) {
            return Err(WindowOverflow);
        }
        self.left = left;
        Ok(())
    }
}

/// What the peer may still send, and what is to be returned to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct InboundWindow {
    /// The size that the window has when everything received was released.
    size: i64,
    /// What the peer may still send.
    left: i64,
    /// Received bytes that were not released yet.
    unreleased: usize,
    /// Released bytes that the peer does not know of yet.
    free: i64,
}

impl InboundWindow {
    /// A window of `size`, of which the peer may believe that it has `announced` bytes.
    pub(super) fn new(size: u32, announced: u32) -> InboundWindow {
        let size = i64::from(size);
        InboundWindow { size, left: i64::from(announced), unreleased: 0, free: 0 }
    }

    /// Counts received bytes; `false`: the peer has sent more than it may.
    #[must_use]
    pub(super) fn receive(&mut self, bytes: usize) -> bool {
        if bytes as i64 > self.left {
            return false;
        }
        self.left -= bytes as i64;
        self.unreleased += bytes;
        true
    }

    /// Received bytes that were not released yet.
    pub(super) fn unreleased(self) -> usize {
        self.unreleased
    }

    /// Releases bytes; returns the increment that the peer gets now, if any.
    /// Half a window is gathered first, so that not every read causes a frame.
    pub(super) fn release(&mut self, bytes: usize) -> Option<u32> {
        let bytes = bytes.min(self.unreleased);
        self.unreleased -= bytes;
        self.free += bytes as i64;
        if self.free < (self.size / 2).max(1) {
            return None;
        }
        self.announce()
    }

    /// Changes the size of the window. Returns the increment for the peer.
    pub(super) fn grow(&mut self, size: u32) -> Option<u32> {
        let more = i64::from(size) - self.size;
        if more <= 0 {
            return None;
        }
        self.size += more;
        self.free += more;
        self.announce()
    }

    /// The increment that returns everything that is free.
    fn announce(&mut self) -> Option<u32> {
        let increment = u32::try_from(self.free).ok().filter(|increment| *increment > 0)?;
        self.free = 0;
        self.left += i64::from(increment);
        Some(increment)
    }

    /// The peer has applied a setting by which its window is smaller than it was.
    pub(super) fn shrink_by_settings(&mut self, bytes: u32) {
        self.left -= i64::from(bytes);
    }

    /// Changes the size by a SETTINGS frame, which the peer applies to its window by itself.
    pub(super) fn grow_by_settings(&mut self, size: u32) {
        let more = (i64::from(size) - self.size).max(0);
        self.size += more;
        self.left += more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_have_a_largest_size_and_may_be_negative() {
        let mut window = OutboundWindow::new(10);
        window.consume(10);
        assert_eq!(window.change(i64::from(MAX_31_BITS)), Ok(()));
        assert_eq!(window.change(1), Err(WindowOverflow));
        let mut window = OutboundWindow::new(10);
        assert_eq!(window.change(-15), Ok(()));
        assert_eq!(window.available(), 0);
        assert_eq!(window.change(6), Ok(()));
        assert_eq!(window.available(), 1);
    }

    #[test]
    fn released_bytes_are_returned_by_the_half_window() {
        let mut window = InboundWindow::new(100, 100);
        assert!(window.receive(100) && !window.receive(1));
        assert_eq!(window.release(49), None);
        assert_eq!(window.release(1), Some(50));
        assert!(window.receive(50) && !window.receive(1));
        assert_eq!(window.release(1_000), Some(100), "no more than was received");
        assert_eq!(window.release(1), None);
        assert_eq!(window.grow(150), Some(50));
        assert_eq!(window.grow(120), None, "windows only grow");
        assert!(window.receive(150) && !window.receive(1));
    }

    #[test]
    fn a_window_that_began_larger_shrinks_to_its_size() {
        let mut window = InboundWindow::new(100, 1_000);
        assert!(window.receive(990));
        window.shrink_by_settings(900);
        assert!(!window.receive(1), "the peer has sent more than the new size");
        assert_eq!(window.release(990), Some(990));
        assert!(window.receive(100) && !window.receive(1));
    }
}
