//! The plan of a shadow run: listeners, stand-in servers, addresses and names, from the converted configuration.
//!
//! Pure. Both sides get the same plan, so that a server is known by its address.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde::Serialize;
use toml::{Table, Value};

use super::inventory::{NamedEndpoint, PlainHttp2, SourceInventory};
use super::pattern_sample::sample_expression;
use super::proxy_senders::ProxySenders;
use super::request::ClientCertificate;
use super::serve_checks::StandInGreeting;

/// The resolver of a run, which its file of resolvers names.
pub const RESOLVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, 153)), 53);
/// The most listeners and servers of a run.
const LISTED: usize = 1_024;

/// A listener of the converted configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShadowListener {
    pub service: String,
    /// Where clients connect.
    pub to: SocketAddr,
    /// `forward = "http"`, otherwise `tcp`.
    pub is_http: bool,
    pub is_tls: bool,
    /// Clients may show certificates.
    pub asks_certificate: bool,
    /// Clients without a certificate are refused.
    pub requires_certificate: bool,
    /// Whose connections begin with a header of the PROXY protocol.
    pub proxy_senders: ProxySenders,
    /// HTTP/2 without TLS.
    pub plain_http2: PlainHttp2,
}

impl ShadowListener {
    /// What clients show. Without a certificate, all that some listeners say is that they want one.
    pub fn usual_certificate(&self) -> ClientCertificate {
        match self.requires_certificate {
            true => ClientCertificate::Right,
            false => ClientCertificate::None,
        }
    }
}

/// A pool that a server belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PoolMembership {
    pub pool: String,
    pub backup: bool,
}

/// A stand-in server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandInPlan {
    pub address: SocketAddr,
    /// None: only the original names it, or it is a port of health checks.
    pub pools: Vec<PoolMembership>,
    /// What it says first.
    pub greeting: StandInGreeting,
}

/// A name for the private file of hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostEntry {
    pub name: String,
    pub address: IpAddr,
}

/// Everything that both sides need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShadowPlan {
    pub listeners: Vec<ShadowListener>,
    pub servers: Vec<StandInPlan>,
    pub hosts: Vec<HostEntry>,
    /// Resolvers that the original asks for those names.
    pub resolvers: Vec<SocketAddr>,
    /// Names by which servers are known in TLS.
    pub server_names: Vec<String>,
    /// Addresses of clients that conditions name.
    pub clients: Vec<IpAddr>,
    /// Services that are not compared, with the reason.
    pub skipped: Vec<String>,
}

impl ShadowPlan {
    /// The plan of a converted configuration. Text that is no TOML gives an empty plan.
    pub fn new(converted: &str, inventory: &SourceInventory) -> ShadowPlan {
        let table: Table = toml::from_str(converted).unwrap_or_default();
        let mut plan = ShadowPlan::default();
        for (name, service) in tables(&table, "service") {
            plan.add_service(&name, &service, inventory.plain_http2);
        }
        for (name, pool) in tables(&table, "pool") {
            plan.add_pool(&name, &pool);
        }
        for endpoint in &inventory.servers {
            let address = plan.resolve(&endpoint.host);
            plan.add_server(SocketAddr::new(address, endpoint.port), None, &StandInGreeting::None);
        }
        plan.add_clients(&table);
        let free =
            |address: &SocketAddr| !plan.servers.iter().any(|one| one.address.ip() == address.ip());
        let named = inventory.resolvers.iter().copied();
        // Only where it is asked: the original may listen at port 53 of every address.
        let asked = tables(&table, "pool").values().any(|pool| pool.get("servers-from").is_some());
        plan.resolvers = named.chain(asked.then_some(RESOLVER)).filter(free).collect();
        plan
    }

    /// The servers of each pool.
    pub fn pools(&self) -> BTreeMap<SocketAddr, Vec<PoolMembership>> {
        self.servers.iter().map(|server| (server.address, server.pools.clone())).collect()
    }

