//! The rules of a listener's filter chains, in the order in which Envoy looks for a chain.
//!
//! Envoy takes the most specific name first, then the most specific network, and never goes back: a connection whose
//! name is found and whose network is not gets the default chain.

use model::config::IpPrefix;

use crate::condition::RuleCondition;
use crate::source::SourcePlace;

use super::rule::EnvoyRule;
use super::specificity::order_names;

/// What one filter chain adds to the rules of a service.
#[derive(Clone)]
pub struct ChainPart {
    /// Names of the TLS handshake; none stands for all.
    pub names: Vec<String>,
    /// Networks of clients; none stands for all.
    pub networks: Vec<IpPrefix>,
    /// What else has to hold.
    pub when: RuleCondition,
    /// It takes connections for which no other chain is found.
    pub is_default: bool,
    pub rules: Vec<EnvoyRule>,
}

impl ChainPart {
    fn has_name(&self, name: &str) -> bool {
        self.names.iter().any(|own| own == name) || self.names.is_empty() && name == "*"
    }

    /// The part takes every connection with one of its names.
    fn takes_all(&self) -> bool {
        self.networks.is_empty() && self.when.clone().simplify(false) == RuleCondition::Is(true)
    }

    fn shares_name(&self, other: &ChainPart) -> bool {
        self.names.is_empty() && other.names.is_empty()
            || self.names.iter().any(|name| other.has_name(name))
    }

    /// The shortest prefix of its networks.
    fn broadest(&self) -> u8 {
        self.networks.iter().map(|network| network.bits()).min().unwrap_or(0)
    }

    fn condition(&self) -> RuleCondition {
        if self.networks.is_empty() {
            return self.when.clone();
        }
        let networks: Vec<String> = self.networks.iter().map(IpPrefix::to_string).collect();
        RuleCondition::texts("client", &networks).and(self.when.clone())
    }

    /// Parts whose networks have one length each.
    fn split(self) -> Vec<ChainPart> {
        let mut lengths: Vec<u8> = self.networks.iter().map(|network| network.bits()).collect();
        lengths.sort_unstable();
        lengths.dedup();
        if lengths.is_empty() {
            return vec![self];
        }
        let of_length = |bits: u8| ChainPart {
            networks: self.networks.iter().copied().filter(|one| one.bits() == bits).collect(),
            ..self.clone()
        };
        lengths.into_iter().map(of_length).collect()
    }
}

/// The rules of all chains. `by_names`: the condition that a connection has one of these names. `source`: the place of
/// the chains, for connections that none of them takes.
pub fn join_parts(
    parts: Vec<ChainPart>,
    by_names: impl Fn(&[String]) -> RuleCondition,
    source: SourcePlace,
) -> Vec<EnvoyRule> {
    let mut parts = order_networks(parts);
    let refusal = || vec![EnvoyRule::refusal(RuleCondition::Is(true), None, source, "no chain")];
    let default = parts.iter().find(|part| part.is_default).map(|part| part.rules.clone());
    let bound = names_without_rest(&parts);
    if !bound.is_empty() {
        parts.push(ChainPart {
            names: bound,
            networks: Vec::new(),
            when: RuleCondition::Is(true),
            is_default: false,
            rules: default.unwrap_or_else(refusal),
        });
    }
    let owners: Vec<Vec<String>> = parts
        .iter()
        .map(|part| if part.names.is_empty() { vec!["*".to_owned()] } else { part.names.clone() })
        .collect();
    let mut rules = Vec::new();
    for group in order_names(&owners) {
        let part = &parts[group.owner];
        let scope = by_names(&group.names).and(part.condition().at_least());
        rules.extend(part.rules.iter().cloned().map(|rule| rule.with_condition(&scope)));
    }
    rules.extend(refusal());
    rules
}

/// Puts narrow networks before broad ones. The default part stays last.
fn order_networks(parts: Vec<ChainPart>) -> Vec<ChainPart> {
    let mut parts = parts;
    if has_crossing_networks(&parts) {
        parts = parts.into_iter().flat_map(ChainPart::split).collect();
    }
    parts.sort_by_key(|part| (part.is_default, u8::MAX - part.broadest()));
    parts
}

/// Whether one chain has networks both within and around those of another one with the same name.
fn has_crossing_networks(parts: &[ChainPart]) -> bool {
    let around = |one: &ChainPart, two: &ChainPart| {
        one.networks.iter().any(|outer| {
            let inside =
                |inner: &IpPrefix| outer.bits() < inner.bits() && outer.contains(inner.address());
            two.networks.iter().any(inside)
        })
    };
    let crosses = |one: &ChainPart, two: &ChainPart| {
        one.shares_name(two) && one.broadest() > two.broadest() && around(one, two)
    };
    parts.iter().any(|one| parts.iter().any(|two| crosses(one, two)))
}

/// Names of chains that do not take all connections with them. Others must not get these connections.
fn names_without_rest(parts: &[ChainPart]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in parts.iter().flat_map(|part| &part.names) {
        let rest = parts.iter().any(|part| part.has_name(name) && part.takes_all());
        if !rest && !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(label: &str, names: &[&str], networks: &[&str]) -> ChainPart {
        let network = |text: &&str| {
            let (address, bits) = text.split_once('/').unwrap();
            IpPrefix::new(address.parse().unwrap(), bits.parse().unwrap()).unwrap()
        };
        ChainPart {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            networks: networks.iter().map(network).collect(),
            when: RuleCondition::Is(true),
            is_default: label == "default",
            rules: vec![EnvoyRule::refusal(
                RuleCondition::Is(true),
                None,
                SourcePlace::NONE,
                label,
            )],
        }
    }

    #[test]
    fn narrow_networks_come_first_and_a_found_name_does_not_go_back() {
        for (parts, expected) in [
            (vec![part("all", &[], &[]), part("ten", &[], &["10.0.0.0/8"])], "ten all no chain"),
            // Whoever asks for `a` from elsewhere does not get the chain for all names.
            (
                vec![part("a", &["a"], &["10.0.0.0/8"]), part("all", &[], &[])],
                "a no chain all no chain",
            ),
            (
                vec![part("a", &["a"], &["10.0.0.0/8"]), part("default", &[], &[])],
                "a default default no chain",
            ),
            (vec![part("a", &["a"], &[]), part("all", &[], &[])], "a all no chain"),
            // One chain has networks within and around that of the other.
            (
                vec![
                    part("x", &[], &["10.0.0.0/8", "10.1.1.0/24"]),
                    part("y", &[], &["10.1.0.0/16"]),
                ],
                "x y x no chain",
            ),
        ] {
            let rules =
                join_parts(parts, |names| RuleCondition::texts("sni", names), SourcePlace::NONE);
            let found: Vec<&str> = rules.iter().map(|rule| rule.text.as_str()).collect();
            assert_eq!(found.join(" "), expected);
        }
    }
}
