//! HEADERS and CONTINUATION frames (RFC 9113 §6.2, §6.10): heads and trailers, in either role.

use super::receive::AbsentStream;
use super::receive_data::length_violation;
use super::{Http2Machine, PartialBlock};
use crate::field_section::FieldSection;
use crate::http1::Defect;
use crate::http2::abuse::AbuseKind;
use crate::http2::error_code::{ErrorCode, FrameViolation, StreamViolation};
use crate::http2::event::Http2Event;
use crate::http2::flow_control::{InboundWindow, OutboundWindow};
use crate::http2::frames::{
    Http2FrameHeader, MAX_31_BITS, MAX_PAYLOAD, append_reset, field_fragment, flag, number,
};
use crate::http2::head_rules::{HeadFacts, check_request, check_response, check_trailers};
use crate::http2::hpack::DecodedSize;
use crate::http2::settings::ConnectionRole;
use crate::http2::stream_record::{StreamHalf, StreamRecord};

/// A field block that was decoded.
struct ReceivedBlock {
    stream: u32,
    end_stream: bool,
    depends_on_itself: bool,
    fields: FieldSection,
    size: DecodedSize,
}

impl Http2Machine {
    pub(super) fn receive_headers(
        &mut self,
        header: Http2FrameHeader,
        payload: &[u8],
    ) -> Result<(), FrameViolation> {
        let fragment = field_fragment(header, payload)?;
        let block = PartialBlock {
            stream: header.stream,
            end_stream: header.has(flag::END_STREAM),
            depends_on_itself: depends_on_itself(header, payload),
            bytes: Vec::new(),
        };
        if header.has(flag::END_HEADERS) {
            return self.receive_block(&block, fragment);
        }
        self.partial_block = Some(PartialBlock { bytes: fragment.to_vec(), ..block });
        Ok(())
    }

    pub(super) fn receive_continuation(
        &mut self,
        header: Http2FrameHeader,
        payload: &[u8],
    ) -> Result<(), FrameViolation> {
        let Some(mut block) = self.partial_block.take() else {
            return Err(FrameViolation::PROTOCOL);
        };
        // A compressed head is hardly ever longer than the decoded one. Without its end the tables cannot be kept, so
        // the connection ends.
        if block.bytes.len() + payload.len() > self.max_block_bytes() {
            self.counters.heads += 1;
            return Err(FrameViolation::Connection(ErrorCode::ENHANCE_YOUR_CALM));
        }
        block.bytes.extend_from_slice(payload);
        if header.has(flag::END_HEADERS) {
            return self.receive_block(&block, &block.bytes);
        }
        self.partial_block = Some(block);
        Ok(())
    }

    fn max_block_bytes(&self) -> usize {
        self.limits.header_list_bytes as usize + MAX_PAYLOAD
    }

    fn receive_block(&mut self, header: &PartialBlock, block: &[u8]) -> Result<(), FrameViolation> {
        let PartialBlock { stream, end_stream, depends_on_itself, .. } = *header;
        let mut fields = self.spare_sections.pop().unwrap_or_default();
        let most = self.limits.header_list_bytes as usize;
        let size = self
            .decoder
            .decode(block, most, &mut fields)
            .map_err(|_| FrameViolation::Connection(ErrorCode::COMPRESSION_ERROR))?;
        let block = ReceivedBlock { stream, end_stream, depends_on_itself, fields, size };
        let Some(record) = self.streams.get(&stream) else {
            return self.receive_first_block(block);
        };
        match record.remote {
            _ if record.reset && self.was_reset_here(stream) => {
                self.recycle(block.fields);
                Ok(())
            }
            _ if record.reset => Err(FrameViolation::stream(stream, ErrorCode::STREAM_CLOSED)),
            StreamHalf::Closed => Err(FrameViolation::stream(stream, ErrorCode::STREAM_CLOSED)),
            StreamHalf::Body => self.receive_trailers(block),
            StreamHalf::Head => self.receive_response(block),
        }
    }

    /// Whether frames of a stream that was reset may still be in flight: this side has reset the stream. After its own
    /// RST_STREAM the peer may send nothing (RFC 9113 §5.1).
    pub(super) fn was_reset_here(&self, stream: u32) -> bool {
        stream <= self.forgotten_reset || self.recently_reset.contains(&stream)
    }

    /// Handles a block of a stream without a record.
    fn receive_first_block(&mut self, block: ReceivedBlock) -> Result<(), FrameViolation> {
        let stream = block.stream;
        match self.absent_stream(stream) {
            AbsentStream::Ignored => {
                self.recycle(block.fields);
                Ok(())
            }
            AbsentStream::Closed => Err(FrameViolation::STREAM_CLOSED),
            // Servers open no streams here, and clients use odd ids (RFC 9113 §5.1.1).
            AbsentStream::Idle
                if self.role == ConnectionRole::Client || stream.is_multiple_of(2) =>
            {
                Err(FrameViolation::PROTOCOL)
            }
            AbsentStream::Idle => {
                self.receive_request(block);
                Ok(())
            }
        }
    }

