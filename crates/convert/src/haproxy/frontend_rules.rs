//! The rules of a frontend and of the backends that it leads to, in HAProxy's order, for one kind of listeners.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::condition::RuleCondition;
use crate::notes::{ConversionNotes, UnsupportedReason};
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::acl::{AclTable, AclTables};
use super::edit_times::RuleReads;
use super::field_reads::{add_condition_fields, looks_at};
use super::frontend::FrontendWriter;
use super::frontend_edits::{BackendEdits, FrontendEdits};
use super::frontend_rule::{self, FrontendRule};
use super::frontend_times;
use super::hidden_inputs::hide_parts;
use super::http_rules::{self, FinalRule, ProxyRules};
use super::lex::ConfigLine;
use super::path_change::reads_path;
use super::proxy_senders;
use super::section::SectionKind;
use super::service_edits::{self, ServiceEdits};
use super::settings::{DefaultBackend, ProxySettings};

/// What is read of a frontend's rules before its listeners are told apart.
pub struct FrontendBranches {
    /// Rules that come before all others.
    first: Vec<FrontendRule>,
    own: Rc<ProxyRules>,
    /// In their order; the default one last.
    backends: Vec<BackendBranch>,
}

/// The way to a backend.
struct BackendBranch {
    when: RuleCondition,
    name: String,
    rules: Rc<ProxyRules>,
    /// What the rule does; empty for the default backend, which needs no rule of its own.
    keys: Vec<KeyValue>,
    is_default: bool,
    source: SourcePlace,
    text: String,
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
        let mut own = http_rules::read(&senders.rules, settings.http, &acls, self.pools, notes);
        let mut first = Vec::new();
        first.extend(senders.refused.map(|line| FrontendRule {
            when: RuleCondition::Is(true),
            keys: vec![KeyValue::new("deny", "true")],
            source: line.source,
            text: line.text(),
        }));
        if let Some(line) = settings.single.get("monitor-uri").filter(|_| settings.http) {
            first.push(FrontendRule {
                when: RuleCondition::texts("path", &[line.word(1)]),
                keys: vec![frontend_rule::monitor_answer()],
                source: line.source,
                text: line.text(),
            });
        }
        if own.fields.is_overfull {
            first.push(self.overfull_rule(notes));
        }
        let used = self.used_backends();
        let leading = used.first().and_then(|name| self.pools.settings(name));
        let mut known = BTreeMap::new();
        let mut backends = Vec::new();
        for line in &settings.use_backends {
            backends.extend(self.branch(line, &acls.requests, leading, &mut known, notes));
        }
        backends.push(self.default_branch(&mut known, notes));
        settle_path_changes(&mut own, &mut backends, notes);
        FrontendBranches { first, own: Rc::new(own), backends }
    }

    /// The way that a `use_backend` opens. `first`: the settings of the first backend that the frontend uses.
    fn branch(
        &self,
        line: &ConfigLine,
        acls: &AclTable,
        first: Option<&ProxySettings>,
        known: &mut BTreeMap<String, Rc<ProxyRules>>,
        notes: &mut ConversionNotes,
    ) -> Option<BackendBranch> {
        let name = line.word(1);
        let Some(pool) = self.pools.written_name(name) else {
            let instead = "one rule for each pool";
            let reason = "the backend's name is not known before a request comes";
            notes.left_out(line.source, &line.text(), reason, instead);
            return None;
        };
        let when = match acls.known_condition(line.rest(2), self.pools) {
            Ok(when) => when,
            Err(why) => {
                notes.left_out_because(line.source, &line.text(), &why);
                return None;
            }
        };
        let mut keys = vec![KeyValue::new("pool", value::quote(pool))];
        if let Some(backend) = self.pools.settings(name) {
            keys.extend(frontend_times::rule_times(self.settings, first, backend, notes));
        }
        if self.is_empty_backend(name) {
            keys = vec![self.refuse_action()];
        }
        let rules = self.backend_rules(name, known, notes);
        let name = name.to_owned();
        let text = line.text();
        let source = line.source;
        Some(BackendBranch { when, name, rules, keys, is_default: false, source, text })
    }

    /// The way of requests that no rule takes.
    fn default_branch(
        &self,
        known: &mut BTreeMap<String, Rc<ProxyRules>>,
        notes: &mut ConversionNotes,
    ) -> BackendBranch {
        let written = |name: &str| self.pools.written_name(name).is_some();
        let default = self.settings.default_backend(self.section);
        let default = default.filter(|default| written(&default.name));
        let rules = match &default {
            Some(default) => self.backend_rules(&default.name, known, notes),
            None => Rc::default(),
        };
        let when = RuleCondition::Is(true);
        let served = default.filter(|default| !self.is_empty_backend(&default.name));
        let Some(DefaultBackend { name, source }) = served else {
            let text = "no default_backend with servers: what no rule took is refused".to_owned();
            let keys = vec![self.refuse_action()];
            let source = self.section.source;
            let name = String::new();
            return BackendBranch { when, name, rules, keys, is_default: true, source, text };
        };
        let text = format!("default_backend {name}");
        BackendBranch { when, name, rules, keys: Vec::new(), is_default: true, source, text }
    }

    /// The rules of a backend. Empty if the backend is this `listen` section itself.
    fn backend_rules(
        &self,
        name: &str,
        known: &mut BTreeMap<String, Rc<ProxyRules>>,
        notes: &mut ConversionNotes,
    ) -> Rc<ProxyRules> {
        if let Some(rules) = known.get(name) {
            return Rc::clone(rules);
        }
        let itself = self.section.kind == SectionKind::Listen && self.section.name == name;
        let rules = match self.pools.settings(name).filter(|_| !itself) {
            Some(settings) => {
                let acls = AclTables::read(&settings.acls, self.pools);
                let http = self.settings.http;
                Rc::new(http_rules::read(&settings.rules, http, &acls, self.pools, notes))
            }
            None => Rc::default(),
        };
        known.insert(name.to_owned(), Rc::clone(&rules));
        rules
    }

    fn refuse_action(&self) -> KeyValue {
        match self.settings.http {
            true => KeyValue::new("answer", "503"),
            false => KeyValue::new("deny", "true"),
        }
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
        let FrontendBranches { first, own, backends } = branches;
        let mut fields = FrontendEdits::new(own, &branches.reads(), tls);
        let mut by_name: BTreeMap<&str, BackendEdits> = BTreeMap::new();
        for branch in backends {
            by_name.entry(&branch.name).or_insert_with(|| fields.add_backend(&branch.rules, tls));
        }
        fields.advance_answers(by_name.values(), notes);
        let mut rules: Vec<FrontendRule> = first.to_vec();
        let own_rules = own.final_rules.iter();
        rules.extend(own_rules.filter_map(|rule| {
            let unseen = fields.unseen(rule.edits_before);
            visible_rule(&RuleCondition::Is(true), rule, &unseen, notes)
        }));
        let unseen = fields.unseen(usize::MAX);
        for branch in backends {
            let Some(when) = branch.visible_condition(&unseen, notes) else { continue };
            let inner = &by_name[branch.name.as_str()];
            for rule in &branch.rules.final_rules {
                let mut unseen = unseen.clone();
                unseen.extend(inner.unseen(rule.edits_before));
                rules.extend(visible_rule(&when, rule, &unseen, notes));
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
            if !keys.is_empty() {
                let text = branch.text.clone();
                rules.push(FrontendRule { when, keys, source: branch.source, text });
            }
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

impl BackendBranch {
    /// Whether the branch leads to servers.
    fn is_sent(&self) -> bool {
        match self.keys.first() {
            Some(first) => first.key == "pool",
            None => self.is_default,
        }
    }

    /// The condition; `None`: it looks at a field that is changed where the rules do not see it.
    fn visible_condition(
        &self,
        unseen: &BTreeSet<String>,
        notes: &mut ConversionNotes,
    ) -> Option<RuleCondition> {
        match hide_fields(self.when.clone(), unseen).known() {
            Ok(when) => Some(when),
            Err(why) => {
                notes.left_out_because(self.source, &self.text, &why);
                None
            }
        }
    }
}

/// A final rule, which must not be decided by a field that is changed where rules do not see it.
fn visible_rule(
    scope: &RuleCondition,
    rule: &FinalRule,
    unseen: &BTreeSet<String>,
    notes: &mut ConversionNotes,
) -> Option<FrontendRule> {
    let when = hide_fields(rule.when.clone(), unseen);
    let when = match when.unknown().cloned() {
        None => when,
        Some(why) => {
            notes.left_out_because(rule.source, &rule.text, &why);
            match rule.is_refusal() {
                true => when.at_least(),
                false => when.at_most(),
            }
        }
    };
    let rule = FinalRule { when, ..rule.clone() };
    Some(FrontendRule::from_final_rule(scope.clone(), &rule))
}

fn hide_fields(when: RuleCondition, unseen: &BTreeSet<String>) -> RuleCondition {
    if unseen.is_empty() {
        return when;
    }
    let why = UnsupportedReason::new(
        "it looks at a field that is changed between rules, which cannot be written",
        "`[[service.NAME.edit]]`, which changes fields before all rules or after them",
    );
    hide_parts(when, &why, &|part| looks_at(part, unseen))
}
