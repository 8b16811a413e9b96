//! The body of a request as its stream brings it: pieces and trailers, and whether they are as many as was said.
//!
//! It reads on only when what was read is taken, so that the client sends no faster.

use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use quinn_proto::StreamId;
use wire::http1::Defect;
use wire::http3::{Broken, Frames, Step, code, decode, trailers};

use crate::http2::body_in::Source;
use crate::quic::link::{Got, Link, ROOM};

/// Why a body broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The client took it back, or is gone.
    Gone,
    /// It broke a rule.
    Malformed(Defect),
}

/// What comes on one stream.
pub struct Pieces {
    link: Rc<Link>,
    id: StreamId,
    frames: Frames,
    held: Bytes,
    /// How much of the body is to come, where that was said.
    left: Option<u64>,
    trailers: Vec<u8>,
    /// The most that trailers may come to.
    most: usize,
    ended: bool,
}

impl Pieces {
    /// Of a stream whose head may come to `most` bytes.
    pub fn new(link: Rc<Link>, id: StreamId, most: usize) -> Pieces {
        // A head may be longer as it is coded: not by much, and what is longer here is refused then.
        let frames = Frames::new(most.saturating_mul(2));
        let (held, trailers) = (Bytes::new(), Vec::new());
        Pieces { link, id, frames, held, left: None, trailers, most, ended: false }
    }

    /// The body is to have so many bytes.
    pub fn expect(&mut self, length: u64) {
        self.left = Some(length);
    }

    /// The head as it is coded, once it is whole; `None`: the stream ended without one.
    pub fn poll_head(&mut self) -> Poll<Result<Option<Vec<u8>>, Trouble>> {
        loop {
            match self.poll_step() {
                Poll::Ready(Ok(Some(Step::Head))) => {
                    return Poll::Ready(Ok(Some(self.frames.take_block())));
                }
                Poll::Ready(Ok(Some(_))) => {}
                Poll::Ready(Ok(None)) => return Poll::Ready(Ok(None)),
                Poll::Ready(Err(trouble)) => return Poll::Ready(Err(trouble)),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Whether nothing follows what was read, as far as is known now.
    pub fn is_over(&mut self) -> bool {
        if self.held.is_empty() && !self.ended {
            match self.link.read(self.id, ROOM) {
                Got::Bytes(bytes) => self.held = bytes,
                Got::End => self.ended = true,
                Got::Later | Got::Broken => {}
            }
        }
        self.held.is_empty() && self.ended
    }

    /// The next step; `None`: the end. Of `Data` the bytes are still in front of `held`.
    fn poll_step(&mut self) -> Poll<Result<Option<Step>, Trouble>> {
        loop {
            if self.held.is_empty() {
                if self.ended {
                    let end = self.frames.end();
                    return Poll::Ready(end.map(|()| None).map_err(|broken| self.broke(broken)));
                }
                match self.link.read(self.id, ROOM) {
                    Got::Bytes(bytes) => self.held = bytes,
                    Got::Later => return Poll::Pending,
                    Got::End => self.ended = true,
                    Got::Broken => return Poll::Ready(Err(Trouble::Gone)),
                }
                continue;
            }
            let (used, step) = match self.frames.step(&self.held) {
                Ok(done) => done,
                Err(broken) => return Poll::Ready(Err(self.broke(broken))),
            };
            match step {
                Step::Data(n) => {
                    self.held.advance(used - n);
                    return Poll::Ready(Ok(Some(step)));
                }
                Step::More => self.held.advance(used),
                Step::Head | Step::Trailers => {
                    self.held.advance(used);
                    return Poll::Ready(Ok(Some(step)));
                }
            }
        }
    }

    fn broke(&self, broken: Broken) -> Trouble {
        match broken {
            Broken::TooLarge => Trouble::Malformed(Defect::HeadTooLarge),
            Broken::Connection(code) => {
                self.link.fail(code);
                Trouble::Malformed(Defect::Http3Protocol)
            }
        }
    }

    /// The connection cannot go on.
    pub fn fail(&self, code: u64) {
        self.link.fail(code);
    }

    fn mismatch(&self) -> Trouble {
        self.link.stop(self.id, code::MESSAGE_ERROR);
        Trouble::Malformed(Defect::LengthMismatch)
    }

    fn take_trailers(&mut self) -> Result<(), Trouble> {
        let block = self.frames.take_block();
        let fields = decode(&block, self.most).map_err(|broken| self.broke(broken))?;
        trailers(&fields, &mut self.trailers).map_err(Trouble::Malformed)
    }
}

impl Source for Pieces {
    type Error = Trouble;

    fn poll_data(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Trouble>>> {
        loop {
            match self.poll_step() {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(trouble)) => return Poll::Ready(Some(Err(trouble))),
                Poll::Ready(Ok(Some(Step::Data(n)))) => {
                    let piece = self.held.split_to(n);
                    if let Some(left) = &mut self.left {
                        let Some(rest) = left.checked_sub(n as u64) else {
                            return Poll::Ready(Some(Err(self.mismatch())));
                        };
                        *left = rest;
                    }
                    return Poll::Ready(Some(Ok(piece)));
                }
                Poll::Ready(Ok(Some(Step::Trailers))) => {
                    if let Err(trouble) = self.take_trailers() {
                        return Poll::Ready(Some(Err(trouble)));
                    }
                }
                Poll::Ready(Ok(Some(Step::Head | Step::More))) => {}
                Poll::Ready(Ok(None)) if self.left.is_some_and(|left| left > 0) => {
                    return Poll::Ready(Some(Err(self.mismatch())));
                }
                Poll::Ready(Ok(None)) => return Poll::Ready(None),
            }
        }
    }

    fn poll_trailers(
        &mut self,
        _: &mut Context<'_>,
        lines: &mut Vec<u8>,
    ) -> Poll<Result<(), Trouble>> {
        lines.append(&mut self.trailers);
        Poll::Ready(Ok(()))
    }

    fn took(&mut self, _: usize) {}

    fn told(trouble: &Trouble) -> io::Error {
        match trouble {
            Trouble::Gone => io::ErrorKind::ConnectionReset.into(),
            Trouble::Malformed(defect) => {
                io::Error::new(io::ErrorKind::InvalidInput, defect.name())
            }
        }
    }
}
