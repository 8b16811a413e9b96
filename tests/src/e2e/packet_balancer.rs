//! A site with servers, a client and a daemon between them, and queries to the daemon.
//!
//! Servers are `server0`, `server1`, …; each answers HTTP and datagrams on port 80. The daemon has a separate BPF file
//! system. This module asserts nothing about the product's behaviour.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::process::Command;
use std::time::Duration;

use api::types::{PacketsReport, Report, Status};
use lab::load::{ConnectionReuse, HttpPlan, LoadModel, LoadPlan, LoadProtocol, LoadRun};
use lab::net::{BpfFs, NetworkNamespace, SERVICE_V4, SERVICE_V6, SiteHost, SiteLayout, TestSite};
use lab::origin::{OriginKind, OriginOptions, TestOrigin};
use model::snapshot::ServerState;
use rustix::process::Signal;
use tokio::runtime::{Builder, Runtime};

use super::balancer::program;
use super::cli_environment::{CommandOutput, run_command};
use super::datagrams::{self, DatagramServer};
use super::dir::TestDir;
use super::packet_config::PacketConfig;
use super::process::ChildProcess;
use super::{tools, wait};

/// The port of services and servers.
pub const PORT: u16 = 80;

/// Bytes of the headers around an encapsulated IPv4 segment: inner IPv4 and TCP (40), outer IPv6 (40) and GUE (8).
const OUTER: u32 = 40 + 40 + 8;

/// A version of the Internet Protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpVersion {
    V4,
    V6,
}

pub const BOTH: [IpVersion; 2] = [IpVersion::V4, IpVersion::V6];

impl IpVersion {
    pub fn service(self) -> SocketAddr {
        let ip: IpAddr = match self {
            IpVersion::V4 => SERVICE_V4.into(),
            IpVersion::V6 => SERVICE_V6.into(),
        };
        SocketAddr::new(ip, PORT)
    }

    pub fn host_address(self, node: &SiteHost) -> IpAddr {
        node.host.address_like(self.service().ip())
    }
}

#[derive(Debug)]
pub struct PacketBalancer {
    daemon: Option<ChildProcess>,
    origins: Vec<Option<TestOrigin>>,
    datagrams: Vec<Option<DatagramServer>>,
    config: PacketConfig,
    api: api::ApiClient,
    runtime: Runtime,
    dir: TestDir,
    pins: BpfFs,
    pub site: TestSite,
}

impl PacketBalancer {
    /// Builds the site, starts the servers and the daemon, and waits until every server is up.
    pub fn open(layout: &SiteLayout, words: PacketConfig) -> PacketBalancer {
        let mut plane = PacketBalancer::open_without_daemon(layout, words);
        plane.serve();
        plane.start();
        plane.wait_until_all_up();
        plane
    }

    /// Builds the site without the servers' programs and without the daemon.
    pub fn open_without_daemon(layout: &SiteLayout, words: PacketConfig) -> PacketBalancer {
        let site = TestSite::open(layout).unwrap_or_else(|error| panic!("no site: {error:?}"));
        let pins = BpfFs::mount().unwrap_or_else(|error| panic!("no pins: {error:?}"));
        let dir = TestDir::new();
        let plane = PacketBalancer {
            daemon: None,
            origins: Vec::new(),
            datagrams: Vec::new(),
            config: words,
            api: api::ApiClient::new(dir.join("sock")),
            runtime: Builder::new_current_thread().enable_all().build().unwrap(),
            dir,
            pins,
            site,
        };
        plane.write();
        plane
    }

    /// Starts an HTTP server and a datagram server on every server.
    pub fn serve(&mut self) {
        for number in 0..self.site.servers.len() {
            self.origins.push(None);
            self.datagrams.push(None);
            self.revive(number);
        }
    }

    /// Starts an HTTP server on the balancer's host.
    pub fn serve_here(&self) -> TestOrigin {
        let options = OriginOptions {
            listen: SocketAddr::from(([0u16; 8], PORT)),
            ..OriginOptions::new("here", OriginKind::Http { body: 128 })
        };
        let origin = self.site.balancer.run_inside(|| TestOrigin::start(options)).unwrap();
        origin.unwrap_or_else(|error| panic!("{error}"))
    }

    pub fn dir(&self) -> &TestDir {
        &self.dir
    }

    /// Restarts a server's programs.
    pub fn revive(&mut self, number: usize) {
        let node = &self.site.servers[number];
        let name = format!("server{number}");
        let options = OriginOptions {
            listen: SocketAddr::from(([0u16; 8], PORT)),
            ..OriginOptions::new(&name, OriginKind::Http { body: 128 })
        };
        let origin = node.run_inside(|| TestOrigin::start(options)).unwrap();
        self.origins[number] = Some(origin.unwrap_or_else(|error| panic!("{error}")));
        let own = [node.host.v4.into(), node.host.v6.into(), SERVICE_V4.into(), SERVICE_V6.into()];
        let sockets = own.map(|ip: IpAddr| SocketAddr::new(ip, PORT));
        self.datagrams[number] = Some(DatagramServer::start(node, &name, &sockets));
    }

