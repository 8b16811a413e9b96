//! An exchange whose server has switched protocols (101): bytes in both directions until either side ends.

use super::{ExchangeContext, HttpExchange, tunnel};
use crate::conn::sampling;
use crate::exchange::abort_watch::AbortWatch;
use crate::exchange::disposition::ConnectionDisposition;
use crate::rt::NetDriver;
use crate::upstream::UpstreamLease;

impl<N: NetDriver> HttpExchange<'_, N> {
    /// Runs the tunnel after an accepted upgrade; `early_bytes` arrived after the request.
    pub(super) async fn run_tunnel(
        &mut self,
        lease: UpstreamLease<N>,
        early_bytes: Vec<u8>,
    ) -> ConnectionDisposition {
        let ExchangeContext { worker, client, service, .. } = self.context;
        self.counters().upgraded.add(1);
        self.retry_in_flight.finish();
        let server = lease.slot_guard.server.clone();
        let meter = self.meter(&server);
        let abort_watch = AbortWatch::new(&server.view.borrow().stats);
        let server_stream = &lease.connection.stream;
        let ends = tunnel::TunnelContext {
            client,
            server: server_stream,
            service,
            abort_watch,
            early_bytes,
            idle: self.settings.tunnel(&service.view.borrow().config),
        };
        let ended = tunnel::run(worker, ends, meter, &mut self.record.sample).await;
        self.record.ended_at = Some(worker.rt.now());
        sampling::end_attempt(
            &worker.sampler,
            &self.view,
            &mut self.record,
            client,
            &lease.connection.stream,
            worker.rt.now(),
        );
        self.record.add_transfer(&ended.moved);
        self.record.cause = ended.cause;
        self.close(Some(&server));
        if ended.cause.is_none() {
            return ConnectionDisposition::Close;
        }
        // Both sides are reset: after an orderly close a truncated stream would look complete.
        lease.connection.reset();
        ConnectionDisposition::Reset
    }
}
