//! Parses addresses to listen on, to connect from and to connect to. It resolves no name.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use toml::de::DeValue;

use super::super::address::{ServerAddress, ServerHost, UnixSocketPath};
use super::super::finding::FindingDetails;
use super::super::value::ConfigValue;
use super::packets;
use super::punycode::to_ascii;

/// Limit for the addresses that one service listens on, and for the sources of one pool.
/// Each is a socket for every worker.
const MAX_ADDRESSES: usize = 1_024;

const LISTEN: &str =
    "an address and port such as \"203.0.113.10:80\", \"[2001:db8::10]:80\" or \":80\"";
const SOURCE: &str = "an address without port, such as \"10.0.0.2\" or \"2001:db8::2\"";
const SERVER: &str = "an address or a name, and a port: \"10.0.0.11:8080\", \"[2001:db8::11]:8080\", \"name.example:8080\"; or a Unix socket: \"unix:/run/app.sock\"";

/// One address or several; `":80"` means every address of both families.
pub fn decode_listen(node: &DeValue<'_>) -> Result<ConfigValue, FindingDetails> {
    let texts = decode_strings(node, LISTEN)?;
    if texts.is_empty() {
        return Err(FindingDetails::new("nothing to listen on").with_expected(LISTEN));
    }
    if texts.iter().any(|text| packets::has_port_ranges(text)) {
        return decode_listen_ranges(&texts);
    }
    let mut list = Vec::with_capacity(texts.len());
    for text in texts {
        let (host, port) = split_host_port(text, LISTEN)?;
        match host {
            "" => {
                list.push(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)));
                list.push(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)));
            }
            "*" => {
                let trouble = FindingDetails::new("`*` is not an address").with_expected(LISTEN);
                return Err(trouble.with_suggestion(Some(format!("\":{port}\""))));
            }
            host => list.push(SocketAddr::new(parse_local_address(host, LISTEN)?, port)),
        }
    }
    Ok(ConfigValue::Listen(list))
}

/// The same if at least one address has several ports or any port.
fn decode_listen_ranges(texts: &[&str]) -> Result<ConfigValue, FindingDetails> {
    let mut list = Vec::with_capacity(texts.len());
    for text in texts {
        packets::parse_listen_ranges(text, |host| parse_local_address(host, LISTEN), &mut list)?;
    }
    Ok(ConfigValue::ListenRanges(list))
}

/// One local address and port.
pub fn decode_socket(node: &DeValue<'_>) -> Result<ConfigValue, FindingDetails> {
    let expected = "an address and port, such as \"127.0.0.1:9100\"";
    let text = node
        .as_str()
        .ok_or_else(|| FindingDetails::new("not an address and port").with_expected(expected))?;
    let (host, port) = split_host_port(text, expected)?;
    let address = if host.is_empty() {
        IpAddr::V6(Ipv6Addr::UNSPECIFIED)
    } else {
        parse_local_address(host, expected)?
    };
    Ok(ConfigValue::Socket(SocketAddr::new(address, port)))
}

/// Source addresses, each at most once.
pub fn decode_addresses(node: &DeValue<'_>) -> Result<ConfigValue, FindingDetails> {
    let mut list = Vec::new();
    for text in decode_strings(node, SOURCE)? {
        let address = parse_local_address(text, SOURCE)?;
        if address.is_unspecified() {
            return Err(FindingDetails::new(format!("nothing can be sent from {address}"))
                .with_expected(SOURCE));
        }
        if list.contains(&address) {
            return Err(FindingDetails::new(format!("{address} stands here twice"))
                .with_expected("each address once"));
        }
        list.push(address);
    }
    Ok(ConfigValue::Addresses(list))
}

/// The address of a server.
pub fn decode_server_address(node: &DeValue<'_>) -> Result<ConfigValue, FindingDetails> {
    let text = node
        .as_str()
        .ok_or_else(|| FindingDetails::new("not the address of a server").with_expected(SERVER))?;
    if let Some(host) = parse_unix_host(text)? {
        return Ok(ConfigValue::Server(ServerAddress { host, port: 0 }));
    }
    let (host, port) = split_host_port(text, SERVER)?;
    let host = match parse_ip(host) {
        Some(address) if address.is_unspecified() || is_multicast(address) => {
            return Err(
                FindingDetails::new(format!("no server can be at {address}")).with_expected(SERVER)
            );
        }
        Some(IpAddr::V6(v6)) if v6.to_ipv4_mapped().is_some() => {
            let v4 = v6.to_ipv4_mapped().unwrap_or(Ipv4Addr::UNSPECIFIED);
            return Err(FindingDetails::new("an IPv4 address in IPv6 form")
                .with_expected(SERVER)
                .with_suggestion(Some(format!("\"{v4}:{port}\""))));
        }
        Some(address) => ServerHost::Ip(address),
        None => ServerHost::Name(parse_dns_name(host).ok_or_else(|| {
            let near = to_ascii(host).map(|name| format!("\"{name}:{port}\""));
            FindingDetails::new(format!(
                "`{}` is neither an address nor a name",
                truncate_for_message(host)
            ))
            .with_expected(SERVER)
            .with_suggestion(near)
        })?),
    };
    Ok(ConfigValue::Server(ServerAddress { host, port }))
}

