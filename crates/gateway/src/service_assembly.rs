//! The services of the configuration: one for each port of a Gateway, and those that refuse a share of a split.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::document::{RuleText, ServiceText};
use crate::gateways::GatewayView;
use crate::http_rows::{ListenerScheme, RankedRule, RouteAtListener, write_route};
use crate::http_service::{RequestListener, write_http_rules};
use crate::ingress_service::IngressPlans;
use crate::listeners::{ListenerProtocol, ListenerView};
use crate::names::NameRegistry;
use crate::pools::{BranchRefusal, NO_POOL, PoolBook, empty_pool, refusal_pool};
use crate::problems::ObjectProblem;
use crate::route_collection::{CollectedRoutes, PlanKey};
use crate::settings::GatewaySettings;
use crate::stream_service::{StreamListener, StreamRow, write_stream_rules};
use crate::toml_text::{ConfigEntry, list, quote, quote_all};

const INGRESS_HTTP: ListenerScheme = ListenerScheme { port: 80, is_tls: false };
const INGRESS_HTTPS: ListenerScheme = ListenerScheme { port: 443, is_tls: true };

/// All services, and the rules of requests that they were made of.
#[derive(Debug, Default)]
pub struct AssembledServices {
    pub services: Vec<ServiceText>,
    pub rows: Vec<RankedRule>,
    /// What of Ingresses is not served.
    pub problems: Vec<ObjectProblem>,
}

pub fn assemble_services(
    gateways: &[GatewayView],
    routes: &CollectedRoutes,
    ingresses: &IngressPlans,
    settings: &GatewaySettings,
    pools: &mut PoolBook,
) -> AssembledServices {
    let mut assembled = AssembledServices::default();
    let mut names = NameRegistry::default();
    for refusal in [BranchRefusal::Invalid, BranchRefusal::Unavailable, BranchRefusal::Reset] {
        names.name(&[refusal.name()]);
    }
    for scheme in [INGRESS_HTTP, INGRESS_HTTPS] {
        names.name(&[&format!("ingress-{}", scheme.port)]);
    }
    for (at, gateway) in gateways.iter().enumerate() {
        let mut ports: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
        let listeners = gateway.listeners.iter().enumerate();
        for (number, listener) in listeners.filter(|one| gateway.serves(one.1)) {
            ports.entry(listener.port).or_default().push(number);
        }
        for (port, listeners) in ports {
            let port_text = port.to_string();
            let name = names.name(&[&gateway.key.namespace, &gateway.key.name, &port_text]);
            let place = PortPlace { gateway, at, listeners: &listeners, port };
            assembled.add_port(&place, name, routes, pools);
        }
    }
    assembled.add_ingresses(gateways, ingresses, settings, pools);
    if !assembled.services.is_empty() {
        pools.pools.insert(NO_POOL.to_owned(), empty_pool());
        assembled.add_refusals(gateways, settings, pools);
    }
    assembled
}

/// The listeners of a Gateway that share a port.
struct PortPlace<'a> {
    gateway: &'a GatewayView,
    /// The Gateway's number.
    at: usize,
    /// The listeners' numbers, at least one.
    listeners: &'a [usize],
    port: u16,
}

impl PortPlace<'_> {
    fn views(&self) -> impl Iterator<Item = &ListenerView> {
        self.listeners.iter().map(|number| &self.gateway.listeners[*number])
    }

    fn protocol(&self) -> Option<ListenerProtocol> {
        self.views().find_map(|listener| listener.protocol)
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        let protocol = self.protocol();
        let is_http = protocol.is_some_and(ListenerProtocol::is_http);
        let mut entries = vec![
            ConfigEntry::new(
                "listen",
                quote_all(&listen_texts(&self.gateway.addresses, self.port)),
            ),
            ConfigEntry::text("forward", if is_http { "http" } else { "tcp" }),
            ConfigEntry::text("pool", NO_POOL),
        ];
        // Clients of gRPC speak HTTP/2 without TLS, too.
        if protocol == Some(ListenerProtocol::Http) {
            entries.push(ConfigEntry::text("http2", "always"));
        }
        let mut certificates: Vec<&String> = Vec::new();
        for path in self.views().flat_map(|listener| &listener.certificates) {
            if !certificates.contains(&path) {
                certificates.push(path);
            }
        }
        if !certificates.is_empty() {
            let paths = list(certificates.iter().map(|path| quote(path)));
            entries.push(ConfigEntry::new("tls", paths));
        }
        entries
    }
}

