//! A direction whose bytes go through a kernel pipe (splice(2)), without a copy into this process.

use std::io;

use super::{BodyFraming, ByteFlow, FlowStep, SPLICE_FROM};
use crate::conn::stream::{ProxyStream, StreamReadResult};
use crate::rt::NetDriver;
use crate::worker::Worker;

/// Most bytes per transfer through a pipe.
/// As much as a pipe may hold, `PIPE_BYTES`.
const SPLICE: usize = 256 * 1024;

impl<N: NetDriver> ByteFlow<N> {
    /// Whether the bytes go through a pipe between these two streams.
    pub fn is_spliced(&self, from: &ProxyStream<N>, to: &ProxyStream<N>) -> bool {
        self.wants_splice() && from.is_plain() && to.is_plain()
    }

    pub(super) fn wants_splice(&self) -> bool {
        self.may_splice
            && match self.framing {
                BodyFraming::Length(left) => self.pipe.is_some() || left >= SPLICE_FROM,
                BodyFraming::UntilEnd => self.bulk,
                _ => false,
            }
    }

    pub(super) fn splice(
        &mut self,
        worker: &Worker<N>,
        from: &ProxyStream<N>,
        _to: &ProxyStream<N>,
    ) -> Option<FlowStep> {
        if self.pipe.is_none() {
            self.pipe = worker.pipes.take(&worker.rt.net);
        }
        let Some(pipe) = &self.pipe else {
            self.may_splice = false;
            return None;
        };
        match from.try_fill(pipe, self.framing.read_size(SPLICE)) {
            StreamReadResult::Data(n) => {
                self.in_pipe += n;
                self.bytes_in += n as u64;
                if let BodyFraming::Length(left) = &mut self.framing {
                    *left -= n as u64;
                    if *left == 0 {
                        self.framing = BodyFraming::Done;
                    }
                }
                None
            }
            StreamReadResult::WouldBlock => Some(FlowStep::AwaitSender),
            StreamReadResult::End => self.finish_body(),
            StreamReadResult::Failed(error) if error.kind() == io::ErrorKind::InvalidInput => {
                self.may_splice = false;
                None
            }
            StreamReadResult::Failed(_) => Some(FlowStep::SenderFailed),
        }
    }
}
