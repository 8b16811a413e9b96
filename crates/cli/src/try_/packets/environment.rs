//! The environment of the packet demonstration: a site, an origin on each server, this program as the balancer, and
//! load from the client.
//!
//! Everything of it ends with the program. `packets` decides when a method is used.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use api::ApiClient;
use api::types::{PacketDisposition, Status};
use files::TemporaryDir;
use lab::load::{ConnectionReuse, HttpPlan, LoadModel, LoadPlan, LoadProtocol, LoadRun};
use lab::net::{
    BpfFs, NetworkNamespace, SERVICE_V4, SiteLayout, TestSite, find, run_command, sweep_orphans,
};
use lab::origin::{OriginKind, OriginOptions, TestOrigin};
use tokio::time::{Instant, sleep};

use super::cost::busy;
use super::method::DemoMethod;
use super::table::MethodMeasurement;
use crate::outcome::{CommandError, sentence};

/// With four servers, a server's share differs clearly from all and from half of the packets.
const SERVERS: u8 = 4;
/// The port of the service and of the servers.
const PORT: u16 = 80;
/// Connections of the client at a time.
/// A hash spreads 16 connections over all servers with high probability.
const CONNECTIONS: usize = 16;
/// How long anything may take to become ready.
/// The kernel verifies each program while it is loaded, which a slow machine prolongs.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// How long a request may take before it counts as failed.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks at whether what was started is ready.
const LOOK: Duration = Duration::from_millis(20);
/// Segments leave this much of 1500 bytes: an outer header of version 6 and a GRE header fit.
const TUNNEL_SEGMENT: u32 = 1500 - 44 - 40;

#[derive(Debug)]
pub struct PacketDemo {
    daemon: DemoDaemon,
    api: ApiClient,
    origins: Vec<TestOrigin>,
    pins: BpfFs,
    dir: TemporaryDir,
    unpacking: bool,
    site: TestSite,
}

impl PacketDemo {
    /// Builds the site and starts servers and balancer.
    pub async fn open() -> Result<PacketDemo, CommandError> {
        sweep_orphans();
        let site = TestSite::open(&SiteLayout { local_servers: SERVERS, ..SiteLayout::default() })
            .map_err(|error| unusable("a network of namespaces", &error))?;
        let pins = BpfFs::mount().map_err(|error| unusable("a bpf file system", &error))?;
        let dir = TemporaryDir::new("try").map_err(|error| unusable("a directory", &error))?;
        let mut origins = Vec::new();
        for (number, node) in site.servers.iter().enumerate() {
            let options = OriginOptions {
                listen: SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), PORT),
                ..OriginOptions::new(&format!("server{number}"), OriginKind::Http { body: 128 })
            };
            let started = node.run_inside(|| TestOrigin::start(options));
            let origin = started.map_err(|error| unusable("a server", &error))?;
            origins.push(origin.map_err(|error| unusable("a server", &error))?);
        }
        let api = ApiClient::new(dir.path().join("sock"));
        let text = config(&site, &dir, &pins, DemoMethod::Http);
        let daemon = DemoDaemon::start(&site.balancer, &dir, &text)?;
        let mut stage = PacketDemo { daemon, api, origins, pins, dir, unpacking: false, site };
        stage.wait_until_ready().await?;
        Ok(stage)
    }

    /// Switches the service to a method: one value of the configuration.
    pub async fn forward_by(&mut self, method: DemoMethod) -> Result<(), CommandError> {
        if method == DemoMethod::Direct {
            return Ok(());
        }
        if method == DemoMethod::Tunnel && !self.unpacking {
            self.load_decapsulators()?;
        }
        self.api.apply(config(&self.site, &self.dir, &self.pins, method), None, None, None).await?;
        self.wait_until_ready().await
    }

    /// Load for a while, or until it is stopped.
    pub async fn measure(
        &mut self,
        method: DemoMethod,
        persist: ConnectionReuse,
        span: Duration,
        stopped: &AtomicBool,
    ) -> Result<MethodMeasurement, CommandError> {
        let ip: IpAddr = match (method, self.site.servers.first()) {
            (DemoMethod::Direct, Some(server)) => server.host.v4.into(),
            _ => SERVICE_V4.into(),
        };
        let at = SocketAddr::new(ip, PORT);
        let get = LoadProtocol::Http(HttpPlan::get(&at.to_string(), "/"));
        let plan = LoadPlan {
            persist,
            pace: LoadModel::Closed { connections: CONNECTIONS, think: Duration::ZERO },
            time: Some(span),
            timeout: PATIENCE,
            grace: PATIENCE,
            ..LoadPlan::new(at, get, CONNECTIONS)
        };
        let forwarded = self.forwarded_packets().await;
        let before = busy();
        let started = self.site.client.run_inside(|| LoadRun::start(plan));
        let load = started.map_err(|error| unusable("the client", &error))?;
        let load = load.map_err(|error| unusable("the client", &error))?;
        while !load.is_finished() {
            sleep(LOOK).await;
            self.daemon.check_alive()?;
            if stopped.load(Ordering::Relaxed) {
                load.stopper().stop();
            }
        }
        let spent = busy().zip(before).map(|(after, before)| after.saturating_sub(before));
        let forwarded = self.forwarded_packets().await.saturating_sub(forwarded);
        Ok(MethodMeasurement::new(method, persist, &load.wait(), spent, forwarded))
    }

    /// Packets that the plane has sent on; it counts once a second.
    async fn forwarded_packets(&self) -> u64 {
        let report = self.api.report(None).await.ok().and_then(|report| report.packets);
        let outcomes = report.map(|packets| packets.outcomes).unwrap_or_default();
        let sent = outcomes.iter().filter(|one| one.disposition == PacketDisposition::Forwarded);
        sent.map(|one| one.count.total).sum()
    }

    /// Stops the balancer gracefully, so that it removes its programs; everything else goes with the namespaces.
    pub async fn close(mut self) {
        // A tenth of a second is enough: the measurement is over.
        if self.api.stop(Some(Duration::from_millis(100)), false).await.is_ok() {
            let begun = Instant::now();
            while self.daemon.check_alive().is_ok() && begun.elapsed() < PATIENCE {
                sleep(LOOK).await;
            }
        }
        drop(self.daemon);
        drop(self.origins);
    }

    /// Decapsulators on the servers, which are this program's too, and segments that leave room.
    fn load_decapsulators(&mut self) -> Result<(), CommandError> {
        for server in &self.site.servers {
            let mut load = server.command(program()?);
            let pins = self.pins.path().join(server.name());
            // Nobody else is in this network.
            load.args(["decap", "load", "--interface", "eth0", "--from", "any", "--pins"])
                .arg(pins);
            run_command(&mut load).map_err(|error| unusable("a decapsulator", &error))?;
            let room = self.site.limit_segment_size(server, TUNNEL_SEGMENT);
            room.map_err(|error| unusable("room for tunnels", &error))?;
        }
        self.unpacking = true;
        Ok(())
    }

    /// Waits until the balancer answers, every server is up, and packets are forwarded where they are to be.
    async fn wait_until_ready(&mut self) -> Result<(), CommandError> {
        let begun = Instant::now();
        loop {
            self.daemon.check_alive()?;
            let why = match self.api.status().await {
                Ok(status) => {
                    let mut servers = status.pools.iter().flat_map(|pool| &pool.servers);
                    match servers.find(|server| server.state != model::snapshot::ServerState::Up) {
                        Some(server) => format!("{} is {}", server.name, server.state.name()),
                        None => match blocking_reason(&status) {
                            None => return Ok(()),
                            Some(why) => why,
                        },
                    }
                }
                Err(error) => error.to_string(),
            };
            if begun.elapsed() > READY_WITHIN {
                let seconds = READY_WITHIN.as_secs();
                return Err(CommandError::Unusable(format!("not ready within {seconds} s: {why}")));
            }
            sleep(LOOK).await;
        }
    }
}

