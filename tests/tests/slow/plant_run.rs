//! Plants a cause before a running balancer, many times: client, link, balancer and server of one row of a table.

use std::net::{SocketAddr, TcpStream};

use lab::link_emulation::{CLIENT, EmulatedLink, LinkShape, SERVER};
use lab::net::{NetworkNamespace, SysctlSetting};
use lab::port::ReservedPort;
use serde_json::Value;
use tests::e2e::balancer::{TestBalancer, is_long};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::recording_server::ScriptedServer;
use tests::e2e::wait;
use tests::skip::skip;

use super::exchange_route::{ExchangeRoute, ExchangeTransport, PacedRequest};
use super::plant::PlantedCause;
use super::setup::times;
use super::upstream::{ReadingPace, UpstreamRoute, UpstreamTransport};

/// Where the emulated link is. The first shape is for the packets of the end that the client is nearer to.
#[derive(Clone, Debug, Default)]
pub enum LinkPlace {
    /// There is none.
    #[default]
    Nowhere,
    BeforeBalancer([LinkShape; 2]),
    BehindBalancer([LinkShape; 2]),
}

/// A row of a table: a cause, and the exchange that meets it.
#[derive(Clone)]
pub struct PlantRow {
    pub cause: PlantedCause,
    /// What the form's name says beside the protocols.
    pub form: &'static str,
    pub client: ExchangeTransport,
    pub server: UpstreamTransport,
    pub link: LinkPlace,
    pub request: PacedRequest<'static>,
    pub pace: ReadingPace,
    pub prepare_server: fn(&TcpStream),
    pub service: &'static str,
    pub pool: &'static str,
    /// Further keys of `http3`.
    pub http3: &'static str,
    /// A quick request before the others opens a connection to the server.
    pub warm_up: bool,
    /// Receive buffers of both ends that hold whole messages.
    pub wide_buffers: bool,
    /// The service forwards TCP.
    pub is_tcp: bool,
}

impl Default for PlantRow {
    fn default() -> PlantRow {
        PlantRow {
            cause: PlantedCause::default(),
            form: "",
            client: ExchangeTransport::default(),
            server: UpstreamTransport::default(),
            link: LinkPlace::default(),
            request: PacedRequest::default(),
            pace: ReadingPace::default(),
            prepare_server: |_| (),
            service: "",
            pool: "",
            http3: "",
            warm_up: false,
            wide_buffers: false,
            is_tcp: false,
        }
    }
}

/// The running parts of a plant. The balancer ends first.
struct PlantSite {
    balancer: TestBalancer,
    _origin: ScriptedServer,
    link: Option<EmulatedLink>,
}

/// Rows of a table that run at a time: an emulated link that waits for a processor is not the planted one.
const AT_A_TIME: usize = 1;
/// Tries of a row beside other tests, which take processors from client, link and server: that is then what the lines
/// truly say. In the long variant every line counts.
const TRIES: usize = 6;

/// Runs all rows, and fails if any did.
pub fn run_plants(rows: &[PlantRow]) {
    let mut failed = 0;
    for some in rows.chunks(AT_A_TIME) {
        std::thread::scope(|scope| {
            let running: Vec<_> = some.iter().map(|row| scope.spawn(move || row.holds())).collect();
            let held = running.into_iter().filter_map(|one| one.join().ok().filter(|held| *held));
            failed += some.len() - held.count();
        });
    }
    assert_eq!(failed, 0, "rows of {} that failed", rows.len());
}

/// The row with each of these clients.
pub fn by_clients(row: &PlantRow, clients: &[ExchangeTransport]) -> Vec<PlantRow> {
    clients.iter().map(|client| PlantRow { client: *client, ..row.clone() }).collect()
}

/// The row with each of these servers.
pub fn by_servers(row: &PlantRow, servers: &[UpstreamTransport]) -> Vec<PlantRow> {
    servers.iter().map(|server| PlantRow { server: *server, ..row.clone() }).collect()
}

