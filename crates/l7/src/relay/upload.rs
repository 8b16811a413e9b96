//! The request's way to its server: the message that is held, then what of the body is still to come.
//!
//! While no answer has begun, the beginning of a body is held behind its head (`ResendBody`), so that a request that
//! its server did not process can be sent again. Whether it is sent again is decided by `exchange`.

use model::cause::Cause;
use wire::http1::Defect;

use super::{Ending, Fault, Relay, Waits};
use crate::flow::Step;
use crate::rt::{Net, Readiness};
use crate::stream::{Read, Wrote};

/// Bytes of a body read at a time while they are held.
const PIECE: usize = 16 * 1024;

/// What reading a piece of the body came to.
enum Piece {
    /// It is behind the head.
    Held,
    /// The client has sent nothing more yet.
    Nothing,
}

impl<N: Net> Relay<'_, N> {
    /// Sends the head and what follows; says whether there is more to do at once.
    pub(super) fn upload(&mut self) -> Result<bool, Fault> {
        if self.server_deaf {
            return Ok(false);
        }
        loop {
            while self.sent < self.incoming.head.len() {
                match self.ends.server.try_write(&self.incoming.head[self.sent..]) {
                    Wrote::Bytes(n) => {
                        self.sent += n;
                        self.up_moved.1 = self.ends.worker.rt.now();
                    }
                    Wrote::Later => {
                        self.up_waits = Waits::Server;
                        return Ok(false);
                    }
                    Wrote::Failed(_) => return self.deaf(),
                }
            }
            if !self.holds_body() {
                break;
            }
            if let Piece::Nothing = self.hold_piece()? {
                self.up_waits = Waits::Client;
                return Ok(false);
            }
        }
        self.upload_body()
    }

    /// Sends what of the body is not held.
    fn upload_body(&mut self) -> Result<bool, Fault> {
        if !self.incoming.body.framing.done() {
            // What goes past the held bytes cannot be sent again.
            self.release_body();
        }
        let step = self.incoming.body.step(
            self.ends.worker,
            self.ends.client,
            self.ends.server,
            &mut self.excess,
        );
        let total = self.sent as u64 + self.incoming.body.given + self.incoming.body.taken;
        if total != self.up_moved.0 {
            self.up_moved = (total, self.ends.worker.rt.now());
        }
        self.up_waits = match step {
            Step::Finished if self.came_too_early() => {
                let defect = Some(Defect::EarlyUpgradeData);
                return Err(Fault { defect, ..self.fault(Cause::BadRequest) });
            }
            Step::Finished => {
                self.uploaded = true;
                let now = self.ends.worker.rt.look();
                self.record.request_sent = Some(self.before.unwrap_or(now));
                self.down_moved.1 = now;
                Waits::Nobody
            }
            Step::Again => {
                self.up_waits = Waits::Nobody;
                return Ok(true);
            }
            Step::Sender => Waits::Client,
            Step::Receiver => Waits::Server,
            Step::Cut => return Err(self.lost_client(Cause::ClientClosedRequest)),
            Step::SenderFailed => return Err(self.lost_client(Cause::ClientReset)),
            Step::ReceiverFailed => return self.deaf(),
            Step::Malformed(defect) => {
                return Err(Fault { defect: Some(defect), ..self.fault(Cause::BadRequest) });
            }
            Step::Failed => return Err(self.fault(Cause::Internal)),
        };
        Ok(false)
    }

    /// Whether bytes came behind the body of a request that asks for an upgrade, before that was agreed on.
    fn came_too_early(&self) -> bool {
        let agreed = self.answer == Some(Ending::Upgraded);
        self.incoming.upgrade && !agreed && !self.excess.is_empty()
    }

    /// The server takes no more of the request; it may have answered already.
    fn deaf(&mut self) -> Result<bool, Fault> {
        self.server_deaf = true;
        self.up_waits = Waits::Nobody;
        self.ends.server.source().set(Readiness::READ);
        Ok(false)
    }

    /// Whether the next piece of the body is held.
    fn holds_body(&self) -> bool {
        let incoming = &*self.incoming;
        let body = &incoming.body;
        !body.framing.done()
            && !incoming.upgrade
            && self.answer.is_none()
            && self.replayable()
            && incoming.resend.bytes() < self.most_held()
            && !body.is_spliced(self.ends.client, self.ends.server)
    }

    /// Bytes of a body that may be held: what the answer is going to use, which has not begun.
    fn most_held(&self) -> usize {
        self.ends.service.config.limit.connection_bytes as usize
    }

    /// Reads a piece of the body and holds it.
    fn hold_piece(&mut self) -> Result<Piece, Fault> {
        let worker = self.ends.worker;
        let mut scratch = worker.scratch.borrow_mut();
        let room = PIECE.min(self.most_held() - self.incoming.resend.bytes());
        let room = self.incoming.body.framing.wanted(room);
        let n = match self.ends.client.try_read(&mut scratch.input[..room]) {
            Read::Data(n) => n,
            Read::Later => return Ok(Piece::Nothing),
            Read::End => return Err(self.lost_client(Cause::ClientClosedRequest)),
            Read::Failed(_) => return Err(self.lost_client(Cause::ClientReset)),
        };
        let input = &scratch.input[..n];
        let before = self.incoming.head.len();
        let used = self.incoming.body.decode(input, &mut self.incoming.head);
        let used =
            used.map_err(|defect| Fault { defect: Some(defect), ..self.fault(Cause::BadRequest) })?;
        self.excess.extend_from_slice(&input[used..]);
        self.incoming.resend.hold(worker, self.incoming.head.len() - before);
        self.up_moved.1 = worker.rt.now();
        Ok(Piece::Held)
    }

    /// Gives the held bytes up, once all of them were sent.
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
