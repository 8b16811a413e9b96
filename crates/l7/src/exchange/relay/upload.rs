//! Sends the request to its server: first the stored message, then the rest of the body.
//!
//! Until the response begins, the start of the body is stored after the head (`ResendBody`), so that a request that its
//! server did not process can be sent again. `exchange` decides whether that is done.

use model::cause::Cause;
use wire::http1::Defect;

use super::{AttemptEnding, AttemptFault, AttemptRelay, RelayContext, RelayWait};
use crate::conn::sampling;
use crate::conn::stream::{StreamReadResult, StreamWriteResult};
use crate::exchange::flow::FlowStep;
use crate::rt::{NetDriver, Readiness};

/// Body bytes per read while they are stored.
/// One record of TLS.
const PIECE: usize = 16 * 1024;

/// The result of reading a piece of the body.
enum HeldPiece {
    /// The piece is stored after the head.
    Held,
    /// The client has not sent more yet.
    Nothing,
}

impl<N: NetDriver> AttemptRelay<'_, N> {
    /// Sends the head and the body; returns whether there is more to do at once.
    pub(super) fn upload(&mut self) -> Result<bool, AttemptFault> {
        if self.server_stopped_reading {
            return Ok(false);
        }
        loop {
            while self.sent < self.incoming.head.len() {
                match self.context.server.try_write(&self.incoming.head[self.sent..]) {
                    StreamWriteResult::Bytes(n) => {
                        self.sent += n;
                        self.up_progress.moved_at = self.context.worker.rt.now();
                    }
                    StreamWriteResult::WouldBlock => {
                        self.up_wait = RelayWait::Server;
                        return Ok(false);
                    }
                    StreamWriteResult::Failed(_) => return self.handle_stopped_reading(),
                }
            }
            if !self.holds_body() {
                break;
            }
            if let HeldPiece::Nothing = self.hold_piece()? {
                self.up_wait = RelayWait::Client;
                return Ok(false);
            }
        }
        self.upload_body()
    }

    /// Sends the part of the body that is not stored.
    fn upload_body(&mut self) -> Result<bool, AttemptFault> {
        if !self.incoming.body.framing.is_done() {
            // The following bytes are not stored, so the request can no longer be sent again.
            self.release_body();
        }
        let step = self.incoming.body.step(
            self.context.worker,
            self.context.client,
            self.context.server,
            &mut self.excess,
        );
        let total = self.sent as u64 + self.incoming.body.bytes_out + self.incoming.body.bytes_in;
        self.up_progress.update(total, self.context.worker.rt.now());
        self.up_wait = match step {
            FlowStep::Finished if self.came_too_early() => {
                let defect = Some(Defect::EarlyUpgradeData);
                return Err(AttemptFault { defect, ..self.fault(Cause::BadRequest) });
            }
            FlowStep::Finished => {
                self.uploaded = true;
                let now = self.context.worker.rt.update_now();
                self.record.request_sent = Some(self.answer_first_byte.unwrap_or(now));
                self.down_progress.moved_at = now;
                let RelayContext { worker, server, .. } = self.context;
                let sample = &mut self.record.sample;
                worker.charge_run_delay(sample);
                sampling::record_request_end(&worker.sampler, sample, server, total);
                RelayWait::Nobody
            }
            FlowStep::Yield => {
                self.up_wait = RelayWait::Nobody;
                return Ok(true);
            }
            FlowStep::AwaitSender => RelayWait::Client,
            FlowStep::AwaitReceiver => RelayWait::Server,
            FlowStep::SenderTruncated => return Err(self.lost_client(Cause::ClientClosedRequest)),
            FlowStep::SenderFailed => return Err(self.lost_client(Cause::ClientReset)),
            FlowStep::ReceiverFailed => return self.handle_stopped_reading(),
            FlowStep::Malformed(defect) => {
                return Err(AttemptFault { defect: Some(defect), ..self.fault(Cause::BadRequest) });
            }
            FlowStep::TooLong => return Err(self.fault(Cause::BodyTooLarge)),
            FlowStep::Failed => return Err(self.fault(Cause::Internal)),
        };
        Ok(false)
    }

    /// Whether bytes arrived after the body of an upgrade request, before the upgrade was accepted.
    fn came_too_early(&self) -> bool {
        let agreed = self.answer == Some(AttemptEnding::Upgraded);
        self.incoming.upgrade && !agreed && !self.excess.is_empty()
    }

    /// The server accepts no more of the request; it may have responded already.
    fn handle_stopped_reading(&mut self) -> Result<bool, AttemptFault> {
        self.server_stopped_reading = true;
        self.up_wait = RelayWait::Nobody;
        self.context.server.source().set(Readiness::READ);
        Ok(false)
    }

    /// Whether the next piece of the body is stored.
    fn holds_body(&self) -> bool {
        let incoming = &*self.incoming;
        let body = &incoming.body;
        !body.framing.is_done()
            && !incoming.upgrade
            && self.answer.is_none()
            && self.replayable()
            && incoming.resend.bytes() < self.hold_limit()
            && !body.is_spliced(self.context.client, self.context.server)
    }

    /// Most body bytes that may be stored: the memory that the response will use, which has not begun.
    fn hold_limit(&self) -> usize {
        self.context.service.config.limit.connection_bytes as usize
    }

    /// Reads a piece of the body and stores it.
    fn hold_piece(&mut self) -> Result<HeldPiece, AttemptFault> {
        let worker = self.context.worker;
        let mut scratch = worker.scratch.borrow_mut();
        let room = PIECE.min(self.hold_limit() - self.incoming.resend.bytes());
        let room = self.incoming.body.framing.read_size(room);
        let n = match self.context.client.try_read(&mut scratch.input[..room]) {
            StreamReadResult::Data(n) => n,
            StreamReadResult::WouldBlock => return Ok(HeldPiece::Nothing),
            StreamReadResult::End => return Err(self.lost_client(Cause::ClientClosedRequest)),
            StreamReadResult::Failed(_) => return Err(self.lost_client(Cause::ClientReset)),
        };
        let input = &scratch.input[..n];
        let before = self.incoming.head.len();
        let used = self.incoming.body.decode(input, &mut self.incoming.head);
        let used = used.map_err(|defect| AttemptFault {
            defect: Some(defect),
            ..self.fault(Cause::BadRequest)
        })?;
        self.excess.extend_from_slice(&input[used..]);
        if self.incoming.body.is_too_long() {
            return Err(self.fault(Cause::BodyTooLarge));
        }
        self.incoming.resend.grow(worker, self.incoming.head.len() - before);
        self.up_progress.moved_at = worker.rt.now();
        Ok(HeldPiece::Held)
    }

    /// Releases the stored bytes after all of them were sent.
    pub(super) fn release_body(&mut self) {
        let held = self.incoming.resend.bytes();
        if held > 0 && self.sent >= self.incoming.head.len() {
            let left = self.incoming.head.len().saturating_sub(held);
            self.incoming.head.truncate(left);
            self.incoming.head.shrink_to(left);
            self.incoming.resend.release();
        }
    }
}
