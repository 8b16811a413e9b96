//! Two hosts with several links between them. A daemon on each host has the bundle `up` over all links.

use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;
use std::time::Duration;

use api::types::{BundleStatus, LinkStatus};
use lab::link_emulation::{EmulatedLinkError, LinkShape, ParallelLinks};
use lab::net::{BpfFs, NamespaceError, NetworkNamespace, SysctlSetting};
use rustix::process::Signal;
use tests::e2e::balancer::program;
use tests::e2e::cli_environment::{CommandOutput, run_command};
use tests::e2e::dir::TestDir;
use tests::e2e::process::ChildProcess;
use tests::e2e::wait;
use tests::skip::skip;
use tokio::runtime::{Builder, Runtime};

/// The hosts' addresses on the bundle.
pub const CLIENT: [u8; 4] = [10, 50, 0, 1];
pub const SERVER: [u8; 4] = [10, 50, 0, 2];

/// The hosts' IPv6 addresses on the bundle.
pub const CLIENT6: Ipv6Addr = Ipv6Addr::new(0xfd50, 0, 0, 0, 0, 0, 0, 1);
pub const SERVER6: Ipv6Addr = Ipv6Addr::new(0xfd50, 0, 0, 0, 0, 0, 0, 2);

/// The two ends of the links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkEnd {
    Client,
    Server,
}

pub use LinkEnd::{Client, Server};

pub struct LinkHost {
    daemon: Option<ChildProcess>,
    api: api::ApiClient,
    pins: BpfFs,
    dir: TestDir,
}

pub struct LinkTopology {
    hosts: [LinkHost; 2],
    /// The network. It is declared after the daemons, which must be dropped first.
    pub lines: ParallelLinks,
    runtime: Runtime,
    bundle: String,
    count: u8,
    /// Whether links are configured by next hop only.
    hops: bool,
    /// Further keys of the last link.
    last: &'static str,
}

/// Whether to run the long variants, which yield reliable figures.
pub fn long() -> bool {
    std::env::var_os("STEELYARD_LONG").is_some()
}

/// A link with this one-way delay and rate, and a queue of 20 ms.
pub fn line(delay: Duration, mbit: u64) -> LinkShape {
    let bits_per_second = mbit * 1_000_000;
    let queue_bytes = bits_per_second / 8 / 50;
    LinkShape { delay, bits_per_second, queue_bytes, ..LinkShape::default() }
}

/// The largest packet of a link in bytes: `STEELYARD_MTU`, or Ethernet's.
pub fn mtu() -> u32 {
    let set = std::env::var("STEELYARD_MTU").ok();
    set.map_or(1_500, |set| set.parse().expect("STEELYARD_MTU is a number"))
}

/// The rate of a link in Mbit/s.
pub fn rate() -> u64 {
    let set = std::env::var("STEELYARD_RATE").ok();
    set.map_or(if long() { 500 } else { 40 }, |set| {
        set.parse().expect("STEELYARD_RATE is a number")
    })
}

impl LinkTopology {
    /// Starts both daemons and waits until all links are alive. `bundle`: further lines of the bundle, such as its
    /// policy. `None` without root.
    pub fn open(delays: &[Duration], bundle: &str) -> Option<LinkTopology> {
        LinkTopology::lossy(delays, 0, bundle)
    }

    /// As `open`, over links that lose one packet in `lose_every`; 0: none.
    pub fn lossy(delays: &[Duration], lose_every: u64, bundle: &str) -> Option<LinkTopology> {
        Some(LinkTopology::over(delays, lose_every, bundle)?.opened())
    }

    /// As `open`, with next hops in place of interfaces.
    pub fn by_hops(delays: &[Duration], bundle: &str) -> Option<LinkTopology> {
        Some(LinkTopology { hops: true, ..LinkTopology::over(delays, 0, bundle)? }.opened())
    }

    /// As `open`, with further keys of the last link.
    pub fn with_last(
        delays: &[Duration],
        bundle: &str,
        last: &'static str,
    ) -> Option<LinkTopology> {
        Some(LinkTopology { last, ..LinkTopology::over(delays, 0, bundle)? }.opened())
    }

    fn opened(mut self) -> LinkTopology {
        let world = &mut self;
        for who in [Client, Server] {
            world.start(who);
        }
        for who in [Client, Server] {
            wait::until("all links live and are measured", || {
                let status = world.status(who);
                status.state == "up" && status.links.iter().all(|link| link.round_trip_us.is_some())
            });
        }
        self
    }