    fn receive_request(&mut self, block: ReceivedBlock) {
        let ReceivedBlock { stream, end_stream, depends_on_itself, fields, size } = block;
        self.last_peer_stream = stream;
        if self.active >= self.limits.concurrent_streams as usize {
            self.counters.refused += 1;
            self.recycle(fields);
            return self.refuse_stream(stream, ErrorCode::REFUSED_STREAM);
        }
        if size == DecodedSize::TooLarge {
            self.counters.heads += 1;
            self.recycle(fields);
            self.add_incoming(stream, end_stream, HeadFacts::default());
            return self.events.push_back(Http2Event::HeadTooLarge { stream, end_stream });
        }
        let checked = check_request(&fields, self.limits.extended_connect);
        let short = |facts: &HeadFacts| end_stream && facts.content_length.is_some_and(|n| n > 0);
        let checked = checked.and_then(|facts| match short(&facts) {
            true => Err(Defect::LengthMismatch),
            false if depends_on_itself => Err(Defect::Http2Protocol),
            false => Ok(facts),
        });
        match checked {
            Ok(facts) => {
                self.add_incoming(stream, end_stream, facts);
                self.events.push_back(Http2Event::Request { stream, fields, end_stream });
            }
            Err(defect) => {
                self.counters.malformed += 1;
                self.abuse.record(AbuseKind::Malformed, self.now);
                self.refuse_stream(stream, ErrorCode::PROTOCOL_ERROR);
                self.events.push_back(Http2Event::Malformed { stream, fields, defect });
            }
        }
    }

    /// Resets a stream that never had a record.
    fn refuse_stream(&mut self, stream: u32, code: ErrorCode) {
        self.remember_reset(stream);
        append_reset(stream, code, &mut self.output.bytes);
    }

    fn add_incoming(&mut self, stream: u32, end_stream: bool, facts: HeadFacts) {
        let mut record = self.new_record();
        record.is_head = facts.is_head;
        record.priority = facts.priority.unwrap_or_default();
        record.remote = if end_stream { StreamHalf::Closed } else { StreamHalf::Body };
        record.incoming.expected = facts.content_length.filter(|_| !end_stream);
        self.active += 1;
        self.streams.insert(stream, record);
    }

    /// A record with the windows of a new stream.
    pub(super) fn new_record(&self) -> StreamRecord {
        let window = self.limits.stream_window;
        let receive = InboundWindow::new(window, window.saturating_add(self.initial_excess));
        StreamRecord::new(OutboundWindow::new(self.peer.initial_window), receive)
    }

    fn receive_response(&mut self, block: ReceivedBlock) -> Result<(), FrameViolation> {
        let ReceivedBlock { stream, end_stream, fields, size, .. } = block;
        let violation = |code: ErrorCode, defect: Defect| {
            Err(FrameViolation::Stream(StreamViolation { stream, code, defect }))
        };
        if size == DecodedSize::TooLarge {
            return violation(ErrorCode::ENHANCE_YOUR_CALM, Defect::HeadTooLarge);
        }
        let facts = match check_response(&fields) {
            Ok(facts) => facts,
            Err(defect) => return violation(ErrorCode::PROTOCOL_ERROR, defect),
        };
        let Some(record) = self.streams.get_mut(&stream) else { return Ok(()) };
        let wanted = !record.released;
        if facts.status < 200 {
            if end_stream {
                return violation(ErrorCode::PROTOCOL_ERROR, Defect::Http2Protocol);
            }
            self.abuse.record(AbuseKind::Control, self.now);
            if wanted {
                self.events.push_back(Http2Event::Informational { stream, fields });
            }
            return Ok(());
        }
        let without_body = record.is_head || matches!(facts.status, 204 | 304);
        record.incoming.expected = if without_body { Some(0) } else { facts.content_length };
        record.remote = StreamHalf::Body;
        if end_stream {
            if record.incoming.expected.is_some_and(|left| left > 0) {
                return Err(FrameViolation::Stream(length_violation(stream)));
            }
            record.remote = StreamHalf::Closed;
        }
        if wanted {
            self.events.push_back(Http2Event::Response { stream, fields, end_stream });
        }
        self.settle(stream);
        Ok(())
    }

    fn receive_trailers(&mut self, block: ReceivedBlock) -> Result<(), FrameViolation> {
        let ReceivedBlock { stream, end_stream, fields, size, .. } = block;
        let defect = match size {
            DecodedSize::TooLarge => Some(Defect::HeadTooLarge),
            // RFC 9113 §8.1: a second head ends the stream.
            DecodedSize::Allowed if !end_stream => Some(Defect::Http2Protocol),
            DecodedSize::Allowed => check_trailers(&fields).err(),
        };
        if let Some(defect) = defect {
            let code = ErrorCode::PROTOCOL_ERROR;
            return Err(FrameViolation::Stream(StreamViolation { stream, code, defect }));
        }
        if let Some(record) = self.streams.get_mut(&stream) {
            record.incoming.trailers = Some(Box::new(fields));
        }
        self.finish_incoming(stream)
    }
}

/// Whether the priority of a HEADERS frame names its own stream. Priorities are not used, but a stream cannot depend on
/// itself (RFC 7540 §5.3.1).
fn depends_on_itself(header: Http2FrameHeader, payload: &[u8]) -> bool {
    let from = usize::from(header.has(flag::PADDED));
    let dependency = payload.get(from..from + 4).unwrap_or_default();
    header.has(flag::PRIORITY) && number(dependency) & MAX_31_BITS == header.stream
}
