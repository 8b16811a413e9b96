//! Relays the bytes of one direction between two connections, with a framing, in bounded memory.
//!
//! Small amounts are copied through the worker's scratch buffer; long bodies of known or open length go through a
//! kernel pipe. Bytes that the receiver does not accept at once are buffered: at most `COPY_BYTES`, plus the framing
//! that re-encoding adds. Then reading stops. Deadlines are the caller's: each step returns which side the direction
//! waits for.

mod body_limit;
mod compressed;
mod framing;
mod progress;
mod read_ahead;
mod shared_connection;
mod splice;

use wire::http1::Defect;

use crate::conn::stream::{ProxyStream, StreamReadResult, StreamWriteResult};
use crate::exchange::buffered_bytes::{ReadAhead, StreamBufferShare};
use crate::exchange::compressor::{BodyCompressor, CompressedBytes};
use crate::rt::NetDriver;
use crate::worker::Worker;
use crate::worker::buffers::COPY_BYTES;
pub use framing::{BodyFraming, FlowStep};
pub use progress::TransferProgress;

/// Bodies with at least this many bytes left are spliced: for fewer, a pipe costs more than it saves.
pub const SPLICE_FROM: u64 = 64 * 1024;

/// Bytes per read if one side uses TLS: two records. Bytes that the receiver does not accept are then buffered twice,
/// as plaintext and as ciphertext.
const TLS_READ_BYTES: usize = 30 * 1024;

/// Most transfers in one turn, so that other tasks get a turn.
/// At 256 KiB a move, a turn stays below some milliseconds.
const MOVES_PER_TURN: usize = 16;

pub struct ByteFlow<N: NetDriver> {
    /// The bytes that are still to come from the sender.
    pub framing: BodyFraming,
    pub bytes_in: u64,
    pub bytes_out: u64,
    /// Data bytes of a chunked body, as far as its chunks have begun.
    chunked_bytes: Option<u64>,
    /// Most bytes of the body, without framing.
    max_bytes: u64,
    /// The part of these bytes that splice(2) moved.
    pub spliced: u64,
    pending: Vec<u8>,
    pending_at: usize,
    pipe: Option<N::Pipe>,
    in_pipe: usize,
    bulk: bool,
    may_splice: bool,
    /// Bytes per read when copying, which a stalled receiver leaves in the buffer.
    most: usize,
    /// The share of a multiplexed connection's buffer.
    shared_buffer: Option<StreamBufferShare>,
    /// Set if the sender is read while the receiver accepts nothing.
    read_ahead: Option<Box<ReadAhead>>,
    compressor: Option<Box<BodyCompressor>>,
    /// The totals of a finished compressor.
    compressed_bytes: CompressedBytes,
    failed: bool,
    /// Trailer lines of a chunked body that is compressed.
    trailers: Vec<u8>,
    /// Number of dropped trailer lines.
    pub trailers_dropped: u8,
    /// The bytes that the gauges count for this flow.
    reported_bytes: FlowBufferBytes,
}

/// Bytes that wait for the receiver of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct FlowBufferBytes {
    /// Bytes in the buffer.
    held: usize,
    /// Bytes in the kernel's pipe.
    piped: usize,
}

impl<N: NetDriver> ByteFlow<N> {
    /// An empty direction. `limit`: buffer limit of a connection in bytes.
    pub fn new(framing: BodyFraming, limit: u32) -> Self {
        ByteFlow {
            framing,
            bytes_in: 0,
            bytes_out: 0,
            chunked_bytes: None,
            max_bytes: u64::MAX,
            spliced: 0,
            pending: Vec::new(),
            pending_at: 0,
            pipe: None,
            in_pipe: 0,
            bulk: false,
            may_splice: true,
            // The rest of the limit is for heads.
            most: COPY_BYTES.min(limit as usize / 4 * 3),
            shared_buffer: None,
            read_ahead: None,
            compressor: None,
            compressed_bytes: CompressedBytes::default(),
            failed: false,
            trailers: Vec::new(),
            trailers_dropped: 0,
            reported_bytes: FlowBufferBytes::default(),
        }
    }

    /// Buffers bytes, already in the receiver's framing, that could not be written.
    pub fn queue_bytes(&mut self, worker: &Worker<N>, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.pending.capacity() == 0 {
            self.pending = worker.buffers.take();
        }
        // Removes written bytes before the buffer grows.
        if self.pending_at > self.pending.len() / 2 {
            self.pending.drain(..std::mem::take(&mut self.pending_at));
        }
        self.pending.extend_from_slice(bytes);
        self.report_buffered(worker);
    }

