//! The rules of a frontend and of the backends that it leads to, in HAProxy's order, for one kind of listeners.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::condition::RuleCondition;
use crate::notes::ConversionNotes;
use crate::value::{self, KeyValue};

use super::acl::{AclTable, AclTables};
use super::backend_branch::{BackendBranch, KnownBackends, VisibleCondition};
use super::edit_times::RuleReads;
use super::field_reads::add_condition_fields;
use super::final_rule::FinalRule;
use super::forwarded;
use super::frontend::FrontendWriter;
use super::frontend_edits::{BackendEdits, FrontendEdits};
use super::frontend_rule::{self, FrontendRule};
use super::hidden_inputs::hide_fields;
use super::http_rules::{self, ProxyRules};
use super::opaque_fields::OpaqueFields;
use super::path_change::reads_path;
use super::proxy_senders;
use super::service_edits::{self, ServiceEdits};

const BRANCH_REFUSED: &str =
    "requests that were to come to its backend are refused, unless another rule leads there";

/// What is read of a frontend's rules before its listeners are told apart.
pub struct FrontendBranches {
    /// Rules that come before all others.
    first: Vec<FrontendRule>,
    /// Rules that come after those about connections and before those about requests.
    monitor: Vec<FrontendRule>,
    own: Rc<ProxyRules>,
    /// In their order; the default one last.
    backends: Vec<BackendBranch>,
}

/// The rules and edits of a service.
pub struct ListenerRules {
    pub rules: Vec<FrontendRule>,
    pub edits: ServiceEdits,
}