    fn over(delays: &[Duration], lose_every: u64, bundle: &str) -> Option<LinkTopology> {
        let shape = |delay: &Duration| LinkShape { drop_every: lose_every, ..line(*delay, rate()) };
        let shapes: Vec<[LinkShape; 2]> =
            delays.iter().map(|delay| [shape(delay), shape(delay)]).collect();
        let lines = match ParallelLinks::open_for(&shapes, mtu()) {
            Ok(lines) => lines,
            Err(EmulatedLinkError::Namespace(NamespaceError::NotRoot)) => {
                skip("namespaces need root");
                return None;
            }
            Err(error) => panic!("{error:?}"),
        };
        for host in [&lines.client, &lines.server] {
            host.write_sysctls(&[
                SysctlSetting { path: "net/ipv4/conf/all/rp_filter", value: "0" },
                SysctlSetting { path: "net/ipv4/conf/default/rp_filter", value: "0" },
                SysctlSetting { path: "net/ipv6/conf/all/accept_dad", value: "0" },
                SysctlSetting { path: "net/ipv6/conf/default/accept_dad", value: "0" },
            ])
            .unwrap();
            for number in 1..=delays.len() {
                host.write_sysctls(&[SysctlSetting {
                    path: &format!("net/ipv4/conf/eth{number}/rp_filter"),
                    value: "0",
                }])
                .unwrap();
            }
        }
        for (host, end) in [(&lines.client, 1), (&lines.server, 2)] {
            for number in 1..=delays.len() {
                host.ip(&format!("addr add fd41:{number}::{end}/64 dev eth{number}\n")).unwrap();
            }
        }
        let hosts = [(); 2].map(|()| {
            let dir = TestDir::new();
            let api = api::ApiClient::new(dir.join("sock"));
            LinkHost { daemon: None, api, pins: BpfFs::mount().unwrap(), dir }
        });
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let count = u8::try_from(delays.len()).unwrap();
        Some(LinkTopology {
            hosts,
            lines,
            runtime,
            bundle: bundle.to_owned(),
            count,
            hops: false,
            last: "",
        })
    }

    /// Starts a daemon and waits until it answers its socket.
    pub fn start(&mut self, who: LinkEnd) {
        let text = self.text(who);
        self.launch(who, &text);
        wait::until("steelyard run answers with its bundle", || {
            let daemon = self.host(who).daemon.as_mut().unwrap();
            assert!(daemon.try_wait().is_none(), "steelyard run ended: {}", daemon.output());
            self.try_status(who).is_some()
        });
    }

