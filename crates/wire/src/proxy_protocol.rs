//! The PROXY protocol, versions 1 and 2: a header at the start of a connection with the addresses of the proxied
//! client.
//!
//! Parses and writes headers (HAProxy's `proxy-protocol.txt`). The caller decides which peers are trusted. While a
//! header is incomplete, a reader asks for no more bytes than the header still has, so no byte after the header is
//! consumed.

mod binary;
mod header;
mod sum;
mod text;

pub use header::{
    ProxiedAddresses, ProxyHeaderError, ProxyHeaderResult, ProxyProtocolHeader, ProxyVersion,
};

/// Longest accepted header in bytes. Version 1 allows 107; in version 2 the bound limits the type-length-values.
pub const LONGEST: usize = binary::LONGEST;

/// Parses the header at the start of `bytes`, or returns the minimum number of missing bytes.
///
/// # Errors
/// The violated rule, as soon as the violation is certain.
pub fn read_header(bytes: &[u8]) -> Result<ProxyHeaderResult, ProxyHeaderError> {
    match bytes.first() {
        None => Ok(ProxyHeaderResult::Partial(text::SHORTEST)),
        Some(b'P') => text::read(bytes),
        Some(b'\r') => binary::read(bytes),
        Some(_) => Err(ProxyHeaderError::Missing),
    }
}

/// Appends a header to `out`. `None`: a connection of the balancer itself, without a proxied client.
pub fn write_header(version: ProxyVersion, ends: Option<ProxiedAddresses>, out: &mut Vec<u8>) {
    let ends = ends.map(ProxiedAddresses::into_one_family);
    match version {
        ProxyVersion::V1 => text::write(ends, out),
        ProxyVersion::V2 => binary::write(ends, out),
    }
}
