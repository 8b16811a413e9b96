//! What is tried: a site, an origin on each server, this program as the balancer, and load from the client.
//!
//! Everything of it ends with it. Which method comes when is decided elsewhere.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use api::Client;
use api::types::{PacketEnd, Status};
use files::TemporaryDir;
use lab::load::{HttpPlan, Load, Pace, Persist, Plan, Protocol};
use lab::net::{BpfFs, Layout, Namespace, SERVICE_V4, Site, find, said, sweep};
use lab::origin::{Kind, Options, Origin};
use tokio::time::{Instant, sleep};

use super::cost::busy;
use super::method::Method;
use super::table::Row;
use crate::end::{Failure, sentence};

/// How many servers.
const SERVERS: u8 = 4;
/// The port of the service and of the servers.
const PORT: u16 = 80;
/// Connections of the client at a time.
const CONNECTIONS: usize = 16;
/// How long anything may take to become ready.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// How long a request may take before it counts as failed.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);
/// Segments leave this much of 1500 bytes: an outer header of version 6 and a GRE header fit.
const TUNNEL_SEGMENT: u32 = 1500 - 44 - 40;

/// Everything that runs.
#[derive(Debug)]
pub struct Stage {
    daemon: Daemon,
    api: Client,
    origins: Vec<Origin>,
    pins: BpfFs,
    dir: TemporaryDir,
    unpacking: bool,
    site: Site,
}

impl Stage {
    /// Builds the site and starts servers and balancer.
    pub async fn open() -> Result<Stage, Failure> {
        sweep();
        let site = Site::open(&Layout { near: SERVERS, ..Layout::default() })
            .map_err(|error| unusable("a network of namespaces", &error))?;
        let pins = BpfFs::mount().map_err(|error| unusable("a bpf file system", &error))?;
        let dir = TemporaryDir::new("try").map_err(|error| unusable("a directory", &error))?;
        let mut origins = Vec::new();
        for (number, node) in site.servers.iter().enumerate() {
            let options = Options {
                listen: SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), PORT),
                ..Options::new(&format!("server{number}"), Kind::Http { body: 128 })
            };
            let started = node.within(|| Origin::start(options));
            let origin = started.map_err(|error| unusable("a server", &error))?;
            origins.push(origin.map_err(|error| unusable("a server", &error))?);
        }
        let api = Client::new(dir.path().join("sock"));
        let text = config(&site, &dir, &pins, Method::Http);
        let daemon = Daemon::start(&site.balancer, &dir, &text)?;
        let mut stage = Stage { daemon, api, origins, pins, dir, unpacking: false, site };
        stage.ready().await?;
        Ok(stage)
    }

    /// Moves the service to a method: one word of the configuration.
    pub async fn forward_by(&mut self, method: Method) -> Result<(), Failure> {
        if method == Method::Direct {
            return Ok(());
        }
        if method == Method::Tunnel && !self.unpacking {
            self.unpack()?;
        }
        self.api.apply(config(&self.site, &self.dir, &self.pins, method), None, None, None).await?;
        self.ready().await
    }

    /// Load for a while, or until it is stopped.
    pub async fn measure(
        &mut self,
        method: Method,
        persist: Persist,
        span: Duration,
        stopped: &AtomicBool,
    ) -> Result<Row, Failure> {
        let ip: IpAddr = match (method, self.site.servers.first()) {
            (Method::Direct, Some(server)) => server.host.v4.into(),
            _ => SERVICE_V4.into(),
        };
        let at = SocketAddr::new(ip, PORT);
        let get = Protocol::Http(HttpPlan::get(&at.to_string(), "/"));
        let plan = Plan {
            persist,
            pace: Pace::Closed { connections: CONNECTIONS, think: Duration::ZERO },
            time: Some(span),
            timeout: PATIENCE,
            grace: PATIENCE,
            ..Plan::new(at, get, CONNECTIONS)
        };
        let forwarded = self.forwarded().await;
        let before = busy();
        let started = self.site.client.within(|| Load::start(plan));
        let load = started.map_err(|error| unusable("the client", &error))?;
        let load = load.map_err(|error| unusable("the client", &error))?;
        while !load.is_finished() {
            sleep(LOOK).await;
            self.daemon.lives()?;
            if stopped.load(Ordering::Relaxed) {
                load.stopper().stop();
            }
        }
        let spent = busy().zip(before).map(|(after, before)| after.saturating_sub(before));
        let forwarded = self.forwarded().await.saturating_sub(forwarded);
        Ok(Row::new(method, persist, &load.wait(), spent, forwarded))
    }

    /// Packets that the plane has sent on; it counts once a second.
    async fn forwarded(&self) -> u64 {
        let report = self.api.report(None).await.ok().and_then(|report| report.packets);
        let outcomes = report.map(|packets| packets.outcomes).unwrap_or_default();
        let sent = outcomes.iter().filter(|one| one.end == PacketEnd::Forwarded);
        sent.map(|one| one.count.total).sum()
    }

    /// Ends the balancer in order, so that it removes its programs; what is left goes with the namespaces.
    pub async fn close(mut self) {
        if self.api.stop(Some(Duration::from_millis(100)), false).await.is_ok() {
            let begun = Instant::now();
            while self.daemon.lives().is_ok() && begun.elapsed() < PATIENCE {
                sleep(LOOK).await;
            }
        }
        drop(self.daemon);
        drop(self.origins);
    }

    /// Decapsulators on the servers, which are this program's too, and segments that leave room.
    fn unpack(&mut self) -> Result<(), Failure> {
        for server in &self.site.servers {
            let mut load = server.command(program()?);
            let pins = self.pins.path().join(server.name());
            // Nobody else is in this network.
            load.args(["decap", "load", "--interface", "eth0", "--from", "any", "--pins"])
                .arg(pins);
            said(&mut load).map_err(|error| unusable("a decapsulator", &error))?;
            let room = self.site.segments(server, TUNNEL_SEGMENT);
            room.map_err(|error| unusable("room for tunnels", &error))?;
        }
        self.unpacking = true;
        Ok(())
    }

    /// Waits until the balancer answers, every server is up, and packets are forwarded where they are to be.
    async fn ready(&mut self) -> Result<(), Failure> {
        let begun = Instant::now();
        loop {
            self.daemon.lives()?;
            let why = match self.api.status().await {
                Ok(status) => {
                    let mut servers = status.pools.iter().flat_map(|pool| &pool.servers);
                    match servers.find(|server| server.state != model::snapshot::ServerState::Up) {
                        Some(server) => format!("{} is {:?}", server.name, server.state),
                        None => match in_the_way(&status) {
                            None => return Ok(()),
                            Some(why) => why,
                        },
                    }
                }
                Err(error) => error.to_string(),
            };
            if begun.elapsed() > READY_WITHIN {
                let seconds = READY_WITHIN.as_secs();
                return Err(Failure::Unusable(format!("not ready within {seconds} s: {why}")));
            }
            sleep(LOOK).await;
        }
    }
}

