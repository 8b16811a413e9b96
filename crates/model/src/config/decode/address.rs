//! Addresses as they are written: to listen on, to connect from, to connect to. It resolves no name.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use toml::de::DeValue;

use super::super::address::{Host, ServerAddress};
use super::super::finding::Trouble;
use super::super::value::Value;
use super::packets;
use super::punycode::ascii;

/// Addresses that one service may listen on, and sources that one pool may use.
const MOST: usize = 1_024;

const LISTEN: &str =
    "an address and port such as \"203.0.113.10:80\", \"[2001:db8::10]:80\" or \":80\"";
const SOURCE: &str = "an address without port, such as \"10.0.0.2\" or \"2001:db8::2\"";
const SERVER: &str = "an address or a name, and a port: \"10.0.0.11:8080\", \"[2001:db8::11]:8080\", \"name.example:8080\"";

/// One or several; `":80"` stands for every address of both families.
pub fn listen(node: &DeValue<'_>) -> Result<Value, Trouble> {
    let texts = texts(node, LISTEN)?;
    if texts.is_empty() {
        return Err(Trouble::new("nothing to listen on").expected(LISTEN));
    }
    if texts.iter().any(|text| packets::has_spans(text)) {
        return spans(&texts);
    }
    let mut list = Vec::with_capacity(texts.len());
    for text in texts {
        let (host, port) = split(text, LISTEN)?;
        match host {
            "" => {
                list.push(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)));
                list.push(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)));
            }
            "*" => {
                let trouble = Trouble::new("`*` is not an address").expected(LISTEN);
                return Err(trouble.suggest(Some(format!("\":{port}\""))));
            }
            host => list.push(SocketAddr::new(local(host, LISTEN)?, port)),
        }
    }
    Ok(Value::Listen(list))
}

/// The same where one of them has several ports or any.
fn spans(texts: &[&str]) -> Result<Value, Trouble> {
    let mut list = Vec::with_capacity(texts.len());
    for text in texts {
        packets::spans(text, |host| local(host, LISTEN), &mut list)?;
    }
    Ok(Value::Spans(list))
}

/// One address and port of this machine.
pub fn socket(node: &DeValue<'_>) -> Result<Value, Trouble> {
    let expected = "an address and port, such as \"127.0.0.1:9100\"";
    let text =
        node.as_str().ok_or_else(|| Trouble::new("not an address and port").expected(expected))?;
    let (host, port) = split(text, expected)?;
    let address =
        if host.is_empty() { IpAddr::V6(Ipv6Addr::UNSPECIFIED) } else { local(host, expected)? };
    Ok(Value::Socket(SocketAddr::new(address, port)))
}

/// Source addresses, each once.
pub fn addresses(node: &DeValue<'_>) -> Result<Value, Trouble> {
    let mut list = Vec::new();
    for text in texts(node, SOURCE)? {
        let address = local(text, SOURCE)?;
        if address.is_unspecified() {
            return Err(
                Trouble::new(format!("nothing can be sent from {address}")).expected(SOURCE)
            );
        }
        if list.contains(&address) {
            return Err(
                Trouble::new(format!("{address} stands here twice")).expected("each address once")
            );
        }
        list.push(address);
    }
    Ok(Value::Addresses(list))
}

/// Where a server is.
pub fn server(node: &DeValue<'_>) -> Result<Value, Trouble> {
    let text = node
        .as_str()
        .ok_or_else(|| Trouble::new("not the address of a server").expected(SERVER))?;
    let (host, port) = split(text, SERVER)?;
    let host = match ip(host) {
        Some(address) if address.is_unspecified() || multicast(address) => {
            return Err(Trouble::new(format!("no server can be at {address}")).expected(SERVER));
        }
        Some(IpAddr::V6(v6)) if v6.to_ipv4_mapped().is_some() => {
            let v4 = v6.to_ipv4_mapped().unwrap_or(Ipv4Addr::UNSPECIFIED);
            return Err(Trouble::new("an IPv4 address in IPv6 form")
                .expected(SERVER)
                .suggest(Some(format!("\"{v4}:{port}\""))));
        }
        Some(address) => Host::Ip(address),
        None => Host::Name(dns_name(host).ok_or_else(|| {
            let near = ascii(host).map(|name| format!("\"{name}:{port}\""));
            Trouble::new(format!("`{}` is neither an address nor a name", clipped(host)))
                .expected(SERVER)
                .suggest(near)
        })?),
    };
    Ok(Value::Server(ServerAddress { host, port }))
}