    /// The addresses that the balancer itself listens at.
    pub fn listening(&self) -> Vec<IpAddr> {
        self.listeners.iter().map(|listener| listener.to.ip()).collect()
    }

    /// Whether a stand-in must run in the balancer's own network: at an address of the loopback or of a listener.
    pub fn is_beside_balancer(&self, server: SocketAddr) -> bool {
        server.ip().is_loopback() || self.listening().contains(&server.ip())
    }

    fn add_service(&mut self, name: &str, service: &Value, plain: PlainHttp2) {
        let forward = service.get("forward").and_then(Value::as_str).unwrap_or("");
        if !matches!(forward, "http" | "tcp") {
            let why = format!("{name}: `forward = \"{forward}\"` forwards packets");
            self.skipped.push(why);
            return;
        }
        let tls = service.get("tls");
        let client = tls.and_then(|tls| tls.get("client"));
        let http2 = service.get("http2");
        let offer = http2.and_then(|http2| http2.get("offer").unwrap_or(http2).as_str());
        let in_clear = offer == Some("always") && tls.is_none();
        let is_set = http2.is_some_and(Value::is_str);
        if in_clear && is_set && plain == PlainHttp2::Unknown {
            self.skipped.push(format!("{name}: HTTP/2 without TLS"));
            return;
        }
        for listen in texts(service.get("listen")) {
            for to in reachable(&listen) {
                if self.listeners.len() >= LISTED {
                    self.skipped.push(format!("{name}: {listen}: more than {LISTED} listeners"));
                    return;
                }
                self.listeners.push(ShadowListener {
                    service: name.to_owned(),
                    to,
                    is_http: forward == "http",
                    is_tls: tls.is_some(),
                    asks_certificate: client.is_some(),
                    requires_certificate: client.is_some_and(|client| {
                        client.get("verify").and_then(Value::as_str) != Some("optional")
                    }),
                    plain_http2: if in_clear { plain } else { PlainHttp2::Unknown },
                    proxy_senders: proxy_senders(service),
                });
            }
        }
    }

    fn add_pool(&mut self, name: &str, pool: &Value) {
        let names = pool.get("tls").and_then(|tls| tls.get("name")).and_then(Value::as_str);
        self.server_names.extend(names.map(str::to_owned));
        let probe = pool.get("probe");
        let greeting = probe.map_or(StandInGreeting::None, greeting_of);
        let probe_port = probe.and_then(|probe| probe.get("port")).and_then(Value::as_integer);
        self.add_found_server(name, pool, &greeting);
        for server in pool.get("servers").and_then(Value::as_array).into_iter().flatten() {
            let written = server.as_str().or_else(|| server.get("address").and_then(Value::as_str));
            let backup = server.get("backup").and_then(Value::as_bool).unwrap_or(false);
            let Some(endpoint) = written.and_then(split_address) else { continue };
            let address = self.resolve(&endpoint.host);
            let membership = PoolMembership { pool: name.to_owned(), backup };
            let port = probe_port.and_then(|port| u16::try_from(port).ok());
            let own = SocketAddr::new(address, endpoint.port);
            match port.filter(|port| *port != endpoint.port) {
                Some(port) => {
                    self.add_server(own, Some(membership), &StandInGreeting::None);
                    self.add_server(SocketAddr::new(address, port), None, &greeting);
                }
                None => self.add_server(own, Some(membership), &greeting),
            }
        }
    }

    /// A name whose records are the servers; it has one in the run.
    fn add_found_server(&mut self, pool_name: &str, pool: &Value, greeting: &StandInGreeting) {
        let from = pool.get("servers-from");
        let Some(name) = from.and_then(|from| from.get("dns")).and_then(Value::as_str) else {
            return;
        };
        let port = from.and_then(|from| from.get("port")).and_then(Value::as_integer);
        let written = split_address(name);
        let host = written.as_ref().map_or(name, |endpoint| endpoint.host.as_str());
        let port = port.and_then(|port| u16::try_from(port).ok());
        let Some(port) = port.or(written.as_ref().map(|endpoint| endpoint.port)) else { return };
        let address = SocketAddr::new(self.resolve(host), port);
        let membership = PoolMembership { pool: pool_name.to_owned(), backup: false };
        self.add_server(address, Some(membership), greeting);
    }

