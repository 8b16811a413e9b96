//! Admission of QUIC connections: limits, address validation, refusals and their records.

use std::rc::Rc;
use std::sync::Arc;

use model::admission::AdmissionPhase;
use model::cause::Cause;
use model::config::ForwardingMode;
use model::snapshot::ServiceView;
use quinn_proto::{Incoming, ServerConfig};

use super::super::connection::QuicConnection;
use super::{AdmittedQuicConnection, QuicEndpoint};
use crate::accounting::ExchangeRecord;
use crate::accounting::logged_request::LoggedRequest;
use crate::conn::client_peer::ClientPeer;
use crate::tls::downstream::DownstreamTls;
use crate::tls::handshake_observation::{self, HandshakeObservation};
use crate::worker::admission::{EvictionScope, OpenConnection};

impl QuicEndpoint {
    pub(super) fn admit(self: &Rc<Self>, incoming: Incoming) {
        let view = self.service.view.borrow().clone();
        let counters = &view.stats.slots[self.worker.index].counters;
        let tls = view.tls.as_ref().and_then(|material| material.downcast::<DownstreamTls>());
        let (Some(_), Some(config)) = (tls, self.server_config(&view)) else {
            return self.refuse(incoming, &view, Cause::Internal);
        };
        if self.closing.get() || self.worker.draining.get() || self.service.removed.get() {
            let mut out = Vec::new();
            let transmit = self.machine.borrow_mut().refuse(incoming, &mut out);
            return self.send_answer(&transmit, &out);
        }
        let retry_in_flight = self.worker.admission.handshakes(view.id);
        let unproven = !incoming.remote_address_validated() && incoming.may_retry();
        if retry_in_flight >= view.config.http3.prove && unproven {
            counters.http3_proven.add(1);
            let mut out = Vec::new();
            let retry = self.machine.borrow_mut().retry(incoming, &mut out);
            if let Ok(transmit) = retry {
                self.send_answer(&transmit, &out);
            }
            return;
        }
        let proven = incoming.remote_address_validated();
        let address = proven.then(|| incoming.remote_address().ip());
        let rt = &self.worker.rt;
        let admission = &self.worker.admission;
        let admitted = admission
            .check_handshake(rt, &view, address)
            .and_then(|()| admission.admit(rt, &view, address, EvictionScope::Any));
        let open = match admitted {
            Ok(open) => open,
            Err(cause) => return self.refuse(incoming, &view, cause),
        };
        counters.accepted.add(1);
        open.set_phase(AdmissionPhase::Hello, self.worker.rt.now());
        self.accept(incoming, config, open);
    }

    fn accept(
        self: &Rc<Self>,
        incoming: Incoming,
        config: Arc<ServerConfig>,
        open: OpenConnection,
    ) {
        let peer = incoming.remote_address();
        let mut local = self.local;
        if let Some(ip) = incoming.local_ip() {
            local.set_ip(ip);
        }
        let mut out = Vec::new();
        let now = self.instant(self.worker.rt.now());
        handshake_observation::begin_step(&HandshakeObservation::default());
        let accepted = self.machine.borrow_mut().accept(incoming, now, &mut out, Some(config));
        let seen = handshake_observation::end_step();
        match accepted {
            Ok((handle, conn)) => {
                let link = Rc::new(QuicConnection::new(handle, conn, seen));
                self.connections.borrow_mut().insert(handle, link.clone());
                let caller = ClientPeer::new(peer, local);
                (self.started)(
                    self.clone(),
                    AdmittedQuicConnection { connection: link, client_peer: caller, open },
                );
            }
            Err(error) => {
                self.count_event(|counters| &counters.tls_failed);
                if let Some(transmit) = error.response {
                    self.send_answer(&transmit, &out);
                }
            }
        }
    }

    /// Refuses a client and records the refusal.
    fn refuse(&self, incoming: Incoming, view: &ServiceView, cause: Cause) {
        let peer = incoming.remote_address();
        let mut out = Vec::new();
        let transmit = self.machine.borrow_mut().refuse(incoming, &mut out);
        self.send_answer(&transmit, &out);
        let counters = &view.stats.slots[self.worker.index].counters;
        for counter in [&counters.accepted, &counters.closed, &counters.refused, &counters.requests]
        {
            counter.add(1);
        }
        let now = self.worker.rt.now();
        let mut record = ExchangeRecord::begin(now, now);
        record.cause = Some(cause);
        self.worker.close(
            view,
            None,
            &mut record,
            &LoggedRequest::unreadable(peer, ForwardingMode::Http),
        );
    }
}
