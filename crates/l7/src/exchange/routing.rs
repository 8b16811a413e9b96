//! Routing of an exchange: the edits and rules of its service, and client affinity.
//!
//! Routing takes place once, before the first attempt. It rewrites the head and sends mirror copies as the rule
//! configures. The server is chosen later.

use std::time::Duration;

use model::cause::Cause;
use model::config::{AffinityKey, ClientRefusal, CookieMode};
use model::id::ServerId;
use model::request_head::ParsedHead;
use model::rules::response_rewrite::FilledResponse;
use model::rules::rewrite::RewriteFault;
use model::rules::{ExchangeSettings, PathAdmission, admit_path, write_with_target};
use rustls::pki_types::UnixTime;
use wire::http1::DirectResponse;

use super::edits::rewrite_cause;
use super::{ExchangeContext, HttpExchange, client_field};
use crate::exchange::disposition::ConnectionDisposition;
use crate::exchange::local_reply;
use crate::exchange::relay::AttemptFault;
use crate::rt::NetDriver;
use crate::tls::downstream::DownstreamTls;
use crate::tls::handshake_cause::{self, HandshakeCause};
use crate::upstream::affinity::{AffinityChoice, AffinityInput, ClientAffinity};
use crate::upstream::hash_key;
use crate::upstream::mirror::{self, MirroredRequest};
use crate::upstream::request_cookies::{self, RequestCookieEdit};
use crate::upstream::response_changes::ResponseRule;
use crate::upstream::response_edits;
use crate::upstream::routing::{self, ComposedReply, MatchedRule, RoutingDecision};

/// The path that ACME authorities request (RFC 8555 §8.3).
const ACME_CHALLENGE_PATH: &[u8] = b"/.well-known/acme-challenge/";

/// A response without a server.
pub(super) enum EarlyReply {
    /// The request is rejected for this cause.
    Refused(Cause),
    Composed(ComposedReply),
}

