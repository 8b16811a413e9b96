//! Sends a body in HTTP/1.1 framing over HTTP/2: the framing is removed, and trailers are sent as an HTTP/2 field
//! section.
//!
//! The writer accepts no more than the peer's windows and the limit of the library's buffer allow, so the caller sees
//! the same back-pressure as from a socket.

use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;
use h2::SendStream;
use http::{HeaderMap, HeaderName, HeaderValue};
use wire::http1::{ChunkedDecoder, ChunkedOutput};

use super::connection::Http2Connection;
use crate::conn::stream::StreamWriteResult;

/// Pieces smaller than this count as tiny, if the peer's window cut them from a larger write.
/// A frame's header has nine bytes; below 64 the framing costs more than a tenth.
const TINY_PIECE_BYTES: usize = 64;

/// Most window capacity that is requested at a time, in bytes.
/// Memory for one stream; a larger body asks again as it is sent.
const MAX_CAPACITY_REQUEST: usize = 64 * 1024;

/// How the end of a body is determined.
pub enum OutgoingFraming {
    /// This many bytes are left.
    Length(u64),
    Chunked(Box<ChunkedDecoder>),
    /// The body ends when the writer calls `end`.
    UntilEnd,
    Done,
}

pub struct BodyWriter {
    send: SendStream<Bytes>,
    form: OutgoingFraming,
}

impl BodyWriter {
    pub fn new(send: SendStream<Bytes>, form: OutgoingFraming) -> BodyWriter {
        BodyWriter { send, form }
    }

    /// Chunked coding, whose trailers are sent as a field section.
    pub fn chunks() -> OutgoingFraming {
        OutgoingFraming::Chunked(Box::new(ChunkedDecoder::new(ChunkedOutput::SeparateTrailers)))
    }

    /// Whether the body is completely written.
    pub fn is_done(&self) -> bool {
        matches!(self.form, OutgoingFraming::Done)
    }

    /// The error, if the peer has reset the stream.
    pub fn is_given_up(&mut self, cx: &mut Context<'_>) -> Option<h2::Error> {
        match self.send.poll_reset(cx) {
            Poll::Pending => None,
            Poll::Ready(Ok(reason)) => Some(reason.into()),
            Poll::Ready(Err(error)) => Some(error),
        }
    }

    /// Ends a body of unknown length.
    pub fn end(&mut self) {
        if matches!(self.form, OutgoingFraming::UntilEnd) {
            self.form = OutgoingFraming::Done;
            // An error means that the stream is broken, which the next read reports.
            let _ = self.send.send_data(Bytes::new(), true);
        }
    }

    /// Resets the stream, so that the peer does not treat the body as complete.
    pub fn reset(&mut self, reason: h2::Reason) {
        self.form = OutgoingFraming::Done;
        self.send.send_reset(reason);
    }

    /// Whether a write would accept something.
    pub fn may_write(&mut self, cx: &mut Context<'_>) -> bool {
        !matches!(self.poll_room(cx, 1), Ok(0))
    }

    /// Writes as much as is accepted.
    pub fn write(
        &mut self,
        cx: &mut Context<'_>,
        from: &[u8],
        link: &Http2Connection,
    ) -> StreamWriteResult {
        let wrote = match &self.form {
            OutgoingFraming::Chunked(_) => self.write_chunks(cx, from, link),
            OutgoingFraming::Length(_) | OutgoingFraming::UntilEnd => {
                self.write_plain(cx, from, link)
            }
            OutgoingFraming::Done => Err(io::ErrorKind::InvalidData.into()),
        };
        match wrote {
            Ok(0) if !from.is_empty() => StreamWriteResult::WouldBlock,
            Ok(n) => StreamWriteResult::Bytes(n),
            Err(error) => StreamWriteResult::Failed(error),
        }
    }