/// A Unix socket; `None`: the text is something else. A host may be named `unix`: then digits follow the colon.
fn parse_unix_host(text: &str) -> Result<Option<ServerHost>, FindingDetails> {
    if text.starts_with('/') {
        let near = UnixSocketPath::parse(text).ok().map(|path| format!("\"{path}\""));
        return Err(FindingDetails::new("the path of a Unix socket has the prefix `unix:`")
            .with_expected(SERVER)
            .with_suggestion(near));
    }
    let Some(path) = text.strip_prefix("unix:") else { return Ok(None) };
    if !path.is_empty() && path.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(None);
    }
    match UnixSocketPath::parse(path) {
        Ok(path) => Ok(Some(ServerHost::Unix(path))),
        Err(wrong) => {
            let plain = format!("/{}", path.trim_start_matches('/'));
            let near = path.strip_prefix('/').and_then(|_| UnixSocketPath::parse(&plain).ok());
            Err(FindingDetails::new(format!("`{}`: {wrong}", truncate_for_message(text)))
                .with_expected(SERVER)
                .with_suggestion(near.map(|path| format!("\"{path}\""))))
        }
    }
}

/// The default name of a server: its address, with `-` for characters that a name cannot contain. IPv6 addresses are
/// written in full, so that two addresses never share a name.
pub fn derive_server_name(address: &ServerAddress) -> String {
    let host = match &address.host {
        ServerHost::Ip(IpAddr::V4(v4)) => v4.to_string(),
        ServerHost::Ip(IpAddr::V6(v6)) => {
            v6.segments().map(|segment| format!("{segment:x}")).join("-")
        }
        ServerHost::Name(name) => name.clone(),
        ServerHost::Unix(path) => path.to_string().to_ascii_lowercase(),
    };
    let text = match address.host.is_unix() {
        true => host,
        false => format!("{host}-{}", address.port),
    };
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-")
}

fn decode_strings<'n>(
    node: &'n DeValue<'_>,
    expected: &str,
) -> Result<Vec<&'n str>, FindingDetails> {
    let wrong = |node: &DeValue<'_>| {
        let port = node
            .as_integer()
            .and_then(|port| port.as_str().parse::<u16>().ok())
            .filter(|port| *port > 0);
        let meant = port.filter(|_| expected == LISTEN).map(|port| format!("\":{port}\""));
        FindingDetails::new("not an address").with_expected(expected).with_suggestion(meant)
    };
    match node {
        DeValue::String(text) => Ok(vec![text.as_ref()]),
        DeValue::Array(list) if list.len() > MAX_ADDRESSES => {
            Err(FindingDetails::new(format!("more than {MAX_ADDRESSES} addresses"))
                .with_expected(expected))
        }
        DeValue::Array(list) => list
            .iter()
            .map(|item| item.get_ref().as_str().ok_or_else(|| wrong(item.get_ref())))
            .collect(),
        other => Err(wrong(other)),
    }
}

fn split_host_port<'t>(text: &'t str, expected: &str) -> Result<(&'t str, u16), FindingDetails> {
    let trouble = |message: &str| {
        FindingDetails::new(format!("`{}`: {message}", truncate_for_message(text)))
            .with_expected(expected)
    };
    if let Some(scheme) = text.split_once("://") {
        let rest = scheme.1.trim_end_matches('/');
        return Err(trouble("a scheme does not belong here")
            .with_suggestion(Some(format!("\"{}\"", truncate_for_message(rest)))));
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        return Err(trouble("an IPv6 address stands in brackets, before its port")
            .with_suggestion(Some(format!("\"[{text}]:80\""))));
    }
    let Some((host, port)) = text.rsplit_once(':') else {
        let bare = text.parse::<u16>().ok().filter(|port| *port > 0 && expected == LISTEN);
        return Err(
            trouble("the port is missing").with_suggestion(bare.map(|port| format!("\":{port}\"")))
        );
    };
    let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    match port.parse::<u16>().ok().filter(|_| digits) {
        Some(0) => Err(trouble("port 0 is none")),
        Some(port) => Ok((host, port)),
        None => Err(trouble("the port is not a number from 1 to 65535")),
    }
}

/// An IP address; IPv6 in brackets, or bare if no port follows.
fn parse_ip(host: &str) -> Option<IpAddr> {
    let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    match inner {
        Some(inner) => inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => host.parse::<IpAddr>().ok(),
    }
}

fn parse_local_address(host: &str, expected: &str) -> Result<IpAddr, FindingDetails> {
    let address = parse_ip(host).ok_or_else(|| {
        let message = match parse_dns_name(host) {
            Some(name) => format!("`{name}` is a name: only addresses of this machine fit here"),
            None => format!("`{}` is not an address", truncate_for_message(host)),
        };
        FindingDetails::new(message).with_expected(expected)
    })?;
    if is_multicast(address) {
        return Err(FindingDetails::new(format!("{address} is not an address of one machine"))
            .with_expected(expected));
    }
    match address {
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => {
            let v4 = v6.to_ipv4_mapped().unwrap_or(Ipv4Addr::UNSPECIFIED);
            Err(FindingDetails::new("an IPv4 address in IPv6 form")
                .with_expected(expected)
                .with_suggestion(Some(v4.to_string())))
        }
        address => Ok(address),
    }
}

fn is_multicast(address: IpAddr) -> bool {
    address.is_multicast() || address == IpAddr::V4(Ipv4Addr::BROADCAST)
}

/// A host name: labels of letters, digits, `-` and `_`, at most 253 bytes (RFC 1035 §2.3.4). The last label must not be
/// a number (RFC 1123 §2.1), so that a mistyped IP address is not accepted as a name.
fn parse_dns_name(host: &str) -> Option<String> {
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

/// Shortened and escaped for a message.
fn truncate_for_message(text: &str) -> String {
    // 80 characters identify a value and leave the message on one or two lines of a terminal.
    text.chars().take(80).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