impl<N: NetDriver> HttpExchange<'_, N> {
    /// Responds to an ACME HTTP-01 challenge, before any rule applies. A request for an unknown token is forwarded,
    /// since the server may have ordered a certificate itself.
    pub(super) fn answer_acme_challenge(&self) -> Option<EarlyReply> {
        let proofs = self.context.worker.challenges.borrow();
        let proofs = proofs.as_ref()?;
        let head = self.incoming.view();
        let text = proofs.get(head.path().strip_prefix(ACME_CHALLENGE_PATH)?)?;
        let lines = b"Content-Type: application/octet-stream\r\n".to_vec();
        let body = text.clone().into_bytes();
        Some(EarlyReply::Composed(ComposedReply { status: 200, lines, body }))
    }

    /// Responds to a request that may not be forwarded (RFC 9110 §7.6.2). TRACE is rejected: its response would reveal
    /// cookies to scripts that may not read them.
    pub(super) fn answer_last_hop(&self) -> Option<EarlyReply> {
        if !self.incoming.ends_here {
            return None;
        }
        let status = if self.incoming.view().method() == b"TRACE" { 405 } else { 200 };
        let lines = b"Allow: OPTIONS\r\n".to_vec();
        Some(EarlyReply::Composed(ComposedReply { status, lines, body: Vec::new() }))
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
        let HandshakeCause { cause, detail } = handshake_cause::client_cause(&judged.err()?);
        let by_answer = wanted.refusal == ClientRefusal::Answer;
        self.record.defect = Some(detail);
        Some(EarlyReply::Refused(if by_answer { Cause::ClientCertificateRefused } else { cause }))
    }

    /// Rejects a host that differs from the connection's server name in whether it requires a client certificate (RFC
    /// 9110 §15.5.20).
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

    /// Makes the edits, applies the rules and looks up the client's affinity; returns a response that ends the exchange,
    /// if any.
    pub(super) fn route(&mut self) -> Option<EarlyReply> {
        if let Some(end) = self.normalize_path() {
            return Some(end);
        }
        if let Err(cause) = self.make_edits_before_rules() {
            return Some(EarlyReply::Refused(cause));
        }
        let matched_rule = match self.apply_rules() {
            Ok(matched) => matched,
            Err(end) => return Some(end),
        };
        if let Err(cause) = self.make_edits_after_rules() {
            self.matched_rule = matched_rule;
            return Some(EarlyReply::Refused(cause));
        }
        self.write_client_field();
        let ExchangeContext { worker, client, client_peer, .. } = self.context;
        let head = self.incoming.view();
        let input = AffinityInput {
            peer: self.incoming.client(client_peer),
            request_head: Some(&head),
            session: client.tls_session(),
        };
        self.affinity = ClientAffinity::begin(worker, &self.view, &self.pool, &input);
        self.edit_cookies();
        let refused = self.limit_body();
        self.matched_rule = matched_rule;
        refused
    }

    /// Finds the rule for the request, and does what it says. The error is a response that ends the exchange.
    fn apply_rules(&mut self) -> Result<Option<MatchedRule>, EarlyReply> {
        let Some(ruling) = self.view.rules.clone() else { return Ok(None) };
        let ExchangeContext { worker, client, client_peer, service } = self.context;
        let head = self.incoming.view();
        let sni = client.server_name();
        let ruled = routing::route(
            worker,
            service,
            &self.view,
            &ruling,
            self.incoming.client(client_peer),
            sni.as_deref(),
            Some(&head),
        );
        let matched = match ruled {
            RoutingDecision::Pool(pool, matched) => {
                self.pool = pool.unwrap_or_else(|| self.pool.clone());
                matched
            }
            RoutingDecision::Refused(cause, matched) => {
                // A refusal stays one, whatever its lines would be.
                let filled =
                    matched.as_ref().map(|it| self.fill_response(it, &head, sni.as_deref()));
                self.changes.filled = filled.and_then(Result::ok).unwrap_or_default();
                self.matched_rule = matched;
                return Err(EarlyReply::Refused(cause));
            }
            RoutingDecision::Answer(matched) => {
                return Err(self.answer_by_rule(matched, sni.as_deref()));
            }
        };
        let Some(matched) = matched else { return Ok(None) };
        let rule = self.view.config.rules.get(matched.at);
        self.class = rule.and_then(|rule| rule.priority).unwrap_or(self.class);
        self.settings = rule.map(ExchangeSettings::from_rule).unwrap_or_default();
        if let Err(fault) = self.apply_rewrite(&matched, sni.as_deref()) {
            self.matched_rule = Some(matched);
            return Err(EarlyReply::Refused(rewrite_cause(fault)));
        }
        Ok(Some(matched))
    }

    /// Applies path normalization before the rules; returns a response that ends the exchange, if any.
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
                let old = self.incoming.replace(out, target);
                worker.buffers.put(old);
                None
            }
        }
    }

    /// The hash input of the pool's policy, if it is not the client's address.
    pub(super) fn hash_key(&self) -> Option<u64> {
        let pool = self.pool.view.borrow();
        hash_key::request_hash(
            &pool.config.hash_on,
            &self.incoming.head,
            self.incoming.target.start,
            self.incoming.target.end,
            self.incoming.client(self.context.client_peer),
        )
    }

    /// The constraint of the client's affinity on the choice of a server.
    pub(super) fn affinity_choice(&self) -> Option<AffinityChoice> {
        let now = self.context.worker.rt.now();
        self.affinity
            .as_ref()
            .and_then(|it| it.choose_server(&self.pool, &self.failed_servers, now))
    }

    /// Records the chosen server for the client's affinity.
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

    /// Changes the request as the rule says, and keeps what it says of the answer.
    fn apply_rewrite(
        &mut self,
        matched: &MatchedRule,
        sni: Option<&str>,
    ) -> Result<(), RewriteFault> {
        let worker = self.context.worker;
        let Some(rule) = matched.rule() else { return Ok(()) };
        if rule.response_rewrite.has_variables() {
            let head = self.incoming.view();
            self.changes.filled = self.fill_response(matched, &head, sni)?;
        }
        if let Some(edits) = &rule.request_rewrite {
            let head = self.incoming.view();
            let mut out = worker.buffers.take();
            let base = rule.rewrite_base(&head);
            let captures = rule.path_captures(&base);
            let facts = self.request_facts(&head, sni);
            let target = edits.apply(&self.incoming.head, &facts, &base, captures, &mut out)?;
            drop(base);
            let old = self.incoming.replace(out, target);
            worker.buffers.put(old);
        }
        if !rule.response_rewrite.is_empty() {
            self.changes.rule =
                Some(ResponseRule { ruling: matched.ruling.clone(), at: matched.at });
        }
        Ok(())
    }

    /// The redirect or answer of a rule, unless the request's body is too long for the rule.
    fn answer_by_rule(&mut self, matched: MatchedRule, sni: Option<&str>) -> EarlyReply {
        let rule = self.view.config.rules.get(matched.at);
        self.settings = rule.map(ExchangeSettings::from_rule).unwrap_or_default();
        let refused = self.refuse_longer_body(self.settings.own_body_bytes());
        let head = self.incoming.view();
        let mut reply = routing::rule_answer(&matched, &self.view, &head);
        match self.fill_response(&matched, &head, sni) {
            Ok(filled) if refused.is_some() => self.changes.filled = filled,
            Ok(filled) => {
                filled.write_lines(reply.status, true, &mut reply.lines);
                let edits = &self.changes.edits;
                response_edits::write_own_lines(edits, reply.status, &mut reply.lines);
                self.changes.write_request_id(&mut reply.lines);
            }
            Err(_) => return EarlyReply::Refused(Cause::HeadTooLarge),
        }
        self.matched_rule = Some(matched);
        refused.unwrap_or(EarlyReply::Composed(reply))
    }

    /// What a rule adds to the response, filled for this request.
    fn fill_response(
        &self,
        matched: &MatchedRule,
        head: &ParsedHead<'_>,
        sni: Option<&str>,
    ) -> Result<FilledResponse, RewriteFault> {
        let Some(rule) = matched.rule().filter(|rule| rule.response_rewrite.has_variables()) else {
            return Ok(FilledResponse::default());
        };
        let facts = self.request_facts(head, sni);
        rule.response_rewrite.fill(&facts).ok_or(RewriteFault::ValuesTooLong)
    }

    /// Writes the field with the client's address, where the service wants one.
    fn write_client_field(&mut self) {
        let Some(field) = &self.view.config.forwarded.client_field else { return };
        let ExchangeContext { worker, client_peer, .. } = self.context;
        let client = self.incoming.client(client_peer).ip();
        if !field.except.contains(client) {
            let mut out = worker.buffers.take();
            client_field::write_client_field(&self.incoming.head, field, client, &mut out);
            // The request line stays as it is, and so does the place of the target.
            worker.buffers.put(std::mem::replace(&mut self.incoming.head, out));
        }
    }

    /// Removes affinity data from the request's cookies that servers must not see.
    fn edit_cookies(&mut self) {
        let sticky = self.view.config.sticky.as_ref();
        let Some(AffinityKey::Cookie(cookie)) = sticky.map(|sticky| &sticky.by) else { return };
        let edit = match cookie.mode {
            CookieMode::Prefix => RequestCookieEdit::StripServer,
            CookieMode::Insert if cookie.hide => RequestCookieEdit::Remove,
            _ => return,
        };
        let name = cookie.name.as_bytes();
        if self.incoming.view().cookie(name).next().is_some() {
            let worker = self.context.worker;
            let mut out = worker.buffers.take();
            request_cookies::write_cookies(&self.incoming.head, name, edit, &mut out);
            worker.buffers.put(std::mem::replace(&mut self.incoming.head, out));
        }
    }

    /// Sends a copy where the rule wants one.
    pub(super) fn mirror_request(&self) {
        let Some(matched) = &self.matched_rule else { return };
        let ExchangeContext { worker, client_peer, service, .. } = self.context;
        let wanted = matched.rule().and_then(|rule| rule.mirror);
        let Some((target, live)) = wanted.zip(matched.live()) else { return };
        if worker.rng.borrow_mut().below(100) >= u64::from(target.percent) {
            return;
        }
        let body = &self.incoming.body;
        let Some(pool) = service.rule_pools.borrow().get(target.pool).cloned() else { return };
        if !body.framing.is_done() || body.has_pending() || self.incoming.upgrade {
            return mirror::count_dropped(worker, live);
        }
        let message = self.incoming.head.clone();
        let live = live.clone();
        mirror::mirror_request(
            worker,
            pool,
            MirroredRequest {
                message,
                client_peer: client_peer.clone(),
                client: self.incoming.client(client_peer).ip(),
                live,
                at_once: target.at_once,
            },
        );
    }

    /// Ends the exchange without a server.
    pub(super) async fn end_locally(&mut self, end: EarlyReply) -> ConnectionDisposition {
        let ExchangeContext { worker, client, .. } = self.context;
        let ComposedReply { status, lines, body } = match end {
            EarlyReply::Refused(cause) => {
                return self.finish_failed(AttemptFault::before_sending(cause), None).await;
            }
            EarlyReply::Composed(reply) => reply,
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
