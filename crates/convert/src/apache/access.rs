//! Who may have what: `Require`, `Order`, `Allow`, `Deny`, `Satisfy` and `SSLRequireSSL` of one section.

use crate::condition::RuleCondition;
use crate::notes::{ConversionNotes, UnsupportedReason};
use crate::statement::ConfigStatement;

/// What a section says about access.
#[derive(Clone, Debug)]
pub struct SectionAccess {
    /// Who is let through.
    pub allowed: RuleCondition,
    /// Somebody is asked who he is.
    pub asks_identity: bool,
    pub kinds: AccessKinds,
}

/// The kinds of directives of a section. Each kind is replaced by the same kind of a later section.
#[derive(Clone, Copy, Debug)]
pub struct AccessKinds {
    requires: bool,
    orders: bool,
    /// What no later section replaces.
    others: bool,
}

impl AccessKinds {
    fn of(directives: &[ConfigStatement]) -> AccessKinds {
        let any = |names: &[&str]| directives.iter().any(|one| names.contains(&one.name.as_str()));
        let is_other = |one: &ConfigStatement| {
            let others = [
                "sslrequiressl",
                "sslrequire",
                "sslverifyclient",
                "limit",
                "limitexcept",
                "rewriterule",
            ];
            others.contains(&one.name.as_str()) || is_guard(one)
        };
        AccessKinds {
            requires: any(&["require", "requireall", "requireany", "requirenone"]),
            orders: any(&["order", "allow", "deny"]),
            others: directives.iter().any(is_other),
        }
    }

    /// Whether a later section of these kinds replaces everything that this one says.
    pub fn is_replaced_by(self, later: AccessKinds) -> bool {
        !self.others && (later.requires || !self.requires) && (later.orders || !self.orders)
    }
}

/// Reads the access rules of a section. `None`: it has none.
pub fn read(directives: &[ConfigStatement], notes: &mut ConversionNotes) -> Option<SectionAccess> {
    let mut all: Vec<RuleCondition> = Vec::new();
    let mut asks_identity = asks(directives);
    let required = required(directives, notes);
    let hosts = old_access(directives, notes);
    let any = directives
        .iter()
        .any(|one| one.name == "satisfy" && one.word(0).eq_ignore_ascii_case("any"));
    match (required, hosts) {
        (Some(required), Some(hosts)) if any => all.push(RuleCondition::Any(vec![required, hosts])),
        (required, hosts) => all.extend(required.into_iter().chain(hosts)),
    }
    for directive in directives {
        match directive.name.as_str() {
            "satisfy" | "sslrequiressl" => {
                if directive.name == "sslrequiressl" {
                    all.push(RuleCondition::Tls);
                }
                directive.settle_converted(notes);
            }
            "sslrequire" | "sslverifyclient" if directive.word(0) != "none" => {
                let reason = "it is asked for by path: what it protects is closed";
                directive.leave_out(reason, "`tls.client` of a listener", notes);
                all.push(unknown(reason));
            }
            "rewriterule" if refuses(directive) => {
                let reason = "rules of a section are not read: what this one may refuse is refused";
                directive.leave_out(reason, "`RewriteRule` of the virtual host", notes);
                all.push(unknown(reason));
            }
            "limit" | "limitexcept" => {
                let methods = directive.words_from(0).to_vec();
                directive.settle_converted(notes);
                let is_one = method_condition(&methods);
                let applies = if directive.name == "limit" { is_one } else { is_one.negate() };
                if let Some(inner) = read(directive.inner(), notes) {
                    asks_identity |= inner.asks_identity;
                    all.push(RuleCondition::Any(vec![applies.negate(), inner.allowed]));
                }
            }
            _ if is_guard(directive) => {
                let reason = "nothing is known of what it asks for: what it protects is closed";
                directive.leave_out(reason, "", notes);
                all.push(unknown(reason));
            }
            _ => {}
        }
    }
    let kinds = AccessKinds::of(directives);
    (!all.is_empty()).then_some(SectionAccess {
        allowed: RuleCondition::All(all),
        asks_identity,
        kinds,
    })
}

/// Directives of modules that guard requests, and files that may hold such directives.
pub fn is_guard(directive: &ConfigStatement) -> bool {
    let name = directive.name.as_str();
    if matches!(name, "include" | "includeoptional") {
        // The file of Certbot only chooses versions and ciphers.
        return !directive.peek(0).ends_with("/options-ssl-apache.conf");
    }
    const BEGINNINGS: [&str; 13] = [
        "oidc", "sec", "qs_", "dos", "mellon", "shib", "cas", "krb", "gssapi", "geoip", "maxmind",
        "evasive", "jwt",
    ];
    BEGINNINGS.iter().any(|begin| name.starts_with(begin))
}

/// Whether a `RewriteRule` refuses what it fits.
fn refuses(rule: &ConfigStatement) -> bool {
    let flags = rule.peek(2).trim_matches(['[', ']']).to_ascii_lowercase();
    let is_refusal = |flag: &str| {
        matches!(flag.trim(), "f" | "forbidden" | "g" | "gone")
            || flag.trim().starts_with("r=4")
            || flag.trim().starts_with("r=5")
    };
    flags.split(',').any(is_refusal)
}

fn unknown(reason: &str) -> RuleCondition {
    RuleCondition::Unknown(UnsupportedReason::new(reason, ""))
}