    fn add_server(
        &mut self,
        address: SocketAddr,
        pool: Option<PoolMembership>,
        greeting: &StandInGreeting,
    ) {
        if address.port() == 0 || self.listeners.iter().any(|one| one.to == address) {
            return;
        }
        let known = self.servers.iter().position(|server| server.address == address);
        let at = match known {
            Some(at) => at,
            None if self.servers.len() >= LISTED => return,
            None => {
                let greeting = StandInGreeting::None;
                self.servers.push(StandInPlan { address, pools: Vec::new(), greeting });
                self.servers.len() - 1
            }
        };
        let server = &mut self.servers[at];
        if *greeting != StandInGreeting::None {
            server.greeting = greeting.clone();
        }
        server.pools.extend(pool.filter(|pool| !server.pools.contains(pool)));
    }

    /// An address as it is written; a name gets an address of its own for the run (RFC 2544, 198.18.0.0/15).
    fn resolve(&mut self, host: &str) -> IpAddr {
        if let Ok(address) = host.parse() {
            return address;
        }
        if host == "localhost" {
            return Ipv4Addr::LOCALHOST.into();
        }
        if let Some(known) = self.hosts.iter().find(|entry| entry.name == host) {
            return known.address;
        }
        let number = self.hosts.len() as u32 + 1;
        let address = IpAddr::from(Ipv4Addr::from(0xc612_0000 + number));
        self.hosts.push(HostEntry { name: host.to_owned(), address });
        address
    }

    fn add_clients(&mut self, table: &Table) {
        let mut networks = Vec::new();
        let services = Value::Table(table.clone());
        collect(&services, &["client", "allow", "deny", "except", "from"], &mut networks);
        let taken: Vec<IpAddr> = self.servers.iter().map(|server| server.address.ip()).collect();
        for network in networks {
            let inside = address_inside(&network);
            let free = |client: &IpAddr| {
                !client.is_loopback() && !client.is_unspecified() && !taken.contains(client)
            };
            if let Some(client) = inside.filter(free)
                && !self.clients.contains(&client)
                && self.clients.len() < 16
            {
                self.clients.push(client);
            }
        }
    }
}

/// What a server must say first for this probe to succeed.
fn greeting_of(probe: &Value) -> StandInGreeting {
    let expected = probe.get("expect").and_then(Value::as_str);
    match expected.filter(|_| probe.get("tcp").is_some() && probe.get("send").is_none()) {
        Some(expected) => StandInGreeting::Line(sample_expression(expected)),
        None if probe.get("mysql").is_some() => StandInGreeting::Mysql,
        None if probe.get("smtp").is_some() => StandInGreeting::Line("220 stand-in".to_owned()),
        None => StandInGreeting::None,
    }
}

/// Where others are taken as clients without a header, only those in the networks send one.
fn proxy_senders(service: &Value) -> ProxySenders {
    let Some(accepts) = service.get("accept-proxy") else { return ProxySenders::default() };
    let others = accepts.get("others").and_then(Value::as_str);
    ProxySenders::new(others != Some("plain"), &texts(accepts.get("from")))
}

/// The named tables below a key.
pub fn tables(table: &Table, key: &str) -> BTreeMap<String, Value> {
    let inner = table.get(key).and_then(Value::as_table).cloned().unwrap_or_default();
    inner.into_iter().collect()
}

/// A text, or a list of texts.
pub fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(list)) => {
            list.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    }
}

/// All texts below keys with these names, anywhere in a value.
pub fn collect(value: &Value, keys: &[&str], out: &mut Vec<String>) {
    match value {
        Value::Table(table) => {
            for (key, inner) in table {
                if keys.contains(&key.as_str()) {
                    out.extend(texts(Some(inner)));
                }
                collect(inner, keys, out);
            }
        }
        Value::Array(list) => list.iter().for_each(|inner| collect(inner, keys, out)),
        _ => {}
    }
}

