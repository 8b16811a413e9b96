//! Multipath TCP in the types of the API. Pure.

use api::types::{EndpointStatus, MptcpConnection, MptcpStatus, Subflow};
use links::mptcp::MptcpFlow;

use crate::planes::mptcp::view::{MptcpConnectionView, MptcpEndpointView, MptcpView};

/// The state of MPTCP; `None`: no service uses it.
pub fn status(view: &MptcpView) -> Option<MptcpStatus> {
    if view.endpoints.is_empty() && view.count == 0 && view.last_error.is_none() {
        return None;
    }
    Some(MptcpStatus {
        endpoints: view.endpoints.iter().map(endpoint).collect(),
        count: view.count,
        connections: view.connections.iter().map(connection).collect(),
        problem: view.last_error.clone(),
    })
}

fn endpoint(view: &MptcpEndpointView) -> EndpointStatus {
    EndpointStatus {
        id: view.endpoint.id,
        address: view.endpoint.ip,
        subflow: view.endpoint.opens_subflows(),
        signal: view.endpoint.is_announced(),
        backup: view.endpoint.is_backup(),
        managed: view.ours,
    }
}

fn connection(view: &MptcpConnectionView) -> MptcpConnection {
    let MptcpFlow { local, remote, sent, received, .. } = view.summary;
    let subflow = |flow: &MptcpFlow| {
        let MptcpFlow { local, remote, round_trip_us, sent, received, .. } = *flow;
        Subflow { local, remote, round_trip_us, sent, received }
    };
    let subflows = view.subflows.iter().map(subflow).collect();
    MptcpConnection { local, remote, sent, received, subflows }
}
