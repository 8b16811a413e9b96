//! Sends a body in HTTP/1.1 framing over HTTP/2: the framing is removed, and trailers are sent as an HTTP/2 field
//! section.
//!
//! The writer accepts no more than the peer's window and the limit of the stream's buffer allow, so the caller sees the
//! same back-pressure as from a socket.

use std::io;

use wire::field_section::FieldSection;
use wire::http1::{ChunkedDecoder, ChunkedOutput};
use wire::http2::ClosedStream;

use super::connection::OpenStream;
use crate::conn::stream::StreamWriteResult;
use crate::rt::NetDriver;

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
    form: OutgoingFraming,
}

impl BodyWriter {
    pub fn new(form: OutgoingFraming) -> BodyWriter {
        BodyWriter { form }
    }

    /// Chunked coding, whose trailers are sent as a field section.
    pub fn chunks() -> OutgoingFraming {
        OutgoingFraming::Chunked(Box::new(ChunkedDecoder::new(ChunkedOutput::SeparateTrailers)))
    }

    /// Whether the body is completely written.
    pub fn is_done(&self) -> bool {
        matches!(self.form, OutgoingFraming::Done)
    }

    /// Ends a body of unknown length.
    pub fn end<N: NetDriver>(&mut self, stream: &OpenStream<N>) {
        if matches!(self.form, OutgoingFraming::UntilEnd) {
            self.form = OutgoingFraming::Done;
            // An error means that the stream is broken, which the next read reports.
            let _ = send_data(stream, &[], true);
        }
    }

    /// Nothing more is written: the stream was reset.
    pub fn abandon(&mut self) {
        self.form = OutgoingFraming::Done;
    }

    /// Whether a write would accept something.
    pub fn may_write<N: NetDriver>(&self, stream: &OpenStream<N>) -> bool {
        capacity(stream) > 0 || stream.reset_cause().is_some()
    }

    /// Writes as much as is accepted.
    pub fn write<N: NetDriver>(
        &mut self,
        stream: &OpenStream<N>,
        from: &[u8],
    ) -> StreamWriteResult {
        let wrote = match &self.form {
            OutgoingFraming::Chunked(_) => self.write_chunks(stream, from),
            OutgoingFraming::Length(_) | OutgoingFraming::UntilEnd => {
                self.write_plain(stream, from)
            }
            OutgoingFraming::Done => Err(io::ErrorKind::InvalidData.into()),
        };
        match wrote {
            Ok(0) if !from.is_empty() => StreamWriteResult::WouldBlock,
            Ok(n) => StreamWriteResult::Bytes(n),
            Err(error) => StreamWriteResult::Failed(error),
        }
    }

    fn write_plain<N: NetDriver>(
        &mut self,
        stream: &OpenStream<N>,
        from: &[u8],
    ) -> io::Result<usize> {
        let OutgoingFraming::Length(left) = &mut self.form else {
            return send_data(stream, from, false);
        };
        let most = usize::try_from(*left).unwrap_or(usize::MAX);
        let offered = &from[..from.len().min(most)];
        let n = send_data(stream, offered, offered.len() == most)?;
        *left -= n as u64;
        if *left == 0 {
            self.form = OutgoingFraming::Done;
        }
        Ok(n)
    }

    fn write_chunks<N: NetDriver>(
        &mut self,
        stream: &OpenStream<N>,
        from: &[u8],
    ) -> io::Result<usize> {
        let OutgoingFraming::Chunked(decoder) = &mut self.form else { return Ok(0) };
        let room = capacity(stream);
        if room == 0 && stream.reset_cause().is_some() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mut out = Vec::with_capacity(from.len().min(room));
        let mut at = 0;
        let mut finished = false;
        while at < from.len() && !finished {
            // The data is never longer than its chunks. Framing alone is not sent, so it needs no window.
            let free = room - out.len();
            let most = match decoder.remaining_data() {
                0 => free.max(1),
                _ => free,
            };
            if most == 0 {
                break;
            }
            let n = most.min(from.len() - at);
            let fed = decoder.feed(&from[at..at + n], &mut out);
            let fed = fed.map_err(|defect| io::Error::new(io::ErrorKind::InvalidData, defect))?;
            finished = fed.finished;
            at += fed.consumed;
        }
        let trailers = if finished { decoder.take_trailers() } else { Vec::new() };
        let ends = finished && trailers.is_empty();
        if !out.is_empty() || ends {
            send_data(stream, &out, ends)?;
        }
        if !trailers.is_empty() {
            let fields = trailer_fields(&trailers);
            stream
                .connection()
                .with_machine(|machine| machine.send_trailers(stream.id(), fields))
                .map_err(gone_error)?;
        }
        if finished {
            self.form = OutgoingFraming::Done;
        }
        Ok(at)
    }
}

/// Bytes that the stream accepts now. 0: its task is woken when that changes.
fn capacity<N: NetDriver>(stream: &OpenStream<N>) -> usize {
    stream.connection().machine().capacity(stream.id())
}

fn send_data<N: NetDriver>(stream: &OpenStream<N>, bytes: &[u8], ends: bool) -> io::Result<usize> {
    let connection = stream.connection();
    let sent = connection.with_machine(|machine| machine.send_data(stream.id(), bytes, ends));
    let n = sent.map_err(gone_error)?;
    // What the connection's window holds back does not wait for the transport.
    if n > 0 && connection.machine().has_output() {
        connection.body_queued();
    }
    Ok(n)
}

/// The error of a write to a stream that is gone.
pub fn gone_error(gone: ClosedStream) -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, gone)
}

/// Converts trailer lines, each with its line end, to fields; the decoder has validated the lines.
fn trailer_fields(lines: &[u8]) -> FieldSection {
    let mut fields = FieldSection::default();
    for line in lines.split(|byte| *byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        fields.push_lowercase(&line[..colon], line[colon + 1..].trim_ascii());
    }
    fields
}