/// Why packets are not forwarded as the configuration in force says; `None`: they are, or need not be.
fn in_the_way(status: &Status) -> Option<String> {
    let packets = status.packets.as_ref()?;
    if packets.generation != status.generation {
        return Some("the packet plane is being changed".to_owned());
    }
    let link = packets.interfaces.iter().find(|one| one.mode.is_none());
    let hop = packets.neighbours.iter().find(|one| one.state != "ok");
    let link = link.map(|one| format!("{} takes no packets: {:?}", one.name, one.problem));
    let hop = hop.map(|one| format!("the next hop of {} is {}", one.address, one.state));
    packets.broken.clone().or(link).or(hop)
}

/// The balancer's process; killed when dropped.
#[derive(Debug)]
struct Daemon {
    child: Child,
    log: PathBuf,
}

impl Daemon {
    fn start(balancer: &Namespace, dir: &TemporaryDir, text: &str) -> Result<Daemon, Failure> {
        let io = |what: &str, error: std::io::Error| unusable(what, &error);
        let log = dir.path().join("log");
        let file =
            dir.write("steelyard.toml", text).map_err(|error| io("a configuration", error))?;
        let said = dir.create("log").map_err(|error| io("a log", error))?;
        // It ends with this process, however that ends.
        let mut command: Command = balancer.command(find("setpriv"));
        command.args(["--pdeathsig", "KILL"]).arg(program()?).args(["run", "-c"]).arg(file);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        // Ctrl-C is for us, who end it in order.
        command.process_group(0);
        let child = command.spawn().map_err(|error| io("the balancer", error))?;
        Ok(Daemon { child, log })
    }

    /// Fails with its last words when it has ended.
    fn lives(&mut self) -> Result<(), Failure> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            _ => {
                let said = std::fs::read_to_string(&self.log).unwrap_or_default();
                Err(Failure::Unusable(format!("the balancer has ended: {}", said.trim())))
            }
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| unusable("this program's own file", &error))
}

fn config(site: &Site, dir: &TemporaryDir, pins: &BpfFs, method: Method) -> String {
    let servers = site.servers.iter().enumerate();
    let servers = servers.map(|(number, node)| {
        format!("  {{ name = \"server{number}\", address = \"{}:{PORT}\" }},\n", node.host.v4)
    });
    let returns: Vec<String> =
        site.returns().iter().map(|host| format!("\"{}\"", host.v4)).collect();
    format!(
        r#"[global]
access-log = "off"
control = {{ socket = "{dir}/sock", state = "{dir}/state" }}

[packets]
interfaces = ["eth0"]
pins = "{pins}/plane"
return = [{returns}]

[service.shop]
listen = "{SERVICE_V4}:{PORT}"
forward = "{forward}"
pool = "web"

[pool.web]
probe = {{ tcp = true, every = "500ms", timeout = "400ms" }}
servers = [
{servers}]
"#,
        dir = dir.path().display(),
        pins = pins.path().display(),
        returns = returns.join(", "),
        forward = method.name(),
        servers = servers.collect::<String>(),
    )
}

fn unusable(what: &str, error: &dyn std::error::Error) -> Failure {
    Failure::Unusable(format!("{what} could not be had: {}", sentence(error)))
}
