//! A host with a daemon, a machine behind it, two routers, and a server beyond both.
//!
//! ```text
//!                      ┌ eth1 ── first router ──┐
//!  inside ── lan0 host │                        ├ server
//!                      └ eth2 ── second router ─┘
//! ```
//! Only the host has a route to the machine inside.

use std::net::IpAddr;

use api::types::{UplinkStatus, UplinksStatus};
use lab::net::{BpfFs, NamespaceError, NetworkNamespace, SysctlSetting};
use rustix::process::Signal;
use tests::e2e::balancer::program;
use tests::e2e::cli_environment::{CommandOutput, run_command};
use tests::e2e::dir::TestDir;
use tests::e2e::process::ChildProcess;
use tests::e2e::wait;
use tests::skip::skip;
use tokio::runtime::{Builder, Runtime};

/// The configuration of both uplinks for most tests.
pub const BOTH: &str = "[uplink.one]\ninterface = \"eth1\"\nvia = \"10.61.1.1\"\nweight = 3\nPROBE4\n\
                        [uplink.two]\ninterface = \"eth2\"\nvia = \"10.61.2.1\"\nPROBE4\n";
/// The configuration of both uplinks for both IP families.
pub const DUAL: &str = "[uplink.one]\ninterface = \"eth1\"\nvia = [\"10.61.1.1\", \"fd61:1::1\"]\nPROBE\n\
                        [uplink.two]\ninterface = \"eth2\"\nvia = [\"10.61.2.1\", \"fd61:2::1\"]\nPROBE\n";
const TERMS: &str = "interval = \"100ms\", timeout = \"100ms\", rise = 2, fall = 3";

/// The host's address on an uplink.
pub fn own(uplink: u8) -> IpAddr {
    IpAddr::from([10, 61, uplink, 10])
}

/// The host's IPv6 address on an uplink.
pub fn own6(uplink: u16) -> IpAddr {
    IpAddr::from([0xfd61, uplink, 0, 0, 0, 0, 0, 0x10])
}

pub struct UplinkTopology {
    daemon: Option<ChildProcess>,
    pub inside: NetworkNamespace,
    /// The host of the daemon.
    pub host: NetworkNamespace,
    /// The first router and the second.
    pub routers: [NetworkNamespace; 2],
    pub server: NetworkNamespace,
    api: api::ApiClient,
    runtime: Runtime,
    pins: BpfFs,
    dir: TestDir,
}

impl UplinkTopology {
    /// The network without a daemon. `None` without root.
    pub fn new() -> Option<UplinkTopology> {
        let made = |role| match NetworkNamespace::new(role) {
            Ok(namespace) => Some(namespace),
            Err(NamespaceError::NotRoot) => None,
            Err(error) => panic!("{error:?}"),
        };
        let Some(host) = made("host") else {
            skip("namespaces need root");
            return None;
        };
        let inside = made("inside")?;
        let server = made("server")?;
        let routers = [made("first")?, made("second")?];
        for one in [&host, &inside, &server, &routers[0], &routers[1]] {
            one.write_sysctls(&[
                SysctlSetting { path: "net/ipv4/ip_forward", value: "1" },
                SysctlSetting { path: "net/ipv6/conf/all/forwarding", value: "1" },
                SysctlSetting { path: "net/ipv4/conf/all/rp_filter", value: "0" },
                SysctlSetting { path: "net/ipv4/conf/default/rp_filter", value: "0" },
                SysctlSetting { path: "net/ipv6/conf/default/accept_dad", value: "0" },
            ])
            .unwrap();
        }
        lay(&host, &inside, &server, &routers);
        let dir = TestDir::new();
        let api = api::ApiClient::new(dir.join("sock"));
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let pins = BpfFs::mount().unwrap();
        Some(UplinkTopology {
            daemon: None,
            inside,
            host,
            routers,
            server,
            api,
            runtime,
            pins,
            dir,
        })
    }

    /// The network with a daemon whose uplinks are all up.
    pub fn open(uplinks: &str) -> Option<UplinkTopology> {
        let mut world = UplinkTopology::new()?;
        world.start(uplinks);
        wait::until("all uplinks answer", || {
            world.all().is_some_and(|all| all.uplinks.iter().all(|one| one.round_trip_us.is_some()))
        });
        Some(world)
    }

