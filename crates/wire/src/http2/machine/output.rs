//! The output: buffered data becomes frames while there is room, in the order of the priorities.

use super::Http2Machine;
use super::send::TINY_BYTES;
use crate::http2::abuse::AbuseKind;
use crate::http2::error_code::ErrorCode;
use crate::http2::frames::{append_header, flag, kind};
use crate::http2::settings::SENT_PAYLOAD;
use crate::http2::stream_record::{OutgoingEnd, StreamHalf};

/// Unsent output above which no more data is framed, and callers stop reading.
/// One write of a large socket buffer; more would only wait in memory.
const FULL_BYTES: usize = 64 * 1024;

impl Http2Machine {
    /// The bytes that are to be sent next.
    pub fn output(&mut self) -> &[u8] {
        self.fill_output();
        self.output.unsent()
    }

    /// Removes bytes that the transport has taken.
    pub fn consume_output(&mut self, sent: usize) {
        self.output.consume(sent);
    }

    /// Whether something can be sent now.
    pub fn has_output(&self) -> bool {
        let may_frame = !self.scheduler.is_empty() && self.send_window.available() > 0;
        self.output.unsent_bytes() > 0 || may_frame
    }

    /// Whether so much waits that nothing more should be read from the peer.
    pub fn is_clogged(&self) -> bool {
        self.output.unsent_bytes() >= FULL_BYTES
    }

    fn fill_output(&mut self) {
        while self.output.unsent_bytes() < FULL_BYTES && self.send_window.available() > 0 {
            let Some(stream) = self.scheduler.take() else { break };
            self.frame_data(stream);
        }
        if let Some(kind) = self.abuse.reached() {
            self.fail(ErrorCode::ENHANCE_YOUR_CALM, Some(kind));
        }
    }

    /// Writes one DATA frame of a stream whose turn it is.
    fn frame_data(&mut self, stream: u32) {
        let Some(record) = self.streams.get_mut(&stream) else { return };
        let outgoing = &mut record.outgoing;
        outgoing.scheduled = false;
        let allowed = outgoing.window.available().min(self.send_window.available());
        let length = outgoing.bytes.min(allowed).min(SENT_PAYLOAD);
        if length == 0 {
            return;
        }
        if length < TINY_BYTES && length < outgoing.bytes {
            self.abuse.record(AbuseKind::Tiny, self.now);
        }
        outgoing.window.consume(length);
        self.send_window.consume(length);
        outgoing.bytes -= length;
        self.buffered -= length;
        let last = outgoing.bytes == 0;
        let ends = last && matches!(outgoing.end, OutgoingEnd::EndStream);
        let out = &mut self.output.bytes;
        append_header(kind::DATA, if ends { flag::END_STREAM } else { 0 }, stream, length, out);
        let mut left = length;
        while left > 0 {
            let Some(mut piece) = outgoing.pieces.pop_front() else { break };
            if piece.len() > left {
                out.extend_from_slice(&piece.split_to(left));
                outgoing.pieces.push_front(piece);
                break;
            }
            out.extend_from_slice(&piece);
            left -= piece.len();
        }
        if !last {
            if outgoing.window.available() > 0 {
                outgoing.scheduled = true;
                self.scheduler.put_back(stream, record.priority);
            }
        } else {
            self.finish_outgoing(stream);
        }
        self.notify_room(stream);
    }

    /// Ends a stream whose data was sent, if it is to end.
    fn finish_outgoing(&mut self, stream: u32) {
        let Some(record) = self.streams.get_mut(&stream) else { return };
        match std::mem::take(&mut record.outgoing.end) {
            OutgoingEnd::Open => return,
            OutgoingEnd::EndStream => {}
            OutgoingEnd::Trailers(fields) => self.write_head(stream, &fields, true),
        }
        if let Some(record) = self.streams.get_mut(&stream) {
            record.local = StreamHalf::Closed;
        }
        self.settle(stream);
    }
}
