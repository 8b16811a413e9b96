//! A configuration with states, a responder, and short forms of questions.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use hickory_proto::op::{Edns, Message, Query, ResponseCode};
use hickory_proto::rr::{Name, RData, RecordType};
use model::config::{Config, load};
use model::id::{PoolId, ServerId};
use model::monotonic_time::MonotonicTime;
use model::snapshot::{PoolView, ServerState, ServerView, WorkerSnapshot};
use model::stats::ServerStats;
use model::stats::pool::PoolStats;
use names::counts::{DnsTransport, Fate};
use names::responder::{DnsResponder, QueryContext};
use names::zone_data::ZoneData;
use names::zone_plan::ZonePlans;

/// A pool of three, a service, and a name for every case.
pub const TEXT: &str = r#"
[names]
listen = "192.0.2.53:53"
rate = "off"
[zone."gslb.example.org"]
nameservers = ["ns1.gslb.example.org", "ns.example.net"]
contact = "dns@example.org"
ttl = "30s"
negative-ttl = "7s"
text = ["one", "two"]
[service.shop]
listen = ["203.0.113.1:443", "[2001:db8::1]:443"]
forward = "http"
pool = "web"
[pool.web]
servers = [
  { name = "a", address = "10.0.0.1:8001" },
  { name = "b", address = "10.0.0.2:8002", weight = 3 },
  { name = "c", address = "[2001:db8::3]:8003" },
]
[name."ns1.gslb.example.org"]
addresses = ["192.0.2.53", "2001:db8::53"]
[name."www.gslb.example.org"]
pool = "web"
srv = "_http._tcp"
https = ["h2", "http/1.1"]
[name."weighted.gslb.example.org"]
pool = "web"
policy = "weighted"
[name."first.gslb.example.org"]
pool = "web"
policy = "failover"
answers = 2
srv = "_x._udp"
[name."none.gslb.example.org"]
pool = "web"
fallback = "none"
[name."last.gslb.example.org"]
pool = "web"
last-resort = ["198.51.100.9"]
[name."shop.gslb.example.org"]
services = "shop"
[name."alias.gslb.example.org"]
cname = "www.gslb.example.org"
[name."away.gslb.example.org"]
cname = "www.example.net"
[name."lost.gslb.example.org"]
cname = "nothing.gslb.example.org"
[name."near.gslb.example.org"]
addresses = [
  { name = "east", address = ["10.1.0.1", "2001:db8:1::1"] },
  { name = "west", address = "10.2.0.1", weight = 3 },
]
policy = "nearest"
near = [
  { client = ["192.0.2.0/24", "2001:db8:e::/48"], prefer = "east" },
  { client = "198.51.100.0/24", prefer = "west" },
]
[name."kept.gslb.example.org"]
addresses = ["10.3.0.1", "10.3.0.2", "10.3.0.3", "10.3.0.4"]
policy = "sticky"
[name."many.gslb.example.org"]
addresses = [
  "10.4.0.1", "10.4.0.2", "10.4.0.3", "10.4.0.4", "10.4.0.5", "10.4.0.6", "10.4.0.7", "10.4.0.8",
  "2001:db8:4::1", "2001:db8:4::2", "2001:db8:4::3", "2001:db8:4::4", "2001:db8:4::5", "2001:db8:4::6",
  "2001:db8:4::7", "2001:db8:4::8", "2001:db8:4::9", "2001:db8:4::10", "2001:db8:4::11", "2001:db8:4::12",
  "2001:db8:4::13", "2001:db8:4::14", "2001:db8:4::15", "2001:db8:4::16", "2001:db8:4::17", "2001:db8:4::18",
]
answers = 32
[name."deep.below.gslb.example.org"]
addresses = "10.5.0.1"
"#;

/// A responder with its zone data.
pub struct ResponderTestbed {
    config: Config,
    states: HashMap<String, ServerState>,
    pub zone_data: Arc<ZoneData>,
    pub responder: DnsResponder,
    pub from: IpAddr,
    pub transport: DnsTransport,
    pub now: MonotonicTime,
}

/// An answer as the second parser reads it.
#[derive(Debug)]
pub struct ObservedAnswer {
    pub fate: Fate,
    pub message: Message,
    pub bytes: usize,
}

impl ResponderTestbed {
    pub fn new() -> ResponderTestbed {
        ResponderTestbed::with(TEXT)
    }

