//! Multipath TCP as the API says it. Pure.

use api::types::{EndpointStatus, MptcpConnection, MptcpStatus, Subflow};
use links::mptcp::Flow;

use crate::mptcp::view::{Connection, EndpointView, View};

/// How it stands; `None`: nobody speaks it here.
pub fn status(view: &View) -> Option<MptcpStatus> {
    if view.endpoints.is_empty() && view.count == 0 && view.trouble.is_none() {
        return None;
    }
    Some(MptcpStatus {
        endpoints: view.endpoints.iter().map(endpoint).collect(),
        count: view.count,
        connections: view.connections.iter().map(connection).collect(),
        trouble: view.trouble.clone(),
    })
}

fn endpoint(view: &EndpointView) -> EndpointStatus {
    EndpointStatus {
        id: view.spot.id,
        address: view.spot.ip,
        subflow: view.spot.opens(),
        signal: view.spot.tells(),
        backup: view.spot.waits(),
        ours: view.ours,
    }
}

fn connection(view: &Connection) -> MptcpConnection {
    let Flow { local, remote, sent, received, .. } = view.whole;
    let subflow = |flow: &Flow| {
        let Flow { local, remote, round_trip_us, sent, received, .. } = *flow;
        Subflow { local, remote, round_trip_us, sent, received }
    };
    let subflows = view.subflows.iter().map(subflow).collect();
    MptcpConnection { local, remote, sent, received, subflows }
}
