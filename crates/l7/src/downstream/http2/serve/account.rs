//! The record of an HTTP/2 request that was rejected before it became an exchange.

use std::net::SocketAddr;

use model::cause::Cause;
use model::snapshot::ServiceView;

use crate::accounting::logged_request::LoggedRequest;
use crate::accounting::{DownstreamProtocol, ExchangeRecord};
use crate::rt::NetDriver;
use crate::worker::Worker;

/// Records a rejection outside an exchange.
pub(super) fn record_refused<N: NetDriver>(
    worker: &Worker<N>,
    view: &ServiceView,
    peer: SocketAddr,
    cause: Cause,
    detail: Option<&'static str>,
) {
    view.stats.slots[worker.index].counters.requests.add(1);
    let mut record = ExchangeRecord::begin(worker.rt.now(), worker.rt.now());
    record.cause = Some(cause);
    record.defect = detail;
    worker.close(
        view,
        None,
        &mut record,
        &LoggedRequest::multiplexed(peer, DownstreamProtocol::Http2),
    );
}