impl FrontendWriter<'_> {
    /// Reads the rules of the frontend and of its backends.
    pub fn read_branches(&self, notes: &mut ConversionNotes) -> FrontendBranches {
        let settings = self.settings;
        let acls = AclTables::read(&settings.acls, self.pools);
        let senders = proxy_senders::split_rules(settings, &acls.requests, self.pools, notes);
        let mut own = http_rules::read(
            &senders.rules,
            settings.http,
            &acls,
            &OpaqueFields::default(),
            self.pools,
            notes,
        );
        own.add_side_effects(settings, notes);
        let mut first = Vec::new();
        first.extend(senders.refused.map(|line| FrontendRule {
            when: RuleCondition::Is(true),
            keys: vec![KeyValue::new("deny", "true")],
            source: line.source,
            text: line.text(),
        }));
        if own.fields.is_overfull {
            first.push(self.overfull_rule(notes));
        }
        let used = self.used_backends();
        let leading = used.first().and_then(|name| self.pools.settings(name));
        let is_common = forwarded::is_common(settings, &self.used_settings(&used));
        if is_common {
            let mut all = self.used_settings(&used);
            all.push(settings);
            own.close_client_fields(&all);
        }
        let mut known = KnownBackends::new(&own.fields.opaque, is_common);
        let mut backends = Vec::new();
        for line in &settings.use_backends {
            backends.push(self.branch(line, &acls.requests, leading, &mut known, notes));
        }
        backends.push(self.default_branch(&mut known, notes));
        settle_path_changes(&mut own, &mut backends, notes);
        let monitor = self.monitor_rules(&acls.requests, notes);
        FrontendBranches { first, monitor, own: Rc::new(own), backends }
    }

    /// The answers to `monitor-uri`: first those that say that nothing can be served. A condition that cannot be written
    /// counts as met.
    fn monitor_rules(&self, acls: &AclTable, notes: &mut ConversionNotes) -> Vec<FrontendRule> {
        let Some(uri) = self.settings.single.get("monitor-uri").filter(|_| self.settings.http)
        else {
            return Vec::new();
        };
        let path = RuleCondition::texts("path", &[uri.word(1)]);
        let reason = "it is answered with a query, too";
        notes.changed(uri.source, &uri.text(), reason, "`when = { path = … }` of its rule");
        let mut rules = Vec::new();
        for line in &self.settings.monitor_failures {
            let when = acls.condition(line.rest(2), self.pools);
            if let Some(why) = when.unknown() {
                notes.left_out_because(line.source, &line.text(), why);
            }
            rules.push(FrontendRule {
                when: path.clone().and(when.at_least()),
                keys: vec![KeyValue::new("answer", "503")],
                source: line.source,
                text: line.text(),
            });
        }
        rules.push(FrontendRule {
            when: path,
            keys: vec![frontend_rule::monitor_answer()],
            source: uri.source,
            text: uri.text(),
        });
        rules
    }

    /// Refuses everything, because the changes of fields are too many to be put in order.
    fn overfull_rule(&self, notes: &mut ConversionNotes) -> FrontendRule {
        let section = self.section;
        let reason = "its changes of fields are too many; so that servers see no field that was to be changed, its requests are refused";
        notes.left_out(section.source, &section.text, reason, "fewer changes, or several services");
        FrontendRule {
            when: RuleCondition::Is(true),
            keys: vec![KeyValue::new("answer", "502")],
            source: section.source,
            text: section.text.clone(),
        }
    }

    /// What the rule of a branch does. The default branch needs none if it changes and limits nothing.
    fn branch_keys(
        &self,
        own: &ProxyRules,
        branch: &BackendBranch,
        rewrite: Option<KeyValue>,
    ) -> Vec<KeyValue> {
        let mut keys = branch.keys.clone();
        let limit = own.body_bytes.into_iter().chain(branch.rules.body_bytes).min();
        let limit =
            limit.map(|bytes| KeyValue::new("body-bytes", value::quote(&format!("{bytes}B"))));
        let more: Vec<KeyValue> = rewrite.into_iter().chain(limit).collect();
        if !self.settings.http || !branch.is_sent() || more.is_empty() {
            return keys;
        }
        if branch.is_default {
            let pool = self.pools.written_name(&branch.name).unwrap_or_default();
            keys.push(KeyValue::new("pool", value::quote(pool)));
        }
        keys.splice(1..1, more);
        keys
    }

    /// The rules and edits for listeners with or without TLS.
    pub fn listener_rules(
        &self,
        branches: &FrontendBranches,
        tls: bool,
        notes: &mut ConversionNotes,
    ) -> ListenerRules {
        let FrontendBranches { first, monitor, own, backends } = branches;
        let mut fields = FrontendEdits::new(own, &branches.reads(), tls);
        let mut by_name: BTreeMap<&str, BackendEdits> = BTreeMap::new();
        for branch in backends {
            by_name.entry(&branch.name).or_insert_with(|| fields.add_backend(&branch.rules, tls));
        }
        fields.advance_answers(by_name.values(), notes);
        let mut rules: Vec<FrontendRule> = first.to_vec();
        for (at, rule) in own.final_rules.iter().enumerate() {
            if at == own.early_rules {
                rules.extend(monitor.iter().cloned());
            }
            let unseen = fields.unseen(rule.edits_before);
            rules.extend(visible_rules(&RuleCondition::Is(true), rule, &unseen, notes));
        }
        if own.final_rules.len() <= own.early_rules {
            rules.extend(monitor.iter().cloned());
        }
        let unseen = fields.unseen(usize::MAX);
        for (at, branch) in backends.iter().enumerate() {
            let later = &backends[at + 1..];
            let VisibleCondition { certain: when, possible } =
                branch.visible_condition(&unseen, later, notes);
            let inner = &by_name[branch.name.as_str()];
            let is_taken = when.clone().simplify(tls) != RuleCondition::Is(false);
            for rule in branch.rules.final_rules.iter().filter(|_| !is_taken && possible.is_some())
            {
                notes.left_out(rule.source, &rule.text, BRANCH_REFUSED, "");
            }
            for rule in branch.rules.final_rules.iter().filter(|_| is_taken || possible.is_none()) {
                let mut unseen = unseen.clone();
                unseen.extend(inner.unseen(rule.edits_before));
                rules.extend(visible_rules(&when, rule, &unseen, notes));
            }
            let changes = own.path_changes.iter().chain(&branch.rules.path_changes);
            for change in changes.filter(|_| branch.is_sent()) {
                let parts = fields.parts(inner);
                let rewrite = service_edits::rule_rewrite(Some(change.rewrite()), &parts);
                rules.push(FrontendRule {
                    when: change.rule_condition(&when),
                    keys: self.branch_keys(own, branch, rewrite),
                    source: change.line.source,
                    text: change.line.text(),
                });
            }
            let rewrite = service_edits::rule_rewrite(None, &fields.parts(inner));
            let keys = self.branch_keys(own, branch, rewrite);
            if !keys.is_empty() && (is_taken || possible.is_none()) {
                rules.push(branch.rule(when, keys));
            }
            let refused = vec![KeyValue::new("deny", "true")];
            rules.extend(possible.map(|when| branch.rule(when, refused)));
        }
        let pool = |name: &str| self.pools.written_name(name).map(str::to_owned);
        let edits = fields.service_edits(&by_name, &pool, notes);
        if edits.len() > service_edits::EDITS {
            rules.insert(0, self.overfull_rule(notes));
            return ListenerRules { rules, edits: ServiceEdits::default() };
        }
        ListenerRules { rules, edits }
    }
}

