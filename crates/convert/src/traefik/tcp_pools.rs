//! TCP services as pools.

use std::collections::HashMap;

use crate::document::TomlTable;
use crate::duration::format_duration;
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::named_options::NamedOptions;
use super::option_tree::OptionNode;
use super::provider::ObjectProvider;
use super::transports;

/// Traefik's time for a connection to a server, in milliseconds.
const DIAL_MS: u64 = 30_000;
/// The longest time that a pool may have for a connection, in milliseconds.
const LONGEST_CONNECT_MS: u64 = 600_000;

/// The TCP services of a file, and the pools that were written of them.
pub struct TcpPools<'t> {
    services: NamedOptions<'t>,
    transports: NamedOptions<'t>,
    /// The transport of services that name none.
    default_transport: Option<&'t OptionNode>,
    /// Names of pools by service.
    written: HashMap<String, String>,
    pub tables: Vec<TomlTable>,
}

impl<'t> TcpPools<'t> {
    /// `root`: all options.
    pub fn new(root: &'t OptionNode, provider: ObjectProvider) -> TcpPools<'t> {
        TcpPools {
            services: NamedOptions::new(root.find(&["tcp", "services"]), provider),
            transports: NamedOptions::new(root.find(&["tcp", "serversTransports"]), provider),
            default_transport: root.get("tcpServersTransport"),
            written: HashMap::new(),
            tables: Vec::new(),
        }
    }

    /// `pool` or `split` of the service of this name.
    ///
    /// # Errors
    /// Why it has none.
    pub fn target(
        &mut self,
        name: &str,
        names: &mut UniqueNames,
        notes: &mut ConversionNotes,
    ) -> Result<KeyValue, String> {
        let service =
            self.services.take(name).ok_or_else(|| format!("there is no service `{name}` here"))?;
        let Some(weighted) = service.get("weighted") else {
            let pool = self.pool(name, names, notes)?;
            return Ok(KeyValue::new("pool", value::quote(&pool)));
        };
        let mut shares = Vec::new();
        for item in weighted.get("services").map(OptionNode::items).unwrap_or_default() {
            let pool = self.pool(item.text_of("name").unwrap_or_default(), names, notes)?;
            let weight = item.number_of("weight").unwrap_or(1).clamp(0, 1_000_000);
            shares.push(value::table(&[
                KeyValue::new("pool", value::quote(&pool)),
                KeyValue::new("weight", weight.to_string()),
            ]));
            item.converted(notes);
        }
        match shares.is_empty() {
            true => Err("it shares its connections among no services".to_owned()),
            false => Ok(KeyValue::new("split", value::list(shares))),
        }
    }

    fn pool(
        &mut self,
        name: &str,
        names: &mut UniqueNames,
        notes: &mut ConversionNotes,
    ) -> Result<String, String> {
        let service =
            self.services.take(name).ok_or_else(|| format!("there is no service `{name}` here"))?;
        if let Some(known) = self.written.get(&service.key) {
            return Ok(known.clone());
        }
        let balancer = service
            .get("loadBalancer")
            .ok_or_else(|| format!("the service `{name}` is no load balancer"))?;
        let pool_name = names.unique_name(&service.key);
        let path = format!("pool.{pool_name}");
        let mut pool =
            TomlTable::new(path.clone(), balancer.place(), &format!("service {}", service.key));
        let tls = write_servers(balancer, &mut pool, notes)
            .ok_or_else(|| format!("the service `{name}` has no server here"))?;
        let transport = self.transport(balancer, notes);
        write_connection(balancer, transport, &mut pool, notes);
        let mut tables = vec![pool];
        if tls {
            let options = transport.and_then(|transport| transport.get("tls"));
            let table = transports::tls_table(&path, options, notes);
            tables.push(table.map_err(|refusal| refusal.reason)?);
        }
        self.tables.extend(tables);
        self.written.insert(service.key.clone(), pool_name.clone());
        Ok(pool_name)
    }

    fn transport(
        &self,
        balancer: &'t OptionNode,
        notes: &mut ConversionNotes,
    ) -> Option<&'t OptionNode> {
        let Some(name) = balancer.get("serversTransport") else { return self.default_transport };
        let found = self.transports.find(name.as_text().unwrap_or_default());
        match found {
            Some(_) => name.converted(notes),
            None => {
                let reason = "there is no transport of this name here: the authorities of the system verify the servers";
                name.left_out(notes, reason, "`[pool.NAME.tls]`");
            }
        }
        found
    }

    /// Reports the services that nothing refers to.
    pub fn note_unused(&self, notes: &mut ConversionNotes) {
        for unused in self.services.unused() {
            unused.not_needed(notes, "no router uses it");
        }
    }
}

/// Whether TLS is spoken to the servers. `None` without a server.
fn write_servers(
    balancer: &OptionNode,
    pool: &mut TomlTable,
    notes: &mut ConversionNotes,
) -> Option<bool> {
    let mut tls = None;
    for item in balancer.get("servers").map(OptionNode::items).unwrap_or_default() {
        let secure = item.is_on("tls");
        if tls.is_some_and(|tls| tls != secure) {
            let reason = "all servers of a pool are spoken to alike: this one is not used";
            item.left_out(notes, reason, "a pool of its own");
            continue;
        }
        let Some(address) = item.get("address") else {
            item.left_out(notes, "it has no address", "");
            continue;
        };
        tls = Some(secure);
        pool.push_item(
            "servers",
            value::quote(address.as_text().unwrap_or_default()),
            address.place(),
        );
        item.converted(notes);
    }
    tls
}

fn write_connection(
    balancer: &OptionNode,
    transport: Option<&OptionNode>,
    pool: &mut TomlTable,
    notes: &mut ConversionNotes,
) {
    pool.set("balance", value::quote("round-robin"), SourcePlace::NONE);
    let dial = transport.and_then(|transport| transport.duration_of("dialTimeout"));
    let dial = dial.filter(|ms| *ms > 0).unwrap_or(DIAL_MS).min(LONGEST_CONNECT_MS);
    pool.set("timeout", format!("{{ connect = {} }}", format_duration(dial)), SourcePlace::NONE);
    pool.set("retries", "0", SourcePlace::NONE);
    pool.set("probe", value::quote("off"), SourcePlace::NONE);
    for owner in std::iter::once(balancer).chain(transport) {
        if let Some(header) = owner.get("proxyProtocol") {
            let version = if header.text_of("version") == Some("1") { "v1" } else { "v2" };
            pool.set_required("send-proxy", value::quote(version), header.place());
            header.converted(notes);
        }
        if let Some(delay) = owner.get("terminationDelay") {
            let reason = "a half-closed connection stays until its other half ends or is silent";
            delay.changed(notes, reason, "`timeout.tunnel` of the service");
        }
    }
    let Some(transport) = transport else { return };
    transport.convert_key("dialTimeout", notes);
    if let Some(alive) = transport.get("dialKeepAlive") {
        alive.changed(
            notes,
            "silent connections are probed as `socket.keep-alive` says",
            "`socket.keep-alive` of the pool",
        );
    }
}
