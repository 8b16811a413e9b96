//! Names of virtual hosts in the order in which Envoy looks for them, and their conditions.
//!
//! Envoy compares a name with the Host as it came, its port included. A rule's `host` does not look at the port, so that
//! names with a port are conditions on the field, and come first.

use crate::condition::{RuleCondition, escape_regex};

use super::specificity::order_names;

/// What Envoy does with the port of a Host before it looks for a virtual host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortTreatment {
    /// It is compared.
    Compared,
    /// It is taken off, so that a name with a port never fits.
    Dropped,
    /// It is taken off where it is the listener's.
    DroppedIfOwn,
}

/// The names of one virtual host that are looked for together.
#[derive(Debug, PartialEq, Eq)]
pub struct HostGroup {
    /// The index of the virtual host.
    pub owner: usize,
    pub when: RuleCondition,
    /// The names have ports.
    pub has_ports: bool,
}

/// Groups the names of virtual hosts, each group before all that are less specific.
pub fn order_hosts(owners: &[Vec<String>], ports: PortTreatment) -> Vec<HostGroup> {
    let part = |takes: &dyn Fn(usize, &str) -> bool| -> Vec<Vec<String>> {
        let kept = |owner: usize, names: &Vec<String>| {
            names.iter().filter(|name| takes(owner, name)).cloned().collect()
        };
        owners.iter().enumerate().map(|(owner, names)| kept(owner, names)).collect()
    };
    let is_needed = |owner: usize, name: &str| {
        has_port(name) && ports != PortTreatment::Dropped && !is_covered(owners, owner, name)
    };
    let ported = order_names(&part(&is_needed)).into_iter();
    let bare = order_names(&part(&|_, name| !has_port(name))).into_iter();
    let ported = ported.map(|group| HostGroup {
        owner: group.owner,
        when: RuleCondition::texts("header-regex", &ported_expressions(&group.names)),
        has_ports: true,
    });
    let bare = bare.map(|group| HostGroup {
        owner: group.owner,
        when: bare_condition(&group.names),
        has_ports: false,
    });
    ported.chain(bare).collect()
}

/// Whether the name of a virtual host has a port, a part of one, or `*` for one.
pub fn has_port(name: &str) -> bool {
    let behind_address = name.rfind(']').map_or(name, |end| &name[end..]);
    behind_address.contains(':')
}

/// Whether requests with this name and port are the same virtual host's without a rule of their own: it has the name
/// without a port, and no other one has names with ports that may fit them.
fn is_covered(owners: &[Vec<String>], owner: usize, name: &str) -> bool {
    let covers = |names: &[String], name: &str| names.iter().any(|own| own == without_port(name));
    let others = owners.iter().enumerate().filter(|(other, _)| *other != owner);
    let mut ported = others.flat_map(|(_, names)| {
        names.iter().filter(|other| has_port(other)).map(|other| OtherName { other, names })
    });
    let may_fit = |other: &str| {
        other.contains('*')
            || name.contains('*') && !is_one_host(name)
            || without_port(other) == without_port(name)
    };
    owners.get(owner).is_some_and(|names| covers(names, name))
        && !ported.any(|one| may_fit(one.other) && !is_own_host(one, name))
}

/// A name with a port of another virtual host.
#[derive(Clone, Copy)]
struct OtherName<'n> {
    other: &'n str,
    /// All names of that virtual host.
    names: &'n [String],
}

/// Whether the other name stands for ports of one host that is not the host of `name`.
fn is_own_host(one: OtherName<'_>, name: &str) -> bool {
    let host = without_port(one.other);
    is_one_host(one.other)
        && is_one_host(name)
        && host != without_port(name)
        && one.names.iter().any(|own| own == host)
}

/// Whether only the port of a name is a pattern.
fn is_one_host(name: &str) -> bool {
    !without_port(name).contains('*')
}

fn without_port(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(host, _)| host)
}

