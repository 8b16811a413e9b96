//! The client that a trusted proxy names in a field of a request: applies the service's configuration to the request's
//! fields, and tells the access log how the client was found. The walk through the addresses is `model::client_address`.

use std::net::SocketAddr;

use model::client_address::{FoundClient, find_client};
use model::config::ServiceConfig;
use model::snapshot::ServiceView;
use model::stats::ServiceCounters;
use wire::http1::Header;

use crate::accounting::ClientOrigin;
use crate::conn::client_peer::ClientPeer;

/// The client by the fields of a request; `None`: it is the connection's peer.
pub fn find_named_client(
    view: &ServiceView,
    peer: SocketAddr,
    headers: &[Header],
) -> Option<Box<FoundClient>> {
    let field = view.config.client_from.as_ref()?;
    let name = field.name();
    let own = headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
    let values = own.map(|header| header.value.trim_ascii());
    find_client(peer, |address| view.trusts(address), field, values).map(Box::new)
}

/// How the client was found, where that is not by the connection alone.
pub fn client_origin<'v>(
    found: Option<&FoundClient>,
    client_peer: &ClientPeer,
    service: &'v ServiceConfig,
) -> Option<ClientOrigin<'v>> {
    let found = found.zip(service.client_from.as_ref());
    let Some((found, field)) = found else { return client_peer.proxy_origin() };
    let connection = client_peer.proxy.unwrap_or(client_peer.peer);
    let stop = Some(found.stop.name());
    Some(ClientOrigin { connection, source: field.name(), stop, hops: found.hops })
}

/// Counts whether a trusted proxy named its client.
pub fn count_named_client(counters: &ServiceCounters, found: &FoundClient) {
    match found.stop.is_complete() {
        true => counters.clients_named.add(1),
        false => counters.clients_unnamed.add(1),
    }
}
