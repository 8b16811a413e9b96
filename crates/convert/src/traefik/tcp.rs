//! TCP and UDP routers: an entry point of TCP alone becomes a service that forwards bytes.

use crate::condition::RuleCondition;
use crate::document::{Document, TomlTable};
use crate::draft_check::{DraftChecker, RouterLayer};
use crate::empty_pool;
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::chain_effect::ChainEffect;
use super::entry_points::{self, EntryPoint};
use super::middlewares::{self, MiddlewareSet};
use super::named_options::NamedOptions;
use super::option_tree::OptionNode;
use super::priority_ties::PriorityTies;
use super::routers::TrafficRouter;
use super::rule_draft::{RuleDraft, RuleList};
use super::tcp_pools::TcpPools;
use super::tls;
use super::tls_demand::{TlsDemand, TlsDemands};

/// What to use instead of an entry point for connections of two kinds.
const OWN_POINT: &str = "an entry point of its own";

/// The options of TLS that a router has.
struct TlsChoice<'t> {
    /// `None`: no options are written anywhere.
    options: Option<&'t OptionNode>,
}

/// The TCP routers of a file, and what they use.
pub struct TcpWriter<'w, 't> {
    pub root: &'t OptionNode,
    /// The objects of `tls.options`.
    pub tls_options: NamedOptions<'t>,
    pub routers: &'w [TrafficRouter<'t>],
    pub middlewares: MiddlewareSet<'t>,
    pub pools: TcpPools<'t>,
    pub ties: PriorityTies,
    pub checker: &'w mut DraftChecker,
    pub names: &'w mut UniqueNames,
    pub pool_names: &'w mut UniqueNames,
    pub notes: &'w mut ConversionNotes,
}

