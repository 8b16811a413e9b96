//! A site with a real nginx, iperf3 and a datagram echo on every server, and a service whose forwarding method changes.
//!
//! This module reports what arrives; the tests check it.

use std::net::IpAddr;

use lab::net::{SiteHost, SiteLayout};
use tests::e2e::cli_environment::run_command;
use tests::e2e::datagrams::DatagramServer;
use tests::e2e::nginx::{Nginx, PAGE};
use tests::e2e::packet_balancer::{BOTH, IpVersion, PORT, PacketBalancer};
use tests::e2e::packet_config::PacketConfig;
use tests::e2e::process::ChildProcess;
use tests::e2e::tools::program;
use tests::e2e::wait;

/// The port of iperf3.
const BULK: u16 = 5201;

/// A forwarding method and the lines that its service needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardMethodCase {
    /// The value of the key `forward`.
    pub forward: &'static str,
    /// Lines of the service.
    pub service: &'static str,
}

pub const MAC: ForwardMethodCase = ForwardMethodCase { forward: "mac", service: "" };
pub const NAT: ForwardMethodCase = ForwardMethodCase { forward: "nat", service: "" };
/// IP in IP.
pub const IPIP: ForwardMethodCase =
    ForwardMethodCase { forward: "tunnel", service: "tunnel = \"ipip\"\n" };
pub const GRE: ForwardMethodCase =
    ForwardMethodCase { forward: "tunnel", service: "tunnel = \"gre\"\n" };
pub const GUE: ForwardMethodCase =
    ForwardMethodCase { forward: "tunnel", service: "tunnel = \"gue\"\n" };
pub const METHODS: [ForwardMethodCase; 5] = [MAC, NAT, IPIP, GRE, GUE];

pub struct PacketTopology {
    pub plane: PacketBalancer,
    nginx: Vec<Nginx>,
    _bulk: ChildProcess,
    _datagrams: Vec<DatagramServer>,
    held: bool,
}

impl PacketTopology {
    /// Builds the site with a service of the method `mac`. `packets`: lines of `[packets]`.
    pub fn open(layout: &SiteLayout, packets: &str) -> PacketTopology {
        let servers: Vec<usize> =
            (0..usize::from(layout.local_servers + layout.remote_servers)).collect();
        let words =
            PacketConfig::new("mac", &servers).packets(packets).with_tables(&bulk(layout, MAC));
        let mut plane = PacketBalancer::open_without_daemon(layout, words);
        let nodes = || plane.site.servers.iter().enumerate();
        let nginx = nodes().map(|(number, node)| serve(node, number)).collect();
        let echo = |(number, node): (usize, &SiteHost)| {
            let ips = BOTH
                .into_iter()
                .flat_map(|version| [version.host_address(node), version.service().ip()]);
            let sockets: Vec<_> = ips.map(|ip: IpAddr| (ip, PORT).into()).collect();
            DatagramServer::start(node, &format!("server{number}"), &sockets)
        };
        let datagrams = nodes().map(echo).collect();
        let mut iperf = plane.site.servers[0].command(program("iperf3"));
        iperf.args(["-s", "-p", &BULK.to_string(), "--forceflush"]);
        let iperf = ChildProcess::start(iperf);
        wait::until("iperf3 listens", || iperf.output().contains("listening"));
        plane.load_decapsulators();
        plane.start();
        plane.wait_until_all_up();
        PacketTopology { plane, nginx, _bulk: iperf, _datagrams: datagrams, held: true }
    }

    /// Changes the service's method. Servers have the service's address if the method needs it.
    pub fn forward_by(&mut self, method: ForwardMethodCase) {
        self.hold(method.forward != "nat");
        let more = bulk(self.plane.site.layout(), method);
        let words = self.plane.config();
        if (words.forward, words.service.as_str()) == (method.forward, method.service) {
            return;
        }
        self.plane.change(|words| {
            words.forward = method.forward;
            method.service.clone_into(&mut words.service);
            words.extra_tables = more;
        });
        self.plane.wait_until_all_up();
    }

    fn hold(&mut self, holds: bool) {
        if self.held != holds {
            for server in &self.plane.site.servers {
                self.plane.site.assign_service_addresses(server, holds).unwrap();
            }
            self.held = holds;
        }
    }

    /// Downloads a page of three megabytes.
    pub fn downloads(&self, version: IpVersion) {
        let mut curl = self.plane.site.client.command(program("curl"));
        let url = format!("http://{}/page", version.service());
        let write = ["-o", "/dev/null", "-w", "%{http_code} %{size_download}"];
        curl.args(["-sS", "--max-time", "25", "-g"]).args(write).arg(&url);
        let answer = run_command(curl);
        let told = || format!("{version:?}: {answer:?}\n{}", self.failure_report());
        assert_eq!(answer.stdout, format!("200 {PAGE}"), "{}", told());
    }

