//! A namespace with a balancer that serves a zone at 127.0.0.1:53, and the tools that query it.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use lab::net::NetworkNamespace;
use lab::origin::{OriginKind, OriginOptions, TestOrigin};
use rustix::process::geteuid;
use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::dir::TestDir;
use tests::e2e::process::ChildProcess;
use tests::e2e::tools::program;
use tests::e2e::wait;
use tests::skip::skip;

pub const AT: &str = "127.0.0.1:53";
const RESOLVER: u16 = 5300;

/// The listener, the zone, and names for the pool `web`.
pub const ZONE: &str = r#"
[names]
listen = "127.0.0.1:53"
idle = "2s"
connections = 8
[zone."gslb.example"]
nameservers = ["ns.gslb.example"]
ttl = "1s"
negative-ttl = "1s"
[name."ns.gslb.example"]
addresses = "127.0.0.1"
[name."www.gslb.example"]
pool = "web"
srv = "_http._tcp"
https = ["h2", "http/1.1"]
[name."alias.gslb.example"]
cname = "www.gslb.example"
[name."near.gslb.example"]
addresses = [{ name = "east", address = "192.0.2.1" }, { name = "west", address = ["192.0.2.2", "2001:db8::2"] }]
policy = "nearest"
near = [{ client = "198.51.100.0/24", prefer = "east" }, { client = "127.0.0.0/8", prefer = "west" }]
[name."many.gslb.example"]
addresses = [
  "192.0.2.10", "192.0.2.11", "192.0.2.12", "192.0.2.13", "192.0.2.14", "192.0.2.15", "192.0.2.16", "192.0.2.17",
  "192.0.2.18", "192.0.2.19", "192.0.2.20", "192.0.2.21", "192.0.2.22", "192.0.2.23", "192.0.2.24", "192.0.2.25",
  "192.0.2.26", "192.0.2.27", "192.0.2.28", "192.0.2.29", "192.0.2.30", "192.0.2.31", "192.0.2.32", "192.0.2.33",
  "192.0.2.34", "192.0.2.35", "192.0.2.36", "192.0.2.37", "192.0.2.38", "192.0.2.39", "192.0.2.40", "192.0.2.41",
]
answers = 32
"#;

/// Two origins behind a balancer, in a namespace.
pub struct NameServerSetup {
    pub balancer: TestBalancer,
    /// The servers: `a` at 127.0.0.11, `b` at 127.0.0.12.
    pub origins: Vec<Option<TestOrigin>>,
    pub namespace: NetworkNamespace,
    _dir: TestDir,
    resolver: Option<ChildProcess>,
}

impl NameServerSetup {
    /// Starts everything but the resolver. `None` means that the test was skipped.
    pub fn open(zone: &str) -> Option<NameServerSetup> {
        if !geteuid().is_root() {
            skip("a namespace of its own needs root");
            return None;
        }
        let namespace = NetworkNamespace::new("names").unwrap();
        let origin = |(name, host): (&str, u8)| {
            let listen = SocketAddr::from(([127, 0, 0, host], 8080));
            let options =
                OriginOptions { listen, ..OriginOptions::new(name, OriginKind::Http { body: 64 }) };
            Some(namespace.run_inside(|| TestOrigin::start(options)).unwrap().unwrap())
        };
        let origins: Vec<Option<TestOrigin>> =
            [("a", 11), ("b", 12)].into_iter().map(origin).collect();
        let balancer = TestBalancer::start_at(&namespace, &setup(zone));
        let world =
            NameServerSetup { balancer, origins, namespace, _dir: TestDir::new(), resolver: None };
        wait::until("both servers are up", || {
            ["a", "b"]
                .iter()
                .all(|name| world.balancer.server(name).state == model::snapshot::ServerState::Up)
        });
        wait::until("names are answered", || {
            world.dig(&["ns.gslb.example", "A", "+short"]) == "127.0.0.1"
        });
        Some(world)
    }

    /// dig's output for a query to the daemon.
    pub fn dig(&self, arguments: &[&str]) -> String {
        self.run("dig", &[&["@127.0.0.1", "-p", "53", "+tries=3", "+time=5"], arguments].concat())
    }

    pub fn kdig(&self, arguments: &[&str]) -> String {
        self.run("kdig", &[&["@127.0.0.1", "-p", "53", "+retry=3"], arguments].concat())
    }

    pub fn steelyard(&self, arguments: &[&str]) -> String {
        let socket = self.balancer.dir().join("sock");
        let socket = socket.to_string_lossy().into_owned();
        let program = tests::e2e::balancer::program();
        self.run(&program.to_string_lossy(), &[arguments, &["--socket", &socket]].concat())
    }

    fn run(&self, tool: &str, arguments: &[&str]) -> String {
        let file = if tool.contains('/') { tool.into() } else { program(tool) };
        let output = self.namespace.command(file).args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{tool} {arguments:?}: {text}\n{error}");
        text
    }

    /// Starts a resolver that forwards queries for the zone to the daemon.
    pub fn resolve(&mut self) {
        let dir = self._dir.path().display().to_string();
        let text = format!(
            "server:\n interface: 127.0.0.1\n port: {RESOLVER}\n do-not-query-localhost: no\n do-daemonize: no\n \
             username: \"\"\n chroot: \"\"\n directory: \"{dir}\"\n pidfile: \"{dir}/pid\"\n use-syslog: no\n \
             module-config: \"iterator\"\n access-control: 127.0.0.0/8 allow\n use-caps-for-id: yes\n \
             num-threads: 1\nremote-control:\n control-enable: no\n\
             stub-zone:\n name: \"gslb.example\"\n stub-addr: 127.0.0.1@53\n stub-prime: no\n"
        );
        let file = self._dir.write("unbound.conf", text);
        let mut command = self.namespace.command(program("unbound"));
        command.args(["-d", "-c"]).arg(file);
        self.resolver = Some(ChildProcess::start(command));
        wait::until("the resolver answers", || {
            self.resolved("ns.gslb.example", "A").contains("127.0.0.1")
        });
    }

    /// The answer section of the resolver's response. After a slow response on a busy machine the resolver returns
    /// SERVFAIL for a while, so the query is repeated.
    pub fn resolved(&self, name: &str, kind: &str) -> String {
        let port = RESOLVER.to_string();
        let shown = ["+noall", "+comments", "+answer"];
        wait::until_some("an answer of the resolver", || {
            let mut command = self.namespace.command(program("dig"));
            command.args(["@127.0.0.1", "-p", &port, "+tries=1", "+time=5"]).args(shown);
            let output = command.args([name, kind]).output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let has = |status: &str| text.contains(&format!("status: {status},"));
            let lines = text.lines().filter(|line| !line.starts_with(';') && !line.is_empty());
            let answer = || lines.map(|line| format!("{line}\n")).collect();
            (has("NOERROR") || has("NXDOMAIN")).then(answer)
        })
    }

    /// A UDP socket of a client inside the namespace.
    pub fn socket(&self) -> UdpSocket {
        let socket = self.namespace.run_inside(|| UdpSocket::bind("127.0.0.1:0")).unwrap().unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        socket
    }
}

/// The configuration: an HTTP pool of two servers with health checks, and the zone.
pub fn setup(zone: &str) -> BalancerConfig {
    BalancerConfig::http(&["127.0.0.11:8080".parse().unwrap(), "127.0.0.12:8080".parse().unwrap()])
        .pool("probe = { http = \"/\", interval = \"1s\", timeout = \"1s\", rise = 1, fall = 2 }")
        .quiet()
        .with_tables(zone)
}