impl<'t> TcpWriter<'_, 't> {
    fn routers_at(&self, point: &EntryPoint<'_>) -> Vec<usize> {
        let routers = self.routers.iter().enumerate();
        routers.filter(|(_, one)| one.is_attached(point)).map(|(at, _)| at).collect()
    }

    /// Whether TCP routers take every connection of the entry point, or are alone there.
    pub fn owns(&self, point: &EntryPoint<'_>, has_http: bool) -> bool {
        let at = self.routers_at(point);
        let whole = at.iter().any(|at| self.routers[*at].condition == RuleCondition::Is(true));
        !at.is_empty() && (!has_http || whole)
    }

    /// Rules of an HTTP service that refuse the connections of TCP routers at its entry point.
    pub fn refusals(&mut self, point: &EntryPoint<'_>) -> Vec<RuleDraft> {
        let mut out = Vec::new();
        for at in self.routers_at(point) {
            let router = &self.routers[at];
            let reason =
                "HTTP and TCP routers do not share a listener: its connections are refused";
            router.node.left_out(self.notes, reason, "an entry point of its own");
            let when = match router.condition.clone().at_least() {
                // The conditions of connections without a name would hold for all requests.
                RuleCondition::Is(true) => continue,
                when => when,
            };
            let keys = vec![KeyValue::new("deny", "true")];
            out.push(rule_of(router, when, keys));
        }
        out
    }

    /// Writes the pools, and reports what no router uses.
    pub fn finish(self, document: &mut Document) {
        self.middlewares.note_unused(self.notes);
        self.pools.note_unused(self.notes);
        self.pools.tables.into_iter().for_each(|table| document.push(table));
    }

    /// Writes the service of an entry point.
    pub fn service(&mut self, point: &EntryPoint<'t>, document: &mut Document) {
        let routers = self.routers;
        let at = self.routers_at(point);
        let asked: Vec<_> = at.iter().filter_map(|at| routers.get(*at)).collect();
        self.ties.note(&asked, self.notes);
        let passes = at.iter().any(|at| routers[*at].passes_tls());
        let ends_tls = !passes && at.iter().any(|at| routers[*at].uses_tls(point));
        let mut rules = RuleList::default();
        let mut demands = TlsDemands::default();
        for router in at.iter().filter_map(|at| routers.get(*at)) {
            router.settle(self.notes);
            router.tls.into_iter().for_each(|tls| tls.convert_key("passthrough", self.notes));
            if !self.fits(router, point, passes, ends_tls) {
                let when = router.condition.clone().at_least();
                rules.push(rule_of(router, when, vec![KeyValue::new("deny", "true")]), ends_tls);
                continue;
            }
            if ends_tls {
                let own = router.tls.filter(|tls| !tls.children().is_empty());
                let options = self.tls_options(router, &[own, point.tls], &demands);
                let Some(TlsChoice { options }) = options else {
                    let when = router.condition.clone().at_least();
                    let deny = vec![KeyValue::new("deny", "true")];
                    rules.push(rule_of(router, when, deny), ends_tls);
                    continue;
                };
                let node = own.or(point.tls).or(router.tls);
                demands.push(TlsDemand {
                    names: router.names.clone(),
                    is_bound: router.is_bound,
                    options,
                    node,
                });
            }
            self.router(router, ends_tls, &mut rules);
        }
        self.write(point, ends_tls, rules, demands.as_slice(), document);
    }

    /// The options of a router. `None`: they are not in the file, or not to be had beside those of the other routers.
    fn tls_options(
        &mut self,
        router: &TrafficRouter<'t>,
        tls: &[Option<&'t OptionNode>],
        demands: &TlsDemands<'t>,
    ) -> Option<TlsChoice<'t>> {
        match tls::options_of(&self.tls_options, tls) {
            Ok(options) => {
                if demands.agrees_about_clients(options) {
                    return Some(TlsChoice { options });
                }
                let reason = "a listener asks its clients for certificates in one way, that of the router before: the router refuses everybody";
                let asked = options.unwrap_or(router.node);
                asked.left_out(self.notes, reason, OWN_POINT);
            }
            Err(missing) => {
                let reason =
                    "there are no TLS options of this name here: the router refuses everybody";
                missing.left_out(self.notes, reason, "`tls` of the service");
            }
        }
        None
    }

    /// Whether a router can be asked beside the others of its entry point.
    fn fits(
        &mut self,
        router: &TrafficRouter<'t>,
        point: &EntryPoint<'t>,
        passes: bool,
        ends_tls: bool,
    ) -> bool {
        let secure = router.uses_tls(point);
        if passes && secure && !router.passes_tls() {
            let reason = "TLS is passed on at this entry point, and ends nowhere: its connections are refused";
            self.notes.left_out(router.node.place(), &router.node.text, reason, OWN_POINT);
            return false;
        }
        if ends_tls && !secure {
            let reason = "the entry point speaks TLS: connections without it are refused";
            self.notes.left_out(router.node.place(), &router.node.text, reason, OWN_POINT);
            return false;
        }
        if passes && !secure {
            let reason = "it also has the connections over TLS that no other router takes";
            self.notes.changed(router.node.place(), &router.node.text, reason, OWN_POINT);
        }
        if let Some(why) = router.condition.unknown() {
            let reason = format!("{}: connections that its rule may mean are refused", why.reason);
            let rule = router.node.get("rule").unwrap_or(router.node);
            self.notes.left_out(rule.place().whole(), &rule.text, &reason, "`when` in a rule");
            return false;
        }
        true
    }

    fn router(&mut self, router: &TrafficRouter<'t>, tls: bool, rules: &mut RuleList) {
        let mut effect = ChainEffect::default();
        let chain = router.node.texts_of("middlewares");
        middlewares::apply_tcp(
            &chain,
            &mut self.middlewares,
            &mut effect,
            self.checker,
            self.notes,
        );
        for step in effect.steps {
            let when = step.when.and(router.condition.clone());
            let rule = rule_of(router, when, step.keys);
            rules.push(RuleDraft { source: step.source, text: step.text, ..rule }, tls);
        }
        if effect.ended {
            return;
        }
        let service = router.service().and_then(OptionNode::as_text).unwrap_or_default();
        let keys = match self.pools.target(service, self.pool_names, self.notes) {
            Ok(key) => vec![key],
            Err(reason) => {
                let node = router.service().unwrap_or(router.node);
                let reason = format!("{reason}: its connections are refused");
                self.notes.left_out(node.place().whole(), &node.text, &reason, "");
                vec![KeyValue::new("deny", "true")]
            }
        };
        rules.push(rule_of(router, router.condition.clone(), keys), tls);
    }

    fn write(
        &mut self,
        point: &EntryPoint<'t>,
        ends_tls: bool,
        mut rules: RuleList,
        demands: &[TlsDemand<'t>],
        document: &mut Document,
    ) {
        let name = self.names.unique_name(&point.name);
        let path = format!("service.{name}");
        let mut service =
            TomlTable::new(path.clone(), point.place(), &format!("entryPoint {}", point.name));
        entry_points::write_service(point, ends_tls, false, &mut service, self.notes);
        service.set("pool", value::quote(empty_pool::NAME), SourcePlace::NONE);
        document.push(service);
        if ends_tls {
            tls::write(&path, self.root, demands, document, self.notes);
        }
        let rest = RuleDraft {
            name: "no-router".to_owned(),
            when: RuleCondition::Is(true),
            keys: vec![KeyValue::new("deny", "true")],
            source: SourcePlace::NONE,
            text: String::new(),
        };
        rules.push(rest, ends_tls);
        rules.write(&path, RouterLayer::Tcp, self.checker, document, self.notes);
        empty_pool::ensure_pool(document);
    }
}

fn rule_of(router: &TrafficRouter<'_>, when: RuleCondition, keys: Vec<KeyValue>) -> RuleDraft {
    RuleDraft {
        name: router.name().to_owned(),
        when,
        keys,
        source: router.node.place(),
        text: format!("router {}", router.name()),
    }
}

/// Reports UDP routers and services, which have no counterpart that ends sessions here.
pub fn note_udp(root: &OptionNode, points: &[EntryPoint<'_>], notes: &mut ConversionNotes) {
    let reason = "datagrams are forwarded as packets here, which routes and addresses have to fit";
    let instead = "`forward = \"nat\"` or \"mac\" with `protocol = \"udp\"`";
    if let Some(udp) = root.get("udp") {
        udp.left_out(notes, reason, instead);
    }
    for node in points.iter().filter(|point| point.is_udp).filter_map(|point| point.node) {
        node.left_out(notes, reason, instead);
    }
}