    pub fn with(text: &str) -> ResponderTestbed {
        let config = load(text, "test.toml").unwrap_or_else(|it| panic!("{it}")).config;
        let plan = Arc::new(ZonePlans::new(&config, 7, None));
        let book = Arc::new(ZoneData::new(plan, &config, &WorkerSnapshot::default()));
        let desk = DnsResponder::new([1; 16], 2);
        let from = "203.0.113.9".parse().unwrap();
        let by = DnsTransport::Udp;
        let now = MonotonicTime(1 << 40);
        let mut world = ResponderTestbed {
            config,
            states: HashMap::new(),
            zone_data: book,
            responder: desk,
            from,
            transport: by,
            now,
        };
        world.set(&[]);
        world
    }

    /// Sets the states of these servers; all others are up.
    pub fn set(&mut self, states: &[(&str, ServerState)]) {
        self.states = states.iter().map(|(name, state)| ((*name).to_owned(), *state)).collect();
        let snapshot = self.snapshot();
        self.zone_data =
            Arc::new(ZoneData::new(Arc::clone(&self.zone_data.plan), &self.config, &snapshot));
    }

    fn snapshot(&self) -> WorkerSnapshot {
        let mut snapshot = WorkerSnapshot::default();
        for (number, pool) in self.config.pools.values().enumerate() {
            let id = PoolId(number as u32);
            let server = |(at, server): (usize, &Arc<model::config::ServerConfig>)| ServerView {
                id: ServerId((number * 1_000 + at) as u32),
                keeps_sticky_clients: false,
                config: Arc::clone(server),
                address: server.address.endpoint(),
                state: self.states.get(&server.name).copied().unwrap_or(ServerState::Up),
                weight: server.weight,
                stats: Arc::new(ServerStats::new(1)),
            };
            let servers = pool.servers.iter().enumerate().map(server).collect();
            let config = Arc::clone(pool);
            let live = Arc::new(PoolStats::new(1));
            snapshot
                .pools
                .insert(id, Arc::new(PoolView { id, config, tls: None, stats: live, servers }));
        }
        snapshot
    }

    pub fn send(&mut self, query: &[u8]) -> (Fate, Vec<u8>) {
        let context = QueryContext {
            source: self.from,
            transport: self.transport,
            now: self.now,
            unix_seconds: 1_000_000,
        };
        let mut out = Vec::new();
        let fate = self.responder.answer(&self.zone_data, &context, query, &mut out);
        assert_eq!(fate.is_sent(), !out.is_empty(), "{fate:?}");
        (fate, out)
    }

    /// Sends a question, with EDNS where given.
    pub fn ask_with(&mut self, name: &str, kind: RecordType, edns: Option<Edns>) -> ObservedAnswer {
        let (fate, out) = self.send(&query(name, kind, edns));
        let message = Message::from_vec(&out).unwrap_or_else(|error| panic!("{error}: {out:?}"));
        ObservedAnswer { fate, message, bytes: out.len() }
    }

    /// Sends a question the way resolvers do.
    pub fn ask(&mut self, name: &str, kind: RecordType) -> ObservedAnswer {
        let mut edns = Edns::new();
        edns.set_max_payload(1232);
        self.ask_with(name, kind, Some(edns))
    }

    pub fn addresses(&mut self, name: &str) -> Vec<String> {
        self.ask(name, RecordType::A).data()
    }
}

pub fn query(name: &str, kind: RecordType, edns: Option<Edns>) -> Vec<u8> {
    let mut message = Message::query();
    message.metadata.id = 77;
    let mut name = Name::from_ascii(name).unwrap();
    name.set_fqdn(true);
    message.add_query(Query::query(name, kind));
    if let Some(edns) = edns {
        message.set_edns(edns);
    }
    message.to_vec().unwrap()
}

impl ObservedAnswer {
    pub fn code(&self) -> ResponseCode {
        self.message.metadata.response_code
    }

    pub fn data(&self) -> Vec<String> {
        self.message.answers.iter().map(|record| text(&record.data)).collect()
    }

    /// Owner, time to live and data of the authority section.
    pub fn authority(&self) -> Vec<(String, u32, String)> {
        let records = self.message.authorities.iter();
        records.map(|it| (it.name.to_ascii(), it.ttl, text(&it.data))).collect()
    }

    /// Owner and data of the additional section.
    pub fn additional(&self) -> Vec<(String, String)> {
        let records = self.message.additionals.iter();
        records.map(|it| (it.name.to_ascii(), text(&it.data))).collect()
    }
}

fn text(data: &RData) -> String {
    data.to_string()
}