    fn write_plain(
        &mut self,
        cx: &mut Context<'_>,
        from: &[u8],
        link: &Http2Connection,
    ) -> io::Result<usize> {
        let most = match self.form {
            OutgoingFraming::Length(left) => usize::try_from(left).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        let wanted = from.len().min(most);
        let n = self.poll_room(cx, wanted)?.min(wanted);
        if n == 0 {
            return Ok(0);
        }
        count_tiny_piece(n, wanted, link);
        let mut ends = false;
        if let OutgoingFraming::Length(left) = &mut self.form {
            *left -= n as u64;
            ends = *left == 0;
        }
        link.data_queued(n);
        self.send_data(Bytes::copy_from_slice(&from[..n]), ends)?;
        if ends {
            self.form = OutgoingFraming::Done;
        }
        Ok(n)
    }

    fn write_chunks(
        &mut self,
        cx: &mut Context<'_>,
        from: &[u8],
        link: &Http2Connection,
    ) -> io::Result<usize> {
        let OutgoingFraming::Chunked(mut decoder) =
            std::mem::replace(&mut self.form, OutgoingFraming::Done)
        else {
            return Ok(0);
        };
        let mut at = 0;
        let mut out = Vec::new();
        let mut finished = false;
        while at < from.len() && !finished {
            let left = usize::try_from(decoder.remaining_data()).unwrap_or(usize::MAX);
            // Framing bytes are not sent, so they need no window.
            let mut n = 1;
            if left > 0 {
                let wanted = left.min(from.len() - at);
                let room = self.poll_room(cx, out.len() + wanted)?.saturating_sub(out.len());
                n = room.min(wanted);
                if n == 0 {
                    break;
                }
                count_tiny_piece(n, wanted, link);
            }
            let fed = decoder.feed(&from[at..at + n], &mut out);
            finished =
                fed.map_err(|defect| io::Error::new(io::ErrorKind::InvalidData, defect))?.finished;
            at += n;
        }
        if !finished {
            self.form = OutgoingFraming::Chunked(decoder);
            if !out.is_empty() {
                link.data_queued(out.len());
                self.send_data(Bytes::from(out), false)?;
            }
            return Ok(at);
        }
        let trailers = decoder.take_trailers();
        if !out.is_empty() || trailers.is_empty() {
            link.data_queued(out.len());
            self.send_data(Bytes::from(out), trailers.is_empty())?;
        }
        if !trailers.is_empty() {
            link.head_queued();
            self.send.send_trailers(trailer_fields(&trailers)).map_err(send_io_error)?;
        }
        Ok(at)
    }

    fn send_data(&mut self, bytes: Bytes, ends: bool) -> io::Result<()> {
        self.send.send_data(bytes, ends).map_err(send_io_error)
    }

    /// The number of bytes that may be sent now, up to `wanted`. 0: the task is woken when the window opens.
    fn poll_room(&mut self, cx: &mut Context<'_>, wanted: usize) -> io::Result<usize> {
        let wanted = wanted.clamp(1, MAX_CAPACITY_REQUEST);
        if self.send.capacity() >= wanted {
            return Ok(self.send.capacity());
        }
        self.send.reserve_capacity(wanted);
        loop {
            let room = self.send.capacity();
            if room > 0 {
                return Ok(room);
            }
            match self.send.poll_capacity(cx) {
                Poll::Pending => return Ok(0),
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(error))) => return Err(send_io_error(error)),
                Poll::Ready(None) => return Err(io::ErrorKind::BrokenPipe.into()),
            }
        }
    }
}

fn send_io_error(error: h2::Error) -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, error)
}

fn count_tiny_piece(n: usize, wanted: usize, link: &Http2Connection) {
    if n < TINY_PIECE_BYTES && n < wanted {
        link.count_tiny_piece();
    }
}

/// Converts trailer lines, each with its line end, to fields; the decoder has validated the lines.
fn trailer_fields(lines: &[u8]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for line in lines.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let name = HeaderName::from_bytes(&line[..colon]);
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value) {
            fields.append(name, value);
        }
    }
    fields
}
