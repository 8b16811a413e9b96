//! The environment of the demonstration: origins, an embedded balancer in front of them, and clients; and the
//! operations on them.
//!
//! Everything lives in this process and on loopback. `script` decides when an operation is due.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use daemon::embed::EmbeddedDaemon;
use daemon::state::{
    ChangeOrigin as Asker, ChangeTrigger, ControlHandle, OperatorCommand, StateSnapshot,
};
use lab::load::{ConnectionReuse, HttpPlan, LoadModel, LoadPlan, LoadProtocol, LoadRun};
use lab::origin::{OriginKind, OriginOptions, TestOrigin};
use lab::port::ReservedPort;
use model::snapshot::ServerState;
use model::stats::{HistogramSum, ServerStats};
use tokio::time::timeout;

use super::script::DemoAction;
use super::snapshot::{DemoSnapshot, ServerSnapshot, ServiceClients};
use crate::outcome::{CommandError, sentence};

/// The servers: pool and name, in the order of their numbers.
const SERVERS: [(&str, &str); 6] =
    [("web", "a"), ("web", "b"), ("web", "c"), ("web", "d"), ("echo", "a"), ("echo", "b")];
/// Of those, the first so many answer HTTP: they are killed and revived.
pub const WEB: usize = 4;
/// How long the balancer may take until every server is up.
/// Probes run every 500 ms and two good ones are needed; ten seconds cover a busy machine.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// How long a request may take before it counts as failed.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

pub struct DemoEnvironment {
    web: ClientGroup,
    echo: ClientGroup,
    daemon: EmbeddedDaemon,
    origins: Vec<TestOrigin>,
    /// Numbers of the killed, in the order of their deaths.
    killed: Vec<usize>,
    last_killed: Option<usize>,
    started: Instant,
}

/// The clients of one service.
#[derive(Debug)]
struct ClientGroup {
    service: &'static str,
    forward: &'static str,
    port: ReservedPort,
    load: LoadRun,
}

impl DemoEnvironment {
    /// Starts everything, the load last: when every server is up.
    pub async fn open(rate: u32) -> Result<DemoEnvironment, CommandError> {
        let origins: Vec<TestOrigin> = SERVERS
            .iter()
            .map(|(pool, name)| {
                let kind =
                    if *pool == "web" { OriginKind::Http { body: 128 } } else { OriginKind::Echo };
                TestOrigin::start(OriginOptions::new(&format!("{pool}-{name}"), kind))
            })
            .collect::<Result<_, _>>()
            .map_err(|error| unusable("a server", &error))?;
        let reserve = |last| {
            let ip = IpAddr::V4(Ipv4Addr::new(127, 0, 0, last));
            ReservedPort::new(ip).map_err(|error| unusable("a port", &error))
        };
        let web = reserve(1)?;
        let echo = reserve(2)?;
        let config = config(&web, &echo, &origins);
        let daemon = EmbeddedDaemon::start(&config)
            .await
            .map_err(|error| unusable("the balancer", &error))?;
        wait_until_ready(daemon.control()).await?;
        let clientele = |service, forward, port: ReservedPort, plan: LoadPlan| {
            let load = LoadRun::start(plan).map_err(|error| unusable("the clients", &error))?;
            Ok::<_, CommandError>(ClientGroup { service, forward, port, load })
        };
        let started = Instant::now();
        let of_web = web_plan(&web, rate);
        let of_echo = echo_plan(&echo, rate);
        Ok(DemoEnvironment {
            web: clientele("web", "http", web, of_web)?,
            echo: clientele("echo", "tcp", echo, of_echo)?,
            daemon,
            origins,
            killed: Vec::new(),
            last_killed: None,
            started,
        })
    }