    /// Starts a daemon and waits until it answers with its uplinks.
    pub fn start(&mut self, uplinks: &str) {
        let file = self.file(uplinks);
        let mut command = self.host.command(program());
        command.args(["run", "-c", &file]);
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID"] {
            command.env_remove(name);
        }
        self.daemon = Some(ChildProcess::start(command));
        wait::until("steelyard run answers with its uplinks", || {
            let daemon = self.daemon.as_mut().unwrap();
            assert!(daemon.try_wait().is_none(), "steelyard run ended: {}", daemon.output());
            self.all().is_some()
        });
    }

    /// Applies a changed configuration.
    pub fn apply(&self, uplinks: &str) {
        let file = self.file(uplinks);
        let said = self.verb(&["apply", &file]);
        assert_eq!(said.code, 0, "{said:?}");
    }

    /// A file with these uplinks.
    pub fn file(&self, uplinks: &str) -> String {
        let dir = self.dir.path().display();
        let pins = self.pins.path().join("plane");
        let echo4 = format!("probe = {{ echo = \"198.51.100.1\", {TERMS} }}");
        let echo = format!("probe = {{ echo = [\"198.51.100.1\", \"2001:db8:e::1\"], {TERMS} }}");
        let uplinks =
            uplinks.replace("PROBE4", &echo4).replace("PROBE", &echo).replace("TERMS", TERMS);
        let text = format!(
            "[global]\nworkers = 1\nhistory = \"off\"\naccess-log = \"off\"\n\
             [global.control]\nsocket = \"{dir}/sock\"\nstate = \"{dir}/state\"\n\
             [packets]\npins = \"{}\"\n{uplinks}\n",
            pins.display(),
        );
        self.dir.write("steelyard.toml", text).display().to_string()
    }

    /// Sends a signal to the daemon, and waits for its end.
    pub fn end(&mut self, signal: Signal) {
        let mut daemon = self.daemon.take().unwrap();
        daemon.signal(signal);
        daemon.wait();
    }

    /// Runs `steelyard stop`, and waits until the daemon has ended.
    pub fn stop(&mut self) {
        assert_eq!(self.verb(&["stop"]).code, 0);
        self.daemon.take().unwrap().wait();
    }

    /// Runs a command of the program at the host.
    pub fn verb(&self, words: &[&str]) -> CommandOutput {
        let mut command = self.host.command(program());
        command.args(words).env("STEELYARD_SOCKET", self.dir.join("sock"));
        run_command(command)
    }

    /// The output of the daemon.
    pub fn daemon_output(&self) -> String {
        self.daemon.as_ref().unwrap().output()
    }

    /// Waits until the daemon's output contains a text, which may follow a moment after the API's report.
    pub fn wait_for_output(&self, what: &str) {
        wait::until(what, || self.daemon_output().contains(what));
    }

    /// The status of all uplinks, if the daemon answers.
    pub fn all(&self) -> Option<UplinksStatus> {
        self.runtime.block_on(self.api.status()).ok()?.uplinks
    }

    /// The status of one uplink in one IP family.
    pub fn one(&self, name: &str, family: &str) -> UplinkStatus {
        let all = self.all().expect("the daemon answers");
        let found = all.uplinks.into_iter().find(|one| one.name == name && one.family == family);
        found.expect("the uplink is there")
    }

    /// Waits until an uplink is in this state in IPv4.
    pub fn until(&self, name: &str, state: &str) {
        wait::until(&format!("{name} is {state}"), || self.one(name, "ipv4").state == state);
    }

    /// Sets whether a router forwards packets.
    pub fn forwards(&self, router: usize, forwards: bool) {
        let word = if forwards { "1" } else { "0" };
        let settings = [
            SysctlSetting { path: "net/ipv4/ip_forward", value: word },
            SysctlSetting { path: "net/ipv6/conf/all/forwarding", value: word },
        ];
        self.routers[router].write_sysctls(&settings).unwrap();
    }

    /// Rules, routes and NAT rules at the host, as text.
    pub fn traces(&self) -> String {
        let run = |line: &str| {
            let mut words = line.split(' ');
            let mut command = self.host.command(words.next().unwrap());
            command.args(words);
            run_command(command).stdout
        };
        let routes = ["ip route show table all", "ip -6 route show table all"].map(run).concat();
        // Cached routes of the kernel are not the daemon's.
        let routes: Vec<&str> = routes.lines().filter(|line| !line.contains("cache")).collect();
        let rules = ["ip rule show", "ip -6 rule show"].map(run).concat();
        format!("{rules}{}\n{}", routes.join("\n"), run("nft list ruleset"))
    }
}

fn lay(
    host: &NetworkNamespace,
    inside: &NetworkNamespace,
    server: &NetworkNamespace,
    routers: &[NetworkNamespace; 2],
) {
    let cable = |a: &NetworkNamespace, end: &str, b: &NetworkNamespace, other: &str| {
        a.ip(&format!(
            "link add {end} type veth peer name {other} netns {}\nlink set {end} up\n",
            b.name()
        ))
        .unwrap();
        b.ip(&format!("link set {other} up\n")).unwrap();
    };
    let address = |at: &NetworkNamespace, device: &str, v4: &str, v6: &str| {
        at.ip(&format!("addr add {v4} dev {device}\naddr add {v6} dev {device} nodad\n")).unwrap();
    };
    cable(host, "lan0", inside, "eth0");
    address(host, "lan0", "10.60.0.1/24", "fd60::1/64");
    address(inside, "eth0", "10.60.0.2/24", "fd60::2/64");
    inside.ip("route add default via 10.60.0.1\nroute add default via fd60::1\n").unwrap();
    address(server, "lo", "198.51.100.1/32", "2001:db8:e::1/128");
    address(server, "lo", "198.51.100.2/32", "2001:db8:e::2/128");
    for (router, number) in routers.iter().zip(1..) {
        cable(host, &format!("eth{number}"), router, "near");
        cable(router, "far", server, &format!("eth{number}"));
        address(
            host,
            &format!("eth{number}"),
            &format!("10.61.{number}.10/24"),
            &format!("fd61:{number}::10/64"),
        );
        address(router, "near", &format!("10.61.{number}.1/24"), &format!("fd61:{number}::1/64"));
        address(router, "far", &format!("10.62.{number}.1/24"), &format!("fd62:{number}::1/64"));
        address(
            server,
            &format!("eth{number}"),
            &format!("10.62.{number}.2/24"),
            &format!("fd62:{number}::2/64"),
        );
        let beyond = format!(
            "route add 198.51.100.0/24 via 10.62.{number}.2\nroute add 2001:db8:e::/64 via fd62:{number}::2\n"
        );
        router.ip(&beyond).unwrap();
        let back = format!(
            "route add 10.61.{number}.0/24 via 10.62.{number}.1\nroute add fd61:{number}::/64 via fd62:{number}::1\n"
        );
        server.ip(&back).unwrap();
    }
}
