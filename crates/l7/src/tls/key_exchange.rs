//! Names of key exchange groups, for the log and for counters.

use rustls::{CommonState, NamedGroup};

/// The group of a session's key exchange; `None`: there was none, or not yet.
pub fn key_exchange_group(session: &CommonState) -> Option<&'static str> {
    session.negotiated_key_exchange_group().map(|group| name(group.name()))
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
