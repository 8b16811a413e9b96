//! The way from a frontend to a backend: its condition, what its rule does, and the backend's own rules.
//!
//! A choice that cannot be written refuses the requests that it may have meant. Another backend would answer them
//! otherwise, and its rules let through what those of the chosen one refuse.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::condition::RuleCondition;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::acl::{AclTable, AclTables};
use super::frontend::FrontendWriter;
use super::frontend_rule::FrontendRule;
use super::frontend_times;
use super::hidden_inputs::hide_fields;
use super::http_rules::{self, ProxyRules};
use super::lex::ConfigLine;
use super::opaque_fields::OpaqueFields;
use super::section::SectionKind;
use super::settings::{DefaultBackend, ProxySettings};

const CLOSED: &str = "so that none of them reach a backend that was not meant, all requests that it may have meant are refused";
const UNNAMED: &str = "the backend's name is not known before a request comes";
const UNREACHED: &str = "the requests that were to come to its backend are refused";
const MODES: &str = "it inspects requests, and the frontend forwards bytes";

/// The way to a backend.
pub struct BackendBranch {
    /// Unknown parts are resolved by `visible_condition`.
    pub when: RuleCondition,
    pub name: String,
    pub rules: Rc<ProxyRules>,
    /// What the rule does; empty for the default backend, which needs no rule of its own.
    pub keys: Vec<KeyValue>,
    pub is_default: bool,
    pub source: SourcePlace,
    pub text: String,
}

/// The rules of the backends that a frontend leads to.
pub struct KnownBackends {
    rules: BTreeMap<String, Rc<ProxyRules>>,
    /// Fields that nobody knows behind the rules of the frontend.
    opaque: OpaqueFields,
    /// All backends of the frontend name their clients, or none does.
    names_clients_alike: bool,
}

impl KnownBackends {
    /// `opaque`: the fields that nobody knows behind the rules of the frontend. `names_clients_alike`: what its backends
    /// have of `option forwardfor`.
    pub fn new(opaque: &OpaqueFields, names_clients_alike: bool) -> KnownBackends {
        KnownBackends { rules: BTreeMap::new(), opaque: opaque.clone(), names_clients_alike }
    }
}

/// Whom a branch takes.
pub struct VisibleCondition {
    /// Those that it certainly takes.
    pub certain: RuleCondition,
    /// All that it may take; `None`: no others.
    pub possible: Option<RuleCondition>,
}

impl BackendBranch {
    /// Whether the branch leads to servers.
    pub fn is_sent(&self) -> bool {
        match self.keys.first() {
            Some(first) => first.key == "pool",
            None => self.is_default,
        }
    }

    /// A rule of the branch.
    pub fn rule(&self, when: RuleCondition, keys: Vec<KeyValue>) -> FrontendRule {
        FrontendRule { when, keys, source: self.source, text: self.text.clone() }
    }

    /// The condition without unknown parts. `unseen`: fields that are changed where the rules do not see it.
    /// `later`: the branches after it.
    pub fn visible_condition(
        &self,
        unseen: &BTreeSet<String>,
        later: &[BackendBranch],
        notes: &mut ConversionNotes,
    ) -> VisibleCondition {
        let when = hide_fields(self.when.clone(), unseen);
        let Some(why) = when.unknown().cloned() else {
            return VisibleCondition { certain: when, possible: None };
        };
        let certain = when.clone().at_most();
        if self.is_sent() && later.iter().all(|one| one.is_sent() && one.name == self.name) {
            let reason = "requests that it does not take reach the same backend";
            notes.not_needed(self.source, &self.text, reason);
            return VisibleCondition { certain, possible: None };
        }
        let reason = format!("{}; {CLOSED}", why.reason);
        notes.left_out(self.source, &self.text, &reason, &why.instead);
        VisibleCondition { certain, possible: Some(when.at_least()) }
    }
}

