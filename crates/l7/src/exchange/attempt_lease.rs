//! Leases the connection of an attempt: that of a hedged attempt, or one of the pool.
//!
//! Which servers have one is decided in `upstream`.

use model::monotonic_time::MonotonicTime;

use super::{AttemptLease, ExchangeContext, HttpExchange};
use crate::conn::deadline::ExchangeDeadline;
use crate::rt::NetDriver;
use crate::upstream::hedge::{HedgeResult, HedgeWinner};
use crate::upstream::{self, LeaseDecision, UpstreamLeaseError, UpstreamLeaseRequest};

impl<N: NetDriver> HttpExchange<'_, N> {
    /// Leases a connection to a server of the pool. With a hedged attempt, the request was already sent on it.
    pub(super) async fn lease_upstream(
        &mut self,
    ) -> Result<AttemptLease<N>, UpstreamLeaseError<N>> {
        // Rare futures are boxed, because a future is moved as a whole when it starts.
        if !matches!(self.hedge, HedgeResult::None) {
            match Box::pin(self.adopt_hedge()).await {
                Some(HedgeWinner { lease, sent_request, .. }) => {
                    return Ok(AttemptLease { lease, sent: Some(sent_request) });
                }
                // The hedged attempt was paid for and failed, so this one needs another permit.
                None => {
                    self.take_retry().map_err(|cause| UpstreamLeaseError { cause, server: None })?
                }
            }
        }
        let ExchangeContext { worker, client, client_peer, service } = self.context;
        let want = UpstreamLeaseRequest {
            client_peer,
            client: self.incoming.client(client_peer).ip(),
            key: self.hash_key(),
            tried_servers: &self.failed_servers,
            retry_server: self.retry_server,
            only_fresh_idle: !self.incoming.idempotent,
            fresh: false,
            affinity: self.affinity_choice(),
            upgrade: self.incoming.upgrade,
            authenticates: self.incoming.authenticates,
            class: self.class,
            settings: &self.settings,
            written_servers: &self.written_servers,
            until: if self.failed_servers.is_empty() {
                MonotonicTime::NEVER
            } else {
                self.attempts_end
            },
            deadline: ExchangeDeadline {
                client: Some(client),
                total: self.total_deadline,
                cut_at: &service.cut_at,
            },
        };
        let lease = match upstream::lease_now(worker, &self.pool, &want) {
            LeaseDecision::Leased(lease) => lease,
            now => {
                Box::pin(upstream::lease(worker, &self.pool, want, now, &mut self.record)).await?
            }
        };
        Ok(AttemptLease { lease, sent: None })
    }
}
