//! A request's body read whole before a server is chosen: a slow client holds no server, and the request can be sent again.
//!
//! It is kept behind its head, in the server's form. How much may be kept, and what becomes of more, is configured.

use std::task::Poll;

use model::attribute::For;
use model::cause::Cause;
use model::config::{Beyond, Buffer};
use model::moment::Moment;
use wire::http1::Defect;

use super::{Exchange, Parties};
use crate::flow::Framing;
use crate::kept_bytes::KeptBytes;
use crate::relay::Fault;
use crate::rt::{Net, Readiness, Rt};
use crate::stream::Read;

/// What a client that asked for it is told to go on with.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// What one step of reading came to.
enum Came {
    /// The body is whole.
    Whole,
    /// More of it.
    Some,
    /// Nothing now.
    Nothing,
    /// It is longer than it may be.
    TooLong,
    /// The service keeps as much as it may.
    Full,
}

impl<N: Net> Exchange<'_, N> {
    /// Reads the body where that is configured; bytes behind it go to `held`.
    ///
    /// # Errors
    /// What ends the exchange here.
    pub(super) async fn read_whole(&mut self, held: &mut Vec<u8>) -> Result<(), Fault> {
        let view = self.view.clone();
        let Buffer { request: Some(most), beyond, .. } = view.config.buffer else { return Ok(()) };
        let body = &self.incoming.body;
        if body.framing.done() || self.incoming.upgrade {
            return Ok(());
        }
        let counters = &view.live.slots[self.parties.worker.index].counters;
        if let Framing::Length(left) = body.framing
            && left.saturating_add(body.taken) > most
        {
            counters.buffer_beyond.add(1);
            return self.instead(beyond, Cause::BodyTooLarge);
        }
        counters.buffered_requests.add(1);
        let asks = self.incoming.forget_expectation();
        if asks && self.incoming.body.taken == 0 {
            self.goes_on().await?;
        }
        self.kept = Some(KeptBytes::none(&view.live));
        let mut moved = self.parties.worker.rt.now();
        let ended = loop {
            match self.read_some(most, held)? {
                Came::Whole => break Ok(()),
                Came::TooLong => {
                    counters.buffer_beyond.add(1);
                    break self.instead(beyond, Cause::BodyTooLarge);
                }
                Came::Full => {
                    counters.buffer_full.add(1);
                    break self.instead(beyond, Cause::BufferFull);
                }
                Came::Some => moved = self.parties.worker.rt.now(),
                Came::Nothing => self.wait_for_more(moved).await?,
            }
        };
        self.record.measured.waits.stop(self.parties.worker.rt.now());
        ended
    }

    /// What becomes of a body that is not kept whole.
    fn instead(&self, beyond: Beyond, cause: Cause) -> Result<(), Fault> {
        match beyond {
            Beyond::Stream => Ok(()),
            Beyond::Refuse => Err(Fault::before_sending(cause)),
        }
    }

    /// Tells a client that waits for it to send its body.
    async fn goes_on(&mut self) -> Result<(), Fault> {
        let Parties { worker, client, .. } = self.parties;
        let until = worker.rt.now() + self.view.config.timeout.between_bytes;
        match client.write_all(CONTINUE, until).await {
            Ok(()) => Ok(()),
            Err(_) => Err(lost(Cause::ClientReset)),
        }
    }

    fn read_some(&mut self, most: u64, held: &mut Vec<u8>) -> Result<Came, Fault> {
        let Parties { worker, client, .. } = self.parties;
        let mut scratch = worker.scratch.borrow_mut();
        let n = match client.try_read(&mut scratch.input) {
            Read::Data(n) => n,
            Read::Later => return Ok(Came::Nothing),
            Read::End => return Err(lost(Cause::ClientClosedRequest)),
            Read::Failed(_) => return Err(lost(Cause::ClientReset)),
        };
        let input = &scratch.input[..n];
        let body = &mut self.incoming.body;
        let used = body.decode(input, &mut self.incoming.head).map_err(malformed)?;
        held.extend_from_slice(&input[used..]);
        if body.framing.done() && body.taken <= most {
            return Ok(Came::Whole);
        }
        let kept = self.incoming.head.len() as u64;
        let fits =
            self.kept.as_mut().is_none_or(|it| it.reach(kept, self.view.config.buffer.memory));
        Ok(match () {
            () if self.incoming.body.taken > most => Came::TooLong,
            () if !fits => Came::Full,
            () => Came::Some,
        })
    }

    async fn wait_for_more(&mut self, moved: Moment) -> Result<(), Fault> {
        let Parties { worker, client, service, .. } = self.parties;
        self.record.measured.waits.on(For::ClientSends, worker.rt.now());
        let own = moved + self.view.config.timeout.between_bytes;
        let until = || own.min(self.whole).min(service.cut_at.get());
        let readable =
            |rt: &Rt<N>| match client.is_strand() && (client.may_read() || client.broken()) {
                true => Poll::Ready(Ok(())),
                false => rt.poll_ready(client.source(), Readiness::READ, until()),
            };
        if client.until(readable).await.is_ok() {
            return Ok(());
        }
        let now = worker.rt.now();
        let cause = match () {
            () if now >= service.cut_at.get() => Cause::DrainCut,
            () if now >= self.whole => Cause::WholeTimeout,
            () => Cause::ClientBodyTimeout,
        };
        Err(Fault::before_sending(cause))
    }
}

fn lost(cause: Cause) -> Fault {
    Fault { client_lost: true, ..Fault::before_sending(cause) }
}

fn malformed(defect: Defect) -> Fault {
    Fault { defect: Some(defect), ..Fault::before_sending(Cause::BadRequest) }
}
