//! Received bytes become frames, and frames of the connection take effect. Heads and data are handled elsewhere.

use std::time::Duration;

use bytes::Bytes;

use super::{Http2Machine, ShutdownStage};
use crate::http1::Defect;
use crate::http2::abuse::AbuseKind;
use crate::http2::error_code::{ErrorCode, FrameViolation, StreamViolation};
use crate::http2::event::{Http2Event, ResetOrigin, StreamReset};
use crate::http2::frame_input::{InputPhase, PayloadStep};
use crate::http2::frame_type::FrameType;
use crate::http2::frames::{
    Http2FrameHeader, MAX_31_BITS, append_header, append_ping, append_reset, flag, kind, number,
};
use crate::http2::priority::StreamPriority;
use crate::http2::settings::ConnectionRole;
use crate::http2::stream_record::StreamHalf;

/// Unsent output at which a peer that does not read is given up.
/// Well above what one read of requests can cause; callers stop reading far below.
const MAX_UNSENT: usize = 1 << 20;

/// Where a stream is that has no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AbsentStream {
    /// No frame has opened it yet.
    Idle,
    /// Reset, or above the last GOAWAY: frames in flight are ignored.
    Ignored,
    Closed,
}

impl Http2Machine {
    /// Handles received bytes. Long parts of bodies are kept without a copy.
    pub fn receive(&mut self, input: Bytes, now: Duration) {
        self.now = now;
        if !input.is_empty() {
            self.input.mark_received();
        }
        let mut at = 0;
        while at < input.len() && !self.failed {
            at += self.receive_part(&input, at);
            self.check_abuse();
        }
    }

    /// Ends the connection if a limit against abuse was exceeded.
    pub(super) fn check_abuse(&mut self) {
        if let Some(kind) = self.abuse.reached() {
            self.fail(ErrorCode::ENHANCE_YOUR_CALM, Some(kind));
        }
    }

    /// Handles bytes from `at` on; returns how many.
    fn receive_part(&mut self, input: &Bytes, at: usize) -> usize {
        let rest = &input[at..];
        match self.input.phase {
            InputPhase::Preface(arrived) => match self.input.take_preface(arrived, rest) {
                Some(used) => used,
                None => {
                    self.violate(FrameViolation::PROTOCOL);
                    rest.len()
                }
            },
            InputPhase::Header => {
                let step = self.input.take_header(rest);
                if let Some(header) = step.header {
                    self.begin_frame(header);
                }
                step.used
            }
            InputPhase::Payload(header) => self.receive_payload(header, rest),
            InputPhase::Data(frame) => self.receive_data(frame, input, at),
            InputPhase::Ignored(left) => {
                let used = left.min(rest.len());
                self.ignore(left - used);
                used
            }
        }
    }

    fn receive_payload(&mut self, header: Http2FrameHeader, rest: &[u8]) -> usize {
        match self.input.take_payload(header.length, rest) {
            PayloadStep::Partial(used) => used,
            PayloadStep::Direct(payload) => {
                self.receive_frame(header, payload);
                payload.len()
            }
            PayloadStep::Gathered { used, payload } => {
                self.receive_frame(header, &payload);
                used
            }
        }
    }

    /// Ignores the next bytes.
    fn ignore(&mut self, bytes: usize) {
        self.input.phase = match bytes {
            0 => InputPhase::Header,
            left => InputPhase::Ignored(left),
        };
    }

    fn begin_frame(&mut self, header: Http2FrameHeader) {
        if let Err(violation) = self.check_order(header).and_then(|()| header.check()) {
            self.ignore(header.length);
            return self.violate(violation);
        }
        if let Some(kind) = abuse_of(header) {
            self.abuse.record(kind, self.now);
        }
        match header.kind {
            FrameType::Data => {
                if let Err(violation) = self.begin_data(header) {
                    self.violate(violation);
                }
            }
            FrameType::Unknown => self.ignore(header.length),
            _ if header.length == 0 => self.receive_frame(header, &[]),
            _ => self.input.phase = InputPhase::Payload(header),
        }
    }

    /// SETTINGS are first (RFC 9113 §3.4), and nothing comes between the frames of a head (§4.3).
    fn check_order(&self, header: Http2FrameHeader) -> Result<(), FrameViolation> {
        let first = self.settings_received
            || (header.kind == FrameType::Settings && !header.has(flag::ACK));
        let block = self.partial_block.as_ref().map(|block| block.stream);
        let continues = header.kind == FrameType::Continuation;
        let ordered = match block {
            Some(stream) => continues && header.stream == stream,
            None => !continues,
        };
        if first && ordered { Ok(()) } else { Err(FrameViolation::PROTOCOL) }
    }

