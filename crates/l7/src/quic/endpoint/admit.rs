//! Who may begin a connection of QUIC: limits, proofs of addresses, refusals and their accounts.

use std::rc::Rc;
use std::sync::Arc;

use model::admission::Phase;
use model::cause::Cause;
use model::config::Forward;
use model::snapshot::ServiceView;
use quinn_proto::{Incoming, ServerConfig};

use super::super::link::Link;
use super::{Admitted, Endpoint};
use crate::account::Record;
use crate::admission::{Eviction, OpenConnection};
use crate::caller::Caller;
use crate::said::Said;
use crate::tls::aside::{self, Aside};
use crate::tls::server::ServerTls;

impl Endpoint {
    pub(super) fn admit(self: &Rc<Self>, incoming: Incoming) {
        let view = self.service.view.borrow().clone();
        let counters = &view.live.slots[self.worker.index].counters;
        let tls = view.tls.as_ref().and_then(|material| material.get::<ServerTls>());
        let (Some(_), Some(config)) = (tls, self.config(&view)) else {
            return self.refuse(incoming, &view, Cause::Internal);
        };
        if self.closing.get() || self.worker.draining.get() || self.service.gone.get() {
            let mut out = Vec::new();
            let transmit = self.machine.borrow_mut().refuse(incoming, &mut out);
            return self.answer(&transmit, &out);
        }
        let under_way = self.worker.admission.handshakes(view.id);
        let unproven = !incoming.remote_address_validated() && incoming.may_retry();
        if under_way >= view.config.http3.prove && unproven {
            counters.http3_proven.add(1);
            let mut out = Vec::new();
            let retry = self.machine.borrow_mut().retry(incoming, &mut out);
            if let Ok(transmit) = retry {
                self.answer(&transmit, &out);
            }
            return;
        }
        let proven = incoming.remote_address_validated();
        let address = proven.then(|| incoming.remote_address().ip());
        let (rt, admission) = (&self.worker.rt, &self.worker.admission);
        let admitted = admission
            .may_shake(rt, &view, address)
            .and_then(|()| admission.admit(rt, &view, address, Eviction::Any));
        let open = match admitted {
            Ok(open) => open,
            Err(cause) => return self.refuse(incoming, &view, cause),
        };
        counters.accepted.add(1);
        open.set(Phase::Hello, self.worker.rt.now());
        self.accept(incoming, config, open);
    }

    fn accept(
        self: &Rc<Self>,
        incoming: Incoming,
        config: Arc<ServerConfig>,
        open: OpenConnection,
    ) {
        let (peer, mut local) = (incoming.remote_address(), self.local);
        if let Some(ip) = incoming.local_ip() {
            local.set_ip(ip);
        }
        let mut out = Vec::new();
        let now = self.instant(self.worker.rt.now());
        aside::begin(&Aside::default());
        let accepted = self.machine.borrow_mut().accept(incoming, now, &mut out, Some(config));
        let seen = aside::end();
        match accepted {
            Ok((handle, conn)) => {
                let link = Rc::new(Link::new(handle, conn, seen));
                self.links.borrow_mut().insert(handle, link.clone());
                let caller = Caller::new(peer, local);
                (self.started)(self.clone(), Admitted { link, caller, open });
            }
            Err(error) => {
                self.count(|counters| &counters.tls_failed);
                if let Some(transmit) = error.response {
                    self.answer(&transmit, &out);
                }
            }
        }
    }

    /// Refuses a client, and closes the account of that.
    fn refuse(&self, incoming: Incoming, view: &ServiceView, cause: Cause) {
        let peer = incoming.remote_address();
        let mut out = Vec::new();
        let transmit = self.machine.borrow_mut().refuse(incoming, &mut out);
        self.answer(&transmit, &out);
        let counters = &view.live.slots[self.worker.index].counters;
        for counter in [&counters.accepted, &counters.closed, &counters.refused, &counters.requests]
        {
            counter.add(1);
        }
        let now = self.worker.rt.now();
        let mut record = Record::begin(now, now);
        record.cause = Some(cause);
        self.worker.close(view, None, &mut record, &Said::nothing(peer, Forward::Http));
    }
}
