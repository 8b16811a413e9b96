//! Routing of an exchange: the rules of its service, and client affinity.
//!
//! Done once, before the first attempt. It rewrites the head and sends mirror copies as the rule configures; it chooses
//! no server.

use std::time::Duration;

use model::cause::Cause;
use model::config::ClientRefusal;
use model::id::ServerId;
use model::rules::{PathAdmission, admit_path, write_with_target};
use rustls::pki_types::UnixTime;
use wire::http1::DirectResponse;

use super::{ExchangeContext, HttpExchange, client_field};
use crate::exchange::disposition::ConnectionDisposition;
use crate::exchange::local_reply;
use crate::exchange::relay::AttemptFault;
use crate::rt::NetDriver;
use crate::tls::downstream::DownstreamTls;
use crate::tls::handshake_cause;
use crate::upstream::affinity::{AffinityChoice, AffinityInput, ClientAffinity};
use crate::upstream::mirror::{self, MirroredRequest};
use crate::upstream::routing::{self, MatchedRule, RoutingDecision};

/// Where authorities ask for it (RFC 8555 §8.3).
const ACME_CHALLENGE_PATH: &[u8] = b"/.well-known/acme-challenge/";

/// What ends an exchange before a server is chosen.
pub(super) enum EarlyReply {
    /// A rule refuses it.
    Refused(Cause),
    /// A rule answers: status, lines, body.
    Composed(u16, Vec<u8>, Vec<u8>),
}