/// Expressions for the field Host. `*` stands for at least one character at the beginning, or else at the end.
fn ported_expressions(names: &[String]) -> Vec<String> {
    let expression = |name: &String| match (name.strip_prefix('*'), name.strip_suffix('*')) {
        (Some(end), _) => format!("host: (?i).+{}", escape_regex(end)),
        (None, Some(start)) => format!("host: (?i){}.+", escape_regex(start)),
        (None, None) => format!("host: (?i){}", escape_regex(name)),
    };
    names.iter().map(expression).collect()
}

/// The condition that the host has one of these names, with any port.
fn bare_condition(names: &[String]) -> RuleCondition {
    if names.iter().any(|name| name == "*" || name.is_empty()) {
        return RuleCondition::Is(true);
    }
    let mut plain = Vec::new();
    let mut patterns = Vec::new();
    for name in names {
        let below = name.strip_prefix("*.").unwrap_or(name);
        let is_plain = below.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._:[]".contains(&b));
        match (is_plain, name.strip_prefix('*'), name.strip_suffix('*')) {
            (true, ..) => plain.push(name.clone()),
            // `*` stands for at least one character.
            (false, Some(end), _) => patterns.push(format!(".+{}", escape_regex(end))),
            (false, None, Some(start)) => patterns.push(format!("{}.+", escape_regex(start))),
            (false, None, None) => patterns.push(escape_regex(name)),
        }
    }
    let mut any = Vec::new();
    if !plain.is_empty() {
        any.push(RuleCondition::texts("host", &plain));
    }
    if !patterns.is_empty() {
        any.push(RuleCondition::texts("host-regex", &patterns));
    }
    RuleCondition::Any(any)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(owners: &[&[&str]], ports: PortTreatment) -> Vec<String> {
        let names = |names: &&[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let owners: Vec<Vec<String>> = owners.iter().map(names).collect();
        let text = |group: HostGroup| {
            let when = group.when.simplify(false).to_when().unwrap_or_default();
            format!("{} {when}", group.owner)
        };
        order_hosts(&owners, ports).into_iter().map(text).collect()
    }

    #[test]
    fn names_with_ports_come_first_unless_their_host_is_the_owners_anyway() {
        let compared = |owners: &[&[&str]]| groups(owners, PortTreatment::Compared);
        let of_port = r#"0 { header-regex = "host: (?i)a\\.b:.+" }"#;
        assert_eq!(compared(&[&["a.b:*"]]), [of_port]);
        assert_eq!(compared(&[&["a.b:*"], &["*.b"]]), [of_port, "1 { host = \"*.b\" }"]);
        assert_eq!(compared(&[&["a.b", "a.b:*"]]), ["0 { host = \"a.b\" }"]);
        // Each host with its own port, as generated files have it.
        let each = compared(&[&["a.b", "a.b:80"], &["c.b", "c.b:80"]]);
        assert_eq!(each, ["0 { host = \"a.b\" }", "1 { host = \"c.b\" }"]);
        let shared = compared(&[&["a.b", "a.b:80"], &["a.b:*"]]);
        let first = r#"0 { header-regex = "host: (?i)a\\.b:80" }"#;
        let second = r#"1 { header-regex = "host: (?i)a\\.b:.+" }"#;
        assert_eq!(shared, [first, second, "0 { host = \"a.b\" }"]);
        let pattern = compared(&[&["a.b", "a.b:80"], &["*.b:80"]]);
        assert_eq!(pattern.len(), 3, "{pattern:?}");
        let below = compared(&[&["*.b", "*.b:80"], &["a.b:80"]]);
        assert_eq!(below.len(), 3, "{below:?}");
    }

    #[test]
    fn a_port_that_is_taken_off_leaves_no_name_with_one() {
        let owners: &[&[&str]] = &[&["a.b:*", "c.b"]];
        assert_eq!(groups(owners, PortTreatment::Dropped), ["0 { host = \"c.b\" }"]);
        assert_eq!(groups(&[&["a.b:*"]], PortTreatment::Dropped), Vec::<String>::new());
        assert!(has_port("[::1]:80") && has_port("*:80") && has_port("a.b:8*"));
        assert!(!has_port("[::1]") && !has_port("a.b"));
    }
}
