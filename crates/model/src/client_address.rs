//! Finds the client of a request that came through trusted proxies: walks back through the addresses in a field, to the
//! first one that is not trusted. Pure; which fields a request has is up to the caller.
//!
//! Only what stands behind the last untrusted hop is read, from the end of the field. What an untrusted hop wrote before
//! it is never looked at, so it cannot change the result. An address that cannot be read ends the walk: the client is
//! then the last trusted one.

mod hop;
mod list;

use std::net::{IpAddr, SocketAddr};

use hop::HopForm;
use list::BackwardList;

use crate::config::ClientAddressField;

/// Most addresses that are read of a field.
/// Chains of proxies have fewer than ten; a client may write as many addresses of a public CDN as fit into a head.
pub const MAX_HOPS: u16 = 64;

/// The client of a request that a trusted proxy sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundClient {
    /// Its address; port 0: none was named.
    pub address: SocketAddr,
    /// Addresses that were taken from the field; 0: the client is the connection's.
    pub hops: u16,
    /// Why no further address was taken.
    pub stop: ClientStop,
}

/// Why the walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientStop {
    /// The address is not trusted, so it is the client's.
    Untrusted,
    /// The field ended: every address in it is trusted.
    AllTrusted,
    /// The field has one address, which was taken.
    Single,
    /// The request has no such field.
    Absent,
    /// The next address cannot be read: a hidden one, or none at all.
    Unreadable,
    /// There are several values where one address was expected.
    Several,
    /// More than `MAX_HOPS` addresses are trusted.
    TooManyHops,
}

impl ClientStop {
    /// As written in the access log.
    pub const fn name(self) -> &'static str {
        match self {
            ClientStop::Untrusted => "untrusted",
            ClientStop::AllTrusted => "all-trusted",
            ClientStop::Single => "single",
            ClientStop::Absent => "absent",
            ClientStop::Unreadable => "unreadable",
            ClientStop::Several => "several",
            ClientStop::TooManyHops => "too-many-hops",
        }
    }

    /// Whether the field named the client as it should.
    pub const fn is_complete(self) -> bool {
        matches!(self, ClientStop::Untrusted | ClientStop::AllTrusted | ClientStop::Single)
    }
}

/// The client of a request, by the values of the field, in the order of the request's lines. `None`: the connection's
/// peer is not trusted, so it is the client whatever it sends.
pub fn find_client<'v>(
    peer: SocketAddr,
    is_trusted: impl Fn(IpAddr) -> bool,
    field: &ClientAddressField,
    mut values: impl DoubleEndedIterator<Item = &'v [u8]>,
) -> Option<FoundClient> {
    if !is_trusted(peer.ip()) {
        return None;
    }
    Some(match field {
        ClientAddressField::XForwardedFor => {
            let hops = values.rev().flat_map(BackwardList::plain);
            walk_back(peer, is_trusted, hops.map(|text| hop::parse_hop(text, HopForm::Plain)))
        }
        ClientAddressField::Forwarded => {
            let hops = values.rev().flat_map(BackwardList::quoting);
            walk_back(peer, is_trusted, hops.map(hop::parse_forwarded))
        }
        ClientAddressField::Named(_) => {
            let first = values.next();
            take_single(peer, first, values.next().is_some())
        }
    })
}

/// Goes from the last address to the first, while they are trusted.
fn walk_back(
    peer: SocketAddr,
    is_trusted: impl Fn(IpAddr) -> bool,
    hops: impl Iterator<Item = Option<SocketAddr>>,
) -> FoundClient {
    let mut found = FoundClient { address: peer, hops: 0, stop: ClientStop::Absent };
    for hop in hops {
        if found.hops == MAX_HOPS {
            found.stop = ClientStop::TooManyHops;
            return found;
        }
        let Some(address) = hop else {
            found.stop = ClientStop::Unreadable;
            return found;
        };
        found = FoundClient { address, hops: found.hops + 1, stop: ClientStop::AllTrusted };
        if !is_trusted(address.ip()) {
            found.stop = ClientStop::Untrusted;
            return found;
        }
    }
    found
}

/// The address in a field that has one value alone.
fn take_single(peer: SocketAddr, value: Option<&[u8]>, has_more: bool) -> FoundClient {
    let at_peer = |stop| FoundClient { address: peer, hops: 0, stop };
    let Some(value) = value.filter(|value| !value.trim_ascii().is_empty() || has_more) else {
        return at_peer(ClientStop::Absent);
    };
    if has_more {
        return at_peer(ClientStop::Several);
    }
    match hop::parse_hop(value.trim_ascii(), HopForm::Plain) {
        Some(address) => FoundClient { address, hops: 1, stop: ClientStop::Single },
        None => at_peer(ClientStop::Unreadable),
    }
}

/// An address for a log or a sentence: without its port where none was named.
pub fn display_client(client: SocketAddr) -> String {
    match client.port() {
        0 => client.ip().to_string(),
        _ => client.to_string(),
    }
}

#[cfg(test)]
mod tests;
