//! HTTP routers: each entry point becomes a service, and its routers the service's rules.

use std::collections::HashSet;

use crate::condition::RuleCondition;
use crate::document::{Document, TomlTable};
use crate::draft_check::{DraftChecker, RouterLayer};
use crate::empty_pool;
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::chain_effect::ChainEffect;
use super::client_fields::write_client_fields;
use super::entry_points::{self, EntryPoint};
use super::fields::ChainPlace;
use super::middlewares::{ChainContext, MiddlewareSet};
use super::named_options::NamedOptions;
use super::option_tree::OptionNode;
use super::priority_ties::PriorityTies;
use super::redirects;
use super::routers::TrafficRouter;
use super::rule_draft::{RuleDraft, RuleList};
use super::services::ServicePools;
use super::sticky::StickyCookie;
use super::target_rules::target_rules;
use super::tls;
use super::tls_demand::{TlsDemand, TlsDemands};

/// The HTTP routers of a file, and what they use.
pub struct RouterWriter<'w, 't> {
    pub root: &'t OptionNode,
    /// The objects of `tls.options`.
    pub tls_options: NamedOptions<'t>,
    pub points: &'w [EntryPoint<'t>],
    pub routers: &'w [TrafficRouter<'t>],
    pub middlewares: MiddlewareSet<'t>,
    pub pools: ServicePools<'t>,
    pub ties: PriorityTies,
    pub checker: &'w mut DraftChecker,
    /// The names of services and of pools.
    pub names: &'w mut UniqueNames,
    pub pool_names: &'w mut UniqueNames,
    pub notes: &'w mut ConversionNotes,
    /// The names of routers that a service has.
    pub written: HashSet<&'t str>,
}

/// What the routers of an entry point make of its service.
#[derive(Default)]
struct ServiceParts<'t> {
    rules: RuleList,
    sticky: Option<StickyCookie<'t>>,
    compress: Option<String>,
    demands: TlsDemands<'t>,
}

