//! Where an exchange goes: what the rules of its service say of it, and which server keeps its client.
//!
//! Asked once, before the first attempt. It changes the head and sends copies as a rule says; it chooses no server.

use std::time::Duration;

use model::cause::Cause;
use model::id::ServerId;
use model::rules::{Admitted, admit, retarget};
use rustls::pki_types::UnixTime;
use wire::http1::Made;

use super::{Exchange, Parties};
use crate::after::After;
use crate::mirror::{self, Copied};
use crate::refuse;
use crate::relay::Fault;
use crate::rt::Net;
use crate::ruled::{self, Ruled, Taken};
use crate::sticking::{Stick, Sticking, Told};
use crate::tls::server::ServerTls;
use crate::tls::trouble;

/// Where authorities ask for it (RFC 8555 §8.3).
const PROOF: &[u8] = b"/.well-known/acme-challenge/";

/// What ends an exchange before a server is chosen.
pub(super) enum End {
    /// A rule refuses it.
    Refused(Cause),
    /// A rule answers: status, lines, body.
    Made(u16, Vec<u8>, Vec<u8>),
}

impl<N: Net> Exchange<'_, N> {
    /// What an authority asks for to see that a name is ours, before any rule is asked. What nobody waits for goes on to
    /// a server, which may have ordered a certificate itself.
    pub(super) fn proof(&self) -> Option<End> {
        let proofs = self.parties.worker.proofs.borrow();
        let proofs = proofs.as_ref()?;
        let head = self.incoming.view();
        let text = proofs.get(head.path().strip_prefix(PROOF)?)?;
        let lines = b"Content-Type: application/octet-stream\r\n".to_vec();
        Some(End::Made(200, lines, text.clone().into_bytes()))
    }

    /// What is answered to a request that may go no further (RFC 9110 §7.6.2). What TRACE asks for is not shown: scripts
    /// that cannot read a cookie could read it there.
    pub(super) fn last_hop(&self) -> Option<End> {
        if !self.incoming.ends_here {
            return None;
        }
        let status = if self.incoming.view().method() == b"TRACE" { 405 } else { 200 };
        Some(End::Made(status, b"Allow: OPTIONS\r\n".to_vec(), Vec::new()))
    }

    /// Whether the client may come no longer: what judges its certificate may have changed since its connection began, or
    /// the certificate has ended.
    pub(super) fn outlived(&self) -> Option<End> {
        let wanted = self.view.config.tls.as_ref()?.client.as_ref()?;
        let Parties { worker, client, .. } = self.parties;
        let judged = match client.judged_client() {
            Some(judged) => {
                let tls = self.view.tls.as_ref()?.get::<ServerTls>()?;
                let now = UnixTime::since_unix_epoch(Duration::from_millis(worker.unix_ms()));
                judged.still_good(tls.clients.as_ref()?, now)
            }
            None if !wanted.required => return None,
            None => {
                let name = client.server_name();
                match wanted.asks(name.as_deref().map(str::as_bytes)) {
                    true => Err(rustls::Error::NoCertificatesPresented),
                    false => Ok(()),
                }
            }
        };
        judged.err().map(|error| End::Refused(trouble::of_client(&error).0))
    }

    /// Whether the host that is asked for belongs to another kind of connection: one that is asked for a certificate of the
    /// client, or one that is not (RFC 9110 §15.5.20).
    pub(super) fn misdirected(&self) -> Option<End> {
        let client = self.view.config.tls.as_ref()?.client.as_ref()?;
        if client.names.is_empty() {
            return None;
        }
        let (name, head) = (self.parties.client.server_name(), self.incoming.view());
        let asked = client.asks(name.as_deref().map(str::as_bytes));
        (asked != client.asks(Some(head.host()))).then_some(End::Refused(Cause::Misdirected))
    }

    /// Asks the rules, and who keeps the client; what ends the exchange here, if something does.
    pub(super) fn route(&mut self) -> Option<End> {
        if let Some(end) = self.admit() {
            return Some(end);
        }
        let Parties { worker, client, caller, service } = self.parties;
        let peer = caller.peer;
        if let Some(ruling) = self.view.rules.clone() {
            let head = self.incoming.view();
            let sni = client.server_name();
            let ruled =
                ruled::ask(worker, service, &self.view, &ruling, peer, sni.as_deref(), Some(&head));
            let taken = match ruled {
                Ruled::Pool(pool, taken) => {
                    self.pool = pool.unwrap_or_else(|| self.pool.clone());
                    taken
                }
                Ruled::Refused(cause, taken) => {
                    self.taken = taken;
                    return Some(End::Refused(cause));
                }
                Ruled::Answer(taken) => {
                    let (status, lines, body) = ruled::made(&taken, &self.view, &head);
                    self.taken = Some(taken);
                    return Some(End::Made(status, lines, body));
                }
            };
            if let Some(taken) = taken {
                let rule = self.view.config.rules.get(taken.at);
                self.class = rule.and_then(|rule| rule.priority).unwrap_or(self.class);
                let edited = self.edit(&taken);
                if edited.is_some() {
                    self.copy(&taken);
                }
                self.taken = Some(taken);
                if edited.is_none() {
                    return Some(End::Refused(Cause::AmbiguousPath));
                }
            }
        }
        let head = self.incoming.view();
        let told = Told { peer, head: Some(&head), session: client.tls_session() };
        self.sticking = Sticking::begin(worker, &self.view, &self.pool, &told);
        None
    }

    /// What the service makes of an ambiguous path before rules are asked; what ends the exchange, if it does.
    fn admit(&mut self) -> Option<End> {
        let normalization = self.view.config.path_normalization;
        if !normalization.acts_alone() {
            return None;
        }
        let head = self.incoming.view();
        match admit(normalization, &head) {
            Admitted::AsItIs => None,
            Admitted::Refused => Some(End::Refused(Cause::AmbiguousPath)),
            Admitted::With(target) => {
                let worker = self.parties.worker;
                let mut out = worker.buffers.take();
                let target = retarget(&self.incoming.head, &head, &target, &mut out);
                let old = self.incoming.replace(out, target);
                worker.buffers.give(old);
                None
            }
        }
    }

    /// What the client's server wants of the choice.
    pub(super) fn stick(&self) -> Option<Stick> {
        let now = self.parties.worker.rt.now();
        self.sticking.as_ref().and_then(|it| it.wanted(&self.pool, &self.failed, now))
    }

    /// A server was taken.
    pub(super) fn took(&mut self, server: ServerId) {
        if let Some(sticking) = &self.sticking {
            let now = self.parties.worker.rt.now();
            sticking.took(&self.pool, server, &self.failed, now, &mut self.changes);
        }
    }

    /// Changes the request as the rule says, and keeps what it says of the answer; `None`: its new path would be
    /// ambiguous.
    fn edit(&mut self, taken: &Taken) -> Option<()> {
        let worker = self.parties.worker;
        let Some(rule) = taken.rule() else { return Some(()) };
        if let Some(edits) = &rule.edits {
            let head = self.incoming.view();
            let mut out = worker.buffers.take();
            let base = rule.base(&head);
            let parts = rule.parts(&base);
            let target = edits.apply(&self.incoming.head, &head, &base, parts, &mut out)?;
            drop(base);
            let old = self.incoming.replace(out, target);
            worker.buffers.give(old);
        }
        if !rule.answer_edits.is_empty() {
            self.changes.rule = Some((taken.ruling.clone(), taken.at));
        }
        Some(())
    }

    /// Sends a copy where the rule wants one.
    fn copy(&self, taken: &Taken) {
        let Parties { worker, caller, service, .. } = self.parties;
        let wanted = taken.rule().and_then(|rule| rule.mirror);
        let Some(((pool, percent, at_once), live)) = wanted.zip(taken.live()) else { return };
        if worker.rng.borrow_mut().below(100) >= u64::from(percent) {
            return;
        }
        let body = &self.incoming.body;
        let Some(pool) = service.rule_pools.borrow().get(pool).cloned() else { return };
        if !body.framing.done() || body.holds() || self.incoming.upgrade {
            return mirror::dropped(worker, live);
        }
        let (message, live) = (self.incoming.head.clone(), live.clone());
        mirror::send(worker, pool, Copied { message, caller: caller.clone(), live, at_once });
    }

    /// Ends without a server.
    pub(super) async fn end_here(&mut self, end: End) -> After {
        let Parties { worker, client, .. } = self.parties;
        let (status, lines, body) = match end {
            End::Refused(cause) => return self.give_up(Fault::before_sending(cause), None).await,
            End::Made(status, lines, body) => (status, lines, body),
        };
        let made = Made { status, lines: &lines, body: &body };
        let how = (self.may_keep(), self.incoming.head_only);
        let after = refuse::made(worker, client, &self.view, &made, how, &mut self.record).await;
        self.close(None);
        after
    }
}