    /// Handles a complete frame other than DATA.
    fn receive_frame(&mut self, header: Http2FrameHeader, payload: &[u8]) {
        self.input.phase = InputPhase::Header;
        let received = match header.kind {
            FrameType::Headers => self.receive_headers(header, payload),
            FrameType::Continuation => self.receive_continuation(header, payload),
            FrameType::Reset => self.receive_reset(header.stream, ErrorCode(number(payload))),
            FrameType::Settings => self.receive_settings(header, payload),
            FrameType::Ping => self.receive_ping(header, payload),
            FrameType::GoAway => self.receive_goaway(payload),
            FrameType::Window => self.receive_window_update(header.stream, number(payload)),
            FrameType::PriorityUpdate => self.receive_priority(payload),
            // Server push is switched off (RFC 9113 §8.4), and clients never push.
            FrameType::Push => Err(FrameViolation::PROTOCOL),
            FrameType::Priority => self.check_dependency(header.stream, payload),
            FrameType::Data | FrameType::Unknown => Ok(()),
        };
        if let Err(violation) = received {
            self.violate(violation);
        }
        if self.output.unsent_bytes() > MAX_UNSENT {
            self.fail(ErrorCode::ENHANCE_YOUR_CALM, None);
        }
    }

    /// Ends what a violation ends.
    pub(super) fn violate(&mut self, violation: FrameViolation) {
        match violation {
            FrameViolation::Connection(code) => self.fail(code, None),
            FrameViolation::Stream(violation) => self.violate_stream(violation),
        }
    }

    /// Resets a stream because of what the peer sent.
    pub(super) fn violate_stream(&mut self, violation: StreamViolation) {
        let StreamViolation { stream, code, defect } = violation;
        match code {
            ErrorCode::PROTOCOL_ERROR => self.counters.malformed += 1,
            ErrorCode::ENHANCE_YOUR_CALM => self.counters.heads += 1,
            _ => self.counters.protocol += 1,
        }
        self.abuse.record(AbuseKind::Malformed, self.now);
        let idle =
            !self.streams.contains_key(&stream) && self.absent_stream(stream) == AbsentStream::Idle;
        // RST_STREAM may not be sent for an idle stream (RFC 9113 §6.4).
        if !idle {
            self.remember_reset(stream);
            append_reset(stream, code, &mut self.output.bytes);
            self.break_stream(stream, StreamReset { code, origin: ResetOrigin::Local(defect) });
        }
    }

    /// Where a stream without a record is.
    pub(super) fn absent_stream(&self, stream: u32) -> AbsentStream {
        let own = (stream % 2 == 1) == (self.role == ConnectionRole::Client);
        let opened = if own { stream < self.next_stream } else { stream <= self.last_peer_stream };
        let last = match self.shutdown {
            ShutdownStage::Final(last) if !own => last,
            _ => MAX_31_BITS,
        };
        match opened {
            false if stream > last => AbsentStream::Ignored,
            false => AbsentStream::Idle,
            true if stream <= self.forgotten_reset || self.recently_reset.contains(&stream) => {
                AbsentStream::Ignored
            }
            true => AbsentStream::Closed,
        }
    }

    fn receive_reset(&mut self, stream: u32, code: ErrorCode) -> Result<(), FrameViolation> {
        let Some(record) = self.streams.get(&stream) else {
            return match self.absent_stream(stream) {
                AbsentStream::Idle => Err(FrameViolation::PROTOCOL),
                AbsentStream::Ignored | AbsentStream::Closed => Ok(()),
            };
        };
        if record.reset {
            return Ok(());
        }
        // A server may end a request early once its response is complete (RFC 9113 §8.1).
        if self.role == ConnectionRole::Client && record.remote == StreamHalf::Closed {
            self.stop_stream(stream, code);
        } else {
            self.break_stream(stream, StreamReset { code, origin: ResetOrigin::Peer });
        }
        Ok(())
    }

