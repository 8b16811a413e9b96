//! One direction of bytes between two connections, under a framing, in bounded memory.
//!
//! Small amounts are copied through the worker's scratch buffer; long bodies of known or open length go through a
//! pipe in the kernel. What the receiver does not take at once is kept here, at most `COPY` bytes and the framing
//! that re-encoding adds; then nothing more is read. It knows no deadline: the caller sees who is waited for.

mod ahead;
mod coded;
mod framing;
mod shared;

use std::io;

use wire::http1::Defect;

use crate::buffers::COPY;
use crate::coder::Coder;
use crate::kept_bytes::{Ahead, SharedBytes};
use crate::rt::Net;
use crate::stream::{Read, Stream, Wrote};
use crate::worker::Worker;
pub use framing::{Framing, Step};

/// Bodies with at least this much to go are spliced: below it a pipe costs more than it saves.
pub const SPLICE_FROM: u64 = 64 * 1024;

/// Bytes read at a time where one side is under TLS, as two records. What a receiver does not take is then kept twice, as
/// it came and as it goes.
const SEALED: usize = 30 * 1024;

/// Bytes moved through a pipe at a time.
const SPLICE: usize = 256 * 1024;

/// Moves in one turn before others get theirs.
const BUDGET: usize = 16;

/// One direction.
pub struct Flow<N: Net> {
    /// What is still to come from the sender.
    pub framing: Framing,
    /// Bytes taken from the sender.
    pub taken: u64,
    /// Bytes given to the receiver.
    pub given: u64,
    /// Of those, through a pipe.
    pub spliced: u64,
    pending: Vec<u8>,
    at: usize,
    pipe: Option<N::Pipe>,
    in_pipe: usize,
    bulk: bool,
    may_splice: bool,
    /// Bytes read at a time when copying: what a stalled receiver makes us keep.
    most: usize,
    /// Streams of one connection share what it may hold.
    shared: Option<SharedBytes>,
    /// Reads although the receiver takes nothing.
    ahead: Option<Box<Ahead>>,
    /// Compresses what passes.
    coder: Option<Box<Coder>>,
    /// What it had moved when it was done.
    coded: (u64, u64),
    /// It has failed.
    failed: bool,
    /// Lines behind a body of chunks, where it is compressed.
    trailers: Vec<u8>,
    /// How many such lines were dropped.
    pub trailers_dropped: u8,
    /// What the census knows of us: bytes kept, bytes in the pipe.
    reported: (usize, usize),
}

impl<N: Net> Flow<N> {
    /// A direction with nothing in it; `limit`: what a connection may hold, bytes.
    pub fn new(framing: Framing, limit: u32) -> Self {
        Flow {
            framing,
            taken: 0,
            given: 0,
            spliced: 0,
            pending: Vec::new(),
            at: 0,
            pipe: None,
            in_pipe: 0,
            bulk: false,
            may_splice: true,
            // The rest is for heads.
            most: COPY.min(limit as usize / 4 * 3),
            shared: None,
            ahead: None,
            coder: None,
            coded: (0, 0),
            failed: false,
            trailers: Vec::new(),
            trailers_dropped: 0,
            reported: (0, 0),
        }
    }

    /// Keeps bytes, already in the receiver's form, that could not be given at once.
    pub fn keep(&mut self, worker: &Worker<N>, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.pending.capacity() == 0 {
            self.pending = worker.buffers.take();
        }
        // What was given long ago is not kept for what comes.
        if self.at > self.pending.len() / 2 {
            self.pending.drain(..std::mem::take(&mut self.at));
        }
        self.pending.extend_from_slice(bytes);
        self.report(worker);
    }

    /// Whether a long body follows of which nothing is there yet: a head that waits one turn may go out with its
    /// beginning.
    pub fn long_body_follows(&self) -> bool {
        self.coder.is_none() && matches!(self.framing, Framing::Length(left) if left >= SPLICE_FROM)
    }

    /// Whether bytes wait for the receiver.
    pub fn holds(&self) -> bool {
        self.at < self.pending.len() || self.in_pipe > 0
    }

