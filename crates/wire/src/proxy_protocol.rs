//! The PROXY protocol, versions 1 and 2: who stands behind a connection, told before its first byte of anything else.
//!
//! Bytes to a header and back (haproxy's `proxy-protocol.txt`). It opens nothing, and whom to believe is not its
//! business. A reader is never told to take more bytes than the header has, so that what follows stays where it is.

mod binary;
mod header;
mod sum;
mod text;

pub use header::{
    ProxiedAddresses, ProxyHeaderError, ProxyHeaderResult, ProxyProtocolHeader, ProxyVersion,
};

/// Bytes of the longest header that is taken. Version 1 allows 107; of version 2 nothing beyond this is known to be sent.
pub const LONGEST: usize = binary::LONGEST;

/// Reads a header at the beginning of `bytes`, or says how many more there are at least.
///
/// # Errors
/// What is wrong with it, as soon as that is certain.
pub fn read_header(bytes: &[u8]) -> Result<ProxyHeaderResult, ProxyHeaderError> {
    match bytes.first() {
        None => Ok(ProxyHeaderResult::Partial(text::SHORTEST)),
        Some(b'P') => text::read(bytes),
        Some(b'\r') => binary::read(bytes),
        Some(_) => Err(ProxyHeaderError::Missing),
    }
}

/// Appends a header to `out`; `None`: a connection of our own, behind which nobody stands.
pub fn write_header(version: ProxyVersion, ends: Option<ProxiedAddresses>, out: &mut Vec<u8>) {
    let ends = ends.map(ProxiedAddresses::into_one_family);
    match version {
        ProxyVersion::V1 => text::write(ends, out),
        ProxyVersion::V2 => binary::write(ends, out),
    }
}
