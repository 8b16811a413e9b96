//! What the application sends: heads at once, data within the windows and a limit, trailers after the data.

use bytes::Bytes;

use super::Http2Machine;
use crate::field_section::FieldSection;
use crate::http2::abuse::AbuseKind;
use crate::http2::event::{ClosedStream, Http2Event, OpenRefusal};
use crate::http2::frames::{
    HEADER_BYTES, MAX_31_BITS, append_header, flag, frame_field_block, kind,
};
use crate::http2::priority::StreamPriority;
use crate::http2::settings::{ConnectionRole, SENT_PAYLOAD};
use crate::http2::stream_record::{OutgoingEnd, StreamHalf};

/// Unsent output below which data is written at once; above, the streams take turns.
const DIRECT_BYTES: usize = 64 * 1024;

/// Pieces smaller than this count as tiny, if the peer's window cut them from a larger write.
/// A frame's header has nine bytes; below 64 the framing costs more than a tenth.
pub(super) const TINY_BYTES: usize = 64;

/// Room that is worth waking a stream for, unless its window is smaller.
const WORTHY_ROOM: usize = 4 * 1024;

impl Http2Machine {
    /// Why a client cannot open a stream now.
    pub(super) fn open_refusal(&self) -> Option<OpenRefusal> {
        if self.is_closing() || self.role == ConnectionRole::Server {
            Some(OpenRefusal::Closing)
        } else if self.next_stream > MAX_31_BITS {
            Some(OpenRefusal::IdsUsed)
        } else if self.active >= self.peer.concurrent_streams as usize {
            Some(OpenRefusal::Limit)
        } else {
            None
        }
    }

    /// Opens a stream with a request's head; returns its id.
    ///
    /// # Errors
    /// The reason why no stream can be opened now.
    pub fn open_stream(
        &mut self,
        fields: &FieldSection,
        end_stream: bool,
    ) -> Result<u32, OpenRefusal> {
        if let Some(refusal) = self.open_refusal() {
            return Err(refusal);
        }
        let stream = self.next_stream;
        self.next_stream += 2;
        let mut record = self.new_record();
        record.is_head = fields.get(b":method") == Some(b"HEAD");
        record.local = if end_stream { StreamHalf::Closed } else { StreamHalf::Body };
        self.active += 1;
        self.streams.insert(stream, record);
        self.write_head(stream, fields, end_stream);
        Ok(stream)
    }

    /// Sends a response with a status below 200.
    ///
    /// # Errors
    /// The stream has sent its final head, or is gone.
    pub fn send_informational(
        &mut self,
        stream: u32,
        fields: &FieldSection,
    ) -> Result<(), ClosedStream> {
        let record = self.streams.get(&stream).ok_or(ClosedStream)?;
        if record.local != StreamHalf::Head {
            return Err(ClosedStream);
        }
        self.write_head(stream, fields, false);
        Ok(())
    }

    /// Sends the head of the final response.
    ///
    /// # Errors
    /// The stream has sent its final head, or is gone.
    pub fn send_response(
        &mut self,
        stream: u32,
        fields: &FieldSection,
        end_stream: bool,
    ) -> Result<(), ClosedStream> {
        let record = self.streams.get_mut(&stream).ok_or(ClosedStream)?;
        if record.local != StreamHalf::Head {
            return Err(ClosedStream);
        }
        record.local = if end_stream { StreamHalf::Closed } else { StreamHalf::Body };
        self.write_head(stream, fields, end_stream);
        self.settle(stream);
        Ok(())
    }

    pub(super) fn write_head(&mut self, stream: u32, fields: &FieldSection, end_stream: bool) {
        let out = &mut self.output.bytes;
        let begin = out.len();
        out.extend_from_slice(&[0; HEADER_BYTES]);
        self.encoder.encode(fields, out);
        frame_field_block(stream, end_stream, begin, SENT_PAYLOAD, out);
    }

