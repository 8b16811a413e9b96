//! The client of the query, where a trusted proxy names it in a field.

use std::net::SocketAddr;

use model::client_address::{ClientStop, FoundClient, display_client, find_client};
use model::request_head::fields;
use model::snapshot::ServiceView;

use super::request_query::RequestText;

/// The client that the request's fields name; `None`: it is the peer of the connection.
pub(super) fn named_client(
    view: &ServiceView,
    peer: SocketAddr,
    written: Option<&RequestText>,
) -> Option<FoundClient> {
    let field = view.config.client_from.as_ref()?;
    let values: Vec<&[u8]> = fields(&written?.bytes, field.name().as_bytes()).collect();
    find_client(peer, |address| view.trusts(address), field, values.into_iter())
}

/// The client and how it was found.
pub(super) fn client_text(view: &ServiceView, found: FoundClient) -> String {
    let field = view.config.client_from.as_ref().map_or("", |field| field.name());
    let why = match found.stop {
        ClientStop::Untrusted => "the first address from the end that is not in `trust`",
        ClientStop::AllTrusted => "the first address; all are in `trust`",
        ClientStop::Single => "its address",
        ClientStop::Absent => "the connection's: there is no such field",
        ClientStop::Unreadable => "the last trusted one: the address before it cannot be read",
        ClientStop::Several => "the connection's: there are several such fields",
        ClientStop::TooManyHops => "the last one that is read: too many are in `trust`",
    };
    format!("{} by {field}: {why}", display_client(found.address))
}