/// The files of logs that a converted configuration names.
pub fn target_files(converted: &str) -> Vec<String> {
    let table: Table = toml::from_str(converted).unwrap_or_default();
    let mut found = Vec::new();
    collect(&Value::Table(table), &["target"], &mut found);
    found.retain(|path| path.starts_with('/'));
    found
}

/// Where clients reach a listener: the loopback for an address of all.
fn reachable(listen: &str) -> Vec<SocketAddr> {
    if let Some(port) = listen.strip_prefix(':').and_then(|port| port.parse::<u16>().ok()) {
        return vec![(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()];
    }
    let parsed = listen.parse::<SocketAddr>().ok();
    let local = |address: SocketAddr| match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => (Ipv4Addr::LOCALHOST, address.port()).into(),
        IpAddr::V6(ip) if ip.is_unspecified() => (Ipv6Addr::LOCALHOST, address.port()).into(),
        _ => address,
    };
    parsed.map(local).into_iter().collect()
}

fn split_address(written: &str) -> Option<NamedEndpoint> {
    let at = written.rfind(':')?;
    let port = written[at + 1..].parse().ok()?;
    let host = written[..at].trim_matches(['[', ']']).to_owned();
    Some(NamedEndpoint { host, port })
}

/// The address of a network that is 7 above its first one, or the address itself.
fn address_inside(network: &str) -> Option<IpAddr> {
    let Some(slash) = network.find('/') else { return network.parse().ok() };
    let bits: u32 = network[slash + 1..].parse().ok()?;
    match network[..slash].parse().ok()? {
        IpAddr::V4(ip) if bits <= 28 => Some(Ipv4Addr::from(u32::from(ip) | 7).into()),
        IpAddr::V6(ip) if bits <= 124 => Some(Ipv6Addr::from(u128::from(ip) | 7).into()),
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_the_listeners_servers_and_clients_of_both_sides() {
        let converted = "[service.web]\nlisten = [\"0.0.0.0:80\", \"10.0.0.5:81\"]\nforward = \"http\"\npool = \"app\"\n\
             tls = { certificates = \"/x.pem\", client = \"/ca.pem\" }\n\
             [[service.web.rule]]\nwhen = { not = { client = [\"198.51.100.0/24\"] } }\ndeny = true\n\
             [service.dns]\nlisten = \"0.0.0.0:53\"\nforward = \"nat\"\npool = \"app\"\n\
             [pool.app]\nprobe = { tcp = true, port = 99 }\nservers = [{ name = \"a\", address = \"10.0.0.1:8080\" }, { name = \"b\", address = \"b.internal:8080\", backup = true }]\n";
        let text = "upstream x { server 10.9.9.9:80; }";
        let inventory = SourceInventory::read(text, convert::dialect::Dialect::Nginx);
        let plan = ShadowPlan::new(converted, &inventory);
        let to: Vec<String> = plan.listeners.iter().map(|one| one.to.to_string()).collect();
        assert_eq!(to, ["127.0.0.1:80", "10.0.0.5:81"]);
        assert!(plan.listeners[0].is_tls && plan.listeners[0].asks_certificate);
        let servers: Vec<String> = plan.servers.iter().map(|one| one.address.to_string()).collect();
        assert_eq!(
            servers,
            ["10.0.0.1:8080", "10.0.0.1:99", "198.18.0.1:8080", "198.18.0.1:99", "10.9.9.9:80"]
        );
        assert!(plan.servers[2].pools[0].backup && plan.servers[4].pools.is_empty());
        assert_eq!(plan.clients, ["198.51.100.7".parse::<IpAddr>().unwrap()]);
        assert!(plan.skipped[0].contains("packets"), "{:?}", plan.skipped);
        assert!(plan.is_beside_balancer("10.0.0.5:90".parse().unwrap()));
    }
}
