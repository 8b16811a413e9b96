//! The checked configuration of header fields that describe clients to servers. It writes none.

use serde::Serialize;

/// The header fields that describe the client to the server.
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

/// Action for a forwarding header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardedHeaderAction {
    /// Pass the received value without adding ours.
    Keep,
    /// Append our value to the received one.
    Append,
    /// Replace the received value with ours.
    Replace,
    /// Remove the header.
    Remove,
}