    /// Bytes of data that are accepted now. After 0, `Writable` follows.
    pub fn capacity(&mut self, stream: u32) -> usize {
        let Some(record) = self.streams.get_mut(&stream) else { return 0 };
        if !record.takes_data() {
            return 0;
        }
        let room = record.room(self.limits.send_buffer_bytes);
        record.outgoing.wants_room |= room == 0;
        room
    }

    /// Takes the start of `data`, as much as `capacity` allows; returns how much. Only if that is all, `end_stream` ends
    /// the stream. Otherwise, `Writable` follows once there is room.
    ///
    /// # Errors
    /// The stream is gone, was ended, or has sent no head.
    pub fn send_data(
        &mut self,
        stream: u32,
        data: &[u8],
        end_stream: bool,
    ) -> Result<usize, ClosedStream> {
        let taken = self.accept_data(stream, data.len(), end_stream)?;
        let ends = end_stream && taken == data.len();
        let direct = self.direct_bytes(stream, taken);
        if direct > 0 || (taken == 0 && ends && self.has_nothing_buffered(stream)) {
            let whole = direct == taken;
            self.write_data(stream, &data[..direct], ends && whole);
        }
        if direct < taken {
            self.buffer_data(stream, Bytes::copy_from_slice(&data[direct..taken]));
        }
        self.end_data(stream, ends);
        Ok(taken)
    }

    /// The same with a piece that is kept without a copy until it is sent. What was taken is removed from `data`.
    ///
    /// # Errors
    /// The stream is gone, was ended, or has sent no head.
    pub fn send_bytes(
        &mut self,
        stream: u32,
        data: &mut Bytes,
        end_stream: bool,
    ) -> Result<usize, ClosedStream> {
        if data.len() <= SENT_PAYLOAD {
            let taken = self.send_data(stream, data, end_stream)?;
            bytes::Buf::advance(data, taken);
            return Ok(taken);
        }
        let taken = self.accept_data(stream, data.len(), end_stream)?;
        let ends = end_stream && taken == data.len();
        if taken > 0 {
            self.buffer_data(stream, data.split_to(taken));
        }
        self.end_data(stream, ends);
        Ok(taken)
    }

    /// How much of `offered` bytes a stream takes. Callers that ask for the capacity offer no more, so a tiny piece counts
    /// if it uses up the window and more of the body follows.
    fn accept_data(
        &mut self,
        stream: u32,
        offered: usize,
        end_stream: bool,
    ) -> Result<usize, ClosedStream> {
        let record = self.streams.get_mut(&stream).ok_or(ClosedStream)?;
        if !record.takes_data() {
            return Err(ClosedStream);
        }
        let taken = record.room(self.limits.send_buffer_bytes).min(offered);
        let outgoing = &mut record.outgoing;
        outgoing.wants_room |= taken < offered;
        let cut_by_window = outgoing.window.available() <= outgoing.bytes + taken;
        let more_follows = taken < offered || !end_stream;
        if more_follows && (1..TINY_BYTES).contains(&taken) && cut_by_window {
            self.abuse.record(AbuseKind::Tiny, self.now);
        }
        Ok(taken)
    }

    /// How much of a stream's data goes directly to the output, because nothing else waits.
    fn direct_bytes(&self, stream: u32, taken: usize) -> usize {
        let room = DIRECT_BYTES.saturating_sub(self.output.unsent_bytes());
        if !self.scheduler.is_empty() || !self.has_nothing_buffered(stream) {
            return 0;
        }
        taken.min(room).min(self.send_window.available())
    }

    fn has_nothing_buffered(&self, stream: u32) -> bool {
        self.streams.get(&stream).is_some_and(|record| record.outgoing.bytes == 0)
    }

