//! Parses values of packet forwarding: port ranges, networks, daily windows. It knows no key.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use toml::de::DeValue;

use super::super::daily_window::DailyWindow;
use super::super::finding::FindingDetails;
use super::super::ip_prefix::IpPrefix;
use super::super::listen_range::ListenRange;
use super::super::port_range::PortRange;
use super::super::value::{ConfigValue, FILE_PREFIX};

/// Limit for the port ranges of one service, and for the networks of one list.
const MAX_RANGES: usize = 1_024;

const PREFIX: &str = "a network such as \"10.0.0.0/8\" or \"2001:db8::/32\"";
const PORT_RANGE: &str = "a port or a range: 1024, \"1024-65535\"";
const HOURS: &str =
    "a part of the day: \"22:00-06:00\", or by whole hours, the last included: \"22-5\"";

/// Whether a listening address has a list or range of ports, or any port, as `parse_listen_ranges` reads it.
pub fn has_port_ranges(text: &str) -> bool {
    let ports = text.rsplit_once(':').map_or("", |(_, ports)| ports);
    let digits = |c: char| c.is_ascii_digit() || matches!(c, ',' | '-' | '*');
    !ports.is_empty() && ports.contains([',', '-', '*']) && ports.chars().all(digits)
}

/// One address with its ports: `10.0.0.1:80,443,8000-8010`, `10.0.0.1:*`, `:53,853`.
pub fn parse_listen_ranges(
    text: &str,
    address: impl Fn(&str) -> Result<IpAddr, FindingDetails>,
    into: &mut Vec<ListenRange>,
) -> Result<(), FindingDetails> {
    let (host, ports) = text.rsplit_once(':').unwrap_or((text, ""));
    let hosts = match host {
        "" | "*" => vec![Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()],
        host => vec![address(host)?],
    };
    if ports == "*" {
        if host.is_empty() || host == "*" {
            let trouble = FindingDetails::new(
                "every port of every address would take this machine's own traffic too",
            );
            return Err(trouble.with_expected("an address with any port, or a port of any address"));
        }
        into.extend(hosts.into_iter().map(ListenRange::any_port));
        return Ok(());
    }
    for part in ports.split(',') {
        let wrong = || {
            FindingDetails::new(format!("`{part}` is neither a port nor a range of ports"))
                .with_expected("such as \"203.0.113.10:80,443,8000-8010\" or \"203.0.113.10:*\"")
        };
        let PortRange { first, last } = parse_port_range(part).ok_or_else(wrong)?;
        into.extend(hosts.iter().map(|address| ListenRange { address: *address, first, last }));
    }
    if into.len() > MAX_RANGES {
        return Err(FindingDetails::new(format!(
            "more than {MAX_RANGES} addresses and port ranges"
        )));
    }
    Ok(())
}

fn parse_port_range(text: &str) -> Option<PortRange> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<u16>().ok().filter(|port| digits && *port > 0)
    };
    let range = PortRange { first: number(first.trim())?, last: number(last.trim())? };
    (range.first <= range.last).then_some(range)
}

/// One network or a list; an address alone is a network of one address.
pub fn decode_prefixes(node: &DeValue<'_>) -> Result<ConfigValue, FindingDetails> {
    let list = network_texts(node)?.into_iter().map(parse_prefix);
    Ok(ConfigValue::Prefixes(list.collect::<Result<_, _>>()?))
}

/// One network or file of networks, or a list.
pub fn decode_prefixes_or_files(node: &DeValue<'_>) -> Result<ConfigValue, FindingDetails> {
    let mut networks = Vec::new();
    let mut files = Vec::new();
    for text in network_texts(node)? {
        match text.strip_prefix(FILE_PREFIX) {
            Some(path) if path.is_empty() || path.len() > 4_096 || path.contains('\0') => {
                let trouble = FindingDetails::new(format!("`{FILE_PREFIX}` has no path"));
                return Err(trouble.with_expected("such as \"file:/etc/steelyard/cdn.cidr\""));
            }
            Some(path) => files.push(path.to_owned()),
            None => networks.push(parse_prefix(text)?),
        }
    }
    Ok(match files.is_empty() {
        true => ConfigValue::Prefixes(networks),
        false => ConfigValue::PrefixesAndFiles(networks, files),
    })
}