impl PlantRow {
    /// Whether one of its tries had the right answers.
    fn holds(&self) -> bool {
        let tries = if is_long() { 1 } else { TRIES };
        (0..tries).any(|_| std::thread::scope(|scope| scope.spawn(|| self.run()).join().is_ok()))
    }

    fn run(&self) {
        let client = ExchangeRoute::new(self.client);
        let server = UpstreamRoute::new(self.server);
        let names = [self.form, client.name(), server.name()];
        let form = names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join(" ");
        let Some(site) = self.open(&client, &server) else { return };
        let front = site.balancer.front();
        let asked = self.request.target[1..].split('/').next();
        // What is compressed is less.
        let asked = asked.filter(|_| self.request.fields.is_empty());
        let least: usize = asked.and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
        let ask = |request: &PacedRequest<'_>| {
            let ask = || client.ask(front, request);
            match &site.link {
                Some(link) => link.client.run_inside(ask).unwrap(),
                None => ask(),
            }
        };
        if self.warm_up {
            ask(&PacedRequest { target: "/1", ..PacedRequest::default() });
        }
        for _ in 0..times() {
            let came = ask(&self.request);
            assert!(came >= least, "{} {form}: {came} of {least}", self.cause.what);
        }
        self.cause.check_lines(&form, &self.read_lines(&site.balancer));
    }

    fn read_lines(&self, balancer: &TestBalancer) -> Vec<Value> {
        wait::until_some("the lines of the log", || {
            let mut lines = balancer.log();
            match self.is_tcp {
                true => lines.retain(|line| line["protocol"] == "TCP"),
                false => lines.retain(|line| line["target"] == self.request.target),
            }
            (lines.len() >= times()).then_some(lines)
        })
    }

    /// `None`: no link can be made here.
    fn open(&self, client: &ExchangeRoute, server: &UpstreamRoute) -> Option<PlantSite> {
        let link = match &self.link {
            LinkPlace::Nowhere => None,
            LinkPlace::BeforeBalancer([first, second])
            | LinkPlace::BehindBalancer([first, second]) => {
                match EmulatedLink::open(first.clone(), second.clone()) {
                    Ok(link) => Some(link),
                    Err(error) => {
                        skip(&format!("no link: {error}"));
                        return None;
                    }
                }
            }
        };
        if let Some(link) = link.as_ref().filter(|_| self.wide_buffers) {
            widen_buffers([&link.client, &link.server]);
        }
        let near = "127.0.0.1:0".parse().unwrap();
        let start = |at: SocketAddr| server.start(at, self.pace, self.prepare_server);
        let lines = format!("{}{}", client.service(self.http3), self.service);
        let pool = format!("{}probe = \"off\"\n{}", server.pool(), self.pool);
        let configure = |origin: &ScriptedServer| {
            let servers = [origin.address()];
            let setup = match self.is_tcp {
                true => BalancerConfig::tcp(&servers),
                false => BalancerConfig::http(&servers),
            };
            setup.global("workers = 1").service(&lines).pool(&pool)
        };
        let Some(place) = link.as_ref() else {
            let origin = start(near);
            let balancer = TestBalancer::start(&configure(&origin));
            return Some(PlantSite { balancer, _origin: origin, link });
        };
        let is_before = matches!(self.link, LinkPlace::BeforeBalancer(_));
        let origin_at = if is_before { near } else { SocketAddr::new(SERVER, 0) };
        let origin = place.server.run_inside(|| start(origin_at)).unwrap();
        let home = if is_before { &place.server } else { &place.client };
        let front = if is_before { SERVER } else { CLIENT };
        let port = home.run_inside(|| ReservedPort::new(front).unwrap()).unwrap();
        let balancer = TestBalancer::start_at(home, &configure(&origin).listen(vec![port]));
        Some(PlantSite { balancer, _origin: origin, link })
    }
}

fn widen_buffers(ends: [&NetworkNamespace; 2]) {
    let wide = [SysctlSetting { path: "net/ipv4/tcp_rmem", value: "4096 6291456 8388608" }];
    ends.iter().for_each(|end| end.write_sysctls(&wide).unwrap());
}