impl<'t> RouterWriter<'_, 't> {
    /// The routers that are asked at an entry point, with or without TLS.
    pub fn routers_at(&self, point: &EntryPoint<'_>, tls: bool) -> Vec<usize> {
        let routers = self.routers.iter().enumerate();
        let attached =
            routers.filter(|(_, one)| one.is_attached(point) && one.uses_tls(point) == tls);
        attached.map(|(at, _)| at).collect()
    }

    /// Whether the entry point speaks TLS: as its own options say, or as most of its routers want it.
    pub fn speaks_tls(&self, point: &EntryPoint<'_>) -> bool {
        if point.tls.is_some() {
            return true;
        }
        let named = |tls: bool| {
            let at = self.routers_at(point, tls);
            at.iter().filter(|at| self.routers[**at].names_entry_point(&point.name)).count()
        };
        let is_secure = matches!(point.port, 443 | 8443);
        let has_tls = !self.routers_at(point, true).is_empty();
        match (named(true), named(false)) {
            _ if is_secure && has_tls => true,
            (0, 0) => point.port != 80 && has_tls && self.routers_at(point, false).is_empty(),
            (secure, 0) => secure > 0,
            _ => false,
        }
    }

    /// Writes the service of an entry point. `denied`: rules for connections that other protocols had.
    pub fn service(
        &mut self,
        point: &EntryPoint<'t>,
        denied: Vec<RuleDraft>,
        document: &mut Document,
    ) {
        let tls = self.speaks_tls(point);
        let redirection = entry_points::redirection(point, self.points, self.notes);
        let at = self.routers_at(point, tls);
        if at.is_empty() && redirection.is_none() && denied.is_empty() {
            if let Some(node) = point.node {
                node.changed(self.notes, "no router is attached to it: nothing listens there", "");
            }
            return;
        }
        self.note_other_kind(point, tls);
        let asked: Vec<_> = at.iter().filter_map(|at| self.routers.get(*at)).collect();
        self.ties.note(&asked, self.notes);
        let mut parts = ServiceParts::default();
        // Without TLS no connection has a name, and none of them is a request.
        denied.into_iter().filter(|_| tls).for_each(|rule| parts.rules.push(rule, tls));
        let priority = entry_points::redirection_priority(point);
        let mut pending = redirection;
        for at in at {
            if let Some(redirect) = pending.take_if(|_| self.routers[at].priority <= priority) {
                push_redirect(&redirect, point, &mut parts, tls);
            }
            self.router(at, point, tls, &mut parts);
        }
        if let Some(redirect) = pending {
            push_redirect(&redirect, point, &mut parts, tls);
        }
        self.write(point, tls, parts, document);
    }

    /// Writes the pools, and reports what no router uses. Returns the names of the routers that a service has.
    pub fn finish(self, document: &mut Document) -> HashSet<&'t str> {
        self.middlewares.note_unused(self.notes);
        self.pools.note_unused(self.notes);
        self.pools.tables.into_iter().for_each(|table| document.push(table));
        self.written
    }

    /// Routers of the other kind are not asked at an entry point that has both.
    fn note_other_kind(&mut self, point: &EntryPoint<'_>, tls: bool) {
        for at in self.routers_at(point, !tls) {
            let router = &self.routers[at];
            if router.names_entry_point(&point.name) {
                let spoken = if tls { "TLS" } else { "no TLS" };
                let reason = format!(
                    "the entry point `{}` speaks {spoken}: this router has no requests there",
                    point.name
                );
                self.notes.left_out(
                    router.node.place(),
                    &router.node.text,
                    &reason,
                    "an entry point of its own",
                );
            }
        }
    }

    fn write(
        &mut self,
        point: &EntryPoint<'t>,
        tls: bool,
        mut parts: ServiceParts<'t>,
        document: &mut Document,
    ) {
        let name = self.names.unique_name(&point.name);
        let path = format!("service.{name}");
        let mut service =
            TomlTable::new(path.clone(), point.place(), &format!("entryPoint {}", point.name));
        entry_points::write_service(point, tls, true, &mut service, self.notes);
        service.set("pool", value::quote(empty_pool::NAME), SourcePlace::NONE);
        if let Some(compress) = parts.compress.take() {
            service.set("compress", compress, SourcePlace::NONE);
        }
        document.push(service);
        let trusts = !point.trusted().is_empty();
        write_client_fields(&path, point, tls, trusts, document);
        if let Some(sticky) = &parts.sticky {
            document.push(sticky.write(&path, tls, self.notes));
        }
        if tls {
            tls::write(&path, self.root, parts.demands.as_slice(), document, self.notes);
        }
        let rest = RuleDraft {
            name: "no-router".to_owned(),
            when: RuleCondition::Is(true),
            keys: vec![KeyValue::new("answer", "404")],
            source: SourcePlace::NONE,
            text: String::new(),
        };
        parts.rules.push(rest, tls);
        parts.rules.write(&path, RouterLayer::Http, self.checker, document, self.notes);
        empty_pool::ensure_pool(document);
    }

    /// Adds the rules of a router.
    fn router(
        &mut self,
        at: usize,
        point: &EntryPoint<'t>,
        tls: bool,
        parts: &mut ServiceParts<'t>,
    ) {
        let routers = self.routers;
        let Some(router) = routers.get(at) else { return };
        if parts.rules.is_complete {
            return;
        }
        self.written.insert(router.name());
        router.settle(self.notes);
        let draft = |when: RuleCondition, keys: Vec<KeyValue>| RuleDraft {
            name: router.name().to_owned(),
            when,
            keys,
            source: router.node.place(),
            text: format!("router {}", router.name()),
        };
        if tls && !self.push_demand(router, point, parts) {
            let when = router.condition.clone().at_least();
            return parts.rules.push(draft(when, vec![KeyValue::new("answer", "503")]), tls);
        }
        if let Some(why) = router.condition.unknown() {
            let reason = format!("{}: requests that its rule may mean are refused", why.reason);
            let rule = router.node.get("rule").unwrap_or(router.node);
            self.notes.left_out(rule.place().whole(), &rule.text, &reason, "`when` in a rule");
            let when = router.condition.clone().at_least();
            return parts.rules.push(draft(when, vec![KeyValue::new("deny", "true")]), tls);
        }
        let effect = self.chain(router, point, tls);
        for step in &effect.steps {
            let when = step.when.clone().and(router.condition.clone());
            let mut rule = draft(when, step.keys.clone());
            rule.source = step.source;
            rule.text.clone_from(&step.text);
            parts.rules.push(rule, tls);
        }
        if effect.ended {
            return;
        }
        let service = router.service().and_then(OptionNode::as_text).unwrap_or_default();
        let target = self.pools.target(service, self.pool_names, self.notes);
        match target {
            Ok(target) => {
                if effect.retry.retries > 0 {
                    self.pools.allow_retries(&target, &effect.retry);
                }
                for rule in target_rules(&effect, &target, &router.condition) {
                    parts.rules.push(draft(rule.when, rule.keys), tls);
                }
                self.take_sticky(target.sticky, parts);
                parts.compress = parts.compress.take().or(effect.compress);
            }
            Err(reason) => {
                let node = router.service().unwrap_or(router.node);
                let reason = format!("{reason}: the router answers 503");
                self.notes.left_out(node.place().whole(), &node.text, &reason, "");
                let keys = vec![KeyValue::new("answer", "503")];
                parts.rules.push(draft(router.condition.clone(), keys), tls);
            }
        }
    }

    /// The joint effect of the middlewares of an entry point and of a router.
    fn chain(
        &mut self,
        router: &TrafficRouter<'t>,
        point: &EntryPoint<'t>,
        tls: bool,
    ) -> ChainEffect {
        let mut effect = ChainEffect::default();
        let trusts = !point.trusted().is_empty();
        // The names are those of all requests only where each alternative of the rule has some.
        let hosts = router.reach.hosts.is_some().then(|| router.names.clone());
        let place = ChainPlace { tls, trusts, hosts: hosts.unwrap_or_default() };
        let mut context = ChainContext {
            middlewares: &mut self.middlewares,
            place: &place,
            checker: self.checker,
            notes: self.notes,
        };
        let shared = point.middlewares().map(OptionNode::texts).unwrap_or_default();
        context.apply(&shared, &mut effect, 0);
        context.apply(&router.node.texts_of("middlewares"), &mut effect, 0);
        effect
    }

    /// Enters what the router asks of TLS. False: its options are not in the file, or not to be had beside those of the
    /// other routers.
    fn push_demand(
        &mut self,
        router: &TrafficRouter<'t>,
        point: &EntryPoint<'t>,
        parts: &mut ServiceParts<'t>,
    ) -> bool {
        let own = router.tls.filter(|tls| !tls.children().is_empty());
        let orders = |tls: &&OptionNode| tls.get("certResolver").is_some();
        let ordering = own.into_iter().chain(point.tls).find(orders);
        let node = ordering.or(own).or(point.tls).or(router.tls);
        match tls::options_of(&self.tls_options, &[own, point.tls]) {
            Ok(options) if !parts.demands.agrees_about_clients(options) => {
                let reason = "a listener asks its clients for certificates in one way, that of the router before: the router answers 503";
                let asked = options.unwrap_or(router.node);
                asked.left_out(self.notes, reason, "an entry point of its own");
                parts.demands.push(TlsDemand {
                    names: router.names.clone(),
                    is_bound: router.is_bound,
                    options: None,
                    node,
                });
                false
            }
            Ok(options) => {
                parts.demands.push(TlsDemand {
                    names: router.names.clone(),
                    is_bound: router.is_bound,
                    options,
                    node,
                });
                true
            }
            Err(missing) => {
                let reason = "there are no TLS options of this name here: the router answers 503";
                missing.left_out(self.notes, reason, "convert them in the same file");
                parts.demands.push(TlsDemand {
                    names: router.names.clone(),
                    is_bound: router.is_bound,
                    options: None,
                    node,
                });
                false
            }
        }
    }

    fn take_sticky(&mut self, sticky: Option<StickyCookie<'t>>, parts: &mut ServiceParts<'t>) {
        match (&parts.sticky, sticky) {
            (None, found) => parts.sticky = found,
            (Some(known), Some(other)) if !known.is_same(&other) => other.leave_out(self.notes),
            _ => {}
        }
    }
}

fn push_redirect(
    redirect: &redirects::SchemeRedirect,
    point: &EntryPoint<'_>,
    parts: &mut ServiceParts<'_>,
    tls: bool,
) {
    let steps = redirects::redirect_steps(
        &redirect.target(),
        redirect.permanent,
        &RuleCondition::Is(true),
        point.place(),
        "redirections",
    );
    for step in steps {
        let name = "redirect".to_owned();
        let rule = RuleDraft {
            name,
            when: step.when,
            keys: step.keys,
            source: step.source,
            text: step.text,
        };
        parts.rules.push(rule, tls);
    }
}
