//! The configuration of the fields that describe clients to servers. It writes none.

use serde::Serialize;

/// Which headers describe the client to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct ForwardedHeaders {
    /// X-Forwarded-For and X-Forwarded-Proto.
    pub x_forwarded: ForwardedHeaderAction,
    /// Forwarded (RFC 7239).
    pub forwarded: ForwardedHeaderAction,
    /// Via (RFC 9110 §7.6.3).
    pub via: bool,
}

/// What is done with a forwarding header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardedHeaderAction {
    /// Passed as it came, nothing of ours.
    Keep,
    /// What came is kept and ours is appended.
    Append,
    /// What came is removed and ours stands alone.
    Replace,
    /// Removed.
    Remove,
}
