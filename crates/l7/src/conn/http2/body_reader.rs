//! Converts a body that arrives in pieces to HTTP/1.1: plain bytes, or chunks with their trailers.
//!
//! The source of the pieces is an HTTP/2 stream (`stream_body`), or an HTTP/3 stream in `downstream::http3`. It is
//! notified as bytes are read, so that the peer is slowed down to the reader's rate. One piece is held at a time.

use std::io;
use std::task::{Context, Poll};

use bytes::Bytes;
use wire::http2::Http1BodyFraming;

use crate::conn::stream::StreamReadResult;

/// Space for a chunk's size line and the line end after its data.
/// Sixteen hex digits and two line ends.
const FRAMING: usize = 20;

/// Size of a chunk that is written when there is little space, in bytes.
const SMALL: usize = 1024;

/// The source of a body's pieces.
pub trait BodySource {
    type Error;
    /// The next piece; `None`: the body has ended.
    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>>;
    /// Appends the trailers as lines, after the last piece.
    fn poll_trailers(
        &mut self,
        cx: &mut Context<'_>,
        lines: &mut Vec<u8>,
    ) -> Poll<Result<(), Self::Error>>;
    /// Releases this many bytes of the window, so that the peer may send more.
    fn consumed(&mut self, n: usize);
    fn to_io_error(error: &Self::Error) -> io::Error;
}

pub struct BodyReader<S: BodySource> {
    source: S,
    form: Http1BodyFraming,
    piece: Bytes,
    /// Framing, or a small chunk, in HTTP/1.1.
    framing: Vec<u8>,
    at: usize,
    ended: bool,
    failed: Option<S::Error>,
}

impl<S: BodySource> BodyReader<S> {
    /// A body that is written in this framing.
    pub fn new(source: S, form: Http1BodyFraming) -> BodyReader<S> {
        let ended = form == Http1BodyFraming::None;
        let piece = Bytes::new();
        let framing = Vec::new();
        BodyReader { source, form, piece, framing, at: 0, ended, failed: None }
    }

    /// The error that broke the body, if there is one.
    pub fn failure(&self) -> Option<&S::Error> {
        self.failed.as_ref()
    }

    /// Whether a read would return something, including the end.
    pub fn may_read(&mut self, cx: &mut Context<'_>) -> bool {
        self.at < self.framing.len() || self.poll_piece(cx)
    }

    /// Reads the available bytes.
    pub fn read(&mut self, cx: &mut Context<'_>, into: &mut [u8]) -> StreamReadResult {
        let mut n = 0;
        while n < into.len() {
            if self.at < self.framing.len() {
                let rest = &self.framing[self.at..];
                let took = rest.len().min(into.len() - n);
                into[n..n + took].copy_from_slice(&rest[..took]);
                self.at += took;
                n += took;
                continue;
            }
            if !self.poll_piece(cx) {
                break;
            }
            if self.at < self.framing.len() {
                continue;
            }
            if self.piece.is_empty() {
                break;
            }
            n += self.take_piece(&mut into[n..]);
        }
        match (n, &self.failed) {
            (0, _) if self.at < self.framing.len() => StreamReadResult::WouldBlock,
            (0, Some(failed)) => StreamReadResult::Failed(S::to_io_error(failed)),
            (0, None) if self.ended => StreamReadResult::End,
            (0, None) => StreamReadResult::WouldBlock,
            (n, _) => StreamReadResult::Data(n),
        }
    }

    /// Copies part of the piece to `into`; returns how many bytes of `into` were used.
    fn take_piece(&mut self, into: &mut [u8]) -> usize {
        if self.form != Http1BodyFraming::Chunked {
            let n = self.piece.len().min(into.len());
            into[..n].copy_from_slice(&self.piece[..n]);
            self.consume(n);
            return n;
        }
        if into.len() < 2 * FRAMING {
            let n = self.piece.len().min(SMALL);
            self.framing.clear();
            self.framing.extend_from_slice(format!("{n:x}\r\n").as_bytes());
            self.framing.extend_from_slice(&self.piece[..n]);
            self.framing.extend_from_slice(b"\r\n");
            self.at = 0;
            self.consume(n);
            return 0;
        }
        let n = self.piece.len().min(into.len() - FRAMING);
        let mut to = io::Cursor::new(&mut *into);
        let mut put = |bytes: &[u8]| io::Write::write_all(&mut to, bytes).is_ok();
        // There is enough space: `FRAMING` is more than the longest size line and both line ends.
        let fits = put(format!("{n:x}\r\n").as_bytes()) && put(&self.piece[..n]) && put(b"\r\n");
        debug_assert!(fits, "a chunk of {n} bytes in {} of room", into.len());
        let used = n + 4 + hex_digits(n);
        self.consume(n);
        used
    }

    /// Removes `n` bytes from the piece and releases them to the source.
    fn consume(&mut self, n: usize) {
        // No result is ignored here: `split_to` returns the consumed bytes, which were copied before.
        let _ = self.piece.split_to(n);
        self.source.consumed(n);
    }

    /// Fetches the next piece if none is held; returns whether there is something to read.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> bool {
        while self.piece.is_empty() && !self.ended && self.failed.is_none() {
            match self.source.poll_data(cx) {
                Poll::Pending => return false,
                Poll::Ready(Some(Ok(piece))) => self.piece = piece,
                Poll::Ready(Some(Err(error))) => self.failed = Some(error),
                Poll::Ready(None) if self.form != Http1BodyFraming::Chunked => self.ended = true,
                Poll::Ready(None) => {
                    let mut lines = Vec::new();
                    match self.source.poll_trailers(cx, &mut lines) {
                        Poll::Pending => return false,
                        Poll::Ready(Ok(())) => self.write_last_chunk(&lines),
                        Poll::Ready(Err(error)) => self.failed = Some(error),
                    }
                }
            }
        }
        true
    }

    /// Writes the last chunk, with the trailers.
    fn write_last_chunk(&mut self, lines: &[u8]) {
        self.framing.clear();
        self.at = 0;
        for part in [b"0\r\n", lines, b"\r\n"] {
            self.framing.extend_from_slice(part);
        }
        self.ended = true;
    }
}

fn hex_digits(n: usize) -> usize {
    (usize::BITS - n.leading_zeros()).div_ceil(4).max(1) as usize
}
