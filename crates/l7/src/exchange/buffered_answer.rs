//! Delivers the buffered rest of a response to a client that is slower than its server, after the server was released.

use std::task::Poll;

use model::cause::Cause;
use model::monotonic_time::MonotonicTime;
use model::time_attribution::WaitReason;

use super::{ExchangeContext, HttpExchange};
use crate::exchange::disposition::ConnectionDisposition;
use crate::exchange::flow::{ByteFlow, FlowStep};
use crate::exchange::outlier_stats;
use crate::rt::NetDriver;
use crate::upstream::UpstreamLease;

impl<N: NetDriver> HttpExchange<'_, N> {
    /// Releases the server connection, and writes the rest to the client.
    pub(super) async fn deliver_buffered_answer(
        &mut self,
        lease: UpstreamLease<N>,
        keep_client: bool,
        keep_server: bool,
    ) -> ConnectionDisposition {
        let worker = self.context.worker;
        self.counters().buffered_answers.add(1);
        let server = lease.slot_guard.server.clone();
        {
            let pool = self.pool.view.borrow();
            let view = server.view.borrow();
            outlier_stats::record_answer(&pool, &view.stats, worker.index, self.record.status);
        }
        match keep_server {
            true => self.keep_connection(lease),
            false => self.close_connection(lease),
        }
        let Some(mut rest) = self.remaining_answer.take() else {
            return ConnectionDisposition::Reset;
        };
        let before = rest.bytes_out;
        self.record.sample.awaited.wait_for(WaitReason::ClientReceive, worker.rt.now());
        let cause = self.write_buffered(&mut rest).await;
        self.record.sample.awaited.stop(worker.rt.now());
        let given = rest.bytes_out - before;
        rest.release(worker);
        self.counters().client_out.add(given);
        self.record.bytes_to_client += given;
        self.record.ended_at = Some(worker.rt.update_now());
        self.record.cause = cause;
        let after = match cause {
            None => self.disposition(keep_client),
            Some(_) => ConnectionDisposition::Reset,
        };
        self.close(Some(&server));
        after
    }

    /// Writes the buffered bytes to the client; returns the cause of a failure.
    async fn write_buffered(&self, rest: &mut ByteFlow<N>) -> Option<Cause> {
        let ExchangeContext { worker, client, service, .. } = self.context;
        let idle = self.settings.client_between_bytes(&self.view.config);
        let mut moved = (rest.bytes_out, worker.rt.now());
        std::future::poll_fn(|_| {
            let step = rest.write_rest(worker, client);
            let now = worker.rt.now();
            if rest.bytes_out != moved.0 {
                moved = (rest.bytes_out, now);
            }
            match step {
                FlowStep::Finished => return Poll::Ready(None),
                FlowStep::ReceiverFailed => return Poll::Ready(Some(Cause::ClientClosedResponse)),
                _ if client.is_broken() => return Poll::Ready(Some(Cause::ClientClosedResponse)),
                _ => {}
            }
            let ends: [(MonotonicTime, Cause); 3] = [
                (moved.1 + idle, Cause::ClientReadTimeout),
                (self.total_deadline, Cause::WholeTimeout),
                (service.cut_at.get(), Cause::DrainCut),
            ];
            if let Some((_, cause)) = ends.iter().find(|(at, _)| now >= *at) {
                return Poll::Ready(Some(*cause));
            }
            for (at, _) in ends {
                worker.rt.wake_at(at);
            }
            Poll::Pending
        })
        .await
    }
}
