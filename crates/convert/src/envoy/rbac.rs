//! Role-based access (RBAC): policies of permissions and principals, as conditions of rules that refuse.

use crate::condition::RuleCondition;
use crate::notes::ConversionNotes;
use crate::structured::node::ConfigNode;

use super::hidden_fields::HiddenFields;
use super::reader::{leave_out, take_flag, take_text};
use super::rule::EnvoyRule;
use super::strings::{StringMatch, header_condition, take_network, unsupported};

/// Deeper than any policy. Bounds the recursion.
const DEEP: usize = 8;

/// The rules of an `RBAC` filter: what it does not allow, or denies, is refused.
pub fn read_rules(
    filter: &ConfigNode,
    sight: AddressSight,
    hidden: &HiddenFields,
    notes: &mut ConversionNotes,
) -> Vec<EnvoyRule> {
    let reader = PolicyReader { sight };
    if let Some(shadow) = filter.get("shadow_rules") {
        notes.changed(
            shadow.source.whole(),
            shadow.describe(),
            "it only counts, and refuses nobody",
            "",
        );
        super::reader::settle_inside(shadow, notes);
    }
    for key in ["rules_stat_prefix", "shadow_rules_stat_prefix", "stat_prefix", "enforcement_type"]
    {
        take_text(filter, key, notes);
    }
    let mut refused = Vec::new();
    if let Some(rules) = filter.get("rules") {
        let action = take_text(rules, "action", notes).unwrap_or("ALLOW");
        let mut any = Vec::new();
        for policy in rules.get("policies").map(ConfigNode::entries).unwrap_or_default() {
            any.push(hidden.hide(reader.policy(policy, notes)));
        }
        if let Some(policies) = rules.get("policies").filter(|field| field.is_empty()) {
            notes.converted(policies.source);
        }
        let met = RuleCondition::Any(any);
        refused.push(match action {
            "ALLOW" | "0" => met.negate(),
            "DENY" | "1" => met,
            // `LOG` refuses nobody.
            "LOG" | "2" => RuleCondition::Is(false),
            _ => RuleCondition::Is(true),
        });
        refused.extend(rules.unread_entries().map(|_| RuleCondition::Is(true)));
    }
    // Matchers, and everything that is not known.
    for other in filter.unread_entries() {
        leave_out(other, "rules of access are policies here", "rules with `deny`", notes);
        refused.push(RuleCondition::Is(true));
    }
    let rule = |when: RuleCondition| {
        if let Some(why) = when.unknown() {
            notes.left_out(filter.source, "RBAC", &why.reason, "rules with `deny` for others");
        }
        EnvoyRule::refusal(when, Some(403), filter.source, "RBAC")
    };
    refused.into_iter().map(rule).collect()
}

/// Which addresses rules cannot see.
#[derive(Clone, Copy, Debug, Default)]
pub struct AddressSight {
    /// The client's address is taken from a field that proxies write.
    pub hides_clients: bool,
    /// The address of who connects is hidden by the client's in a PROXY header.
    pub hides_peers: bool,
}

struct PolicyReader {
    sight: AddressSight,
}

impl PolicyReader {
    fn policy(&self, policy: &ConfigNode, notes: &mut ConversionNotes) -> RuleCondition {
        let any = |key: &str, notes: &mut ConversionNotes| {
            let items = policy.get(key).map(ConfigNode::items).unwrap_or_default();
            RuleCondition::Any(items.iter().map(|item| self.criterion(item, 0, notes)).collect())
        };
        let mut parts = vec![any("permissions", notes), any("principals", notes)];
        parts.extend(
            policy
                .unread_entries()
                .map(|field| RuleCondition::Unknown(unsupported(field.describe()))),
        );
        RuleCondition::All(parts)
    }

    /// A permission or a principal, each with one key.
    fn criterion(
        &self,
        item: &ConfigNode,
        depth: usize,
        notes: &mut ConversionNotes,
    ) -> RuleCondition {
        let unknown = || RuleCondition::Unknown(unsupported(item.describe()));
        let [field] = item.entries() else { return unknown() };
        if depth > DEEP {
            return unknown();
        }
        let each = |key: &str, notes: &mut ConversionNotes| -> Vec<RuleCondition> {
            let items = field.get(key).map(ConfigNode::items).unwrap_or_default();
            items.iter().map(|inner| self.criterion(inner, depth + 1, notes)).collect()
        };
        let found = match field.key() {
            "any" => RuleCondition::Is(take_flag(item, "any", notes).unwrap_or(false)),
            "and_rules" => RuleCondition::All(each("rules", notes)),
            "or_rules" => RuleCondition::Any(each("rules", notes)),
            "and_ids" => RuleCondition::All(each("ids", notes)),
            "or_ids" => RuleCondition::Any(each("ids", notes)),
            "not_rule" | "not_id" => self.criterion(field, depth + 1, notes).negate(),
            "header" => return header_condition(field, notes),
            "url_path" => match field.get("path") {
                Some(path) => StringMatch::read(path, notes).on_path(),
                None => unknown(),
            },
            "requested_server_name" => return StringMatch::read(field, notes).on_sni(),
            "direct_remote_ip" if !self.sight.hides_peers => self.network(field, notes),
            "source_ip" | "remote_ip" if !self.sight.hides_clients => self.network(field, notes),
            _ => unknown(),
        };
        match field.unread_entries().next() {
            Some(_) => unknown(),
            None => found,
        }
    }

    fn network(&self, field: &ConfigNode, notes: &mut ConversionNotes) -> RuleCondition {
        match take_network(field, notes) {
            Some(network) => RuleCondition::texts("client", &[network.to_string()]),
            None => RuleCondition::Unknown(unsupported(field.describe())),
        }
    }
}
