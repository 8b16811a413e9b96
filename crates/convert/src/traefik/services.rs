//! HTTP services: load balancers, weighted ones, mirrors and failover as the pools of a rule.

use std::collections::HashMap;

use crate::document::TomlTable;
use crate::duration::format_duration;
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::chain_effect::RetryPlan;
use super::named_options::NamedOptions;
use super::option_tree::OptionNode;
use super::pools::{PoolDraft, WrittenPool, named_transport};
use super::provider::ObjectProvider;
use super::sticky::StickyCookie;

/// Where a router sends its requests.
#[derive(Clone, Debug, Default)]
pub struct ServiceTarget<'t> {
    /// `pool` or `split`, and `mirror`.
    pub keys: Vec<KeyValue>,
    /// The pool that takes over when no server of the first one may.
    pub fallback: Option<String>,
    /// The path that goes before that of each request; empty for none.
    pub prefix: String,
    pub host: Option<String>,
    pub sticky: Option<StickyCookie<'t>>,
}

/// The services of a file, and the pools that were written of them.
pub struct ServicePools<'t> {
    services: NamedOptions<'t>,
    transports: NamedOptions<'t>,
    /// The transport of services that name none.
    default_transport: Option<&'t OptionNode>,
    written: HashMap<&'t str, WrittenPool<'t>>,
    /// The tables of all pools, in their order.
    pub tables: Vec<TomlTable>,
}

impl<'t> ServicePools<'t> {
    /// `root`: all options.
    pub fn new(root: &'t OptionNode, provider: ObjectProvider) -> ServicePools<'t> {
        ServicePools {
            services: NamedOptions::new(root.find(&["http", "services"]), provider),
            transports: NamedOptions::new(root.find(&["http", "serversTransports"]), provider),
            default_transport: root.get("serversTransport"),
            written: HashMap::new(),
            tables: Vec::new(),
        }
    }

    /// The target of the service of this name.
    ///
    /// # Errors
    /// Why it has none.
    pub fn target(
        &mut self,
        name: &str,
        names: &mut UniqueNames,
        notes: &mut ConversionNotes,
    ) -> Result<ServiceTarget<'t>, String> {
        if name.ends_with("@internal") {
            return Err(format!("`{name}` is a service of Traefik itself"));
        }
        let Some(service) = self.services.take(name) else {
            return Err(format!("there is no service `{name}` here"));
        };
        let kind = service.entries().first();
        let kind = kind.ok_or_else(|| format!("the service `{name}` says nothing"))?;
        match kind.key.to_ascii_lowercase().as_str() {
            "weighted" | "highestrandomweight" => self.split(kind, names, notes),
            "mirroring" => self.mirroring(kind, names, notes),
            "failover" => self.failover(kind, names, notes),
            _ => {
                let pool = self.pool(name, names, notes)?;
                Ok(target(pool))
            }
        }
    }