    /// Ends a server's programs; the server's kernel then refuses connections.
    pub fn end(&mut self, number: usize) {
        self.origins[number] = None;
        self.datagrams[number] = None;
    }

    /// Loads decapsulators on every server, and limits the servers' segment size to leave room for the outer headers.
    pub fn load_decapsulators(&self) {
        for server in &self.site.servers {
            let pins = self.pins.path().join(server.name());
            let pins = pins.to_str().unwrap();
            let load = ["decap", "load", "--interface", "eth0", "--from", "any", "--pins", pins];
            let said = PacketBalancer::run_verb_on(server, &load);
            assert_eq!(said.code, 0, "{said:?}");
            self.site.limit_segment_size(server, self.site.layout().mtu - OUTER).unwrap();
        }
    }

    /// Starts the daemon and waits until it answers.
    pub fn start(&mut self) {
        let balancer = self.site.balancer.command(program());
        self.start_command(balancer);
    }

    /// As `start`, but through `program`, which runs the daemon; `words` are its first arguments.
    pub fn start_by(&mut self, program: &str, words: &[&str]) {
        let mut command = self.site.balancer.command(tools::program(program));
        command.args(words).arg(super::balancer::program());
        self.start_command(command);
    }

    /// Another process takes over from the daemon, which then ends.
    pub fn take_over(&mut self) {
        let mut command = self.site.balancer.command(program());
        command.arg("run").arg("--takeover");
        let next = ChildProcess::start(self.with_environment(command));
        let mut old = self.daemon.replace(next).unwrap();
        assert!(old.wait().success(), "{}", old.output());
        wait::until("the next one has the plane", || {
            let packets = self.try_status().and_then(|status| status.packets);
            packets.is_some_and(|one| one.restored && one.problem.is_none())
        });
    }

