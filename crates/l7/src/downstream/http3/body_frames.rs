//! Reads the body of a request from its HTTP/3 stream: pieces and trailers, checked against Content-Length.
//!
//! More is read only after the previous bytes were consumed, so that the client is slowed down to the reader's rate.

use std::io;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use quinn_proto::StreamId;
use wire::http1::Defect;
use wire::http3::{
    FrameEvent, FrameReader, FrameStep, Http3Error, code, decode, write_trailer_lines,
};

use crate::conn::http2::body_reader::BodySource;
use crate::downstream::quic::connection::{MAX_UNSENT, QuicConnection, QuicReadResult};

/// Why a body ended with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFault {
    /// The client reset the stream, or its connection is gone.
    Gone,
    /// The body violates a rule.
    Malformed(Defect),
}

/// The frames of one stream.
pub struct Http3BodyFrames {
    connection: Rc<QuicConnection>,
    id: StreamId,
    frames: FrameReader,
    buffered: Bytes,
    /// How much of the declared Content-Length is still to come.
    remaining_body: Option<u64>,
    trailers: Vec<u8>,
    /// Size limit of the trailers in bytes.
    most: usize,
    ended: bool,
}

impl Http3BodyFrames {
    /// For a stream whose head may have up to `most` bytes.
    pub fn new(link: Rc<QuicConnection>, id: StreamId, most: usize) -> Http3BodyFrames {
        // An encoded head may be longer than its fields, but not by much; a longer one is rejected here.
        let frames = FrameReader::new(most.saturating_mul(2));
        let held = Bytes::new();
        let trailers = Vec::new();
        Http3BodyFrames {
            connection: link,
            id,
            frames,
            buffered: held,
            remaining_body: None,
            trailers,
            most,
            ended: false,
        }
    }

    /// Sets the expected length of the body.
    pub fn expect_length(&mut self, length: u64) {
        self.remaining_body = Some(length);
    }

    /// The encoded head, once it is complete; `None`: the stream ended without one.
    pub fn poll_head(&mut self) -> Poll<Result<Option<Vec<u8>>, BodyFault>> {
        loop {
            match self.poll_step() {
                Poll::Ready(Ok(Some(FrameEvent::Head))) => {
                    return Poll::Ready(Ok(Some(self.frames.take_field_section())));
                }
                Poll::Ready(Ok(Some(_))) => {}
                Poll::Ready(Ok(None)) => return Poll::Ready(Ok(None)),
                Poll::Ready(Err(trouble)) => return Poll::Ready(Err(trouble)),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Whether nothing follows the bytes read, as far as is known now.
    pub fn is_finished(&mut self) -> bool {
        if self.buffered.is_empty() && !self.ended {
            match self.connection.read(self.id, MAX_UNSENT) {
                QuicReadResult::Bytes(bytes) => self.buffered = bytes,
                QuicReadResult::End => self.ended = true,
                QuicReadResult::Pending | QuicReadResult::Broken => {}
            }
        }
        self.buffered.is_empty() && self.ended
    }

    /// The next event; `None`: the end. The bytes of a `Data` event are at the start of `buffered`.
    fn poll_step(&mut self) -> Poll<Result<Option<FrameEvent>, BodyFault>> {
        loop {
            if self.buffered.is_empty() {
                if self.ended {
                    let end = self.frames.finish();
                    return Poll::Ready(
                        end.map(|()| None).map_err(|broken| self.body_fault(broken)),
                    );
                }
                match self.connection.read(self.id, MAX_UNSENT) {
                    QuicReadResult::Bytes(bytes) => self.buffered = bytes,
                    QuicReadResult::Pending => return Poll::Pending,
                    QuicReadResult::End => self.ended = true,
                    QuicReadResult::Broken => return Poll::Ready(Err(BodyFault::Gone)),
                }
                continue;
            }
            let FrameStep { used, event: step } = match self.frames.step(&self.buffered) {
                Ok(done) => done,
                Err(broken) => return Poll::Ready(Err(self.body_fault(broken))),
            };
            match step {
                FrameEvent::Data(n) => {
                    self.buffered.advance(used - n);
                    return Poll::Ready(Ok(Some(step)));
                }
                FrameEvent::More => self.buffered.advance(used),
                FrameEvent::Head | FrameEvent::Trailers => {
                    self.buffered.advance(used);
                    return Poll::Ready(Ok(Some(step)));
                }
            }
        }
    }

    fn body_fault(&self, broken: Http3Error) -> BodyFault {
        match broken {
            Http3Error::TooLarge => BodyFault::Malformed(Defect::HeadTooLarge),
            Http3Error::Connection(code) => {
                self.connection.request_close(code);
                BodyFault::Malformed(Defect::Http3Protocol)
            }
        }
    }

    /// Requests that the connection is closed with this error code.
    pub fn fail_connection(&self, code: u64) {
        self.connection.request_close(code);
    }

    fn mismatch(&self) -> BodyFault {
        self.connection.stop(self.id, code::MESSAGE_ERROR);
        BodyFault::Malformed(Defect::LengthMismatch)
    }

    fn take_trailers(&mut self) -> Result<(), BodyFault> {
        let block = self.frames.take_field_section();
        let fields = decode(&block, self.most).map_err(|broken| self.body_fault(broken))?;
        write_trailer_lines(&fields, &mut self.trailers).map_err(BodyFault::Malformed)
    }
}

impl BodySource for Http3BodyFrames {
    type Error = BodyFault;

    fn poll_data(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyFault>>> {
        loop {
            match self.poll_step() {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(trouble)) => return Poll::Ready(Some(Err(trouble))),
                Poll::Ready(Ok(Some(FrameEvent::Data(n)))) => {
                    let piece = self.buffered.split_to(n);
                    if let Some(left) = &mut self.remaining_body {
                        let Some(rest) = left.checked_sub(n as u64) else {
                            return Poll::Ready(Some(Err(self.mismatch())));
                        };
                        *left = rest;
                    }
                    return Poll::Ready(Some(Ok(piece)));
                }
                Poll::Ready(Ok(Some(FrameEvent::Trailers))) => {
                    if let Err(trouble) = self.take_trailers() {
                        return Poll::Ready(Some(Err(trouble)));
                    }
                }
                Poll::Ready(Ok(Some(FrameEvent::Head | FrameEvent::More))) => {}
                Poll::Ready(Ok(None)) if self.remaining_body.is_some_and(|left| left > 0) => {
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
    ) -> Poll<Result<(), BodyFault>> {
        lines.append(&mut self.trailers);
        Poll::Ready(Ok(()))
    }

    fn consumed(&mut self, _: usize) {}

    fn to_io_error(trouble: &BodyFault) -> io::Error {
        match trouble {
            BodyFault::Gone => io::ErrorKind::ConnectionReset.into(),
            BodyFault::Malformed(defect) => {
                io::Error::new(io::ErrorKind::InvalidInput, defect.name())
            }
        }
    }
}