    /// The pool of a load balancer.
    fn pool(
        &mut self,
        name: &str,
        names: &mut UniqueNames,
        notes: &mut ConversionNotes,
    ) -> Result<WrittenPool<'t>, String> {
        let service =
            self.services.take(name).ok_or_else(|| format!("there is no service `{name}` here"))?;
        let Some(balancer) = service.get("loadBalancer") else {
            return Err(format!("the service `{name}` is no load balancer"));
        };
        if let Some(known) = self.written.get(service.key.as_str()) {
            return Ok(known.clone());
        }
        let transport = named_transport(balancer, &self.transports, notes)?;
        let transport = transport.or(self.default_transport);
        let draft = PoolDraft { name: &service.key, balancer, transport };
        let mut made = draft.tables(names.unique_name(&service.key), notes)?;
        made.tables.iter_mut().for_each(TomlTable::shrink);
        self.tables.extend(made.tables);
        self.written.insert(&service.key, made.pool.clone());
        Ok(made.pool)
    }

    fn split(
        &mut self,
        kind: &'t OptionNode,
        names: &mut UniqueNames,
        notes: &mut ConversionNotes,
    ) -> Result<ServiceTarget<'t>, String> {
        let mut shares = Vec::new();
        let mut out = ServiceTarget::default();
        let items = kind.get("services").map(OptionNode::items).unwrap_or_default();
        for (at, item) in items.iter().enumerate() {
            let name = item.text_of("name").unwrap_or_default();
            let pool = self.pool(name, names, notes)?;
            let weight = item.number_of("weight").unwrap_or(1).clamp(0, 1_000_000);
            shares.push(value::table(&[
                KeyValue::new("pool", value::quote(&pool.name)),
                KeyValue::new("weight", weight.to_string()),
            ]));
            item.converted(notes);
            let same = pool.prefix == out.prefix && pool.host == out.host;
            if at > 0 && !same {
                return Err("its services change the path or the Host in different ways".to_owned());
            }
            out.prefix = pool.prefix;
            out.host = pool.host;
            out.sticky = out.sticky.or(pool.sticky);
        }
        if shares.is_empty() {
            return Err("it shares its requests among no services".to_owned());
        }
        if let Some(sticky) = kind.get("sticky") {
            let reason = "requests are shared anew each time: a client may meet another service";
            sticky.left_out(notes, reason, "`split` of a rule on the cookie");
        }
        note_health(kind, notes);
        if kind.key.eq_ignore_ascii_case("highestRandomWeight") {
            kind.changed(
                notes,
                "requests are shared anew each time, not by the client's address",
                "",
            );
        }
        out.keys.push(KeyValue::new("split", value::list(shares)));
        Ok(out)
    }

    fn mirroring(
        &mut self,
        kind: &'t OptionNode,
        names: &mut UniqueNames,
        notes: &mut ConversionNotes,
    ) -> Result<ServiceTarget<'t>, String> {
        let pool = self.pool(kind.text_of("service").unwrap_or_default(), names, notes)?;
        kind.convert_key("service", notes);
        let mut out = target(pool);
        let items = kind.get("mirrors").map(OptionNode::items).unwrap_or_default();
        for (at, item) in items.iter().enumerate() {
            let percent = item.number_of("percent").unwrap_or(0);
            if at > 0 || !(1..=100).contains(&percent) {
                let reason = "a rule copies its requests to one pool, at least one of a hundred";
                item.left_out(notes, reason, "`mirror` in a rule");
                continue;
            }
            let name = item.text_of("name").unwrap_or_default();
            match self.pool(name, names, notes) {
                Ok(copy) => {
                    let pool = KeyValue::new("pool", value::quote(&copy.name));
                    let pairs = [pool, KeyValue::new("percent", percent.to_string())];
                    out.keys.push(KeyValue::new("mirror", value::table(&pairs)));
                    item.converted(notes);
                }
                Err(reason) => item.left_out(notes, &reason, ""),
            }
        }
        for key in ["mirrorBody", "maxBodySize"] {
            if let Some(node) = kind.get(key) {
                node.changed(
                    notes,
                    "bodies of up to 64 KiB that come with their head are copied",
                    "",
                );
            }
        }
        note_health(kind, notes);
        Ok(out)
    }

    fn failover(
        &mut self,
        kind: &'t OptionNode,
        names: &mut UniqueNames,
        notes: &mut ConversionNotes,
    ) -> Result<ServiceTarget<'t>, String> {
        let name = kind.text_of("service").unwrap_or_default();
        let balancer = self.services.take(name).and_then(|service| service.get("loadBalancer"));
        if balancer.is_some_and(|balancer| balancer.get("healthCheck").is_none()) {
            let reason =
                "is not checked by `healthCheck`, without which Traefik has no such router";
            return Err(format!("the service `{name}` of `failover` {reason}"));
        }
        let main = self.pool(name, names, notes)?;
        let other = self.pool(kind.text_of("fallback").unwrap_or_default(), names, notes)?;
        for key in ["service", "fallback"] {
            kind.convert_key(key, notes);
        }
        if let Some(errors) = kind.get("errors") {
            let reason = "another pool takes over when no server is available, not for answers";
            errors.left_out(notes, reason, "`retry.on` of the pool");
        }
        note_health(kind, notes);
        if main.prefix != other.prefix || main.host != other.host {
            return Err("its services change the path or the Host in different ways".to_owned());
        }
        let mut out = target(main);
        out.keys.push(KeyValue::new("when-unavailable", value::quote("next")));
        out.fallback = Some(other.name);
        Ok(out)
    }

    /// Lets the pools of a target make further attempts as a router wants them, without a budget.
    pub fn allow_retries(&mut self, target: &ServiceTarget<'_>, retry: &RetryPlan) {
        let wait = format_duration(retry.back_off_ms);
        let most = format_duration(retry.back_off_ms.saturating_mul(2).min(60_000));
        let value = format!("{{ budget = \"off\", back-off = {wait}, max-back-off = {most} }}");
        for table in &mut self.tables {
            let name = value::quote(table.path.strip_prefix("pool.").unwrap_or_default());
            let mut used = target.keys.iter().filter(|key| matches!(key.key, "pool" | "split"));
            let falls_back = target.fallback.as_ref().is_some_and(|one| value::quote(one) == name);
            if used.any(|key| key.value.contains(&name)) || falls_back {
                table.set("retry", value.clone(), SourcePlace::NONE);
            }
        }
    }

    /// Reports the services that nothing refers to.
    pub fn note_unused(&self, notes: &mut ConversionNotes) {
        for unused in self.services.unused() {
            unused.not_needed(notes, "no router uses it");
        }
    }
}

fn target(pool: WrittenPool<'_>) -> ServiceTarget<'_> {
    ServiceTarget {
        keys: vec![KeyValue::new("pool", value::quote(&pool.name))],
        fallback: None,
        prefix: pool.prefix,
        host: pool.host,
        sticky: pool.sticky,
    }
}

/// `healthCheck` of a service of services only says that it has the health of those.
fn note_health(kind: &OptionNode, notes: &mut ConversionNotes) {
    if let Some(health) = kind.get("healthCheck") {
        health.not_needed(notes, "the health of pools is known where they are used");
    }
}