    /// Adds the test's configuration, and removes variables inherited from the environment of the test run.
    fn with_environment(&self, mut command: Command) -> Command {
        command.arg("-c").arg(self.dir.join("steelyard.toml"));
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID"] {
            command.env_remove(name);
        }
        command
    }

    fn start_command(&mut self, mut command: Command) {
        assert!(self.daemon.is_none(), "one daemon at a time");
        command.arg("run");
        let mut daemon = ChildProcess::start(self.with_environment(command));
        wait::until("steelyard run answers", || {
            let ended = daemon.try_wait();
            assert!(ended.is_none(), "steelyard run ended: {}", daemon.output());
            self.try_status().is_some()
        });
        self.daemon = Some(daemon);
    }

    pub fn daemon(&self) -> &ChildProcess {
        self.daemon.as_ref().unwrap()
    }

    /// Sends SIGKILL to the daemon, and waits for its end.
    pub fn kill9(&mut self) {
        let mut daemon = self.daemon.take().unwrap();
        daemon.signal(Signal::KILL);
        daemon.wait();
    }

    /// Runs `steelyard stop` with these arguments, and waits until the daemon has ended.
    pub fn stop(&mut self, words: &[&str]) {
        let mut daemon = self.daemon.take().unwrap();
        let said = self.run_verb(&[&["stop"], words].concat());
        assert_eq!(said.code, 0, "{said:?}\n{}", daemon.output());
        daemon.wait();
    }

    /// Reloads this configuration and waits until it is active.
    pub fn change(&mut self, change: impl FnOnce(&mut PacketConfig)) {
        let before = self.status().generation;
        change(&mut self.config);
        self.write();
        self.daemon().signal(Signal::HUP);
        wait::until(&format!("a generation after {before}"), || {
            let said = self.daemon().output();
            assert!(!said.contains("reload-failed"), "{said}");
            self.status().generation > before
        });
    }

    /// Changes the configuration by `steelyard apply`.
    pub fn apply(&mut self, change: impl FnOnce(&mut PacketConfig)) {
        change(&mut self.config);
        self.write();
        let file = self.dir.join("steelyard.toml");
        let said = self.run_verb(&["apply", file.to_str().unwrap()]);
        assert_eq!(said.code, 0, "{said:?}\n{}", self.daemon_output());
    }

    pub fn config(&self) -> &PacketConfig {
        &self.config
    }

    /// Writes the configuration without a reload.
    fn write(&self) {
        let text = self.config.text(&self.site, self.dir.path(), self.pins.path());
        self.dir.write("steelyard.toml", text);
    }

    /// The path of the BPF file system.
    pub fn pins(&self) -> &std::path::Path {
        self.pins.path()
    }

    /// Runs a command against this daemon.
    pub fn run_verb(&self, words: &[&str]) -> CommandOutput {
        let mut command = self.site.balancer.command(program());
        command.args(words).env("STEELYARD_SOCKET", self.dir.join("sock"));
        run_command(command)
    }

    /// Runs a command on a host of the site.
    pub fn run_verb_on(node: &NetworkNamespace, words: &[&str]) -> CommandOutput {
        let mut command = node.command(program());
        command.args(words);
        run_command(command)
    }

    fn try_status(&self) -> Option<Status> {
        self.runtime.block_on(self.api.status()).ok()
    }

    pub fn status(&self) -> Status {
        self.try_status().unwrap_or_else(|| panic!("no status"))
    }

    pub fn report(&self) -> Report {
        self.runtime.block_on(self.api.report(None)).unwrap_or_else(|e| panic!("no report: {e}"))
    }

    /// The packet counters, once the first counts exist.
    pub fn packets(&self) -> PacketsReport {
        wait::until_some("packets are counted", || self.report().packets)
    }

    /// Waits until both of two servers answer, because health verdicts may be outdated for a moment.
    pub fn wait_for_both_servers(&self, version: IpVersion) {
        wait::until("both servers answer", || self.curl(version, 8).len() == 2);
    }

    /// The number of events of this kind.
    pub fn count_events(&self, what: &str) -> usize {
        let events = self.runtime.block_on(self.api.events());
        let events = events.unwrap_or_else(|error| panic!("no events: {error}")).events;
        events.iter().filter(|event| event.kind == what).count()
    }

    /// Waits until every server of every pool is up, the programs are attached to the interfaces, and every neighbour
    /// is resolved.
    pub fn wait_until_all_up(&self) {
        wait::until("every server up", || {
            let status = self.status();
            let packets = serde_json::to_value(&status.packets).unwrap();
            let all = |list: &str, so: &dyn Fn(&serde_json::Value) -> bool| {
                packets[list].as_array().is_some_and(|all| !all.is_empty() && all.iter().all(so))
            };
            let stands = all("interfaces", &|one| one["mode"].is_string())
                && all("neighbours", &|one| one["state"] == "ok" || one["state"] == "local")
                && packets["generation"] == status.generation;
            if self.config.is_packets() && !stands {
                return false;
            }
            let mut servers = status.pools.iter().flat_map(|pool| &pool.servers);
            status.services.iter().all(|one| one.state.name() != "down")
                && servers.all(|server| server.state == ServerState::Up)
        });
    }

    /// HTTP load from the client over this many connections, with a pause after each response.
    pub fn load(
        &self,
        version: IpVersion,
        persist: ConnectionReuse,
        connections: usize,
    ) -> LoadRun {
        let target = version.service();
        let get = LoadProtocol::Http(HttpPlan::get("shop.example", "/"));
        let plan = LoadPlan {
            persist,
            pace: LoadModel::Closed { connections, think: Duration::from_millis(4) },
            timeout: wait::DEADLINE,
            grace: wait::DEADLINE,
            ..LoadPlan::new(target, get, connections)
        };
        let started = self.site.client.run_inside(|| LoadRun::start(plan)).unwrap();
        started.unwrap_or_else(|error| panic!("no load: {error}"))
    }

    /// Sends requests with curl, each on a new connection, and counts the responses by server.
    pub fn curl(&self, version: IpVersion, requests: usize) -> BTreeMap<String, usize> {
        let (by_name, answers) = self.curl_counts(version, requests);
        assert!(!by_name.contains_key(""), "{answers:?}\n{}", self.daemon_output());
        by_name
    }

    /// As `curl`, where requests may fail; failed requests are counted under an empty name.
    pub fn curl_any(&self, version: IpVersion, requests: usize) -> BTreeMap<String, usize> {
        self.curl_counts(version, requests).0
    }

    fn curl_counts(
        &self,
        version: IpVersion,
        requests: usize,
    ) -> (BTreeMap<String, usize>, CommandOutput) {
        let url = format!("http://{}/", version.service());
        let mut command = self.site.client.command(tools::program("curl"));
        command.args(["-sS", "--max-time", "20", "-H", "Connection: close"]);
        for _ in 0..requests {
            command.args(["-o", "/dev/null", "-w", "%{http_code} %header{x-origin}\\n", &url]);
        }
        let answers = run_command(command);
        let mut by_name = BTreeMap::new();
        for line in answers.stdout.lines() {
            let name = line.strip_prefix("200 ").unwrap_or_default();
            *by_name.entry(name.to_owned()).or_default() += 1;
        }
        (by_name, answers)
    }

    /// Sends datagrams of this size, each from another port, and counts the responses by server.
    pub fn datagrams(
        &self,
        version: IpVersion,
        times: usize,
        bytes: usize,
    ) -> BTreeMap<String, usize> {
        datagrams::send_datagrams(&self.site.client, version.service(), times, bytes)
    }

    /// The daemon's output, for messages of failed tests.
    pub fn daemon_output(&self) -> String {
        self.daemon.as_ref().map(ChildProcess::output).unwrap_or_default()
    }
}

/// Whether packets can be forwarded here; otherwise the reason is printed.
pub fn ready() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        crate::skip::skip("network namespaces and BPF programs need root");
    }
    root
}