impl AssembledServices {
    fn add_port(
        &mut self,
        place: &PortPlace<'_>,
        name: String,
        routes: &CollectedRoutes,
        pools: &mut PoolBook,
    ) {
        let listeners: Vec<&str> = place.views().map(|one| one.name.as_str()).collect();
        let comment = format!("Gateway {}, listener {}", place.gateway.key, listeners.join(", "));
        let entries = place.entries();
        let mut service =
            ServiceText { name, comment, entries, rules: Vec::new(), edits: Vec::new() };
        match place.protocol() {
            Some(protocol) if protocol.is_http() => {
                let is_tls = protocol == ListenerProtocol::Https;
                let scheme = ListenerScheme { port: place.port, is_tls };
                let rules = place.request_rules(scheme, routes, pools);
                self.rows.extend(rules.iter().flat_map(|one| one.rows.iter().cloned()));
                write_http_rules(rules, &mut service);
            }
            _ => write_stream_rules(place.stream_rules(routes), &mut service, pools),
        }
        self.services.push(service);
    }

    /// Adds the services of Ingresses, unless a Gateway has their port.
    fn add_ingresses(
        &mut self,
        gateways: &[GatewayView],
        ingresses: &IngressPlans,
        settings: &GatewaySettings,
        pools: &mut PoolBook,
    ) {
        for scheme in [INGRESS_HTTP, INGRESS_HTTPS] {
            let certificates = if scheme.is_tls { &ingresses.certificates[..] } else { &[] };
            if ingresses.is_empty() || (scheme.is_tls && certificates.is_empty()) {
                continue;
            }
            let address = settings.default_address;
            let owner = gateways.iter().find(|gateway| gateway.has_port(scheme.port, address));
            if let Some(gateway) = owner {
                let message = format!("port {} belongs to Gateway {}", scheme.port, gateway.key);
                let problem = ObjectProblem::new("", "Ingress", "", message);
                self.problems.push(problem.with_expected("a port that no Gateway has"));
                continue;
            }
            let addresses: Vec<IpAddr> = address.into_iter().collect();
            let entries = service_entries(&addresses, scheme, certificates);
            let [name, comment] = ["ingress", "all Ingresses"].map(str::to_owned);
            let name = format!("{name}-{}", scheme.port);
            let mut service =
                ServiceText { name, comment, entries, rules: Vec::new(), edits: Vec::new() };
            let rows = ingresses.write_rows(scheme, pools);
            self.rows.extend(rows.iter().cloned());
            let listener = RequestListener { listener: "ingress".to_owned(), hostname: None, rows };
            write_http_rules(vec![listener], &mut service);
            self.services.push(service);
        }
    }

    /// Adds what answers the shares of splits that lead nowhere.
    fn add_refusals(
        &mut self,
        gateways: &[GatewayView],
        settings: &GatewaySettings,
        pools: &mut PoolBook,
    ) {
        let taken: Vec<u16> =
            gateways.iter().flat_map(|gateway| &gateway.listeners).map(|one| one.port).collect();
        let mut free = (settings.refusal_port..=u16::MAX).filter(|port| !taken.contains(port));
        for refusal in pools.refusals.clone() {
            let Some(port) = free.next() else { continue };
            let address = format!("127.0.0.1:{port}");
            let pool = refusal_pool(refusal, &address);
            pools.pools.insert(refusal.name().to_owned(), pool);
            self.services.push(refusal_service(refusal, &address));
        }
    }
}