impl FrontendWriter<'_> {
    /// The way that a `use_backend` opens. `first`: the settings of the first backend that the frontend uses.
    pub fn branch(
        &self,
        line: &ConfigLine,
        acls: &AclTable,
        first: Option<&ProxySettings>,
        known: &mut KnownBackends,
        notes: &mut ConversionNotes,
    ) -> BackendBranch {
        let name = line.word(1).to_owned();
        let when = known.opaque.hide(acls.condition(line.rest(2), self.pools));
        let text = line.text();
        let source = line.source;
        let refused = self.pools.written_name(&name).is_none().then_some(UNNAMED);
        if let Some(reason) = refused.or_else(|| self.differing_mode(&name)) {
            let reason = format!("{reason}; {CLOSED}");
            notes.left_out(source, &text, &reason, "one rule for each pool");
            self.note_unreached_rules(&name, notes);
            let keys = vec![KeyValue::new("deny", "true")];
            let rules = Rc::default();
            return BackendBranch { when, name, rules, keys, is_default: false, source, text };
        }
        let pool = self.pools.written_name(&name).unwrap_or_default();
        let mut keys = vec![KeyValue::new("pool", value::quote(pool))];
        if let Some(backend) = self.pools.settings(&name) {
            keys.extend(frontend_times::rule_times(self.settings, first, backend, notes));
        }
        if self.is_empty_backend(&name) {
            keys = vec![self.refuse_action()];
        }
        let rules = self.backend_rules(&name, known, notes);
        BackendBranch { when, name, rules, keys, is_default: false, source, text }
    }

    /// The way of requests that no rule takes.
    pub fn default_branch(
        &self,
        known: &mut KnownBackends,
        notes: &mut ConversionNotes,
    ) -> BackendBranch {
        let default = self.settings.default_backend(self.section);
        let default = default.filter(|default| self.is_written_default(default, notes));
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

    /// Whether requests can be sent to the default backend. If not, it is reported.
    fn is_written_default(&self, default: &DefaultBackend, notes: &mut ConversionNotes) -> bool {
        let unnamed = self.pools.written_name(&default.name).is_none().then_some(UNNAMED);
        let Some(reason) = unnamed.or_else(|| self.differing_mode(&default.name)) else {
            return true;
        };
        let text = format!("default_backend {}", default.name);
        notes.left_out(default.source, &text, &format!("{reason}; {CLOSED}"), "");
        self.note_unreached_rules(&default.name, notes);
        false
    }

    /// Reports the rules of a backend whose requests are refused.
    fn note_unreached_rules(&self, name: &str, notes: &mut ConversionNotes) {
        let rules = self.pools.settings(name).map_or(&[][..], |settings| &settings.rules);
        for line in rules.iter().filter(|line| !line.is_settled()) {
            notes.left_out(line.source, &line.text(), UNREACHED, "a frontend of the same mode");
        }
    }

    /// The reason why a backend's rules cannot be followed: HAProxy would read requests only once it is chosen.
    fn differing_mode(&self, name: &str) -> Option<&'static str> {
        let backend = self.pools.settings(name)?;
        (backend.http != self.settings.http).then_some(MODES)
    }

    /// The rules of a backend. Empty if the backend is this `listen` section itself.
    fn backend_rules(
        &self,
        name: &str,
        known: &mut KnownBackends,
        notes: &mut ConversionNotes,
    ) -> Rc<ProxyRules> {
        if let Some(rules) = known.rules.get(name) {
            return Rc::clone(rules);
        }
        let itself = self.section.kind == SectionKind::Listen && self.section.name == name;
        let rules = match self.pools.settings(name).filter(|_| !itself) {
            Some(settings) => {
                let acls = AclTables::read(&settings.acls, self.pools);
                let http = self.settings.http;
                let opaque = &known.opaque;
                let mut rules =
                    http_rules::read(&settings.rules, http, &acls, opaque, self.pools, notes);
                rules.add_side_effects(settings, notes);
                if http && !known.names_clients_alike {
                    rules.add_client_field(settings, notes);
                }
                Rc::new(rules)
            }
            None => Rc::default(),
        };
        known.rules.insert(name.to_owned(), Rc::clone(&rules));
        rules
    }

    fn refuse_action(&self) -> KeyValue {
        match self.settings.http {
            true => KeyValue::new("answer", "503"),
            false => KeyValue::new("deny", "true"),
        }
    }
}