    /// Decodes bytes that came with a head: appends to `out` what the receiver is to get and returns how many
    /// bytes belonged to the body.
    ///
    /// # Errors
    /// The defect of a chunked body.
    pub fn decode(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, Defect> {
        match self.coder {
            Some(_) => self.decode_coded(input, out),
            None => self.decode_plain(input, out),
        }
    }

    fn decode_plain(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, Defect> {
        let consumed = match &mut self.framing {
            Framing::Done => 0,
            Framing::Length(left) => {
                let n = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                out.extend_from_slice(&input[..n]);
                *left -= n as u64;
                if *left == 0 {
                    self.framing = Framing::Done;
                }
                n
            }
            Framing::Chunked(decoder) => {
                let fed = decoder.feed(input, out)?;
                if fed.finished {
                    self.trailers = decoder.take_trailers();
                    self.trailers_dropped = decoder.dropped();
                    self.framing = Framing::Done;
                }
                fed.consumed
            }
            Framing::UntilEnd => {
                out.extend_from_slice(input);
                input.len()
            }
        };
        self.taken += consumed as u64;
        Ok(consumed)
    }

    /// Whether its bytes go through a pipe between these two.
    pub fn is_spliced(&self, from: &Stream<N>, to: &Stream<N>) -> bool {
        self.wants_splice() && from.is_plain() && to.is_plain()
    }

    /// Moves what can be moved now.
    pub fn step(
        &mut self,
        worker: &Worker<N>,
        from: &Stream<N>,
        to: &Stream<N>,
        excess: &mut Vec<u8>,
    ) -> Step {
        if !from.is_plain() || !to.is_plain() {
            self.may_splice = false;
            self.most = self.most.min(SEALED);
        }
        let step = self.moves(worker, from, to, excess);
        self.report(worker);
        step
    }

    fn moves(
        &mut self,
        worker: &Worker<N>,
        from: &Stream<N>,
        to: &Stream<N>,
        excess: &mut Vec<u8>,
    ) -> Step {
        for _ in 0..BUDGET {
            let blocked = match self.give(worker, from, to) {
                None => false,
                Some(Step::Receiver) => true,
                Some(step) => return step,
            };
            if self.failed {
                return Step::Failed;
            }
            if self.framing.done() {
                if self.ends(worker) {
                    continue;
                }
                if blocked {
                    return Step::Receiver;
                }
                self.release(worker);
                return Step::Finished;
            }
            if blocked && !self.may_run_ahead() {
                return Step::Receiver;
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
        Step::Again
    }

    /// Gives the receiver what is kept; `None`: nothing is kept any more.
    fn give(&mut self, worker: &Worker<N>, from: &Stream<N>, to: &Stream<N>) -> Option<Step> {
        let more = self.wants_splice() && from.may_read();
        while self.at < self.pending.len() {
            match to.try_write_with(&self.pending[self.at..], more) {
                Wrote::Bytes(n) => {
                    self.at += n;
                    self.given += n as u64;
                }
                Wrote::Later => return Some(Step::Receiver),
                Wrote::Failed(_) => return Some(Step::ReceiverFailed),
            }
        }
        if self.pending.capacity() > 0 {
            self.at = 0;
            worker.buffers.give(std::mem::take(&mut self.pending));
        }
        while self.in_pipe > 0 {
            let pipe = self.pipe.as_ref()?;
            let more = matches!(self.framing, Framing::Length(_));
            match to.try_pour(pipe, self.in_pipe, more) {
                Wrote::Bytes(n) => {
                    self.in_pipe -= n;
                    self.given += n as u64;
                    self.spliced += n as u64;
                }
                Wrote::Later => return Some(Step::Receiver),
                Wrote::Failed(_) => return Some(Step::ReceiverFailed),
            }
        }
        None
    }

    fn wants_splice(&self) -> bool {
        self.may_splice
            && match self.framing {
                Framing::Length(left) => self.pipe.is_some() || left >= SPLICE_FROM,
                Framing::UntilEnd => self.bulk,
                _ => false,
            }
    }

    fn splice(&mut self, worker: &Worker<N>, from: &Stream<N>, _to: &Stream<N>) -> Option<Step> {
        if self.pipe.is_none() {
            self.pipe = worker.pipes.take(&worker.rt.net);
        }
        let Some(pipe) = &self.pipe else {
            self.may_splice = false;
            return None;
        };
        match from.try_fill(pipe, self.framing.wanted(SPLICE)) {
            Read::Data(n) => {
                self.in_pipe += n;
                self.taken += n as u64;
                if let Framing::Length(left) = &mut self.framing {
                    *left -= n as u64;
                    if *left == 0 {
                        self.framing = Framing::Done;
                    }
                }
                None
            }
            Read::Later => Some(Step::Sender),
            Read::End => self.ended(),
            Read::Failed(error) if error.kind() == io::ErrorKind::InvalidInput => {
                self.may_splice = false;
                None
            }
            Read::Failed(_) => Some(Step::SenderFailed),
        }
    }

    fn copy(
        &mut self,
        worker: &Worker<N>,
        from: &Stream<N>,
        to: &Stream<N>,
        excess: &mut Vec<u8>,
    ) -> Option<Step> {
        let mut scratch = worker.scratch.borrow_mut();
        let room = self.framing.wanted(self.room());
        let n = match from.try_read(&mut scratch.input[..room]) {
            Read::Data(n) => n,
            Read::Later => return if self.pauses(worker) { None } else { Some(Step::Sender) },
            Read::End => return self.ended(),
            Read::Failed(_) => return Some(Step::SenderFailed),
        };
        self.bulk = n == self.most;
        let scratch = &mut *scratch;
        let input = &scratch.input[..n];
        if self.coder.is_some() || matches!(self.framing, Framing::Chunked(_)) {
            scratch.output.clear();
            let used = match self.decode(input, &mut scratch.output) {
                Ok(used) => used,
                Err(defect) => return Some(Step::Malformed(defect)),
            };
            excess.extend_from_slice(&input[used..]);
            return self.hand(worker, to, &scratch.output);
        }
        self.taken += n as u64;
        if let Framing::Length(left) = &mut self.framing {
            *left -= n as u64;
            if *left == 0 {
                self.framing = Framing::Done;
            }
        }
        self.hand(worker, to, input)
    }

    fn hand(&mut self, worker: &Worker<N>, to: &Stream<N>, bytes: &[u8]) -> Option<Step> {
        if bytes.is_empty() {
            return None;
        }
        if self.holds() {
            self.keep(worker, bytes);
            return None;
        }
        match to.try_write(bytes) {
            Wrote::Bytes(n) => {
                self.given += n as u64;
                self.keep(worker, &bytes[n..]);
                None
            }
            Wrote::Later => {
                self.keep(worker, bytes);
                Some(Step::Receiver)
            }
            Wrote::Failed(_) => Some(Step::ReceiverFailed),
        }
    }

    fn ended(&mut self) -> Option<Step> {
        match self.framing {
            Framing::UntilEnd => {
                self.framing = Framing::Done;
                None
            }
            _ => Some(Step::Cut),
        }
    }

    /// Gives buffers and pipe back. A pipe with bytes in it is closed instead.
    pub fn release(&mut self, worker: &Worker<N>) {
        if self.pending.capacity() > 0 {
            worker.buffers.give(std::mem::take(&mut self.pending));
            self.at = 0;
        }
        self.at = 0;
        let in_pipe = std::mem::take(&mut self.in_pipe);
        self.report(worker);
        if let Some(pipe) = self.pipe.take()
            && in_pipe == 0
        {
            worker.pipes.give(pipe);
        }
    }

    /// Tells the census what is kept here and in the kernel for a receiver that does not take it.
    fn report(&mut self, worker: &Worker<N>) {
        let now = (self.pending.len() - self.at, self.in_pipe);
        if now != self.reported {
            worker.census.0.held.change(self.reported.0, now.0);
            worker.census.0.piped.change(self.reported.1, now.1);
            self.shared.iter().for_each(|shared| shared.change(self.reported.0, now.0));
            self.reported = now;
        }
    }
}
