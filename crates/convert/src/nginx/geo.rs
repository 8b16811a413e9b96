//! `geo`: a variable whose value depends on the client's network. The longest network counts.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};

use crate::condition::RuleCondition;

use super::compared_value::unknown;
use super::tree::Directive;
use super::value_branch::{ValueBranch, join_neighbours};

/// Networks by which a client is looked up.
#[derive(Debug)]
pub struct GeoTable<'t> {
    /// The variable with the address.
    pub source: &'t str,
    networks: Vec<GeoNetwork<'t>>,
    default: &'t str,
    /// Why not all networks are known.
    unknown: Option<&'static str>,
}

#[derive(Debug)]
struct GeoNetwork<'t> {
    prefix: u8,
    text: String,
    value: &'t str,
}

impl GeoNetwork<'_> {
    /// The same text for every spelling of the network. The last line about a network counts.
    fn identity(&self) -> String {
        let address = self.text.split('/').next().unwrap_or_default();
        let first = match address.parse() {
            Ok(IpAddr::V4(v4)) => u128::from(u32::from(v4)) << 96,
            Ok(IpAddr::V6(v6)) => u128::from(v6),
            Err(_) => 0,
        };
        let kept = u128::MAX.checked_shl(128 - u32::from(self.prefix)).unwrap_or(0);
        let family = if address.contains(':') { 6 } else { 4 };
        format!("{family} {} {}", first & kept, self.prefix)
    }
}

impl<'t> GeoTable<'t> {
    pub fn read(geo: &'t Directive) -> GeoTable<'t> {
        let source = if geo.peek(1).is_empty() { "$remote_addr" } else { geo.peek(0) };
        let mut table = GeoTable { source, networks: Vec::new(), default: "", unknown: None };
        let mut known: HashMap<String, GeoNetwork<'t>> = HashMap::new();
        for entry in geo.inner() {
            let value = entry.peek(0);
            match entry.name.as_str() {
                "ranges" | "proxy_recursive" => {}
                "default" => table.default = value,
                "include" => table.unknown = Some("the file is not read"),
                "proxy" => {
                    table.unknown = Some("clients behind these proxies are named in a field");
                }
                "delete" => {
                    networks_of(value).into_iter().flatten().for_each(|one| {
                        known.remove(&one.identity());
                    });
                }
                name => match networks_of(name) {
                    Some(networks) => known.extend(
                        networks
                            .into_iter()
                            .map(|network| (network.identity(), GeoNetwork { value, ..network })),
                    ),
                    None => table.unknown = Some("not a network"),
                },
            }
        }
        table.networks = known.into_values().collect();
        // Networks of one length do not overlap, so those of one value may stand together.
        table.networks.sort_by(|one, other| {
            let key = |network: &GeoNetwork<'t>| {
                (std::cmp::Reverse(network.prefix), network.value, network.text.clone())
            };
            key(one).cmp(&key(other))
        });
        table
    }

    pub fn branches(&self) -> Vec<ValueBranch> {
        let mut out = Vec::new();
        if let Some(reason) = self.unknown {
            out.push(ValueBranch { when: unknown(reason), value: None });
        }
        if !matches!(self.source, "$remote_addr" | "$realip_remote_addr") {
            let when = unknown("clients are looked up by the address of their connection alone");
            out.push(ValueBranch { when, value: None });
        }
        for network in &self.networks {
            let when = RuleCondition::texts("client", &[&network.text]);
            out.push(ValueBranch::new(when, network.value));
        }
        let mut out = join_neighbours(out);
        out.push(ValueBranch::always(self.default));
        out
    }
}

/// The networks of an address, a network or a range `first-last`.
fn networks_of(text: &str) -> Option<Vec<GeoNetwork<'static>>> {
    let network = |text: String, prefix: u8| GeoNetwork { prefix, text, value: "" };
    if let Some((first, last)) = text.split_once('-') {
        let first: Ipv4Addr = first.parse().ok()?;
        let last: Ipv4Addr = last.parse().ok()?;
        return Some(
            range_networks(u32::from(first), u32::from(last))
                .into_iter()
                .map(|one| {
                    network(format!("{}/{}", Ipv4Addr::from(one.first), one.prefix), one.prefix)
                })
                .collect(),
        );
    }
    match text.split_once('/') {
        Some((address, prefix)) => {
            let address: IpAddr = address.parse().ok()?;
            let most = if address.is_ipv4() { 32 } else { 128 };
            let prefix = prefix.parse::<u8>().ok().filter(|prefix| *prefix <= most)?;
            Some(vec![network(text.to_owned(), prefix)])
        }
        None => {
            let address: IpAddr = text.parse().ok()?;
            let prefix = if address.is_ipv4() { 32 } else { 128 };
            Some(vec![network(text.to_owned(), prefix)])
        }
    }
}

/// A network of a range, by its first address.
struct RangeNetwork {
    first: u32,
    prefix: u8,
}

/// The networks that together are a range of addresses. Empty if the range ends before it begins.
fn range_networks(first: u32, last: u32) -> Vec<RangeNetwork> {
    let mut out = Vec::new();
    let mut at = u64::from(first);
    let end = u64::from(last) + 1;
    while at < end {
        let aligned = if at == 0 { 32 } else { at.trailing_zeros().min(32) };
        let fits = (end - at).ilog2();
        let bits = aligned.min(fits);
        let prefix = u8::try_from(32 - bits).unwrap_or(32);
        out.push(RangeNetwork { first: u32::try_from(at).unwrap_or(u32::MAX), prefix });
        at += 1 << bits;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_a_few_networks() {
        let texts = |text: &str| -> Vec<String> {
            networks_of(text).into_iter().flatten().map(|one| one.text).collect()
        };
        assert_eq!(texts("10.0.0.0-10.0.0.255"), ["10.0.0.0/24"]);
        assert_eq!(texts("10.0.0.1-10.0.0.4"), ["10.0.0.1/32", "10.0.0.2/31", "10.0.0.4/32"]);
        assert_eq!(texts("0.0.0.0-255.255.255.255"), ["0.0.0.0/0"]);
        assert_eq!(texts("10.0.0.9-10.0.0.1"), Vec::<String>::new());
        assert_eq!(texts("2001:db8::/32"), ["2001:db8::/32"]);
        assert!(networks_of("nonsense").is_none());
        let same = |one: &str, other: &str| {
            let identity = |text: &str| {
                networks_of(text).unwrap_or_default().first().map(GeoNetwork::identity)
            };
            identity(one) == identity(other)
        };
        for (one, other, is_same) in [
            ("10.0.0.1", "10.0.0.1/32", true),
            ("10.1.2.3/8", "10.0.0.0/8", true),
            ("0.0.0.0/0", "10.0.0.0/0", true),
            ("2001:DB8::1/32", "2001:db8::/32", true),
            ("::/0", "0.0.0.0/0", false),
            ("10.0.0.0/8", "10.0.0.0/9", false),
        ] {
            assert_eq!(same(one, other), is_same, "{one} {other}");
        }
    }
}
