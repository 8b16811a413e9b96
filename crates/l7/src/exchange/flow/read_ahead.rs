//! A direction that reads ahead of its receiver, up to a limit.
//!
//! The buffered bytes count against the service's memory limit.

use super::{ByteFlow, FlowStep};
use crate::conn::stream::{ProxyStream, StreamWriteResult};
use crate::exchange::buffered_bytes::ReadAhead;
use crate::rt::NetDriver;
use crate::worker::Worker;

impl<N: NetDriver> ByteFlow<N> {
    /// Allows reading while the receiver accepts nothing.
    pub fn enable_read_ahead(&mut self, ahead: ReadAhead) {
        self.may_splice = false;
        self.read_ahead = Some(Box::new(ahead));
    }

    /// Whether the sender may be read while the receiver accepts nothing.
    pub(super) fn may_read_ahead(&mut self) -> bool {
        let needed = (self.pending.len() - self.pending_at + self.most) as u64;
        let Some(ahead) = &mut self.read_ahead else { return false };
        if needed > ahead.max_bytes {
            return false;
        }
        let fits = ahead.buffered.grow_to(needed, ahead.max_memory);
        ahead.full |= !fits;
        fits
    }

    /// Whether the sender has sent everything, and the receiver has not received all of it.
    pub fn is_fully_read(&self) -> bool {
        self.read_ahead.is_some()
            && self.framing.is_done()
            && self.compressor.is_none()
            && self.has_pending()
    }

    /// Whether the service's memory limit restricted the reading ahead.
    pub fn hit_memory_limit(&self) -> bool {
        self.read_ahead.as_ref().is_some_and(|ahead| ahead.full)
    }

    /// Writes the buffered bytes to the receiver, after the sender has finished.
    pub fn write_rest(&mut self, worker: &Worker<N>, to: &ProxyStream<N>) -> FlowStep {
        let mut step = FlowStep::Finished;
        while self.pending_at < self.pending.len() {
            match to.try_write(&self.pending[self.pending_at..]) {
                StreamWriteResult::Bytes(n) => {
                    self.pending_at += n;
                    self.bytes_out += n as u64;
                }
                StreamWriteResult::WouldBlock => {
                    step = FlowStep::AwaitReceiver;
                    break;
                }
                StreamWriteResult::Failed(_) => {
                    step = FlowStep::ReceiverFailed;
                    break;
                }
            }
        }
        self.report_buffered(worker);
        step
    }
}
