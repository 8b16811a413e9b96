//! What is tried: origins, an embedded balancer in front of them, and clients; and the hands on them.
//!
//! Everything lives in this process and on loopback. Which hand moves when is decided elsewhere.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use daemon::control::{Control, Origin as Asker, Picture, ServerWord, Way};
use daemon::embed::Embedded;
use lab::load::{HttpPlan, Load, Pace, Persist, Plan, Protocol};
use lab::origin::{Kind, Options, Origin};
use lab::port::Reserved;
use model::live::{HistogramSum, ServerLive};
use model::snapshot::ServerState;
use tokio::time::timeout;

use super::look::{Clients, Look, Server};
use super::story::Deed;
use crate::end::{Failure, sentence};

/// The servers: pool and name, in the order of their numbers.
const SERVERS: [(&str, &str); 6] =
    [("web", "a"), ("web", "b"), ("web", "c"), ("web", "d"), ("echo", "a"), ("echo", "b")];
/// Of those, the first so many answer HTTP: they are killed and revived.
pub const WEB: usize = 4;
/// How long the balancer may take until every server is up.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// How long a request may take before it counts as failed.
const PATIENCE: Duration = Duration::from_secs(5);

/// Everything that runs.
pub struct Stage {
    web: Clientele,
    echo: Clientele,
    daemon: Embedded,
    origins: Vec<Origin>,
    /// Numbers of the killed, in the order of their deaths.
    killed: Vec<usize>,
    last_killed: Option<usize>,
    started: Instant,
}

/// The clients of one service.
#[derive(Debug)]
struct Clientele {
    service: &'static str,
    forward: &'static str,
    port: Reserved,
    load: Load,
}