    /// Writes DATA frames; the windows allow as much.
    fn write_data(&mut self, stream: u32, data: &[u8], end_stream: bool) {
        let Some(record) = self.streams.get_mut(&stream) else { return };
        record.outgoing.window.consume(data.len());
        self.send_window.consume(data.len());
        let out = &mut self.output.bytes;
        let end_flag = if end_stream { flag::END_STREAM } else { 0 };
        if data.is_empty() {
            append_header(kind::DATA, end_flag, stream, 0, out);
        }
        let mut pieces = data.chunks(SENT_PAYLOAD).peekable();
        while let Some(piece) = pieces.next() {
            let flags = if pieces.peek().is_none() { end_flag } else { 0 };
            append_header(kind::DATA, flags, stream, piece.len(), out);
            out.extend_from_slice(piece);
        }
        if end_stream {
            record.local = StreamHalf::Closed;
            self.settle(stream);
        }
    }

    fn buffer_data(&mut self, stream: u32, piece: Bytes) {
        let Some(record) = self.streams.get_mut(&stream) else { return };
        record.outgoing.bytes += piece.len();
        self.buffered += piece.len();
        record.outgoing.pieces.push_back(piece);
        self.schedule(stream);
    }

    /// Ends a stream after its buffered data.
    fn end_data(&mut self, stream: u32, ends: bool) {
        let Some(record) = self.streams.get_mut(&stream) else { return };
        if ends && record.local == StreamHalf::Body {
            record.outgoing.end = OutgoingEnd::EndStream;
        }
    }

    /// Sends trailers after the stream's buffered data, and ends the stream.
    ///
    /// # Errors
    /// The stream is gone, was ended, or has sent no head.
    pub fn send_trailers(&mut self, stream: u32, fields: FieldSection) -> Result<(), ClosedStream> {
        let record = self.streams.get_mut(&stream).ok_or(ClosedStream)?;
        if !record.takes_data() {
            return Err(ClosedStream);
        }
        if record.outgoing.bytes > 0 {
            record.outgoing.end = OutgoingEnd::Trailers(Box::new(fields));
            return Ok(());
        }
        record.local = StreamHalf::Closed;
        self.write_head(stream, &fields, true);
        self.recycle(fields);
        self.settle(stream);
        Ok(())
    }

    /// Body bytes of a stream that wait to be sent.
    pub fn buffered(&self, stream: u32) -> usize {
        self.streams.get(&stream).map_or(0, |record| record.outgoing.bytes)
    }

    /// Body bytes of all streams that wait to be sent.
    pub fn buffered_total(&self) -> usize {
        self.buffered
    }

    /// Changes the priority by which a stream's data is sent.
    pub fn set_priority(&mut self, stream: u32, priority: StreamPriority) {
        let Some(record) = self.streams.get_mut(&stream) else { return };
        let before = std::mem::replace(&mut record.priority, priority);
        if record.outgoing.scheduled {
            self.scheduler.remove(stream, before);
            self.scheduler.add(stream, priority);
        }
    }

    /// Enters a stream into the scheduler if it has data that its window allows.
    pub(super) fn schedule(&mut self, stream: u32) {
        let Some(record) = self.streams.get_mut(&stream) else { return };
        let outgoing = &mut record.outgoing;
        if outgoing.bytes > 0 && outgoing.window.available() > 0 && !outgoing.scheduled {
            outgoing.scheduled = true;
            self.scheduler.add(stream, record.priority);
        }
    }

    /// A stream's window has changed.
    pub(super) fn window_opened(&mut self, stream: u32) {
        self.schedule(stream);
        self.notify_room(stream);
    }

    /// Reports room to a stream that waits for it.
    pub(super) fn notify_room(&mut self, stream: u32) {
        let Some(record) = self.streams.get_mut(&stream) else { return };
        if !record.outgoing.wants_room || !record.takes_data() {
            return;
        }
        let room = record.room(self.limits.send_buffer_bytes);
        if room >= WORTHY_ROOM || (room > 0 && record.outgoing.bytes == 0) {
            record.outgoing.wants_room = false;
            if !record.released {
                self.events.push_back(Http2Event::Writable { stream });
            }
        }
    }
}
