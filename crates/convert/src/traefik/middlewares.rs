//! Chains of middlewares: what each does is joined to one effect on the router's requests.

use std::collections::HashSet;

use crate::condition::RuleCondition;
use crate::draft_check::{DraftChecker, RouterLayer};
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::chain_effect::ChainEffect;
use super::fields::{self, ChainPlace};
use super::limits;
use super::matchers::not_from;
use super::named_options::NamedOptions;
use super::option_tree::{OptionNode, PlacedText};
use super::paths;
use super::provider::ObjectProvider;
use super::redirects;

/// The deepest nesting of chains. A chain that contains itself ends there.
const DEEP: usize = 8;

/// The middlewares of a file, and those that a router used.
pub struct MiddlewareSet<'t> {
    middlewares: NamedOptions<'t>,
    provider: ObjectProvider,
    /// Names that stand behind a middleware that ends every request.
    unreached: HashSet<String>,
}

impl<'t> MiddlewareSet<'t> {
    /// `table`: `http.middlewares` or `tcp.middlewares`.
    pub fn new(table: Option<&'t OptionNode>, provider: ObjectProvider) -> MiddlewareSet<'t> {
        MiddlewareSet {
            middlewares: NamedOptions::new(table, provider),
            provider,
            unreached: HashSet::new(),
        }
    }

    /// The middleware of this name, which counts as used.
    pub fn find(&mut self, name: &str) -> Option<&'t OptionNode> {
        self.middlewares.take(name)
    }

    /// Reports the middlewares that no router uses.
    pub fn note_unused(&self, notes: &mut ConversionNotes) {
        for unused in self.middlewares.unused() {
            match self.unreached.contains(&unused.key) {
                true => unused.changed(
                    notes,
                    "no request reaches it: a middleware before it ends them",
                    "",
                ),
                false => unused.not_needed(notes, "no router uses it"),
            }
        }
    }
}

/// What a chain needs besides its middlewares.
pub struct ChainContext<'c, 't> {
    pub middlewares: &'c mut MiddlewareSet<'t>,
    pub place: &'c ChainPlace,
    pub checker: &'c mut DraftChecker,
    pub notes: &'c mut ConversionNotes,
}

impl ChainContext<'_, '_> {
    /// Applies middlewares in their order.
    pub fn apply(&mut self, names: &[PlacedText], effect: &mut ChainEffect, depth: usize) {
        for name in names {
            if effect.ended {
                let reason = "a middleware before it ends every request";
                self.notes.changed(name.source.whole(), &name.text, reason, "");
                let local = self.middlewares.provider.local(&name.text);
                self.middlewares.unreached.extend(local.map(str::to_owned));
                continue;
            }
            let found = self.middlewares.find(&name.text).filter(|_| depth < DEEP);
            let Some(middleware) = found else {
                let reason = "there is no middleware of this name here: the router answers 503";
                self.notes.left_out(
                    name.source.whole(),
                    &name.text,
                    reason,
                    "convert it with its middlewares",
                );
                effect.close(503, name.source, &name.text);
                continue;
            };
            self.notes.converted(name.source.whole());
            if middleware.entries().is_empty() {
                middleware.left_out(self.notes, "it says nothing: the router answers 503", "");
                effect.close(503, middleware.place(), &middleware.text);
            }
            for kind in middleware.entries() {
                self.apply_kind(kind, effect, depth);
            }
        }
    }

    fn apply_kind(&mut self, node: &OptionNode, effect: &mut ChainEffect, depth: usize) {
        let notes = &mut *self.notes;
        match node.key.to_ascii_lowercase().as_str() {
            "chain" => {
                let inner = node.texts_of("middlewares");
                self.apply(&inner, effect, depth + 1);
            }
            "addprefix" => paths::add_prefix(node, effect, notes),
            "stripprefix" => paths::strip_prefix(node, effect, notes),
            "stripprefixregex" => paths::strip_expression(node, effect, notes),
            "replacepath" => paths::replace_path(node, effect, notes),
            "replacepathregex" => paths::replace_expression(node, effect, notes),
            "headers" => fields::apply(node, self.place, effect, self.checker, notes),
            "redirectscheme" => {
                let place = self.place;
                redirects::apply_scheme(node, place.tls, place.trusts, effect, notes);
            }
            "redirectregex" => {
                redirects::apply_expression(node, self.place.tls, &self.place.hosts, effect, notes);
            }
            "ipallowlist" | "ipwhitelist" => allow_clients(node, effect, self.checker, notes),
            "ratelimit" => limits::rate_limit(node, effect, self.checker, notes),
            "retry" => limits::retry(node, effect, notes),
            "compress" => limits::compress(node, effect, notes),
            "passtlsclientcert" => {
                let reason = "servers get a client's certificate in other fields";
                node.left_out(notes, reason, "`tls.client` with `headers` and `certificate-field`");
            }
            "contenttype" => node.changed(notes, "the type of an answer is never guessed", ""),
            "grpcweb" => node.left_out(
                notes,
                "gRPC-Web is not translated: its requests go on as they are",
                "",
            ),
            "encodedcharacters" => {
                let reason =
                    "a path that servers may read in several ways is judged in each of them";
                node.changed(notes, reason, "`path-normalization` of the service");
            }
            "errors" => node.left_out(
                notes,
                "answers with errors reach the client as servers send them",
                "",
            ),
            "buffering" => limits::buffering(node, effect, self.checker, notes),
            "inflightreq" | "circuitbreaker" => limits::note_limit(node, notes),
            _ => close_access(node, effect, notes),
        }
    }
}