fn method_condition(methods: &[String]) -> RuleCondition {
    let mut methods = methods.to_vec();
    methods.sort();
    methods.dedup();
    // GET stands for HEAD too.
    if methods.iter().any(|one| one == "GET") && !methods.iter().any(|one| one == "HEAD") {
        methods.push("HEAD".to_owned());
    }
    RuleCondition::texts("method", &methods)
}

fn asks(directives: &[ConfigStatement]) -> bool {
    const OPEN: [&str; 9] =
        ["all", "not", "ip", "host", "local", "forward-dns", "method", "env", "expr"];
    directives.iter().any(|one| match one.name.as_str() {
        "require" => !OPEN.contains(&one.peek(0).to_ascii_lowercase().as_str()),
        "requireany" | "requireall" | "requirenone" => asks(one.inner()),
        _ => false,
    })
}

/// Several `Require` lines: one of them is enough.
fn required(directives: &[ConfigStatement], notes: &mut ConversionNotes) -> Option<RuleCondition> {
    let parts = parts(directives, notes);
    if parts.is_empty() {
        return None;
    }
    Some(RuleCondition::Any(parts))
}

fn parts(directives: &[ConfigStatement], notes: &mut ConversionNotes) -> Vec<RuleCondition> {
    let mut out = Vec::new();
    for one in directives {
        match one.name.as_str() {
            "require" => out.push(require(one, notes)),
            "requireall" => out.push(RuleCondition::All(parts(one.inner(), notes))),
            "requireany" => out.push(RuleCondition::Any(parts(one.inner(), notes))),
            "requirenone" => {
                out.push(RuleCondition::Any(parts(one.inner(), notes)).negate());
            }
            _ => {}
        }
    }
    out
}

fn require(statement: &ConfigStatement, notes: &mut ConversionNotes) -> RuleCondition {
    let words = statement.words_from(0).to_vec();
    statement.settle_converted(notes);
    let negated = words.first().is_some_and(|word| word.eq_ignore_ascii_case("not"));
    let words = &words[usize::from(negated)..];
    let kind = words.first().map_or(String::new(), |word| word.to_ascii_lowercase());
    let values = words.get(1..).unwrap_or(&[]);
    let condition = match kind.as_str() {
        "all" => match values.first().map(|word| word.to_ascii_lowercase()).as_deref() {
            Some("granted") => RuleCondition::Is(true),
            Some("denied") => RuleCondition::Is(false),
            _ => unknown("it is neither granted nor denied"),
        },
        "ip" => client_condition(values),
        "local" => RuleCondition::texts("client", &["127.0.0.0/8", "::1"]),
        "method" => method_condition(values),
        _ => unknown("nobody is asked who he is, and names of clients are not looked up"),
    };
    if let Some(why) = condition.unknown().cloned() {
        notes.left_out_because(statement.source, &statement.text(), &why);
    }
    if negated { condition.negate() } else { condition }
}

/// Networks of clients: whole or partial addresses, with a mask or a length.
pub fn client_condition(values: &[String]) -> RuleCondition {
    let networks: Option<Vec<String>> = values.iter().map(|value| network(value)).collect();
    match networks {
        Some(networks) if !networks.is_empty() => RuleCondition::texts("client", &networks),
        _ => unknown("names of clients are not looked up"),
    }
}

fn network(text: &str) -> Option<String> {
    let parts = text.split_once('/');
    let address = parts.map_or(text, |parts| parts.0);
    if address.contains(':') {
        return address.parse::<std::net::Ipv6Addr>().ok().map(|_| text.to_owned());
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

/// `Order`, `Allow` and `Deny` of version 2.2.
fn old_access(
    directives: &[ConfigStatement],
    notes: &mut ConversionNotes,
) -> Option<RuleCondition> {
    let mut allow: Vec<RuleCondition> = Vec::new();
    let mut deny: Vec<RuleCondition> = Vec::new();
    let mut allow_last = true;
    let mut any = false;
    for one in directives {
        match one.name.as_str() {
            "order" => {
                let order = one.words_from(0).concat().to_ascii_lowercase();
                allow_last = order == "deny,allow";
                one.settle_converted(notes);
                any = true;
            }
            "allow" | "deny" => {
                let values = one.words_from(1).to_vec();
                let from = one.word(0).eq_ignore_ascii_case("from");
                one.settle_converted(notes);
                let everybody = values.iter().any(|value| value.eq_ignore_ascii_case("all"));
                let condition = match everybody && from {
                    true => RuleCondition::Is(true),
                    false => client_condition(&values),
                };
                if let Some(why) = condition.unknown().cloned() {
                    notes.left_out_because(one.source, &one.text(), &why);
                }
                if one.name == "allow" {
                    allow.push(condition)
                } else {
                    deny.push(condition)
                }
                any = true;
            }
            _ => {}
        }
    }
    if !any {
        return None;
    }
    let allowed = RuleCondition::Any(allow);
    let denied = RuleCondition::Any(deny);
    Some(match allow_last {
        true => RuleCondition::Any(vec![denied.negate(), allowed]),
        false => RuleCondition::All(vec![allowed, denied.negate()]),
    })
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
            ("2001:db8::/32", Some("2001:db8::/32")),
            ("shop.example", None),
            ("10.1.2.3/255.0.255.0", None),
        ] {
            assert_eq!(network(text).as_deref(), expected, "{text}");
        }
    }
}