/// Why packets are not forwarded as the active configuration says; `None`: they are, or need not be.
fn blocking_reason(status: &Status) -> Option<String> {
    let packets = status.packets.as_ref()?;
    if packets.generation != status.generation {
        return Some("the packet plane is being changed".to_owned());
    }
    let link = packets.interfaces.iter().find(|one| one.mode.is_none());
    let hop = packets.neighbours.iter().find(|one| one.state != "ok");
    let link = link.map(|one| {
        format!(
            "{} takes no packets: {}",
            one.name,
            one.problem.as_deref().unwrap_or("no program is attached")
        )
    });
    let hop = hop.map(|one| format!("the next hop of {} is {}", one.address, one.state));
    packets.problem.clone().or(link).or(hop)
}

/// The balancer's process; killed when dropped.
#[derive(Debug)]
struct DemoDaemon {
    child: Child,
    log: PathBuf,
}

impl DemoDaemon {
    fn start(
        balancer: &NetworkNamespace,
        dir: &TemporaryDir,
        text: &str,
    ) -> Result<DemoDaemon, CommandError> {
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
        Ok(DemoDaemon { child, log })
    }

    /// Fails with its last output if it has ended.
    fn check_alive(&mut self) -> Result<(), CommandError> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            _ => {
                let said = std::fs::read_to_string(&self.log).unwrap_or_default();
                Err(CommandError::Unusable(format!("the balancer has ended: {}", said.trim())))
            }
        }
    }
}

impl Drop for DemoDaemon {
    fn drop(&mut self) {
        // Fails only for a process that has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> Result<PathBuf, CommandError> {
    std::env::current_exe().map_err(|error| unusable("this program's own file", &error))
}

fn config(site: &TestSite, dir: &TemporaryDir, pins: &BpfFs, method: DemoMethod) -> String {
    let servers = site.servers.iter().enumerate();
    let servers = servers.map(|(number, node)| {
        format!("  {{ name = \"server{number}\", address = \"{}:{PORT}\" }},\n", node.host.v4)
    });
    let returns: Vec<String> =
        site.return_addresses().iter().map(|host| format!("\"{}\"", host.v4)).collect();
    format!(
        r#"[global]
access-log = "off"
control = {{ socket = "{dir}/sock", state = "{dir}/state" }}

[packets]
interfaces = ["eth0"]
pin-path = "{pins}/plane"
nat-source = [{returns}]

[service.shop]
listen = "{SERVICE_V4}:{PORT}"
forward = "{forward}"
pool = "web"

[pool.web]
probe = {{ tcp = true, interval = "500ms", timeout = "400ms" }}
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

fn unusable(what: &str, error: &dyn std::error::Error) -> CommandError {
    CommandError::Unusable(format!("{what} could not be had: {}", sentence(error)))
}
