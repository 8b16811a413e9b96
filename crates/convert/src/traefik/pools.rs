//! Load balancers of HTTP services as pools.

use crate::document::TomlTable;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::health_check;
use super::named_options::NamedOptions;
use super::option_tree::OptionNode;
use super::server_url::{ServerScheme, ServerUrl};
use super::sticky::StickyCookie;
use super::transports;

/// The largest weight of a server here.
const HEAVIEST: i64 = 256;

/// A pool that was written.
#[derive(Clone, Debug)]
pub struct WrittenPool<'t> {
    pub name: String,
    /// The path that goes before that of each request; empty for none.
    pub prefix: String,
    /// The Host that servers get, where it is not the client's.
    pub host: Option<String>,
    pub sticky: Option<StickyCookie<'t>>,
}

/// A server with its place in the file.
struct PoolServer<'t> {
    url: ServerUrl,
    weight: i64,
    node: &'t OptionNode,
}

/// A pool before it is written.
pub struct PoolDraft<'t> {
    pub name: &'t str,
    pub balancer: &'t OptionNode,
    /// The transport that the service names, or the default one.
    pub transport: Option<&'t OptionNode>,
}

/// The tables of a pool.
pub struct PoolTables<'t> {
    pub pool: WrittenPool<'t>,
    pub tables: Vec<TomlTable>,
}