impl PortPlace<'_> {
    fn request_rules(
        &self,
        scheme: ListenerScheme,
        routes: &CollectedRoutes,
        pools: &mut PoolBook,
    ) -> Vec<RequestListener> {
        let mut rules: BTreeMap<usize, RequestListener> = BTreeMap::new();
        for number in self.listeners {
            let listener = &self.gateway.listeners[*number];
            let hostname = listener.hostname.clone();
            let of_listener =
                RequestListener { listener: listener.name.clone(), hostname, rows: Vec::new() };
            rules.insert(*number, of_listener);
        }
        for route in &routes.attached {
            let key = PlanKey { kind: route.kind, key: route.key.clone() };
            let Some(plan) = routes.requests.get(&key) else { continue };
            for (place, hosts) in route.accepted_attachments() {
                let here = rules.get_mut(&place.listener).filter(|_| place.gateway == self.at);
                if let Some(here) = here {
                    let route = RouteAtListener { plan, age: &route.age, hosts: &hosts, scheme };
                    here.rows.extend(write_route(&route, pools));
                }
            }
        }
        rules.into_values().collect()
    }

    fn stream_rules(&self, routes: &CollectedRoutes) -> Vec<StreamListener> {
        let mut rules: BTreeMap<usize, StreamListener> = BTreeMap::new();
        for number in self.listeners {
            let listener = &self.gateway.listeners[*number];
            let hostname = listener.hostname.clone();
            let of_listener =
                StreamListener { listener: listener.name.clone(), hostname, rows: Vec::new() };
            rules.insert(*number, of_listener);
        }
        for route in &routes.attached {
            let key = PlanKey { kind: route.kind, key: route.key.clone() };
            let Some(plan) = routes.streams.get(&key) else { continue };
            for (place, hosts) in route.accepted_attachments() {
                let here = rules.get_mut(&place.listener).filter(|_| place.gateway == self.at);
                if let Some(here) = here {
                    let row = |host| StreamRow { host, age: route.age.clone(), plan: plan.clone() };
                    here.rows.extend(hosts.into_iter().map(row));
                }
            }
        }
        rules.into_values().collect()
    }
}

/// The keys of a service of requests.
fn service_entries(
    addresses: &[IpAddr],
    scheme: ListenerScheme,
    certificates: &[String],
) -> Vec<ConfigEntry> {
    let mut entries = vec![
        ConfigEntry::new("listen", quote_all(&listen_texts(addresses, scheme.port))),
        ConfigEntry::text("forward", "http"),
        ConfigEntry::text("pool", NO_POOL),
    ];
    if scheme.is_tls {
        entries.push(ConfigEntry::new("tls", list(certificates.iter().map(|path| quote(path)))));
    }
    entries
}

fn listen_texts(addresses: &[IpAddr], port: u16) -> Vec<String> {
    if addresses.is_empty() {
        return vec![format!(":{port}")];
    }
    addresses
        .iter()
        .map(|address| match address {
            IpAddr::V4(address) => format!("{address}:{port}"),
            IpAddr::V6(address) => format!("[{address}]:{port}"),
        })
        .collect()
}

fn refusal_service(refusal: BranchRefusal, address: &str) -> ServiceText {
    let name = refusal.name();
    let is_reset = refusal == BranchRefusal::Reset;
    let action = match refusal {
        BranchRefusal::Invalid => ConfigEntry::new("answer", "500"),
        BranchRefusal::Unavailable => ConfigEntry::new("answer", "503"),
        BranchRefusal::Reset => ConfigEntry::new("deny", "true"),
    };
    let entries = vec![
        ConfigEntry::text("listen", address),
        ConfigEntry::text("forward", if is_reset { "tcp" } else { "http" }),
        ConfigEntry::text("pool", NO_POOL),
    ];
    let comment = "the share of a split".to_owned();
    let rules = vec![RuleText { comment, entries: vec![ConfigEntry::text("name", name), action] }];
    let comment = "for branches of splits that lead nowhere; nobody else comes here".to_owned();
    ServiceText { name: name.to_owned(), comment, entries, rules, edits: Vec::new() }
}
