//! Reads a whole request body before a server is chosen, so that a slow client occupies no server and a retry is
//! possible.
//!
//! The body is stored after its head, in the form for the server. The size limit, and the action above it, are
//! configured.

use std::task::Poll;

use model::cause::Cause;
use model::config::{BufferConfig, BufferOverflow};
use model::monotonic_time::MonotonicTime;
use model::time_attribution::WaitReason;
use wire::http1::Defect;

use super::{ExchangeContext, HttpExchange};
use crate::conn::stream::StreamReadResult;
use crate::exchange::buffered_bytes::BufferedBytes;
use crate::exchange::flow::BodyFraming;
use crate::exchange::relay::AttemptFault;
use crate::rt::{NetDriver, Readiness, WorkerRuntime};

/// The response to `Expect: 100-continue`.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// The result of one read.
enum BodyReadOutcome {
    /// The body is complete.
    Complete,
    Some,
    Nothing,
    /// The body exceeds its size limit.
    TooLong,
    /// The service's memory limit for buffered bodies is reached.
    Full,
}

impl<N: NetDriver> HttpExchange<'_, N> {
    /// Reads the body if buffering is configured; bytes after it are stored in `held`.
    ///
    /// # Errors
    /// The fault that ends the exchange.
    pub(super) async fn buffer_request(&mut self, held: &mut Vec<u8>) -> Result<(), AttemptFault> {
        let view = self.view.clone();
        let BufferConfig { request: Some(most), beyond, memory, .. } =
            *self.settings.buffer(&view.config)
        else {
            return Ok(());
        };
        let body = &self.incoming.body;
        if body.framing.is_done() || self.incoming.upgrade {
            return Ok(());
        }
        let counters = &view.stats.slots[self.context.worker.index].counters;
        if let BodyFraming::Length(left) = body.framing
            && left.saturating_add(body.bytes_in) > most
        {
            counters.buffer_beyond.add(1);
            return self.handle_unbuffered(beyond, Cause::BodyTooLarge);
        }
        counters.buffered_requests.add(1);
        let asks = self.incoming.remove_expectation();
        if asks && self.incoming.body.bytes_in == 0 {
            self.send_continue().await?;
        }
        self.buffered_bytes = Some(BufferedBytes::new(&view.stats));
        let mut moved = self.context.worker.rt.now();
        let ended = loop {
            match self.read_some(most, memory, held)? {
                BodyReadOutcome::Complete => break Ok(()),
                BodyReadOutcome::TooLong => {
                    counters.buffer_beyond.add(1);
                    break self.handle_unbuffered(beyond, Cause::BodyTooLarge);
                }
                BodyReadOutcome::Full => {
                    counters.buffer_full.add(1);
                    break self.handle_unbuffered(beyond, Cause::BufferFull);
                }
                BodyReadOutcome::Some => moved = self.context.worker.rt.now(),
                BodyReadOutcome::Nothing => self.wait_for_body(moved).await?,
            }
        };
        self.record.sample.awaited.stop(self.context.worker.rt.now());
        ended
    }

    /// Applies the configured action to a body that cannot be buffered completely.
    fn handle_unbuffered(&self, beyond: BufferOverflow, cause: Cause) -> Result<(), AttemptFault> {
        match beyond {
            BufferOverflow::Stream => Ok(()),
            BufferOverflow::Refuse => Err(AttemptFault::before_sending(cause)),
        }
    }

    /// Sends the 100 response that the client waits for.
    async fn send_continue(&mut self) -> Result<(), AttemptFault> {
        let ExchangeContext { worker, client, .. } = self.context;
        let until = worker.rt.now() + self.settings.client_between_bytes(&self.view.config);
        match client.write_all(CONTINUE, until).await {
            Ok(()) => Ok(()),
            Err(_) => Err(client_lost_fault(Cause::ClientReset)),
        }
    }

    fn read_some(
        &mut self,
        most: u64,
        memory: u64,
        held: &mut Vec<u8>,
    ) -> Result<BodyReadOutcome, AttemptFault> {
        let ExchangeContext { worker, client, .. } = self.context;
        let mut scratch = worker.scratch.borrow_mut();
        let n = match client.try_read(&mut scratch.input) {
            StreamReadResult::Data(n) => n,
            StreamReadResult::WouldBlock => return Ok(BodyReadOutcome::Nothing),
            StreamReadResult::End => return Err(client_lost_fault(Cause::ClientClosedRequest)),
            StreamReadResult::Failed(_) => return Err(client_lost_fault(Cause::ClientReset)),
        };
        let input = &scratch.input[..n];
        let body = &mut self.incoming.body;
        let used = body.decode(input, &mut self.incoming.head).map_err(malformed_fault)?;
        held.extend_from_slice(&input[used..]);
        if body.is_too_long() {
            return Err(AttemptFault::before_sending(Cause::BodyTooLarge));
        }
        if body.framing.is_done() && body.bytes_in <= most {
            return Ok(BodyReadOutcome::Complete);
        }
        let kept = self.incoming.head.len() as u64;
        let fits = self.buffered_bytes.as_mut().is_none_or(|it| it.grow_to(kept, memory));
        Ok(match () {
            () if self.incoming.body.bytes_in > most => BodyReadOutcome::TooLong,
            () if !fits => BodyReadOutcome::Full,
            () => BodyReadOutcome::Some,
        })
    }

    async fn wait_for_body(&mut self, moved: MonotonicTime) -> Result<(), AttemptFault> {
        let ExchangeContext { worker, client, service, .. } = self.context;
        self.record.sample.awaited.wait_for(WaitReason::ClientSend, worker.rt.now());
        let own = moved + self.settings.client_between_bytes(&self.view.config);
        let until = || own.min(self.total_deadline).min(service.cut_at.get());
        let readable = |rt: &WorkerRuntime<N>| match client.is_multiplexed()
            && (client.may_read() || client.is_broken())
        {
            true => Poll::Ready(Ok(())),
            false => rt.poll_ready(client.source(), Readiness::READ, until()),
        };
        if client.poll_until(readable).await.is_ok() {
            return Ok(());
        }
        let now = worker.rt.now();
        let cause = match () {
            () if now >= service.cut_at.get() => Cause::DrainCut,
            () if now >= self.total_deadline => Cause::WholeTimeout,
            () => Cause::ClientBodyTimeout,
        };
        Err(AttemptFault::before_sending(cause))
    }
}

fn client_lost_fault(cause: Cause) -> AttemptFault {
    AttemptFault { client_lost: true, ..AttemptFault::before_sending(cause) }
}

fn malformed_fault(defect: Defect) -> AttemptFault {
    AttemptFault { defect: Some(defect), ..AttemptFault::before_sending(Cause::BadRequest) }
}
