//! Reads one address of a chain of proxies. It decides nothing about trust.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// How a field writes addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HopForm {
    /// X-Forwarded-For and fields of the kind: IPv6 addresses with brackets or without.
    Plain,
    /// Forwarded (RFC 7239 §6): IPv6 addresses in brackets, ports may be hidden.
    Node,
}

/// The address; `None`: it is hidden, or none. Port 0: none was named.
pub(super) fn parse_hop(text: &[u8], form: HopForm) -> Option<SocketAddr> {
    let text = str::from_utf8(text).ok()?;
    if let Some(rest) = text.strip_prefix('[') {
        let (address, after) = rest.split_once(']')?;
        let address: Ipv6Addr = address.parse().ok()?;
        let port = if after.is_empty() { 0 } else { parse_port(after.strip_prefix(':')?, form)? };
        return Some(SocketAddr::new(IpAddr::V6(address).to_canonical(), port));
    }
    if form == HopForm::Plain
        && let Ok(address) = text.parse::<Ipv6Addr>()
    {
        return Some(SocketAddr::new(IpAddr::V6(address).to_canonical(), 0));
    }
    let (address, port) = match text.split_once(':') {
        Some((address, port)) => (address, parse_port(port, form)?),
        None => (text, 0),
    };
    let address: Ipv4Addr = address.parse().ok()?;
    Some(SocketAddr::new(IpAddr::V4(address), port))
}

/// The address of an element of Forwarded: its only `for`.
pub(super) fn parse_forwarded(element: &[u8]) -> Option<SocketAddr> {
    let mut found = None;
    let mut left = Some(element);
    while let Some(rest) = left {
        // RFC 7239 §4: a parameter may be empty.
        if let Some(after) = rest.trim_ascii_start().strip_prefix(b";") {
            left = Some(after);
            continue;
        }
        if rest.trim_ascii().is_empty() {
            break;
        }
        let pair = read_pair(rest)?;
        if pair.name.eq_ignore_ascii_case(b"for") && found.replace(pair.value).is_some() {
            return None;
        }
        left = pair.rest;
    }
    parse_hop(found?, HopForm::Node)
}

/// A parameter of an element, and what stands behind its semicolon.
struct ForwardedPair<'v> {
    name: &'v [u8],
    value: &'v [u8],
    rest: Option<&'v [u8]>,
}

/// Reads `name=value` or `name="value"`; `None`: it is neither. Escapes stay as they are: no address has any.
fn read_pair(text: &[u8]) -> Option<ForwardedPair<'_>> {
    let text = text.trim_ascii();
    let equals = text.iter().position(|byte| *byte == b'=')?;
    let name = text.get(..equals)?;
    let after = text.get(equals + 1..)?;
    let Some(quoted) = after.strip_prefix(b"\"") else {
        let end = after.iter().position(|byte| *byte == b';').unwrap_or(after.len());
        let value = after.get(..end)?.trim_ascii();
        if value.iter().any(|byte| b"\" \t".contains(byte)) {
            return None;
        }
        return Some(ForwardedPair { name, value, rest: after.get(end + 1..) });
    };
    let mut is_escaped = false;
    let end = quoted.iter().position(|byte| {
        let ends = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        ends
    })?;
    let behind = quoted.get(end + 1..)?.trim_ascii();
    let rest = match behind {
        [] => None,
        [b';', rest @ ..] => Some(rest),
        _ => return None,
    };
    Some(ForwardedPair { name, value: quoted.get(..end)?, rest })
}

/// A port from 1; a hidden one of Forwarded is 0.
fn parse_port(text: &str, form: HopForm) -> Option<u16> {
    if let Some(hidden) = text.strip_prefix('_') {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        return (form == HopForm::Node && !hidden.is_empty() && hidden.bytes().all(plain))
            .then_some(0);
    }
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| is_number && *port > 0)
}
