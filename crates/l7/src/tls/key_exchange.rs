//! Names of key exchange groups and of versions, for the log and for counters.

use rustls::{CommonState, NamedGroup, ProtocolVersion};

/// The name of version 1.3, as HAProxy and nginx have it.
pub const TLS_1_3: &str = "TLSv1.3";

/// The group of a session's key exchange; `None`: there was none, or not yet.
pub fn key_exchange_group(session: &CommonState) -> Option<&'static str> {
    session.negotiated_key_exchange_group().map(|group| name(group.name()))
}

/// The version of a session; `None`: it is not agreed on yet.
pub fn protocol_version(session: &CommonState) -> Option<&'static str> {
    match session.protocol_version()? {
        ProtocolVersion::TLSv1_3 => Some(TLS_1_3),
        ProtocolVersion::TLSv1_2 => Some("TLSv1.2"),
        _ => None,
    }
}

fn name(group: NamedGroup) -> &'static str {
    match group {
        NamedGroup::X25519MLKEM768 => "x25519mlkem768",
        NamedGroup::X25519 => "x25519",
        NamedGroup::secp256r1 => "secp256r1",
        NamedGroup::secp384r1 => "secp384r1",
        _ => "other",
    }
}