/// Middlewares that decide who may come in, and those that nobody here knows.
fn close_access(node: &OptionNode, effect: &mut ChainEffect, notes: &mut ConversionNotes) {
    let reason = "who may come in is not asked this way here: the router answers 401";
    let instead = "`tls.client`, `client` in a rule, or let the servers ask";
    node.left_out(notes, reason, instead);
    effect.close(401, node.place(), &node.text);
}

/// `ipAllowList`: other clients are refused.
pub fn allow_clients(
    node: &OptionNode,
    effect: &mut ChainEffect,
    checker: &mut DraftChecker,
    notes: &mut ConversionNotes,
) {
    let networks: Vec<String> =
        node.texts_of("sourceRange").into_iter().map(|network| network.text).collect();
    let strategy = node.get("ipStrategy").filter(|strategy| !strategy.entries().is_empty());
    let allowed = checker.check_condition(not_from(&networks), RouterLayer::Http);
    let status = node.text_of("rejectStatusCode").unwrap_or("403");
    if strategy.is_some() || networks.is_empty() || allowed.unknown().is_some() {
        let reason = "a client's address is not taken from X-Forwarded-For this way: the router refuses everybody";
        node.left_out(notes, reason, "`trust` of the service, and `client` in a rule");
        return effect.close(403, node.place(), &node.text);
    }
    let keys = match status {
        "403" => KeyValue::new("deny", "true"),
        other => KeyValue::new("answer", other),
    };
    let good = status.parse::<u16>().is_ok_and(|status| (400..=599).contains(&status));
    if !good {
        node.left_out(notes, "a refusal has a status from 400 to 599", "`answer` in a rule");
        return effect.close(403, node.place(), &node.text);
    }
    effect.refuse(allowed, vec![keys], node.place(), &node.text);
    node.converted(notes);
}

/// `ipAllowList` and `inFlightConn` of TCP routers.
pub fn apply_tcp(
    names: &[PlacedText],
    middlewares: &mut MiddlewareSet<'_>,
    effect: &mut ChainEffect,
    checker: &mut DraftChecker,
    notes: &mut ConversionNotes,
) {
    for name in names {
        let kinds = middlewares.find(&name.text).map(OptionNode::entries).unwrap_or_default();
        if kinds.is_empty() {
            let reason = "there is no middleware of this name here: the router refuses everybody";
            notes.left_out(
                name.source.whole(),
                &name.text,
                reason,
                "convert it with its middlewares",
            );
            refuse_all(effect, name.source, &name.text);
            continue;
        }
        notes.converted(name.source.whole());
        for kind in kinds {
            match kind.key.to_ascii_lowercase().as_str() {
                "ipallowlist" | "ipwhitelist" => {
                    allow_clients(kind, effect, checker, notes);
                    let refusal = vec![KeyValue::new("deny", "true")];
                    effect.steps.iter_mut().for_each(|step| step.keys.clone_from(&refusal));
                }
                "inflightconn" => limits::note_limit(kind, notes),
                _ => {
                    kind.left_out(notes, "the router refuses everybody without it", "");
                    refuse_all(effect, kind.place(), &kind.text);
                }
            }
        }
    }
}

fn refuse_all(effect: &mut ChainEffect, source: SourcePlace, text: &str) {
    let keys = vec![KeyValue::new("deny", "true")];
    effect.refuse(RuleCondition::Is(true), keys, source, text);
    effect.ended = true;
}

/// The keys of `rewrite` as one value. `None` without any.
pub fn rewrite(keys: &[KeyValue]) -> Option<KeyValue> {
    (!keys.is_empty()).then(|| KeyValue::new("rewrite", value::table(keys)))
}
