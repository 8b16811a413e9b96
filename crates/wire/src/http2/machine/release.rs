//! What the application reads of a stream, and how streams and windows are given back.

use super::Http2Machine;
use crate::field_section::FieldSection;
use crate::http2::error_code::ErrorCode;
use crate::http2::event::{BodyPart, Http2Event, StreamReset};
use crate::http2::frames::{append_reset, append_window_update};
use crate::http2::settings::ConnectionRole;
use crate::http2::stream_record::{OutgoingEnd, StreamHalf};

/// Reset streams that are remembered, so that frames in flight are ignored.
/// As many streams as a client may have open by default.
const REMEMBERED_RESETS: usize = 100;

impl Http2Machine {
    /// The next part of a stream's body.
    pub fn read_data(&mut self, stream: u32) -> BodyPart {
        let Some(record) = self.streams.get_mut(&stream).filter(|record| !record.reset) else {
            return BodyPart::Gone;
        };
        match record.incoming.pieces.pop_front() {
            Some(piece) => BodyPart::Data(piece),
            None if record.remote == StreamHalf::Closed => BodyPart::End,
            None => BodyPart::Pending,
        }
    }

    /// Whether `read_data` returns something other than `Pending`.
    pub fn is_readable(&self, stream: u32) -> bool {
        self.streams.get(&stream).is_none_or(|record| {
            record.reset
                || record.remote == StreamHalf::Closed
                || !record.incoming.pieces.is_empty()
        })
    }

    /// The trailers of a body that has ended.
    pub fn take_trailers(&mut self, stream: u32) -> Option<FieldSection> {
        let trailers = self.streams.get_mut(&stream)?.incoming.trailers.take()?;
        Some(*trailers)
    }

    /// Returns bytes of the windows that the application has consumed.
    pub fn release(&mut self, stream: u32, bytes: usize) {
        let Some(record) = self.streams.get_mut(&stream) else { return };
        let window = &mut record.incoming.window;
        let bytes = bytes.min(window.unreleased());
        let increment = window.release(bytes);
        if let Some(increment) = increment.filter(|_| record.remote == StreamHalf::Body) {
            append_window_update(stream, increment, &mut self.output.bytes);
        }
        self.release_connection(bytes);
    }

    pub(super) fn release_connection(&mut self, bytes: usize) {
        if let Some(increment) = self.receive_window.release(bytes)
            && !self.failed
        {
            append_window_update(0, increment, &mut self.output.bytes);
        }
    }

    /// Resets a stream. What it has buffered in both directions is dropped, and no event follows.
    pub fn reset(&mut self, stream: u32, code: ErrorCode) {
        let Some(record) = self.streams.get(&stream) else { return };
        if record.reset || record.is_closed() || self.failed {
            return;
        }
        append_reset(stream, code, &mut self.output.bytes);
        self.remember_reset(stream);
        self.drop_stream(stream);
        self.settle(stream);
    }

    /// The application needs the stream no more. What it has ended is still sent; otherwise the stream is reset with
    /// `code`.
    pub fn close_stream(&mut self, stream: u32, code: ErrorCode) {
        let Some(record) = self.streams.get_mut(&stream) else { return };
        record.released = true;
        let ended =
            record.local == StreamHalf::Closed || !matches!(record.outgoing.end, OutgoingEnd::Open);
        // A request whose response is not wanted need not be sent either.
        let wanted = self.role == ConnectionRole::Server || record.remote == StreamHalf::Closed;
        if !ended || !wanted {
            self.reset(stream, code);
        }
        self.drop_incoming(stream);
        self.settle(stream);
    }

    /// Drops what a stream has received, and returns its window to the connection.
    fn drop_incoming(&mut self, stream: u32) {
        let Some(record) = self.streams.get_mut(&stream) else { return };
        record.incoming.pieces.clear();
        record.incoming.trailers = None;
        let unreleased = record.incoming.window.unreleased();
        self.release(stream, unreleased);
    }

    /// Closes both sides of a stream and drops what it has buffered.
    fn drop_stream(&mut self, stream: u32) {
        if let Some(record) = self.streams.get_mut(&stream) {
            record.reset = true;
            record.remote = StreamHalf::Closed;
        }
        self.drop_incoming(stream);
        self.drop_outgoing(stream);
    }

    /// Drops what waits to be sent, and closes this side of the stream.
    fn drop_outgoing(&mut self, stream: u32) {
        let Some(record) = self.streams.get_mut(&stream) else { return };
        record.local = StreamHalf::Closed;
        self.buffered -= record.outgoing.bytes;
        record.drop_outgoing();
        if std::mem::take(&mut record.outgoing.scheduled) {
            self.scheduler.remove(stream, record.priority);
        }
    }

    /// A stream has broken: the application is told.
    pub(super) fn break_stream(&mut self, stream: u32, reset: StreamReset) {
        let Some(record) = self.streams.get(&stream).filter(|record| !record.reset) else { return };
        if !record.released {
            self.events.push_back(Http2Event::Ended { stream, reset });
        }
        self.drop_stream(stream);
        self.settle(stream);
    }

    /// The peer wants no more of a stream's body.
    pub(super) fn stop_stream(&mut self, stream: u32, code: ErrorCode) {
        let Some(record) = self.streams.get(&stream) else { return };
        if !record.released && record.local != StreamHalf::Closed {
            self.events.push_back(Http2Event::Stopped { stream, code });
        }
        self.drop_outgoing(stream);
        self.settle(stream);
    }

    /// Notes that a stream may have closed, and forgets it once the application has closed it too.
    pub(super) fn settle(&mut self, stream: u32) {
        let Some(record) = self.streams.get_mut(&stream) else { return };
        if record.released && record.local == StreamHalf::Closed && !record.is_closed() {
            // The rest of the request or response is not wanted (RFC 9113 §8.1).
            let code = match self.role {
                ConnectionRole::Server => ErrorCode::NO_ERROR,
                ConnectionRole::Client => ErrorCode::CANCEL,
            };
            append_reset(stream, code, &mut self.output.bytes);
            record.remote = StreamHalf::Closed;
            record.reset = true;
            self.remember_reset(stream);
            self.drop_incoming(stream);
        }
        let Some(record) = self.streams.get_mut(&stream) else { return };
        if !record.is_closed() {
            return;
        }
        if std::mem::take(&mut record.counted) {
            self.active -= 1;
        }
        if record.released {
            self.streams.remove(&stream);
        }
    }

    /// Notes that this side has reset a stream.
    pub(super) fn remember_reset(&mut self, stream: u32) {
        if self.recently_reset.len() >= REMEMBERED_RESETS
            && let Some(oldest) = self.recently_reset.pop_front()
        {
            self.forgotten_reset = self.forgotten_reset.max(oldest);
        }
        self.recently_reset.push_back(stream);
    }
}