    /// As `downloads`, in the other direction.
    pub fn uploads(&self, version: IpVersion, name: &str) {
        let file = self.plane.dir().write("upload", self.nginx[0].page_bytes());
        let mut curl = self.plane.site.client.command(program("curl"));
        let url = format!("http://{}/upload/{name}", version.service());
        curl.args(["-sS", "--max-time", "25", "-g", "-o", "/dev/null", "-w", "%{http_code}", "-T"]);
        let answer = {
            curl.arg(file).arg(&url);
            run_command(curl)
        };
        assert_eq!(answer.stdout, "201", "{version:?}: {answer:?}\n{}", self.failure_report());
        let stored = self.nginx.iter().any(|nginx| {
            nginx.uploaded_if_any(name).is_some_and(|bytes| bytes == self.nginx[0].page_bytes())
        });
        assert!(stored, "{version:?}: another file than was sent");
    }

    /// The client's address as nginx sees it.
    pub fn seen(&self, version: IpVersion) -> IpAddr {
        let url = format!("http://{}/who", version.service());
        let mut curl = self.plane.site.client.command(program("curl"));
        curl.args(["-sS", "--max-time", "20", "-g", &url]);
        let answer = run_command(curl);
        assert_eq!(answer.code, 0, "{answer:?}\n{}", self.failure_report());
        answer.stdout.trim().parse().unwrap()
    }

    /// Runs iperf3 to the server and back. Returns the received bytes.
    pub fn bulk(&self, version: IpVersion) -> [f64; 2] {
        [&[][..], &["-R"]].map(|direction| {
            let ip = version.service().ip().to_string();
            // iperf3's server accepts one client at a time, and may still be busy with the previous one.
            let answer = wait::until_some("iperf3's server takes a client", || {
                let mut iperf = self.plane.site.client.command(program("iperf3"));
                // Small buffers: iperf3 does not count bytes that its server has not read when the client ends.
                iperf.args(["-c", &ip, "-p", &BULK.to_string(), "-n", "4M", "-w", "256K", "-J"]);
                iperf.args(["--connect-timeout", "10000"]).args(direction);
                Some(run_command(iperf)).filter(|it| !it.stdout.contains("the server is busy"))
            });
            let told =
                || format!("{version:?} {direction:?}: {answer:?}\n{}", self.failure_report());
            let report: serde_json::Value = serde_json::from_str(&answer.stdout)
                .unwrap_or_else(|error| panic!("{error}: {}", told()));
            let bytes = report["end"]["sum_received"]["bytes"].as_f64();
            bytes.unwrap_or_else(|| panic!("{}", told()))
        })
    }

    /// Waits until every packet that arrived is in exactly one outcome.
    pub fn is_balanced(&self) {
        wait::until("every packet is accounted for", || {
            self.plane.report().packets.is_some_and(|packets| packets.unaccounted == 0)
        });
    }

    /// The daemon's output and the plane's counters, for messages of failed tests.
    pub fn failure_report(&self) -> String {
        let outcomes = self.plane.report().packets.map(|packets| packets.outcomes);
        let outcomes = outcomes.unwrap_or_default();
        let counts: Vec<String> =
            outcomes.iter().map(|one| format!("{} {}", one.name, one.count.total)).collect();
        format!("{}\n{}", self.plane.daemon_output(), counts.join(", "))
    }
}

fn serve(node: &SiteHost, number: usize) -> Nginx {
    let who = "location = /who { return 200 \"$remote_addr\\n\"; }";
    Nginx::inside(node.name(), &format!("server{number}"), "80; listen [::]:80", who)
}

/// Additional services for iperf3, whose two connections must reach the same server, the first local one.
fn bulk(layout: &SiteLayout, method: ForwardMethodCase) -> String {
    if layout.local_servers == 0 {
        return String::new();
    }
    let ForwardMethodCase { forward, service } = method;
    let mut more = String::new();
    for (name, listen, server) in [
        ("bulk4", "198.51.100.10:5201", "10.10.0.11:5201"),
        ("bulk6", "[2001:db8:e::10]:5201", "[2001:db8:a::b]:5201"),
    ] {
        more.push_str(&format!(
            "[service.{name}]\nlisten = \"{listen}\"\nforward = \"{forward}\"\n{service}pool = \"{name}\"\n\
             [pool.{name}]\nservers = [\"{server}\"]\n"
        ));
    }
    more
}