/// The name that a server has when none is written: its address with `-` for what a name cannot hold. IPv6
/// addresses are spelled out, so that two of them never share a name.
pub fn name_from(address: &ServerAddress) -> String {
    let host = match &address.host {
        Host::Ip(IpAddr::V4(v4)) => v4.to_string(),
        Host::Ip(IpAddr::V6(v6)) => v6.segments().map(|segment| format!("{segment:x}")).join("-"),
        Host::Name(name) => name.clone(),
    };
    let text = format!("{host}-{}", address.port);
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-")
}

fn texts<'n>(node: &'n DeValue<'_>, expected: &str) -> Result<Vec<&'n str>, Trouble> {
    let wrong = |node: &DeValue<'_>| {
        let port = node
            .as_integer()
            .and_then(|port| port.as_str().parse::<u16>().ok())
            .filter(|port| *port > 0);
        let meant = port.filter(|_| expected == LISTEN).map(|port| format!("\":{port}\""));
        Trouble::new("not an address").expected(expected).suggest(meant)
    };
    match node {
        DeValue::String(text) => Ok(vec![text.as_ref()]),
        DeValue::Array(list) if list.len() > MOST => {
            Err(Trouble::new(format!("more than {MOST} addresses")).expected(expected))
        }
        DeValue::Array(list) => list
            .iter()
            .map(|item| item.get_ref().as_str().ok_or_else(|| wrong(item.get_ref())))
            .collect(),
        other => Err(wrong(other)),
    }
}

fn split<'t>(text: &'t str, expected: &str) -> Result<(&'t str, u16), Trouble> {
    let trouble =
        |message: &str| Trouble::new(format!("`{}`: {message}", clipped(text))).expected(expected);
    if let Some(scheme) = text.split_once("://") {
        let rest = scheme.1.trim_end_matches('/');
        return Err(trouble("a scheme does not belong here")
            .suggest(Some(format!("\"{}\"", clipped(rest)))));
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        return Err(trouble("an IPv6 address stands in brackets, before its port")
            .suggest(Some(format!("\"[{text}]:80\""))));
    }
    let Some((host, port)) = text.rsplit_once(':') else {
        let bare = text.parse::<u16>().ok().filter(|port| *port > 0 && expected == LISTEN);
        return Err(trouble("the port is missing").suggest(bare.map(|port| format!("\":{port}\""))));
    };
    let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    match port.parse::<u16>().ok().filter(|_| digits) {
        Some(0) => Err(trouble("port 0 is none")),
        Some(port) => Ok((host, port)),
        None => Err(trouble("the port is not a number from 1 to 65535")),
    }
}

/// An address, IPv6 in brackets or bare where no port follows.
fn ip(host: &str) -> Option<IpAddr> {
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    match inner {
        Some(inner) => inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => host.parse::<IpAddr>().ok(),
    }
}

fn local(host: &str, expected: &str) -> Result<IpAddr, Trouble> {
    let address = ip(host).ok_or_else(|| {
        let message = match dns_name(host) {
            Some(name) => format!("`{name}` is a name: only addresses of this machine fit here"),
            None => format!("`{}` is not an address", clipped(host)),
        };
        Trouble::new(message).expected(expected)
    })?;
    if multicast(address) {
        return Err(
            Trouble::new(format!("{address} is not an address of one machine")).expected(expected)
        );
    }
    match address {
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => {
            let v4 = v6.to_ipv4_mapped().unwrap_or(Ipv4Addr::UNSPECIFIED);
            Err(Trouble::new("an IPv4 address in IPv6 form")
                .expected(expected)
                .suggest(Some(v4.to_string())))
        }
        address => Ok(address),
    }
}

fn multicast(address: IpAddr) -> bool {
    address.is_multicast() || address == IpAddr::V4(Ipv4Addr::BROADCAST)
}

/// A host name: labels of letters, digits, `-` and `_`, at most 253 bytes (RFC 1035 §2.3.4), whose last label is
/// not a number (RFC 1123 §2.1), so that a mistyped address is not taken for a name.
fn dns_name(host: &str) -> Option<String> {
    let host = host.strip_suffix('.').unwrap_or(host);
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let last = host.rsplit('.').next()?;
    let good = host.len() <= 240
        && host.split('.').all(label)
        && !last.bytes().all(|b| b.is_ascii_digit());
    good.then(|| host.to_ascii_lowercase())
}

/// Short enough and harmless enough for a message.
fn clipped(text: &str) -> String {
    text.chars().take(80).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
