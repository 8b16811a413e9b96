//! The end of a connection (RFC 9113 §6.8): in two steps, at once, or because of the peer.

use super::{Http2Machine, ShutdownStage};
use crate::http2::abuse::AbuseKind;
use crate::http2::error_code::{ErrorCode, FrameViolation};
use crate::http2::event::{Http2Event, ResetOrigin, StreamReset};
use crate::http2::frames::{MAX_31_BITS, append_goaway, append_ping, number};
use crate::http2::settings::ConnectionRole;

/// The payload of the PING that separates the two steps of a shutdown.
const SHUTDOWN_PING: [u8; 8] = *b"shutdown";

impl Http2Machine {
    /// Announces the end. After a round trip, the last stream is named, and later ones are ignored.
    pub fn shut_down(&mut self) {
        if self.failed || self.shutdown != ShutdownStage::None {
            return;
        }
        let out = &mut self.output.bytes;
        append_goaway(MAX_31_BITS, ErrorCode::NO_ERROR, out);
        append_ping(0, SHUTDOWN_PING, out);
        self.shutdown = ShutdownStage::Announced;
    }

    /// Whether a shutdown is complete: its last GOAWAY was queued, and no stream is open.
    pub fn is_drained(&self) -> bool {
        matches!(self.shutdown, ShutdownStage::Final(_)) && self.active == 0
    }

    /// Ends the connection at once, for a reason of the application. All streams end.
    pub fn abort(&mut self, code: ErrorCode) {
        if self.failed {
            return;
        }
        append_goaway(self.last_peer_stream, code, &mut self.output.bytes);
        self.failed = true;
        self.break_all(code);
    }

    /// Ends the connection because of the peer.
    pub(super) fn fail(&mut self, code: ErrorCode, abuse: Option<AbuseKind>) {
        if self.failed {
            return;
        }
        if code != ErrorCode::ENHANCE_YOUR_CALM {
            self.counters.protocol += 1;
        }
        self.abort(code);
        self.events.push_back(Http2Event::Failed { code, abuse });
    }

    /// The transport has ended: all streams end.
    pub fn receive_end(&mut self) {
        if !self.failed {
            self.failed = true;
            self.break_all(ErrorCode::NO_ERROR);
        }
    }

    fn break_all(&mut self, code: ErrorCode) {
        let mut streams: Vec<u32> = self.streams.keys().copied().collect();
        streams.sort_unstable();
        let reset = StreamReset { code, origin: ResetOrigin::Connection };
        streams.into_iter().for_each(|stream| self.break_stream(stream, reset));
        self.scheduler.clear();
    }

    pub(super) fn receive_pong(&mut self, payload: [u8; 8]) {
        if payload == SHUTDOWN_PING && self.shutdown == ShutdownStage::Announced {
            let last = self.last_peer_stream;
            append_goaway(last, ErrorCode::NO_ERROR, &mut self.output.bytes);
            self.shutdown = ShutdownStage::Final(last);
        } else {
            self.events.push_back(Http2Event::Pong { payload });
        }
    }

    pub(super) fn receive_goaway(&mut self, payload: &[u8]) -> Result<(), FrameViolation> {
        let last_stream = number(payload) & MAX_31_BITS;
        let code = ErrorCode(number(payload.get(4..).unwrap_or_default()));
        // The last stream may not grow (RFC 9113 §6.8).
        if self.peer_goaway.is_some_and(|before| last_stream > before) {
            return Err(FrameViolation::PROTOCOL);
        }
        self.peer_goaway = Some(last_stream);
        if self.role == ConnectionRole::Client {
            let reset = StreamReset { code, origin: ResetOrigin::Unprocessed };
            let above = self.streams.keys().copied().filter(|stream| *stream > last_stream);
            let mut above: Vec<u32> = above.collect();
            above.sort_unstable();
            for stream in above {
                self.remember_reset(stream);
                self.break_stream(stream, reset);
            }
        }
        self.events.push_back(Http2Event::GoAway { last_stream, code });
        Ok(())
    }
}