impl<'t> PoolDraft<'t> {
    /// The tables of the pool under this name.
    ///
    /// # Errors
    /// Why it is not written.
    pub fn tables(
        &self,
        name: String,
        notes: &mut ConversionNotes,
    ) -> Result<PoolTables<'t>, String> {
        let servers = self.servers(notes)?;
        let Some(first) = servers.first() else {
            return Err(format!("the service `{}` has no server here", self.name));
        };
        let scheme = first.url.scheme;
        let tls = scheme == ServerScheme::Https;
        let path = format!("pool.{name}");
        let mut pool =
            TomlTable::new(path.clone(), self.balancer.place(), &format!("service {}", self.name));
        let mut tables = Vec::new();
        if tls {
            let table = transports::tls_table(&path, self.transport, notes);
            tables.push(table.map_err(|refusal| refusal.reason)?);
        }
        self.write_servers(&servers, &mut pool);
        self.write_strategy(&mut pool, notes);
        transports::write_times(self.transport, &mut pool, notes);
        pool.set("retries", "0", SourcePlace::NONE);
        let no_http2 = self.transport.is_some_and(|one| one.is_on("disableHTTP2"));
        match scheme {
            ServerScheme::H2c => pool.set("http2", value::quote("only"), SourcePlace::NONE),
            ServerScheme::Https if !no_http2 => {
                pool.set("http2", value::quote("prefer"), SourcePlace::NONE);
            }
            _ => {}
        }
        if let Some(transport) = self.transport {
            transports::settle_rest(transport, tls, &mut pool, notes);
        }
        self.write_checks(tls, &mut pool, notes);
        self.settle(notes);
        let written = WrittenPool {
            name,
            prefix: self.prefix(&servers, notes)?,
            host: self.host(&servers, notes),
            sticky: StickyCookie::find(self.balancer, self.name),
        };
        tables.insert(0, pool);
        Ok(PoolTables { pool: written, tables })
    }

    fn servers(&self, notes: &mut ConversionNotes) -> Result<Vec<PoolServer<'t>>, String> {
        let mut out: Vec<PoolServer<'t>> = Vec::new();
        let items = self.balancer.get("servers").map(OptionNode::items).unwrap_or_default();
        for node in items {
            let text = node.text_of("url").unwrap_or_default();
            let Some(url) = ServerUrl::parse(text) else {
                node.left_out(notes, "it is no URL of a server", "`http://10.0.0.1:8080`");
                continue;
            };
            if out.first().is_some_and(|first| first.url.scheme != url.scheme) {
                let reason = "all servers of a pool are spoken to alike: this one is not used";
                node.left_out(notes, reason, "a pool of its own");
                continue;
            }
            let weight = node.number_of("weight").unwrap_or(1).max(0);
            out.push(PoolServer { url, weight, node });
        }
        Ok(out)
    }

    fn write_servers(&self, servers: &[PoolServer<'t>], pool: &mut TomlTable) {
        let heaviest = servers.iter().map(|server| server.weight).max().unwrap_or(1);
        // Larger weights are scaled down, and none to nothing.
        let scale = (heaviest + HEAVIEST - 1) / HEAVIEST;
        for server in servers {
            let address = value::quote(&server.url.address());
            let weight = if scale > 1 && server.weight > 0 {
                (server.weight / scale).max(1)
            } else {
                server.weight
            };
            let text = match weight {
                1 => address,
                weight => value::table(&[
                    KeyValue::new("address", address),
                    KeyValue::new("weight", weight.to_string()),
                ]),
            };
            pool.push_item(
                "servers",
                text,
                server.node.get("url").map_or(server.node.place(), OptionNode::place),
            );
        }
    }

    fn write_strategy(&self, pool: &mut TomlTable, notes: &mut ConversionNotes) {
        let strategy = self.balancer.get("strategy");
        let text = strategy.and_then(OptionNode::as_text).unwrap_or("wrr").to_ascii_lowercase();
        let balance = match text.as_str() {
            "p2c" => "least-request",
            "hrw" => "source",
            "leasttime" => "peak-ewma",
            _ => "round-robin",
        };
        pool.set("balance", value::quote(balance), SourcePlace::NONE);
        if let Some(node) = strategy {
            match text.as_str() {
                "wrr" => node.converted(notes),
                "p2c" => {
                    node.changed(notes, "the least loaded of all servers is chosen, not of two", "")
                }
                _ => node.changed(
                    notes,
                    "the choice is made in a similar way, not the same",
                    "`balance`",
                ),
            }
        }
    }

    fn write_checks(&self, tls: bool, pool: &mut TomlTable, notes: &mut ConversionNotes) {
        match self.balancer.get("healthCheck") {
            Some(check) => health_check::write_probe(check, tls, pool, notes),
            // Without a word of it no server is checked.
            None if tls => pool.set("probe", value::quote("off"), SourcePlace::NONE),
            None => {}
        }
        match self.balancer.get("passiveHealthCheck") {
            Some(check) => health_check::write_eject(check, pool, notes),
            None => pool.set("eject", value::quote("off"), SourcePlace::NONE),
        }
    }

    /// Settles what needs no key.
    fn settle(&self, notes: &mut ConversionNotes) {
        let items = self.balancer.get("servers").map(OptionNode::items).unwrap_or_default();
        for key in ["url", "weight", "preservePath"] {
            items.iter().for_each(|item| item.convert_key(key, notes));
        }
        for key in ["passHostHeader", "serversTransport"] {
            self.balancer.convert_key(key, notes);
        }
        if let Some(forwarding) = self.balancer.get("responseForwarding") {
            forwarding.not_needed(notes, "answers are passed on as they come");
        }
    }

    /// The path of the servers' URLs, which goes before that of requests where it is preserved.
    fn prefix(
        &self,
        servers: &[PoolServer<'t>],
        notes: &mut ConversionNotes,
    ) -> Result<String, String> {
        let mut found: Option<&str> = None;
        for server in servers {
            let preserved = server.node.is_on("preservePath");
            if !preserved && !server.url.path.is_empty() {
                let reason = "the path of a server's URL is not used without `preservePath`";
                server.node.changed(notes, reason, "");
            }
            let path = if preserved { server.url.path.as_str() } else { "" };
            if found.is_some_and(|found| found != path) {
                let reason = "servers of one pool get the same path";
                server.node.left_out(notes, reason, "a pool of its own");
                return Err("its servers get different paths".to_owned());
            }
            found = Some(path);
        }
        Ok(found.unwrap_or_default().to_owned())
    }

    /// The Host of the URLs, where servers do not get the client's.
    fn host(&self, servers: &[PoolServer<'t>], notes: &mut ConversionNotes) -> Option<String> {
        let passes = self.balancer.get("passHostHeader")?;
        if passes.as_text().is_none_or(|text| !text.eq_ignore_ascii_case("false")) {
            return None;
        }
        let first = servers.first()?.url.authority();
        if servers.iter().any(|server| server.url.authority() != first) {
            let reason = "servers of one pool get the same Host: that of the first one";
            passes.left_out(notes, reason, "a pool of its own for each server");
        }
        Some(first)
    }
}

/// The transport that a load balancer names. `None` if it names none.
///
/// # Errors
/// The transport is not in the file.
pub fn named_transport<'t>(
    balancer: &'t OptionNode,
    transports: &NamedOptions<'t>,
    notes: &mut ConversionNotes,
) -> Result<Option<&'t OptionNode>, String> {
    let Some(name) = balancer.get("serversTransport") else { return Ok(None) };
    let text = name.as_text().unwrap_or_default();
    let found = transports.find(text);
    if found.is_none() {
        let reason = "there is no transport of this name here: nothing is sent to the servers";
        name.left_out(notes, reason, "convert it in the same file");
        return Err(format!("there is no transport `{text}` here"));
    }
    Ok(found)
}