impl<N: NetDriver> HttpExchange<'_, N> {
    /// What an authority asks for to see that a name is ours, before any rule is asked. What nobody waits for goes on to
    /// a server, which may have ordered a certificate itself.
    pub(super) fn answer_acme_challenge(&self) -> Option<EarlyReply> {
        let proofs = self.context.worker.challenges.borrow();
        let proofs = proofs.as_ref()?;
        let head = self.incoming.view();
        let text = proofs.get(head.path().strip_prefix(ACME_CHALLENGE_PATH)?)?;
        let lines = b"Content-Type: application/octet-stream\r\n".to_vec();
        Some(EarlyReply::Composed(200, lines, text.clone().into_bytes()))
    }

    /// What is answered to a request that may go no further (RFC 9110 §7.6.2). What TRACE asks for is not shown: scripts
    /// that cannot read a cookie could read it there.
    pub(super) fn answer_last_hop(&self) -> Option<EarlyReply> {
        if !self.incoming.ends_here {
            return None;
        }
        let status = if self.incoming.view().method() == b"TRACE" { 405 } else { 200 };
        Some(EarlyReply::Composed(status, b"Allow: OPTIONS\r\n".to_vec(), Vec::new()))
    }

    /// Whether the client may come no longer: what judges its certificate may have changed since its connection began, or
    /// the certificate has ended.
    pub(super) fn check_client_certificate(&mut self) -> Option<EarlyReply> {
        let wanted = self.view.config.tls.as_ref()?.client.as_ref()?;
        let ExchangeContext { worker, client, .. } = self.context;
        let judged = match client.verified_client() {
            Some(judged) => {
                let tls = self.view.tls.as_ref()?.downcast::<DownstreamTls>()?;
                let now = UnixTime::since_unix_epoch(Duration::from_millis(worker.unix_ms()));
                judged.is_still_valid(tls.client_verifier.as_ref()?, now)
            }
            None if !wanted.required => return None,
            None => {
                let name = client.server_name();
                match wanted.requests_certificate(name.as_deref().map(str::as_bytes)) {
                    true => Err(rustls::Error::NoCertificatesPresented),
                    false => Ok(()),
                }
            }
        };
        let (cause, detail) = handshake_cause::client_cause(&judged.err()?);
        let by_answer = wanted.refusal == ClientRefusal::Answer;
        self.record.defect = Some(detail);
        Some(EarlyReply::Refused(if by_answer { Cause::ClientCertificateRefused } else { cause }))
    }

    /// Whether the host that is asked for belongs to another kind of connection: one that is asked for a certificate of the
    /// client, or one that is not (RFC 9110 §15.5.20).
    pub(super) fn check_host(&self) -> Option<EarlyReply> {
        let client = self.view.config.tls.as_ref()?.client.as_ref()?;
        if client.names.is_empty() {
            return None;
        }
        let name = self.context.client.server_name();
        let head = self.incoming.view();
        let asked = client.requests_certificate(name.as_deref().map(str::as_bytes));
        (asked != client.requests_certificate(Some(head.host())))
            .then_some(EarlyReply::Refused(Cause::Misdirected))
    }

    /// Asks the rules, and who keeps the client; what ends the exchange here, if something does.
    pub(super) fn route(&mut self) -> Option<EarlyReply> {
        if let Some(end) = self.normalize_path() {
            return Some(end);
        }
        let ExchangeContext { worker, client, client_peer, service } = self.context;
        let peer = client_peer.peer;
        let mut matched_rule = None;
        if let Some(ruling) = self.view.rules.clone() {
            let head = self.incoming.view();
            let sni = client.server_name();
            let ruled = routing::route(
                worker,
                service,
                &self.view,
                &ruling,
                peer,
                sni.as_deref(),
                Some(&head),
            );
            let matched = match ruled {
                RoutingDecision::Pool(pool, matched) => {
                    self.pool = pool.unwrap_or_else(|| self.pool.clone());
                    matched
                }
                RoutingDecision::Refused(cause, matched) => {
                    self.matched_rule = matched;
                    return Some(EarlyReply::Refused(cause));
                }
                RoutingDecision::Answer(matched) => {
                    let (status, lines, body) = routing::rule_answer(&matched, &self.view, &head);
                    self.matched_rule = Some(matched);
                    return Some(EarlyReply::Composed(status, lines, body));
                }
            };
            if let Some(matched) = matched {
                let rule = self.view.config.rules.get(matched.at);
                self.class = rule.and_then(|rule| rule.priority).unwrap_or(self.class);
                let edited = self.apply_edits(&matched);
                if edited.is_none() {
                    self.matched_rule = Some(matched);
                    return Some(EarlyReply::Refused(Cause::AmbiguousPath));
                }
                matched_rule = Some(matched);
            }
        }
        self.write_client_field();
        if let Some(matched) = matched_rule {
            self.mirror_request(&matched);
            self.matched_rule = Some(matched);
        }
        let head = self.incoming.view();
        let input =
            AffinityInput { peer, request_head: Some(&head), session: client.tls_session() };
        self.affinity = ClientAffinity::begin(worker, &self.view, &self.pool, &input);
        None
    }

    /// What the service makes of an ambiguous path before rules are asked; what ends the exchange, if it does.
    fn normalize_path(&mut self) -> Option<EarlyReply> {
        let normalization = self.view.config.path_normalization;
        if !normalization.applies_without_rules() {
            return None;
        }
        let head = self.incoming.view();
        match admit_path(normalization, &head) {
            PathAdmission::Unchanged => None,
            PathAdmission::Refused => Some(EarlyReply::Refused(Cause::AmbiguousPath)),
            PathAdmission::Rewritten(target) => {
                let worker = self.context.worker;
                let mut out = worker.buffers.take();
                let target = write_with_target(&self.incoming.head, &head, &target, &mut out);
                let old = self.incoming.replace(out, target.0, target.1);
                worker.buffers.put(old);
                None
            }
        }
    }

    /// What the client's server wants of the choice.
    pub(super) fn affinity_choice(&self) -> Option<AffinityChoice> {
        let now = self.context.worker.rt.now();
        self.affinity
            .as_ref()
            .and_then(|it| it.choose_server(&self.pool, &self.failed_servers, now))
    }

    /// A server was chosen.
    pub(super) fn record_chosen_server(&mut self, server: ServerId) {
        if let Some(affinity) = &self.affinity {
            let now = self.context.worker.rt.now();
            affinity.record_chosen_server(
                &self.pool,
                server,
                &self.failed_servers,
                now,
                &mut self.changes,
            );
        }
    }

    /// Changes the request as the rule says, and keeps what it says of the answer; `None`: its new path would be
    /// ambiguous.
    fn apply_edits(&mut self, matched: &MatchedRule) -> Option<()> {
        let worker = self.context.worker;
        let Some(rule) = matched.rule() else { return Some(()) };
        if let Some(edits) = &rule.request_rewrite {
            let head = self.incoming.view();
            let mut out = worker.buffers.take();
            let base = rule.rewrite_base(&head);
            let captures = rule.path_captures(&base);
            let target = edits.apply(&self.incoming.head, &head, &base, captures, &mut out)?;
            drop(base);
            let old = self.incoming.replace(out, target.0, target.1);
            worker.buffers.put(old);
        }
        if !rule.response_rewrite.is_empty() {
            self.changes.rule = Some((matched.ruling.clone(), matched.at));
        }
        Some(())
    }

    /// Writes the field with the client's address, where the service wants one.
    fn write_client_field(&mut self) {
        let Some(field) = &self.view.config.forwarded.client_field else { return };
        let ExchangeContext { worker, client_peer, .. } = self.context;
        let client = client_peer.peer.ip();
        if !field.except.contains(client) {
            let mut out = worker.buffers.take();
            client_field::write_client_field(&self.incoming.head, field, client, &mut out);
            // The request line stays as it is, and so does the place of the target.
            worker.buffers.put(std::mem::replace(&mut self.incoming.head, out));
        }
    }

    /// Sends a copy where the rule wants one.
    fn mirror_request(&self, matched: &MatchedRule) {
        let ExchangeContext { worker, client_peer, service, .. } = self.context;
        let wanted = matched.rule().and_then(|rule| rule.mirror);
        let Some(((pool, percent, at_once), live)) = wanted.zip(matched.live()) else { return };
        if worker.rng.borrow_mut().below(100) >= u64::from(percent) {
            return;
        }
        let body = &self.incoming.body;
        let Some(pool) = service.rule_pools.borrow().get(pool).cloned() else { return };
        if !body.framing.is_done() || body.has_pending() || self.incoming.upgrade {
            return mirror::count_dropped(worker, live);
        }
        let message = self.incoming.head.clone();
        let live = live.clone();
        mirror::mirror_request(
            worker,
            pool,
            MirroredRequest { message, client_peer: client_peer.clone(), live, at_once },
        );
    }

    /// Ends without a server.
    pub(super) async fn end_locally(&mut self, end: EarlyReply) -> ConnectionDisposition {
        let ExchangeContext { worker, client, .. } = self.context;
        let (status, lines, body) = match end {
            EarlyReply::Refused(cause) => {
                return self.finish_failed(AttemptFault::before_sending(cause), None).await;
            }
            EarlyReply::Composed(status, lines, body) => (status, lines, body),
        };
        let made = DirectResponse { status, lines: &lines, body: &body };
        let keep = self.may_keep_alive();
        let head_only = self.incoming.head_only;
        let record = &mut self.record;
        let after = local_reply::send_rule_answer(
            worker, client, &self.view, &made, keep, head_only, record,
        )
        .await;
        self.close(None);
        after
    }
}
