//! The start of an HTTP/3 connection: its handshake succeeds, or fails and is recorded.

use std::rc::Rc;
use std::time::Duration;

use model::admission::AdmissionPhase;
use model::monotonic_time::MonotonicTime;
use quinn_proto::ConnectionError;
use quinn_proto::crypto::rustls::HandshakeData;
use rustls::pki_types::CertificateDer;
use wire::http3::{code, control_stream_preface};

use super::{Http3ServerSession, Http3Stage};
use crate::conn::stream::TlsContext;
use crate::tls::downstream::DownstreamTls;
use crate::tls::handshake_cause::{self, HandshakeCause};
use crate::tls::key_exchange::TLS_1_3;
use crate::tls::verified_client::identify_client;

impl Http3ServerSession {
    /// Handles a completed handshake.
    pub(super) fn connected(&mut self, now: MonotonicTime) {
        self.end_handshake();
        self.stage = Http3Stage::Serving;
        self.idle_since = now;
        let worker = self.endpoint.worker.clone();
        let view = self.endpoint.service.view.borrow().clone();
        // The handshake has validated the client's address, so the per-client limits apply now.
        if let Err(cause) = self.open.change_client(&worker.rt, &view, self.client_peer.peer.ip()) {
            self.record_refused(cause, None);
            return self.close(now, code::EXCESSIVE_LOAD);
        }
        let counters = &view.stats.slots[worker.index].counters;
        counters.tls_handshakes.add(1);
        counters.tls_resumed.add(u64::from(self.connection.continues()));
        counters.http3_connections.add(1);
        let tls = view.tls.as_ref().and_then(|material| material.downcast::<DownstreamTls>());
        let wanted =
            tls.and_then(|tls| tls.client_verifier.as_ref().zip(tls.certificate_headers.as_ref()));
        let (name, known) = self.connection.with_connection(|conn| {
            let session = conn.crypto_session();
            let data = session.handshake_data().and_then(|it| it.downcast::<HandshakeData>().ok());
            let name = data.and_then(|data| data.server_name);
            let chain = session.peer_identity();
            let chain = chain.and_then(|it| it.downcast::<Vec<CertificateDer<'static>>>().ok());
            let chain = chain.as_ref().map(|chain| chain.as_slice());
            let known = wanted.map(|(clients, told)| {
                identify_client(clients, told, name.as_deref(), chain, true)
            });
            (name, known.transpose())
        });
        let known = match known {
            Ok(known) => known,
            // What a session was begun with may be good no longer.
            Err(error) => {
                counters.tls_failed.add(1);
                let HandshakeCause { cause, detail } = handshake_cause::client_cause(&error);
                self.record_refused(cause, Some(detail));
                return self.close(now, code::NO_ERROR);
            }
        };
        let (identity, client) =
            known.map_or_else(Default::default, |known| (known.lines, known.certificate));
        let name = name.map(|name| name.trim_end_matches('.').to_ascii_lowercase());
        self.tls = Rc::new(Some(TlsContext {
            identity,
            verified_client: client,
            name,
            session: self.connection.lineage(),
            // RFC 9001 §4.2: QUIC has no earlier one.
            version: Some(TLS_1_3),
        }));
        if let Some(age) = view.config.http3.age {
            // Plus or minus up to 10 %, so that connections opened together do not close together.
            let tenth = u64::try_from(age.as_nanos() / 10).unwrap_or(u64::MAX / 4);
            let more = worker.rng.borrow_mut().below(2 * tenth + 1);
            self.max_age_at = now + age - Duration::from_nanos(tenth) + Duration::from_nanos(more);
        }
        match self.connection.open_unidirectional() {
            Some(control) => {
                self.connection.attach(control, self.waker.clone());
                let heads = u64::from(view.config.limit.header_bytes);
                self.connection.write(control, &control_stream_preface(heads));
                self.control = Some(control);
            }
            None => self.connection.request_close(code::GENERAL_PROTOCOL_ERROR),
        }
    }

    pub(super) fn end_handshake(&mut self) {
        if matches!(self.stage, Http3Stage::Handshaking(_)) {
            self.open.set_phase(AdmissionPhase::Fresh, self.endpoint.worker.rt.now());
        }
    }

    /// Handles a lost or failed connection.
    pub(super) fn connection_lost(&mut self, reason: &ConnectionError) {
        if matches!(self.stage, Http3Stage::Handshaking(_)) {
            let view = self.endpoint.service.view.borrow().clone();
            view.stats.slots[self.endpoint.worker.index].counters.tls_failed.add(1);
            let HandshakeCause { cause, detail } = handshake_failure(reason);
            self.record_refused(cause, Some(detail));
        }
        self.end_handshake();
        self.stage = Http3Stage::Closed;
        self.connection.mark_lost();
    }
}

/// The cause of a failed handshake.
fn handshake_failure(reason: &ConnectionError) -> HandshakeCause {
    match reason {
        ConnectionError::TransportError(error) => match u64::from(error.code) {
            // TLS alerts are in this range of error codes (RFC 9001 §4.8).
            code @ 0x100..=0x1ff => handshake_cause::alert_cause(code as u8),
            _ => HandshakeCause::protocol("quic-handshake"),
        },
        ConnectionError::ConnectionClosed(_) | ConnectionError::ApplicationClosed(_) => {
            HandshakeCause::protocol("client-refused")
        }
        _ => HandshakeCause::protocol("client-left"),
    }
}
