//! The configuration of the fields that describe clients to servers. It writes none.

use serde::Serialize;

use crate::config::network_set::NetworkSet;

/// Which headers describe the client to the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ForwardedHeaders {
    /// X-Forwarded-For and X-Forwarded-Proto.
    pub x_forwarded: ForwardedHeaderAction,
    /// Forwarded (RFC 7239).
    pub forwarded: ForwardedHeaderAction,
    /// Via (RFC 9110 §7.6.3).
    pub via: bool,
    /// A field with the client's address, written after the rules; `None`: there is none.
    pub client_field: Option<ClientField>,
}

/// What is done with a forwarding header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardedHeaderAction {
    /// Passed as it came from a trusted sender, nothing of ours.
    Keep,
    /// What came is kept and ours is appended.
    Append,
    /// What came is removed and ours stands alone.
    Replace,
    /// Removed.
    Remove,
    /// Passed as it came from anyone, nothing of ours.
    Pass,
}

/// A field with the client's address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClientField {
    /// As it is written.
    pub name: String,
    /// What becomes of fields of the name that are there.
    pub mode: ClientFieldMode,
    /// Clients for whom nothing is written.
    pub except: NetworkSet,
}

/// What becomes of fields of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientFieldMode {
    /// They stay, and ours is a line behind them.
    Add,
    /// The last of them gets the address as one more element.
    List,
    /// They go, and ours stands alone.
    Set,
    /// Ours is written where there is none.
    IfAbsent,
}