    fn launch(&mut self, who: LinkEnd, text: &str) {
        let file = self.write(who, "steelyard.toml", text);
        let mut command = self.namespace(who).command(program());
        command.args(["run", "-c"]).arg(file);
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID"] {
            command.env_remove(name);
        }
        self.put(who, ChildProcess::start(command));
    }

    /// Starts a daemon with another configuration, and waits until it answers.
    pub fn start_with(&mut self, who: LinkEnd, text: &str) {
        self.launch(who, text);
        wait::until("steelyard run answers", || {
            let daemon = self.host(who).daemon.as_mut().unwrap();
            assert!(daemon.try_wait().is_none(), "steelyard run ended: {}", daemon.output());
            let at = usize::from(who == Server);
            self.runtime.block_on(self.hosts[at].api.status()).is_ok()
        });
    }

    /// Starts a daemon with an invalid configuration, and returns its output.
    pub fn ends(&mut self, who: LinkEnd, text: &str) -> String {
        self.launch(who, text);
        let mut daemon = self.host(who).daemon.take().unwrap();
        let ended = daemon.wait();
        assert_eq!(ended.code(), Some(1), "{}", daemon.output());
        daemon.output()
    }

    /// Sets the daemon process of a host.
    pub fn put(&mut self, who: LinkEnd, daemon: ChildProcess) {
        self.host(who).daemon = Some(daemon);
    }

    pub fn pid(&mut self, who: LinkEnd) -> u32 {
        self.host(who).daemon.as_ref().unwrap().pid()
    }

    /// Writes a file into a host's directory.
    pub fn write(&mut self, who: LinkEnd, name: &str, text: &str) -> PathBuf {
        self.host(who).dir.write(name, text)
    }

    /// The directory of a host's pins.
    pub fn pins(&mut self, who: LinkEnd) -> PathBuf {
        self.host(who).pins.path().to_owned()
    }

    /// The configuration of a host with the client's pins.
    pub fn with_pins_of_client(&mut self, who: LinkEnd) -> String {
        let own = self.pins(who);
        let client = self.pins(Client);
        self.text(who).replace(&own.display().to_string(), &client.display().to_string())
    }

    /// Runs `steelyard apply` with this configuration.
    pub fn apply(&mut self, who: LinkEnd, text: &str) -> CommandOutput {
        let file = self.write(who, "applied.toml", text);
        self.verb(who, &["apply", &file.display().to_string()])
    }

    /// A link's entry in the configuration.
    fn link(&self, who: LinkEnd, number: u8) -> String {
        let [near, far] = ParallelLinks::addresses(number);
        let (via, six) = if who == Client { (far, 2) } else { (near, 1) };
        if self.hops {
            return format!("\"{via}\"");
        }
        let more = if number == self.count { self.last } else { "" };
        format!(
            "{{ interface = \"eth{number}\", via = [\"{via}\", \"fd41:{number}::{six}\"]{more} }}"
        )
    }

    /// The configuration of a host.
    pub fn text(&mut self, who: LinkEnd) -> String {
        let links = (1..=self.count).map(|number| self.link(who, number));
        let links = links.collect::<Vec<_>>().join(", ");
        let (own, peer) = if who == Client { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
        let own = IpAddr::from(own);
        let peer = IpAddr::from(peer);
        let (own6, peer6) = if who == Client { (CLIENT6, SERVER6) } else { (SERVER6, CLIENT6) };
        let bundle = self.bundle.clone();
        let host = self.host(who);
        let dir = host.dir.path().display();
        let pins = host.pins.path().join("plane");
        format!(
            "[global]\nworkers = 1\nhistory = \"off\"\naccess-log = \"off\"\n\
             [global.control]\nsocket = \"{dir}/sock\"\nstate = \"{dir}/state\"\n\
             [packets]\npins = \"{}\"\n\
             [link.up]\nlinks = [{links}]\naddresses = [\"{own}\", \"{own6}\"]\nroutes = [\"{peer}/32\", \"{peer6}/128\"]\n\
             {bundle}\n",
            pins.display(),
        )
    }

    /// Sends SIGKILL to a daemon; its host stays.
    pub fn kill9(&mut self, who: LinkEnd) {
        let mut daemon = self.host(who).daemon.take().unwrap();
        daemon.signal(Signal::KILL);
        daemon.wait();
    }

    /// Sends SIGTERM to a daemon, before another one starts.
    pub fn stop(&mut self, who: LinkEnd) {
        let mut daemon = self.host(who).daemon.take().unwrap();
        daemon.signal(Signal::TERM);
        daemon.wait();
    }

    /// Waits until a daemon has ended.
    pub fn ended(&mut self, who: LinkEnd) {
        self.host(who).daemon.take().unwrap().wait();
    }

    /// Runs a command of the program at this host.
    pub fn verb(&mut self, who: LinkEnd, words: &[&str]) -> CommandOutput {
        let mut command = self.namespace(who).command(program());
        command.args(words).env("STEELYARD_SOCKET", self.host(who).dir.join("sock"));
        run_command(command)
    }

    /// The output of a daemon.
    pub fn daemon_output(&mut self, who: LinkEnd) -> String {
        self.host(who).daemon.as_ref().unwrap().output()
    }

    /// Waits until the output of a daemon contains a text, which may follow a moment after what its API reports.
    pub fn wait_for_output(&mut self, who: LinkEnd, text: &str) {
        wait::until(text, || self.daemon_output(who).contains(text));
    }

    /// Processor time that a daemon's threads of this name have used.
    pub fn used(&mut self, who: LinkEnd, thread: &str) -> Duration {
        let pid = self.host(who).daemon.as_ref().unwrap().pid();
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
        let nanoseconds = tasks.map(|task| {
            let task = task.unwrap().path();
            let name = std::fs::read_to_string(task.join("comm")).unwrap();
            let used = std::fs::read_to_string(task.join("schedstat")).unwrap();
            let first = used.split(' ').next().unwrap().parse::<u64>().unwrap();
            if name.trim() == thread { first } else { 0 }
        });
        Duration::from_nanos(nanoseconds.sum())
    }

    pub fn namespace(&self, who: LinkEnd) -> &NetworkNamespace {
        match who {
            Client => &self.lines.client,
            Server => &self.lines.server,
        }
    }

    fn host(&mut self, who: LinkEnd) -> &mut LinkHost {
        &mut self.hosts[usize::from(who == Server)]
    }

    /// The bundle's status at a host, if its daemon answers.
    pub fn try_status(&self, who: LinkEnd) -> Option<BundleStatus> {
        let api = &self.hosts[usize::from(who == Server)].api;
        self.runtime.block_on(api.status()).ok()?.links.into_iter().next()
    }

    /// The bundle's status at a host.
    pub fn status(&self, who: LinkEnd) -> BundleStatus {
        self.try_status(who).expect("the daemon answers")
    }

    /// The bytes that the client sent over each link.
    pub fn bytes(&self) -> Vec<u64> {
        self.status(Client).links.iter().map(|link: &LinkStatus| link.bytes).collect()
    }
}