    /// Since the load began.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    pub fn name(server: usize) -> String {
        SERVERS.get(server).map(|(pool, name)| format!("{pool}/{name}")).unwrap_or_default()
    }

    /// Which of the HTTP servers are dead.
    pub fn killed_servers(&self) -> [bool; WEB] {
        std::array::from_fn(|server| self.killed.contains(&server))
    }

    /// The dead, in the order of their deaths.
    pub fn kill_order(&self) -> &[usize] {
        &self.killed
    }

    /// The last server that was killed, alive again or not.
    pub fn last_killed(&self) -> Option<usize> {
        self.last_killed
    }

    /// Everything as of now.
    pub fn take_snapshot(&self) -> DemoSnapshot {
        let picture = self.daemon.control().state();
        let services = picture.snapshot.services.values().flat_map(|service| &service.stats.slots);
        let retried =
            services.map(|slot| slot.counters.retried.get() + slot.counters.replayed.get()).sum();
        let clients = [&self.web, &self.echo].map(|one| ServiceClients {
            service: one.service,
            forward: one.forward,
            listen: one.port.address(),
            report: one.load.report(),
        });
        let servers = (0..SERVERS.len()).filter_map(|number| self.server(&picture, number));
        DemoSnapshot {
            at: self.elapsed(),
            clock: SystemTime::now(),
            clients: clients.into(),
            servers: servers.collect(),
            retried,
        }
    }

    /// Does something to a server.
    pub async fn perform(&mut self, deed: DemoAction) -> Result<(), CommandError> {
        match deed {
            DemoAction::Kill(server) => {
                if let Some(origin) = self.origins.get(server) {
                    origin.kill().map_err(|error| unusable("the killing", &error))?;
                    self.killed.push(server);
                    self.last_killed = Some(server);
                }
            }
            DemoAction::Revive(server) => {
                if let Some(origin) = self.origins.get(server) {
                    origin.revive().map_err(|error| unusable("the reviving", &error))?;
                    self.killed.retain(|dead| *dead != server);
                }
            }
            DemoAction::Drain(server) => {
                if let Some((pool, name)) = SERVERS.get(server) {
                    let asker = Asker::new("try", ChangeTrigger::Api);
                    let control = self.daemon.control();
                    control
                        .command_server(pool, name, OperatorCommand::Drain, asker)
                        .await
                        .map_err(|error| unusable("the draining", &error))?;
                }
            }
        }
        Ok(())
    }

    /// Ends the load, waits for exchanges in flight, takes a last snapshot, then stops everything.
    pub async fn close(self) -> DemoSnapshot {
        for clientele in [&self.web, &self.echo] {
            clientele.load.stopper().stop();
        }
        let over = || self.web.load.is_finished() && self.echo.load.is_finished();
        // 5 ms: short against the requests that end, and no load beside them.
        let mut tick = tokio::time::interval(Duration::from_millis(5));
        // The load ends by itself after its grace time.
        while !over() {
            tick.tick().await;
        }
        let look = self.take_snapshot();
        self.daemon.stop(REQUEST_TIMEOUT).await;
        look
    }

    fn server(&self, picture: &StateSnapshot, number: usize) -> Option<ServerSnapshot> {
        let (pool, name) = SERVERS.get(number)?;
        let facts = picture.server(pool, name)?;
        let views = &picture.snapshot.pools.get(&facts.pool)?.servers;
        let live: &Arc<ServerStats> = &views.iter().find(|view| view.id == facts.id)?.stats;
        let mut times = HistogramSum::default();
        live.slots.iter().for_each(|slot| times.add(&slot.phases.total));
        let causes = live.slots.iter().flat_map(|slot| &slot.causes);
        Some(ServerSnapshot {
            name: DemoEnvironment::name(number),
            state: facts.state,
            since: facts.since,
            reason: facts.reason.clone(),
            killed: self.killed.contains(&number),
            in_flight: live.in_flight.get(),
            requests: live.slots.iter().map(|slot| slot.counters.requests.get()).sum(),
            failures: causes.map(model::stats::Count::get).sum(),
            times,
        })
    }
}

/// Waits until every server is up.
async fn wait_until_ready(control: &ControlHandle) -> Result<(), CommandError> {
    let mut pictures = control.watch();
    let all_up = |picture: &Arc<StateSnapshot>| {
        picture.servers.len() == SERVERS.len()
            && picture.servers.values().all(|server| server.state == ServerState::Up)
    };
    match timeout(READY_WITHIN, pictures.wait_for(all_up)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(_)) => Err(CommandError::Unusable("the balancer has stopped".to_owned())),
        Err(_) => {
            let seconds = READY_WITHIN.as_secs();
            Err(CommandError::Unusable(format!("not every server was up within {seconds} s")))
        }
    }
}

fn config(web: &ReservedPort, echo: &ReservedPort, origins: &[TestOrigin]) -> String {
    let servers = |pool: &str| {
        let of_pool = SERVERS.iter().zip(origins).filter(|((of, _), _)| *of == pool);
        let lines = of_pool.map(|((_, name), origin)| {
            format!("  {{ name = \"{name}\", address = \"{}\" }},\n", origin.address())
        });
        lines.collect::<String>()
    };
    format!(
        r#"[global]
access-log = "off"

[service.web]
listen = "{}"
forward = "http"
pool = "web"

[service.echo]
listen = "{}"
forward = "tcp"
pool = "echo"

[pool.web]
balance = "least-request"
probe = {{ http = "/healthz", interval = "500ms", timeout = "400ms" }}
# A server is revived after seconds. Failures before that must not keep it out for longer.
eject = {{ base-time = "1s" }}
servers = [
{}]

[pool.echo]
balance = "round-robin"
probe = {{ tcp = true, interval = "500ms", timeout = "400ms" }}
servers = [
{}]
"#,
        web.address(),
        echo.address(),
        servers("web"),
        servers("echo")
    )
}

fn web_plan(at: &ReservedPort, rate: u32) -> LoadPlan {
    let get = HttpPlan::get(&at.address().to_string(), "/");
    let mut plan = LoadPlan::new(at.address(), LoadProtocol::Http(get), 1);
    plan.pace = LoadModel::Open { per_second: f64::from(rate), connections: 32 };
    plan.timeout = REQUEST_TIMEOUT;
    plan.grace = REQUEST_TIMEOUT;
    plan
}

/// A connection for each message, since the balancer chooses a server for each connection.
fn echo_plan(at: &ReservedPort, rate: u32) -> LoadPlan {
    let mut plan = LoadPlan::new(at.address(), LoadProtocol::Echo { bytes: 128 }, 1);
    plan.pace = LoadModel::Open { per_second: f64::from(rate) / 5.0, connections: 16 };
    plan.persist = ConnectionReuse::PerRequest;
    plan.timeout = REQUEST_TIMEOUT;
    plan.grace = REQUEST_TIMEOUT;
    plan
}

fn unusable(what: &str, error: &dyn std::error::Error) -> CommandError {
    CommandError::Unusable(format!("{what} could not be had: {}", sentence(error)))
}