impl Stage {
    /// Starts everything, the load last: when every server is up.
    pub async fn open(rate: u32) -> Result<Stage, Failure> {
        let origins: Vec<Origin> = SERVERS
            .iter()
            .map(|(pool, name)| {
                let kind = if *pool == "web" { Kind::Http { body: 128 } } else { Kind::Echo };
                Origin::start(Options::new(&format!("{pool}-{name}"), kind))
            })
            .collect::<Result<_, _>>()
            .map_err(|error| unusable("a server", &error))?;
        let reserve = |last| {
            let ip = IpAddr::V4(Ipv4Addr::new(127, 0, 0, last));
            Reserved::new(ip).map_err(|error| unusable("a port", &error))
        };
        let (web, echo) = (reserve(1)?, reserve(2)?);
        let config = config(&web, &echo, &origins);
        let daemon =
            Embedded::start(&config).await.map_err(|error| unusable("the balancer", &error))?;
        ready(daemon.control()).await?;
        let clientele = |service, forward, port: Reserved, plan: Plan| {
            let load = Load::start(plan).map_err(|error| unusable("the clients", &error))?;
            Ok::<_, Failure>(Clientele { service, forward, port, load })
        };
        let started = Instant::now();
        let (of_web, of_echo) = (web_plan(&web, rate), echo_plan(&echo, rate));
        Ok(Stage {
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
    pub fn at(&self) -> Duration {
        self.started.elapsed()
    }

    /// `POOL/NAME`.
    pub fn name(server: usize) -> String {
        SERVERS.get(server).map(|(pool, name)| format!("{pool}/{name}")).unwrap_or_default()
    }

    /// Which of the HTTP servers are dead.
    pub fn dead(&self) -> [bool; WEB] {
        std::array::from_fn(|server| self.killed.contains(&server))
    }

    /// The dead, in the order of their deaths.
    pub fn deaths(&self) -> &[usize] {
        &self.killed
    }

    /// The last one killed, alive again or not.
    pub fn last_killed(&self) -> Option<usize> {
        self.last_killed
    }

    /// Everything as of now.
    pub fn look(&self) -> Look {
        let picture = self.daemon.control().picture();
        let services = picture.snapshot.services.values().flat_map(|service| &service.live.slots);
        let retried =
            services.map(|slot| slot.counters.retried.get() + slot.counters.replayed.get()).sum();
        let clients = [&self.web, &self.echo].map(|one| Clients {
            service: one.service,
            forward: one.forward,
            listen: one.port.address(),
            report: one.load.report(),
        });
        let servers = (0..SERVERS.len()).filter_map(|number| self.server(&picture, number));
        Look {
            at: self.at(),
            clock: SystemTime::now(),
            clients: clients.into(),
            servers: servers.collect(),
            retried,
        }
    }

    /// Does something to a server.
    pub async fn perform(&mut self, deed: Deed) -> Result<(), Failure> {
        match deed {
            Deed::Kill(server) => {
                if let Some(origin) = self.origins.get(server) {
                    origin.kill().map_err(|error| unusable("the killing", &error))?;
                    self.killed.push(server);
                    self.last_killed = Some(server);
                }
            }
            Deed::Revive(server) => {
                if let Some(origin) = self.origins.get(server) {
                    origin.revive().map_err(|error| unusable("the reviving", &error))?;
                    self.killed.retain(|dead| *dead != server);
                }
            }
            Deed::Drain(server) => {
                if let Some((pool, name)) = SERVERS.get(server) {
                    let asker = Asker::new("try", Way::Api);
                    let control = self.daemon.control();
                    control
                        .set_server(pool, name, ServerWord::Drain, asker)
                        .await
                        .map_err(|error| unusable("the draining", &error))?;
                }
            }
        }
        Ok(())
    }

    /// Ends the load, waits for what is in flight, looks a last time, then stops everything.
    pub async fn close(self) -> Look {
        for clientele in [&self.web, &self.echo] {
            clientele.load.stopper().stop();
        }
        let over = || self.web.load.is_finished() && self.echo.load.is_finished();
        let mut tick = tokio::time::interval(Duration::from_millis(5));
        // The load ends by itself after its grace time.
        while !over() {
            tick.tick().await;
        }
        let look = self.look();
        self.daemon.stop(PATIENCE).await;
        look
    }

    fn server(&self, picture: &Picture, number: usize) -> Option<Server> {
        let (pool, name) = SERVERS.get(number)?;
        let facts = picture.server(pool, name)?;
        let views = &picture.snapshot.pools.get(&facts.pool)?.servers;
        let live: &Arc<ServerLive> = &views.iter().find(|view| view.id == facts.id)?.live;
        let mut times = HistogramSum::default();
        live.slots.iter().for_each(|slot| times.add(&slot.phases.total));
        let causes = live.slots.iter().flat_map(|slot| &slot.causes);
        Some(Server {
            name: Stage::name(number),
            state: facts.state,
            since: facts.since,
            reason: facts.reason.clone(),
            killed: self.killed.contains(&number),
            in_flight: live.in_flight.get(),
            requests: live.slots.iter().map(|slot| slot.counters.requests.get()).sum(),
            failures: causes.map(model::live::Count::get).sum(),
            times,
        })
    }
}

/// Waits until every server is up.
async fn ready(control: &Control) -> Result<(), Failure> {
    let mut pictures = control.watch();
    let all_up = |picture: &Arc<Picture>| {
        picture.servers.len() == SERVERS.len()
            && picture.servers.values().all(|server| server.state == ServerState::Up)
    };
    match timeout(READY_WITHIN, pictures.wait_for(all_up)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(_)) => Err(Failure::Unusable("the balancer has stopped".to_owned())),
        Err(_) => {
            let seconds = READY_WITHIN.as_secs();
            Err(Failure::Unusable(format!("not every server was up within {seconds} s")))
        }
    }
}

fn config(web: &Reserved, echo: &Reserved, origins: &[Origin]) -> String {
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
probe = {{ http = "/healthz", every = "500ms", timeout = "400ms" }}
servers = [
{}]

[pool.echo]
balance = "round-robin"
probe = {{ tcp = true, every = "500ms", timeout = "400ms" }}
servers = [
{}]
"#,
        web.address(),
        echo.address(),
        servers("web"),
        servers("echo")
    )
}

fn web_plan(at: &Reserved, rate: u32) -> Plan {
    let get = HttpPlan::get(&at.address().to_string(), "/");
    let mut plan = Plan::new(at.address(), Protocol::Http(get), 1);
    plan.pace = Pace::Open { per_second: f64::from(rate), connections: 32 };
    (plan.timeout, plan.grace) = (PATIENCE, PATIENCE);
    plan
}

/// A connection for each message: that is what the balancer chooses a server for.
fn echo_plan(at: &Reserved, rate: u32) -> Plan {
    let mut plan = Plan::new(at.address(), Protocol::Echo { bytes: 128 }, 1);
    plan.pace = Pace::Open { per_second: f64::from(rate) / 5.0, connections: 16 };
    plan.persist = Persist::PerRequest;
    (plan.timeout, plan.grace) = (PATIENCE, PATIENCE);
    plan
}

fn unusable(what: &str, error: &dyn std::error::Error) -> Failure {
    Failure::Unusable(format!("{what} could not be had: {}", sentence(error)))
}