    /// Whether a long body follows of which no byte has arrived. A head that waits one turn may then be sent together
    /// with the start of the body.
    pub fn long_body_follows(&self) -> bool {
        self.compressor.is_none()
            && matches!(self.framing, BodyFraming::Length(left) if left >= SPLICE_FROM)
    }

    /// Whether bytes wait for the receiver.
    pub fn has_pending(&self) -> bool {
        self.pending_at < self.pending.len() || self.in_pipe > 0
    }

    /// Decodes bytes that arrived with a head. Appends the bytes for the receiver to `out`, and returns how many
    /// belonged to the body.
    ///
    /// # Errors
    /// The defect of a chunked body.
    pub fn decode(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, Defect> {
        match self.compressor {
            Some(_) => self.decode_compressed(input, out),
            None => self.decode_plain(input, out),
        }
    }

    fn decode_plain(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, Defect> {
        let start = out.len();
        let consumed = match &mut self.framing {
            BodyFraming::Done => 0,
            BodyFraming::Length(left) => {
                let n = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                out.extend_from_slice(&input[..n]);
                *left -= n as u64;
                if *left == 0 {
                    self.framing = BodyFraming::Done;
                }
                n
            }
            BodyFraming::Chunked(decoder) => {
                let fed = decoder.feed(input, out)?;
                self.chunked_bytes = Some(decoder.announced_bytes());
                if fed.finished {
                    self.trailers = decoder.take_trailers();
                    self.trailers_dropped = decoder.dropped_trailers();
                    self.framing = BodyFraming::Done;
                }
                fed.consumed
            }
            BodyFraming::UntilEnd => {
                out.extend_from_slice(input);
                input.len()
            }
        };
        self.bytes_in += consumed as u64;
        if self.is_too_long() {
            out.truncate(start);
        }
        Ok(consumed)
    }

    /// Transfers as much as possible now.
    pub fn step(
        &mut self,
        worker: &Worker<N>,
        from: &ProxyStream<N>,
        to: &ProxyStream<N>,
        excess: &mut Vec<u8>,
    ) -> FlowStep {
        if !from.is_plain() || !to.is_plain() {
            self.may_splice = false;
            self.most = self.most.min(TLS_READ_BYTES);
        }
        let step = self.move_bytes(worker, from, to, excess);
        self.report_buffered(worker);
        step
    }

    fn move_bytes(
        &mut self,
        worker: &Worker<N>,
        from: &ProxyStream<N>,
        to: &ProxyStream<N>,
        excess: &mut Vec<u8>,
    ) -> FlowStep {
        for _ in 0..MOVES_PER_TURN {
            let blocked = match self.write_pending(worker, from, to) {
                None => false,
                Some(FlowStep::AwaitReceiver) => true,
                Some(step) => return step,
            };
            if self.failed {
                return FlowStep::Failed;
            }
            if self.is_too_long() {
                return FlowStep::TooLong;
            }
            if self.framing.is_done() {
                if self.finish_compressor(worker) {
                    continue;
                }
                if blocked {
                    return FlowStep::AwaitReceiver;
                }
                self.release(worker);
                return FlowStep::Finished;
            }
            if blocked && !self.may_read_ahead() {
                return FlowStep::AwaitReceiver;
            }
            let step = if self.wants_splice() {
                self.splice(worker, from, to)
            } else {
                self.copy(worker, from, to, excess)
            };
            if let Some(step) = step {
                return step;
            }
        }
        FlowStep::Yield
    }

    /// Writes the buffered bytes to the receiver; `None`: the buffer is empty now.
    fn write_pending(
        &mut self,
        worker: &Worker<N>,
        from: &ProxyStream<N>,
        to: &ProxyStream<N>,
    ) -> Option<FlowStep> {
        let more = self.wants_splice() && from.may_read();
        while self.pending_at < self.pending.len() {
            match to.try_write_with(&self.pending[self.pending_at..], more) {
                StreamWriteResult::Bytes(n) => {
                    self.pending_at += n;
                    self.bytes_out += n as u64;
                }
                StreamWriteResult::WouldBlock => return Some(FlowStep::AwaitReceiver),
                StreamWriteResult::Failed(_) => return Some(FlowStep::ReceiverFailed),
            }
        }
        if self.pending.capacity() > 0 {
            self.pending_at = 0;
            worker.buffers.put(std::mem::take(&mut self.pending));
        }
        while self.in_pipe > 0 {
            let pipe = self.pipe.as_ref()?;
            let more = matches!(self.framing, BodyFraming::Length(_));
            match to.try_pour(pipe, self.in_pipe, more) {
                StreamWriteResult::Bytes(n) => {
                    self.in_pipe -= n;
                    self.bytes_out += n as u64;
                    self.spliced += n as u64;
                }
                StreamWriteResult::WouldBlock => return Some(FlowStep::AwaitReceiver),
                StreamWriteResult::Failed(_) => return Some(FlowStep::ReceiverFailed),
            }
        }
        None
    }

    fn copy(
        &mut self,
        worker: &Worker<N>,
        from: &ProxyStream<N>,
        to: &ProxyStream<N>,
        excess: &mut Vec<u8>,
    ) -> Option<FlowStep> {
        let mut scratch = worker.scratch.borrow_mut();
        let room = self.framing.read_size(self.read_room());
        let n = match from.try_read(&mut scratch.input[..room]) {
            StreamReadResult::Data(n) => n,
            StreamReadResult::WouldBlock => {
                return if self.flush_compressor(worker) {
                    None
                } else {
                    Some(FlowStep::AwaitSender)
                };
            }
            StreamReadResult::End => return self.finish_body(),
            StreamReadResult::Failed(_) => return Some(FlowStep::SenderFailed),
        };
        self.bulk = n == self.most;
        let scratch = &mut *scratch;
        let input = &scratch.input[..n];
        if self.compressor.is_some() || matches!(self.framing, BodyFraming::Chunked(_)) {
            scratch.output.clear();
            let used = match self.decode(input, &mut scratch.output) {
                Ok(used) => used,
                Err(defect) => return Some(FlowStep::Malformed(defect)),
            };
            excess.extend_from_slice(&input[used..]);
            return self.write_bytes(worker, to, &scratch.output);
        }
        self.bytes_in += n as u64;
        if let BodyFraming::Length(left) = &mut self.framing {
            *left -= n as u64;
            if *left == 0 {
                self.framing = BodyFraming::Done;
            }
        }
        self.write_bytes(worker, to, input)
    }

    fn write_bytes(
        &mut self,
        worker: &Worker<N>,
        to: &ProxyStream<N>,
        bytes: &[u8],
    ) -> Option<FlowStep> {
        if bytes.is_empty() {
            return None;
        }
        if self.has_pending() {
            self.queue_bytes(worker, bytes);
            return None;
        }
        match to.try_write(bytes) {
            StreamWriteResult::Bytes(n) => {
                self.bytes_out += n as u64;
                self.queue_bytes(worker, &bytes[n..]);
                None
            }
            StreamWriteResult::WouldBlock => {
                self.queue_bytes(worker, bytes);
                Some(FlowStep::AwaitReceiver)
            }
            StreamWriteResult::Failed(_) => Some(FlowStep::ReceiverFailed),
        }
    }

    fn finish_body(&mut self) -> Option<FlowStep> {
        match self.framing {
            BodyFraming::UntilEnd => {
                self.framing = BodyFraming::Done;
                None
            }
            _ => Some(FlowStep::SenderTruncated),
        }
    }

    /// Returns the buffers and the pipe. A pipe that contains bytes is closed instead.
    pub fn release(&mut self, worker: &Worker<N>) {
        if self.pending.capacity() > 0 {
            worker.buffers.put(std::mem::take(&mut self.pending));
            self.pending_at = 0;
        }
        self.pending_at = 0;
        let in_pipe = std::mem::take(&mut self.in_pipe);
        self.report_buffered(worker);
        if let Some(pipe) = self.pipe.take()
            && in_pipe == 0
        {
            worker.pipes.put(pipe);
        }
    }

    /// Updates the gauges with the bytes buffered here and in the pipe.
    fn report_buffered(&mut self, worker: &Worker<N>) {
        let held = self.pending.len() - self.pending_at;
        let now = FlowBufferBytes { held, piped: self.in_pipe };
        let before = self.reported_bytes;
        if now != before {
            worker.gauges.0.held_bytes.change(before.held, now.held);
            worker.gauges.0.piped_bytes.change(before.piped, now.piped);
            self.shared_buffer.iter().for_each(|shared| shared.change(before.held, now.held));
            self.reported_bytes = now;
        }
    }
}
