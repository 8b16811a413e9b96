//! The configuration of the field that names clients. It reads none.

use serde::Serialize;

/// The field in which trusted proxies name their client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientAddressField {
    /// A list of addresses, to which each proxy appends.
    XForwardedFor,
    /// The list of RFC 7239.
    Forwarded,
    /// A field of this name with one address, which the proxy sets, lower case.
    Named(String),
}

impl ClientAddressField {
    /// Its name, lower case.
    pub fn name(&self) -> &str {
        match self {
            ClientAddressField::XForwardedFor => "x-forwarded-for",
            ClientAddressField::Forwarded => "forwarded",
            ClientAddressField::Named(name) => name,
        }
    }
}
