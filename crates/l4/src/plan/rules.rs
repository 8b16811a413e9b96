//! Rules of a service in the form of the map: one entry for each network of a condition. Pure.

use std::collections::HashMap;
use std::net::IpAddr;

use model::config::{IpPrefix, PacketRule, PacketServiceConfig, PortRange};
use model::rules::condition::matches_time;

use super::encoding::{cost_ns, to_mapped_bytes};
use crate::abi;

/// The rules in their order; `pools` are the indexes by name.
pub fn rule_values(
    packets: &PacketServiceConfig,
    pools: &HashMap<&str, u32>,
    local_minute: i64,
) -> Vec<abi::Rule> {
    packets.rules.iter().flat_map(|rule| rule_value(rule, pools, local_minute)).collect()
}

/// Whether the rules are others at other times.
pub fn depends_on_time(packets: &PacketServiceConfig) -> bool {
    packets.rules.iter().any(|rule| rule.hours.is_some() || rule.days.count_ones() < 7)
}

fn rule_value(rule: &PacketRule, pools: &HashMap<&str, u32>, local_minute: i64) -> Vec<abi::Rule> {
    let ports = rule.client_port.unwrap_or(PortRange { first: 0, last: u16::MAX });
    let on = matches_time(rule.hours, rule.days, local_minute * 60);
    let base = abi::Rule {
        client_from: ports.first,
        client_to: ports.last,
        port_from: 0,
        port_to: u16::MAX,
        tos: rule.tos.unwrap_or(0),
        tos_mask: if rule.tos.is_some() { u8::MAX } else { 0 },
        flags: if on { u8::try_from(abi::RULE_ON).unwrap_or(1) } else { 0 },
        pool: pools.get(rule.pool.as_str()).copied().unwrap_or(abi::NONE),
        cost: cost_ns(rule.rate),
        burst: if rule.rate.is_some() { 1_000_000_000 } else { 0 },
        ..abi::Rule::default()
    };
    if rule.client.is_empty() {
        return vec![base];
    }
    let of = |prefix: &IpPrefix| {
        let client_mask = mask_bytes(*prefix);
        abi::Rule { client: to_mapped_bytes(prefix.address()), client_mask, ..base }
    };
    rule.client.iter().map(of).collect()
}

/// The bits of a mapped address that count.
pub fn mask_bytes(prefix: IpPrefix) -> [u8; 16] {
    let bits = mapped_bits(prefix);
    u128::MAX.checked_shl(128 - bits).unwrap_or(0).to_be_bytes()
}

/// How many bits of a mapped address count.
pub fn mapped_bits(prefix: IpPrefix) -> u32 {
    let before = if matches!(prefix.address(), IpAddr::V4(_)) { 96 } else { 0 };
    before + u32::from(prefix.bits())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Rows: I22
    #[test]
    fn rules_hold_on_their_days_and_hours() {
        let rule = |hours: &str, days: &str| {
            let text = format!(
                "[service.s]\nlisten = \"203.0.113.10:80\"\nforward = \"mac\"\npool = \"p\"\n\
                 rule = [{{ when = {{ {hours}{days} }}, pool = \"p\" }}]\n\
                 [pool.p]\nservers = [\"10.0.0.1:80\"]\n"
            );
            let checked = model::config::load(&text, "x").unwrap();
            checked.config.services["s"].packets.clone().unwrap()
        };
        let night = "hours = \"22:00-06:00\"";
        let weekend = "days = [\"sat\", \"sun\"]";
        let of = |packets: &PacketServiceConfig, day: i64, hour: i64| {
            // 1970 began on a Thursday; the fifth day of January was a Monday.
            let minute = (4 + day) * 24 * 60 + hour * 60;
            rule_value(&packets.rules[0], &HashMap::new(), minute)[0].flags != 0
        };
        // Hours and days of the rule; day of the week from Monday on, and hour; whether it holds.
        let rows = [
            ("", weekend, 5, 0, true),
            ("", weekend, 6, 23, true),
            ("", weekend, 0, 0, false),
            ("", weekend, 4, 23, false),
            (night, "", 2, 23, true),
            (night, "", 2, 12, false),
            ("hours = \"22:00-06:00\", ", weekend, 6, 23, true),
            ("hours = \"22:00-06:00\", ", weekend, 7, 5, true),
            ("hours = \"22:00-06:00\", ", weekend, 5, 5, false),
        ];
        for (hours, days, day, hour, holds) in rows {
            let packets = rule(hours, days);
            assert_eq!(of(&packets, day, hour), holds, "{hours}{days} on day {day} at {hour}");
            assert!(depends_on_time(&packets));
        }
        assert!(!depends_on_time(&rule("", "tos = 8")));
    }

    #[test]
    fn masks_of_both_families() {
        let prefix = |text: &str, bits| IpPrefix::new(text.parse().unwrap(), bits).unwrap();
        assert_eq!(mask_bytes(prefix("10.0.0.0", 8))[11..14], [255, 255, 0]);
        assert_eq!(mask_bytes(prefix("2001:db8::", 32))[3..5], [255, 0]);
        assert_eq!(mask_bytes(prefix("::", 0)), [0; 16]);
    }
}