impl FrontendBranches {
    /// What the rules look at, and how many changes of the frontend stand before each.
    fn reads(&self) -> Vec<RuleReads> {
        if self.own.fields.edits.is_empty() {
            return Vec::new();
        }
        let mut all = self.own.reads();
        let mut add = |fields: BTreeSet<String>| {
            if !fields.is_empty() {
                all.push(RuleReads { fields, edits_before: usize::MAX });
            }
        };
        for branch in &self.backends {
            let mut fields = BTreeSet::new();
            add_condition_fields(&branch.when, &mut fields);
            add(fields);
            branch.rules.final_rules.iter().for_each(|rule| add(rule.reads()));
        }
        all
    }
}

/// Refuses the requests whose paths are changed, unless a rule can make the one change on their way.
fn settle_path_changes(
    own: &mut ProxyRules,
    backends: &mut [BackendBranch],
    notes: &mut ConversionNotes,
) {
    let is_seen = |branch: &BackendBranch| {
        let rules = &branch.rules;
        reads_path(&branch.when)
            || rules.final_rules.iter().any(FinalRule::reads_path)
            || rules.fields.edits.iter().any(|edit| reads_path(&edit.when))
            || rules.refuses_changes
            || !rules.path_changes.is_empty()
    };
    if !own.path_changes.is_empty() && backends.iter().any(is_seen) {
        own.refuse_path_changes(notes);
    }
    let in_edits = own.fields.edits.iter().any(|edit| reads_path(&edit.when));
    for branch in backends {
        if !branch.rules.path_changes.is_empty() && (in_edits || own.refuses_changes) {
            let mut rules = (*branch.rules).clone();
            rules.refuse_path_changes(notes);
            branch.rules = Rc::new(rules);
        }
        branch.rules.path_changes.iter().for_each(|change| change.line.mark_converted());
    }
    own.path_changes.iter().for_each(|change| change.line.mark_converted());
}

/// A final rule, which must not be decided by a field that is changed where rules do not see it. What it may have taken is
/// refused then.
fn visible_rules(
    scope: &RuleCondition,
    rule: &FinalRule,
    unseen: &BTreeSet<String>,
    notes: &mut ConversionNotes,
) -> Vec<FrontendRule> {
    let when = hide_fields(rule.when.clone(), unseen);
    let written =
        |when| FrontendRule::from_final_rule(scope.clone(), &FinalRule { when, ..rule.clone() });
    let Some(why) = when.unknown().cloned() else { return vec![written(when)] };
    notes.left_out_because(rule.source, &rule.text, &why);
    if rule.is_refusal() {
        return vec![written(when.at_least())];
    }
    let refused = FinalRule {
        key: "deny",
        value: "true".to_owned(),
        when: when.clone().at_least(),
        ..rule.clone()
    };
    vec![written(when.at_most()), FrontendRule::from_final_rule(scope.clone(), &refused)]
}
