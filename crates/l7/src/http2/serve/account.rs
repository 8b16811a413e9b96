//! The account of what came over HTTP/2 and never became a request.

use std::net::SocketAddr;

use model::cause::Cause;
use model::snapshot::ServiceView;

use crate::account::{Protocol, Record};
use crate::rt::Net;
use crate::said::Said;
use crate::worker::Worker;

/// The account of what never became a request.
pub(super) fn refused<N: Net>(
    worker: &Worker<N>,
    view: &ServiceView,
    peer: SocketAddr,
    cause: Cause,
    detail: Option<&'static str>,
) {
    view.live.slots[worker.index].counters.requests.add(1);
    let mut record = Record::begin(worker.rt.now(), worker.rt.now());
    (record.cause, record.defect) = (Some(cause), detail);
    worker.close(view, None, &mut record, &Said::strand(peer, Protocol::Http2));
}