    fn receive_settings(
        &mut self,
        header: Http2FrameHeader,
        payload: &[u8],
    ) -> Result<(), FrameViolation> {
        if header.has(flag::ACK) {
            let excess = std::mem::take(&mut self.initial_excess);
            for record in self.streams.values_mut() {
                record.incoming.window.shrink_by_settings(excess);
            }
            return Ok(());
        }
        let before = self.peer;
        self.peer.apply(payload, self.role)?;
        self.settings_received = true;
        append_header(kind::SETTINGS, flag::ACK, 0, 0, &mut self.output.bytes);
        if before.header_table_bytes != self.peer.header_table_bytes {
            self.encoder.set_table_size(self.peer.header_table_bytes);
        }
        let change = i64::from(self.peer.initial_window) - i64::from(before.initial_window);
        if change != 0 {
            for record in self.streams.values_mut() {
                let changed = record.outgoing.window.change(change);
                changed.map_err(|_| FrameViolation::FLOW_CONTROL)?;
            }
            let streams: Vec<u32> = self.streams.keys().copied().collect();
            streams.into_iter().for_each(|stream| self.window_opened(stream));
        }
        self.events.push_back(Http2Event::PeerSettings);
        Ok(())
    }

    fn receive_ping(
        &mut self,
        header: Http2FrameHeader,
        payload: &[u8],
    ) -> Result<(), FrameViolation> {
        let payload: [u8; 8] = payload.try_into().map_err(|_| FrameViolation::FRAME_SIZE)?;
        if header.has(flag::ACK) {
            self.receive_pong(payload);
        } else {
            append_ping(flag::ACK, payload, &mut self.output.bytes);
        }
        Ok(())
    }

    fn receive_window_update(&mut self, stream: u32, increment: u32) -> Result<(), FrameViolation> {
        let increment = increment & MAX_31_BITS;
        if stream == 0 {
            if increment == 0 {
                return Err(FrameViolation::PROTOCOL);
            }
            let changed = self.send_window.change(i64::from(increment));
            return changed.map_err(|_| FrameViolation::FLOW_CONTROL);
        }
        let Some(record) = self.streams.get_mut(&stream) else {
            return match self.absent_stream(stream) {
                AbsentStream::Idle => Err(FrameViolation::PROTOCOL),
                AbsentStream::Ignored | AbsentStream::Closed => Ok(()),
            };
        };
        if record.reset {
            return Ok(());
        }
        if increment == 0 {
            return Err(FrameViolation::stream(stream, ErrorCode::PROTOCOL_ERROR));
        }
        if record.outgoing.window.change(i64::from(increment)).is_err() {
            return Err(FrameViolation::Stream(StreamViolation {
                stream,
                code: ErrorCode::FLOW_CONTROL_ERROR,
                defect: Defect::Http2Protocol,
            }));
        }
        self.window_opened(stream);
        Ok(())
    }

    /// The deprecated priority of a PRIORITY frame has no effect, but a stream cannot depend on itself (RFC 7540 §5.3.1).
    fn check_dependency(&self, stream: u32, payload: &[u8]) -> Result<(), FrameViolation> {
        if number(payload) & MAX_31_BITS != stream {
            return Ok(());
        }
        let known = self.streams.contains_key(&stream);
        match known || self.absent_stream(stream) != AbsentStream::Idle {
            true => Err(FrameViolation::stream(stream, ErrorCode::PROTOCOL_ERROR)),
            false => Err(FrameViolation::PROTOCOL),
        }
    }

    fn receive_priority(&mut self, payload: &[u8]) -> Result<(), FrameViolation> {
        let stream = number(payload) & MAX_31_BITS;
        // RFC 9218 §7.1: servers send none, and stream 0 has no priority.
        if self.role == ConnectionRole::Client || stream == 0 {
            return Err(FrameViolation::PROTOCOL);
        }
        // A signal for a stream that is not open yet has no effect, as for any lost signal.
        self.set_priority(stream, StreamPriority::parse(payload.get(4..).unwrap_or_default()));
        Ok(())
    }
}

/// What a frame counts as by itself.
fn abuse_of(header: Http2FrameHeader) -> Option<AbuseKind> {
    match header.kind {
        FrameType::Reset => Some(AbuseKind::Reset),
        FrameType::Data if header.length == 0 && !header.has(flag::END_STREAM) => {
            Some(AbuseKind::Control)
        }
        FrameType::Continuation if header.length == 0 && !header.has(flag::END_HEADERS) => {
            Some(AbuseKind::Control)
        }
        FrameType::Ping | FrameType::Settings if !header.has(flag::ACK) => Some(AbuseKind::Control),
        FrameType::GoAway
        | FrameType::Priority
        | FrameType::PriorityUpdate
        | FrameType::Unknown => Some(AbuseKind::Control),
        _ => None,
    }
}
