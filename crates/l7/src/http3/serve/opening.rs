//! How a connection begins: its handshake is over, or came to nothing. It serves no request.

use std::rc::Rc;
use std::time::Duration;

use model::admission::Phase;
use model::cause::Cause;
use model::moment::Moment;
use quinn_proto::ConnectionError;
use quinn_proto::crypto::rustls::HandshakeData;
use rustls::pki_types::{CertificateDer, UnixTime};
use wire::http3::{code, settings};

use super::{Serving, Stage};
use crate::proof;
use crate::stream::UnderTls;
use crate::tls::judged::JudgedClient;
use crate::tls::server::ServerTls;
use crate::tls::trouble;

impl Serving {
    /// The handshake is over.
    pub(super) fn connected(&mut self, now: Moment) {
        self.no_more_handshake();
        self.stage = Stage::Serving;
        self.idle_since = now;
        let worker = self.endpoint.worker.clone();
        let view = self.endpoint.service.view.borrow().clone();
        // It has proven its address now, if it had not before.
        if let Err(cause) = self.open.rename(&worker.rt, &view, self.caller.peer.ip()) {
            self.refused(cause, None);
            return self.close(now, code::EXCESSIVE_LOAD);
        }
        let counters = &view.live.slots[worker.index].counters;
        counters.tls_handshakes.add(1);
        counters.tls_resumed.add(u64::from(self.link.continues()));
        counters.http3_connections.add(1);
        let tls = view.tls.as_ref().and_then(|material| material.get::<ServerTls>());
        let told = tls.and_then(|tls| tls.told.as_ref());
        let (name, identity, client, good) = self.link.with(|conn| {
            let session = conn.crypto_session();
            let data = session.handshake_data().and_then(|it| it.downcast::<HandshakeData>().ok());
            let name = data.and_then(|data| data.server_name);
            let chain = session.peer_identity();
            let chain = chain.and_then(|it| it.downcast::<Vec<CertificateDer<'static>>>().ok());
            let chain = chain.as_ref().map(|chain| chain.as_slice());
            let lines = |told| proof::lines(chain, told);
            let clients = tls.and_then(|tls| tls.clients.as_ref());
            let good = clients
                .map_or(Ok(()), |clients| clients.recheck(name.as_deref(), chain, UnixTime::now()));
            let client = clients.and_then(|clients| JudgedClient::new(chain, clients));
            (name, told.map(lines).unwrap_or_default(), client, good)
        });
        // What a session was begun with may be good no longer.
        if let Err(error) = good {
            counters.tls_failed.add(1);
            let (cause, detail) = trouble::of_client(&error);
            self.refused(cause, Some(detail));
            return self.close(now, code::NO_ERROR);
        }
        let name = name.map(|name| name.trim_end_matches('.').to_ascii_lowercase());
        self.tls = Rc::new(Some(UnderTls { identity, client, name, session: self.link.lineage() }));
        if let Some(age) = view.config.http3.age {
            // A tenth more or less, so that connections that began together do not end together.
            let tenth = u64::try_from(age.as_nanos() / 10).unwrap_or(u64::MAX / 4);
            let more = worker.rng.borrow_mut().below(2 * tenth + 1);
            self.old_at = now + age - Duration::from_nanos(tenth) + Duration::from_nanos(more);
        }
        match self.link.open_one_way() {
            Some(control) => {
                self.link.attach(control, self.waker.clone());
                let heads = u64::from(view.config.limit.header_bytes);
                self.link.write(control, &settings(heads));
                self.control = Some(control);
            }
            None => self.link.fail(code::GENERAL_PROTOCOL_ERROR),
        }
    }

    pub(super) fn no_more_handshake(&mut self) {
        if matches!(self.stage, Stage::Shaking(_)) {
            self.open.set(Phase::Fresh, self.endpoint.worker.rt.now());
        }
    }

    /// The client is gone, or the connection has failed.
    pub(super) fn lost(&mut self, reason: &ConnectionError) {
        if matches!(self.stage, Stage::Shaking(_)) {
            let view = self.endpoint.service.view.borrow().clone();
            view.live.slots[self.endpoint.worker.index].counters.tls_failed.add(1);
            let (cause, detail) = failed(reason);
            self.refused(cause, Some(detail));
        }
        self.no_more_handshake();
        self.stage = Stage::Closed;
        self.link.lose();
    }
}

/// What a handshake that failed comes to, and a short name for the log.
fn failed(reason: &ConnectionError) -> (Cause, &'static str) {
    match reason {
        ConnectionError::TransportError(error) => match u64::from(error.code) {
            // What TLS says stands in these numbers (RFC 9001 §4.8).
            code @ 0x100..=0x1ff => trouble::of_alert(code as u8),
            _ => (Cause::TlsHandshake, "quic-handshake"),
        },
        ConnectionError::ConnectionClosed(_) | ConnectionError::ApplicationClosed(_) => {
            (Cause::TlsHandshake, "client-refused")
        }
        _ => (Cause::TlsHandshake, "client-left"),
    }
}