fn network_texts<'n>(node: &'n DeValue<'_>) -> Result<Vec<&'n str>, FindingDetails> {
    let nodes: Vec<&DeValue<'_>> = match node {
        DeValue::Array(list) => list.iter().map(|item| item.get_ref()).collect(),
        other => vec![other],
    };
    if nodes.len() > MAX_RANGES {
        return Err(
            FindingDetails::new(format!("more than {MAX_RANGES} networks")).with_expected(PREFIX)
        );
    }
    let text = |node: &&'n DeValue<'_>| {
        node.as_str().ok_or_else(|| FindingDetails::new("not a network").with_expected(PREFIX))
    };
    nodes.iter().map(text).collect()
}

fn parse_prefix(text: &str) -> Result<IpPrefix, FindingDetails> {
    let shown: String =
        // 60 characters are longer than every network, also with an IPv6 address of 39 and a prefix length.
        text.chars().take(60).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let wrong = || FindingDetails::new(format!("`{shown}` is not a network")).with_expected(PREFIX);
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits.parse::<u8>().map_err(|_| wrong())?)),
        None => (text, None),
    };
    let address: IpAddr = address.parse().map_err(|_| wrong())?;
    if let Some(v4) = unmap_prefix(address, bits) {
        let trouble = FindingDetails::new(format!(
            "`{shown}` is IPv4 in IPv6 form: such clients are known by their IPv4 address, so none is in it"
        ));
        return Err(trouble.with_expected(PREFIX).with_suggestion(Some(format!("\"{v4}\""))));
    }
    let most = if address.is_ipv4() { 32 } else { 128 };
    let prefix = IpPrefix::new(address, bits.unwrap_or(most)).ok_or_else(wrong)?;
    if prefix.address() != address {
        let trouble = FindingDetails::new(format!("`{shown}` has bits beyond its length"))
            .with_expected(PREFIX);
        return Err(trouble.with_suggestion(Some(format!("\"{prefix}\""))));
    }
    Ok(prefix)
}

/// The IPv4 network of an IPv4-mapped IPv6 prefix (RFC 4291 §2.5.5.2).
fn unmap_prefix(address: IpAddr, bits: Option<u8>) -> Option<IpPrefix> {
    /// The bits of the prefix `::ffff:0:0/96` before the IPv4 address.
    const MAPPED: u8 = 96;
    let IpAddr::V6(v6) = address else { return None };
    let v4 = IpAddr::V4(v6.to_ipv4_mapped()?);
    let bits = bits.unwrap_or(128).checked_sub(MAPPED)?;
    IpPrefix::new(v4, bits)
}

/// A port or a range of ports.
pub fn decode_port_range(node: &DeValue<'_>) -> Result<ConfigValue, FindingDetails> {
    let found = match node {
        DeValue::Integer(number) => parse_port_range(number.as_str()),
        DeValue::String(text) => parse_port_range(text),
        _ => None,
    };
    found.map(ConfigValue::PortRange).ok_or_else(|| {
        FindingDetails::new("neither a port nor a range of ports").with_expected(PORT_RANGE)
    })
}

pub fn decode_daily_window(node: &DeValue<'_>) -> Result<ConfigValue, FindingDetails> {
    let minute = |text: &str| {
        let (hour, minute) = text.trim().split_once(':')?;
        let hour = hour.parse::<u16>().ok()?;
        let minute = minute.parse::<u16>().ok()?;
        let good = minute < 60 && (hour < 24 || (hour == 24 && minute == 0));
        good.then_some((hour * 60 + minute) % (24 * 60))
    };
    let hour = |text: &str| text.trim().parse::<u16>().ok().filter(|hour| *hour < 24);
    let text = node.as_str().unwrap_or_default();
    let parts = text.split_once('-');
    // Whole hours, the last one included.
    let hours = parts.and_then(|(from, to)| hour(from).zip(hour(to)));
    if let Some((from, to)) = hours {
        return Ok(ConfigValue::DailyWindow(DailyWindow {
            from: from * 60,
            to: (to + 1) % 24 * 60,
        }));
    }
    let found = parts.and_then(|(from, to)| minute(from).zip(minute(to)));
    match found {
        Some((from, to)) if from != to => Ok(ConfigValue::DailyWindow(DailyWindow { from, to })),
        _ => Err(FindingDetails::new("not a part of the day").with_expected(HOURS)),
    }
}
