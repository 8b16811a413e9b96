//! The end of an exchange: after a complete response, or with a local reply after the last failed attempt, and the
//! closed record.

use std::rc::Rc;

use model::cause::Cause;
use model::refused_requests::is_refusal;

use super::{ExchangeContext, HttpExchange};
use crate::accounting;
use crate::exchange::discarded_body;
use crate::exchange::disposition::ConnectionDisposition;
use crate::exchange::local_reply::{self, LocalReply, PageReply};
use crate::exchange::outlier_stats;
use crate::exchange::relay::{AttemptFault, InterceptedAnswer};
use crate::rt::NetDriver;
use crate::servers::worker_state::LocalServer;
use crate::upstream::UpstreamLease;
use crate::upstream::routing::MatchedRule;

impl<N: NetDriver> HttpExchange<'_, N> {
    /// Finishes an exchange after a complete response.
    pub(super) fn finish_answered(
        &mut self,
        lease: UpstreamLease<N>,
        keep_client: bool,
        keep_server: bool,
    ) -> ConnectionDisposition {
        let worker = self.context.worker;
        self.record.ended_at = Some(worker.rt.update_now());
        let pool = self.pool.view.borrow();
        let server = lease.slot_guard.server.view.borrow();
        outlier_stats::record_answer(&pool, &server.stats, worker.index, self.record.status);
        drop((pool, server));
        let after = self.disposition(keep_client);
        self.close(Some(&lease.slot_guard.server));
        match keep_server {
            true => self.keep_connection(lease),
            false => self.close_connection(lease),
        }
        after
    }

    /// Sends the page in the place of a server's answer.
    pub(super) async fn finish_intercepted(
        &mut self,
        lease: UpstreamLease<N>,
        keep_server: bool,
    ) -> ConnectionDisposition {
        let ExchangeContext { worker, client, .. } = self.context;
        let server = lease.slot_guard.server.clone();
        let status = self.record.status;
        {
            let pool = self.pool.view.borrow();
            let view = server.view.borrow();
            outlier_stats::record_answer(&pool, &view.stats, worker.index, status);
        }
        let InterceptedAnswer { mut lines, unread } = std::mem::take(&mut self.intercepted);
        match keep_server {
            true if unread.is_done() => self.keep_connection(lease),
            true if self.may_share_later(&lease) => {
                discarded_body::discard_rest(worker, lease, unread);
            }
            // Closed before the client has the page, so that nothing waits for the rest.
            _ => drop(lease),
        }
        let view = self.view.clone();
        let pages = view.error_pages.as_ref();
        let Some(page) = pages.and_then(|pages| pages.find_intercepting(status)) else {
            return ConnectionDisposition::Reset;
        };
        self.record.replaced_status = Some(status);
        self.record.status = page.client_status(status);
        self.changes.write_lines_beside_page(self.record.status, &mut lines);
        let reply =
            PageReply { keep_alive: self.may_keep_alive(), head_only: self.incoming.head_only };
        let record = &mut self.record;
        let after = local_reply::send_instead_of_answer(
            worker, client, &view, page, &lines, &reply, record,
        )
        .await;
        if matches!(after, ConnectionDisposition::Close) {
            self.record.cause = Some(Cause::ClientClosedResponse);
        }
        self.record.ended_at = Some(worker.rt.update_now());
        self.close(Some(&server));
        after
    }

    /// What happens to the client's connection after a complete response.
    pub(super) fn disposition(&self, keep_client: bool) -> ConnectionDisposition {
        match keep_client {
            true => ConnectionDisposition::KeepAlive,
            // Closing with unread bytes would cause a reset that may discard the response.
            false if self.context.client.may_read() || !self.incoming.body.framing.is_done() => {
                ConnectionDisposition::Linger
            }
            false => ConnectionDisposition::Close,
        }
    }

    /// Finishes an exchange after the last failed attempt.
    pub(super) async fn finish_failed(
        &mut self,
        fault: AttemptFault,
        server: Option<Rc<LocalServer<N>>>,
    ) -> ConnectionDisposition {
        let ExchangeContext { worker, client, .. } = self.context;
        self.record.cause = Some(fault.cause);
        if let Some(defect) = fault.defect {
            self.record.defect = Some(defect.name());
        }
        let mut status = fault.cause.status();
        if let Some(defect) = fault.defect
            && fault.cause == Cause::BadRequest
        {
            status = defect.status();
            if let Some(count) = self.view.stats.slots[worker.index].defects.get(defect as usize) {
                count.add(1);
            }
        }
        let after = if fault.answer_begun {
            ConnectionDisposition::Reset
        } else if fault.client_lost || status == 0 {
            ConnectionDisposition::Close
        } else {
            let keep = self.may_keep_alive();
            let head_only = self.incoming.head_only;
            let answer = LocalReply { status, cause: fault.cause, keep_alive: keep, head_only };
            let mut lines = Vec::new();
            self.changes.write_own_lines(status, &mut lines);
            let shown = self.shown_credentials.as_ref();
            lines.extend_from_slice(shown.map_or(&[], |shown| &shown.reply_lines));
            local_reply::send_reply(worker, client, &self.view, &answer, &lines, &mut self.record)
                .await
        };
        self.close(server.as_deref());
        after
    }

    /// Counts dropped trailers; few messages have any.
    pub(super) fn count_dropped_trailers(&self, trailers: u8) {
        if trailers > 0 {
            self.counters().trailers_dropped.add(trailers.into());
        }
    }

    /// Closes the record and returns the buffers.
    pub(super) fn close(&mut self, server: Option<&LocalServer<N>>) {
        let worker = self.context.worker;
        self.record_answer_latency();
        self.count_dropped_trailers(self.incoming.body.trailers_dropped);
        let mut request = self.incoming.logged_request(self.context.client_peer, &self.view.config);
        let sni;
        if worker.options.access.wants_further_facts() {
            sni = self.context.client.server_name();
            request.further.sni = sni.as_deref();
            request.further.tls_version = self.context.client.tls_version();
            let rule = self.matched_rule.as_ref().and_then(MatchedRule::rule);
            request.further.rule = rule.map(|rule| rule.name.as_str());
        }
        if self.record.cause.is_some_and(is_refusal) {
            request.offence.host = self.incoming.host();
        }
        worker.close(&self.view, server, &mut self.record, &request);
        if let Some(server) = server {
            let balance = self.pool.view.borrow().config.balance;
            accounting::record_pace(
                balance,
                &self.record,
                &server.view.borrow().stats.latency,
                worker.rt.now(),
            );
        }
        self.incoming.body.release(worker);
        worker.buffers.put(std::mem::take(&mut self.incoming.head));
    }
}
