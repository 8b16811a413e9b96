//! Rules of a port as conditions.

use std::net::IpAddr;

use crate::condition::RuleCondition;
use crate::notes::UnsupportedReason;
use crate::value;

use super::config::PortObject;

/// The most networks for one range. A range of 32-bit addresses splits into at most 62 prefixes.
const NETWORKS: usize = 62;

/// The condition of a rule. `http`: the service inspects requests.
pub fn condition(rule: &PortObject, http: bool) -> Result<RuleCondition, UnsupportedReason> {
    let get = |key: &str| rule.keys.get(key).map_or("", |setting| setting.value.as_str());
    let begin = get("beginrange");
    let end = get("endrange");
    match get("type") {
        "true" => Ok(RuleCondition::Is(true)),
        "ip" => {
            let networks = begin
                .parse()
                .ok()
                .zip(end.parse().ok())
                .and_then(|(begin, end)| networks(begin, end));
            match networks {
                Some(networks) => Ok(RuleCondition::texts("client", &networks)),
                None => Err(UnsupportedReason::new(
                    "the range of addresses is none, or too ragged",
                    "`client` with networks",
                )),
            }
        }
        "port" => Ok(RuleCondition::texts("client-port", &[format!("{begin}-{end}")])),
        "time" => Ok(RuleCondition::texts(
            "hours",
            &[format!("{begin}-{}", if end == "24" { "23" } else { end })],
        )),
        "connection" if begin == "0" || begin.is_empty() => {
            Ok(RuleCondition::Key("rate", vec![end.to_owned()]))
        }
        "active" if http => {
            let active = RuleCondition::texts("active", &[format!("{begin}-{end}")]);
            Ok(active.and(RuleCondition::Key("scope", vec![value::quote("pool")])))
        }
        "service" => match get("tos").parse::<u8>() {
            Ok(tos) => Ok(RuleCondition::Key("tos", vec![tos.to_string()])),
            Err(_) => Err(UnsupportedReason::new(
                "bits of the type of service are compared whole",
                "`tos`",
            )),
        },
        "content" if http => content_condition(get("pattern")),
        "content" => Err(UnsupportedReason::new("packets show no content", "`forward = \"http\"`")),
        "reservedbandwidth" | "sharedbandwidth" => Err(UnsupportedReason::new(
            "packets are not ruled by bandwidth",
            "`guard.bandwidth`, or `forward = \"tcp\"` with `bandwidth`",
        )),
        other => Err(UnsupportedReason::new(
            format!("there is no rule of type `{other}`"),
            "`servers` in a rule's `when`, with `forward = \"http\"` or \"tcp\"",
        )),
    }
}

/// A pattern with one comparison: `uri=*/a/*`.
fn content_condition(pattern: &str) -> Result<RuleCondition, UnsupportedReason> {
    let (name, text) = pattern.split_once('=').unwrap_or(("", ""));
    if text.is_empty() || pattern.contains(['&', '|', '(', '!']) {
        return Err(UnsupportedReason::new(
            "only one comparison for each rule",
            "`all`, `any` and `not` in a rule's `when`",
        ));
    }
    let glob = text.replace('*', "**");
    match name.to_ascii_lowercase().as_str() {
        "uri" if glob.starts_with("**") => Ok(RuleCondition::texts("path", &[format!("/{glob}")])),
        "uri" => Ok(RuleCondition::texts("path", &[glob])),
        "host" if !text.contains('*') => Ok(RuleCondition::texts("host", &[text])),
        "method" => Ok(RuleCondition::texts("method", &[text])),
        field => {
            let text = text.replace('\\', "\\\\").replace('?', "\\?");
            Ok(RuleCondition::texts("header", &[format!("{field}: {text}")]))
        }
    }
}

/// The smallest set of networks that covers a range exactly.
fn networks(begin: IpAddr, end: IpAddr) -> Option<Vec<String>> {
    let (mut begin, end, bits, v4) = match (begin, end) {
        (IpAddr::V4(begin), IpAddr::V4(end)) => {
            (u128::from(u32::from(begin)), u128::from(u32::from(end)), 32, true)
        }
        (IpAddr::V6(begin), IpAddr::V6(end)) => (u128::from(begin), u128::from(end), 128, false),
        _ => return None,
    };
    let mut out = Vec::new();
    while begin <= end {
        // The largest network that starts at `begin` and ends no later than `end`.
        let mut size = if begin == 0 { bits } else { begin.trailing_zeros().min(bits) };
        while size > 0
            && (size == 128 || begin.checked_add((1 << size) - 1).is_none_or(|last| last > end))
        {
            size -= 1;
        }
        let ip = if v4 {
            IpAddr::V4(u32::try_from(begin).ok()?.into())
        } else {
            IpAddr::V6(begin.into())
        };
        out.push(format!("{ip}/{}", bits - size));
        if out.len() > NETWORKS {
            return None;
        }
        begin = match begin.checked_add(1 << size) {
            Some(next) => next,
            None => break,
        };
    }
    (!out.is_empty()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_networks() {
        for (begin, end, expected) in [
            ("10.0.0.0", "10.0.0.255", Some("10.0.0.0/24")),
            ("10.0.0.1", "10.0.0.6", Some("10.0.0.1/32 10.0.0.2/31 10.0.0.4/31 10.0.0.6/32")),
            ("0.0.0.0", "255.255.255.255", Some("0.0.0.0/0")),
            ("10.0.0.2", "10.0.0.1", None),
            ("2001:db8::", "2001:db8::ffff", Some("2001:db8::/112")),
            ("10.0.0.1", "2001:db8::", None),
        ] {
            let found = networks(begin.parse().unwrap(), end.parse().unwrap());
            assert_eq!(found.map(|list| list.join(" ")).as_deref(), expected, "{begin} {end}");
        }
    }
}
