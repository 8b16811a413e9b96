//! Networks of clients as `Require ip`, `Allow` and `Deny` name them, and proxies that name clients.

use model::config::IpPrefix;

use crate::condition::RuleCondition;
use crate::notes::UnsupportedReason;

use super::scope::ServerScope;

/// The proxies that `RemoteIPHeader` lets name clients. Rules see who connects.
#[derive(Clone, Debug)]
pub enum ProxyTrust {
    Nobody,
    Networks(Vec<String>),
    /// Everybody, or networks that are not in the file.
    Unknown,
}

impl ProxyTrust {
    pub fn read(scope: &ServerScope<'_>) -> ProxyTrust {
        if scope.get("remoteipheader").is_none() {
            return ProxyTrust::Nobody;
        }
        let mut networks = Vec::new();
        for one in scope.all(&TRUSTED_PROXIES) {
            for word in one.words_from(0) {
                match network(word) {
                    Some(network) => networks.push(network),
                    None => return ProxyTrust::Unknown,
                }
            }
        }
        let lists = ["remoteiptrustedproxylist", "remoteipinternalproxylist"];
        match networks.is_empty() || !scope.all(&lists).is_empty() {
            true => ProxyTrust::Unknown,
            false => ProxyTrust::Networks(networks),
        }
    }

    /// A condition on the client's address, which is not known behind a trusted proxy.
    pub fn bound(&self, condition: RuleCondition) -> RuleCondition {
        let hidden =
            || unknown("the client's address is named by a proxy, and rules see the proxy's");
        match self {
            ProxyTrust::Nobody => condition,
            ProxyTrust::Unknown => hidden(),
            ProxyTrust::Networks(networks) => {
                let behind = RuleCondition::texts("client", networks);
                let direct = behind.clone().negate().and(condition);
                RuleCondition::Any(vec![direct, behind.and(hidden())])
            }
        }
    }
}

/// The directives that name proxies.
pub const TRUSTED_PROXIES: [&str; 2] = ["remoteiptrustedproxy", "remoteipinternalproxy"];

/// Networks of clients: whole or partial addresses, with a mask or a length.
pub fn client_condition(values: &[String]) -> RuleCondition {
    let networks: Option<Vec<String>> = values.iter().map(|value| network(value)).collect();
    match networks {
        Some(networks) if !networks.is_empty() => RuleCondition::texts("client", &networks),
        _ => unknown("names of clients are not looked up"),
    }
}

pub fn network(text: &str) -> Option<String> {
    let parts = text.split_once('/');
    let address = parts.map_or(text, |parts| parts.0);
    if address.contains(':') {
        let address: std::net::IpAddr = address.parse::<std::net::Ipv6Addr>().ok()?.into();
        let bits = parts.map_or(Some(128), |parts| parts.1.parse().ok())?;
        return IpPrefix::new(address, bits).map(|network| network.to_string());
    }
    let numbers: Vec<&str> = address.trim_end_matches('.').split('.').collect();
    let good = numbers.len() <= 4 && numbers.iter().all(|one| one.parse::<u8>().is_ok());
    if !good {
        return None;
    }
    let mut whole = numbers.clone();
    whole.resize(4, "0");
    let whole = whole.join(".");
    let length = match parts.map(|parts| parts.1) {
        None => numbers.len() as u32 * 8,
        Some(mask) => match mask.parse::<std::net::Ipv4Addr>() {
            Ok(mask) => {
                let bits = u32::from(mask);
                (bits.leading_ones() + bits.trailing_zeros() >= 32).then(|| bits.leading_ones())?
            }
            Err(_) => mask.parse::<u32>().ok().filter(|length| *length <= 32)?,
        },
    };
    let base = u32::from(whole.parse::<std::net::Ipv4Addr>().ok()?);
    // Addresses within the network are written as its first one.
    let mask = if length == 0 { 0 } else { u32::MAX << (32 - length) };
    Some(format!("{}/{length}", std::net::Ipv4Addr::from(base & mask)))
}

fn unknown(reason: &str) -> RuleCondition {
    RuleCondition::Unknown(UnsupportedReason::new(reason, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_may_be_partial() {
        for (text, expected) in [
            ("10.1", Some("10.1.0.0/16")),
            ("10.1.2.3", Some("10.1.2.3/32")),
            ("10.1.2.3/255.255.0.0", Some("10.1.0.0/16")),
            ("10.1.2.3/8", Some("10.0.0.0/8")),
            ("2001:db8::5/32", Some("2001:db8::/32")),
            ("shop.example", None),
            ("10.1.2.3/255.0.255.0", None),
        ] {
            assert_eq!(network(text).as_deref(), expected, "{text}");
        }
    }
}
