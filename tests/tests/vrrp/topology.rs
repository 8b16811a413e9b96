//! A bridge with a client, a server and two members. The client's link shows which member answers for the shared
//! addresses.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::PathBuf;

use api::types::MemberStatus;
use lab::net::{BpfFs, NetworkNamespace};
use lab::origin::{OriginKind, OriginOptions, TestOrigin};
use rustix::process::Signal;
use tests::e2e::balancer::program;
use tests::e2e::cli_environment::{CommandOutput, run_command};
use tests::e2e::dir::TestDir;
use tests::e2e::process::ChildProcess;
use tests::e2e::tools;
use tests::e2e::wait;
use tests::skip::skip;
use tokio::runtime::{Builder, Runtime};

use super::host::host;
pub use super::members::{ClientFamily, First, MemberIndex, Second, V4, V6};

/// The last bytes of the hosts' addresses.
const SERVER: u8 = 50;
const CLIENT: u8 = 100;
/// A member's host and its processes.
pub struct TestMember {
    pub namespace: Option<NetworkNamespace>,
    daemon: Option<ChildProcess>,
    api: api::ApiClient,
    pins: BpfFs,
    dir: TestDir,
}

pub struct VrrpTopology {
    members: [TestMember; 2],
    capture: ChildProcess,
    _origin: TestOrigin,
    runtime: Runtime,
    /// The host of the server.
    pub server: NetworkNamespace,
    /// The host of the client.
    pub client: std::sync::Arc<NetworkNamespace>,
    /// The host of the bridge.
    pub hub: NetworkNamespace,
    /// Lines of each group.
    group: String,
    /// Whether the first member's priority is higher in one IP family and lower in the other.
    pub crossed: bool,
    /// Lines of single groups of each member.
    pub only: [Vec<(ClientFamily, String)>; 2],
    /// The last lines of each member's file, and the lines of its packet plane.
    pub tail: [String; 2],
    pub plane: [String; 2],
    /// Lines of `[global.control]` of each member.
    pub control: [String; 2],
}

impl VrrpTopology {
    /// Builds the network without a daemon. `group`: lines of each group, such as `advertise = "200ms"`.
    pub fn new(group: &str) -> VrrpTopology {
        let hub = NetworkNamespace::new("hub").unwrap();
        hub.ip("link add br0 type bridge mcast_snooping 0\nlink set br0 up\n").unwrap();
        let client = std::sync::Arc::new(host(&hub, "client", CLIENT, "client"));
        let server = host(&hub, "server", SERVER, "server");
        let listen = SocketAddr::from(([0u16; 8], 8080));
        let options = OriginOptions {
            listen,
            ..OriginOptions::new("server", OriginKind::Http { body: 128 })
        };
        let origin = server.run_inside(|| TestOrigin::start(options)).unwrap().unwrap();
        let members = [First, Second].map(|who| {
            let dir = TestDir::new();
            TestMember {
                namespace: Some(host(&hub, "member", who.number(), &who.port())),
                daemon: None,
                api: api::ApiClient::new(dir.join("sock")),
                pins: BpfFs::mount().unwrap(),
                dir,
            }
        });
        let mut capture = client.command(tools::program("tcpdump"));
        capture.args(["-l", "-e", "-n", "-i", "eth0", "arp or icmp6"]);
        let capture = ChildProcess::start(capture);
        wait::until("the capture begins", || capture.output().contains("listening on"));
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let group = group.to_owned();
        let [tail, plane] = Default::default();
        VrrpTopology {
            members,
            capture,
            _origin: origin,
            runtime,
            server,
            client,
            hub,
            group,
            crossed: false,
            only: Default::default(),
            tail,
            plane,
            control: Default::default(),
        }
    }

    /// Starts both daemons, and waits until the first is active.
    pub fn open(group: &str) -> VrrpTopology {
        let mut world = VrrpTopology::new(group);
        world.start(First);
        world.start(Second);
        for version in [V4, V6] {
            world.until(First, version, "active");
            world.until(Second, version, "standby");
            world.until_begun(version);
        }
        world
    }

    /// Another process takes over from the running daemon, which then ends.
    pub fn upgrade(&mut self, who: MemberIndex) {
        let mut old = self.member(who).daemon.take().unwrap();
        self.start_with(who, &["--takeover"]);
        old.wait();
    }

    /// Starts a daemon and waits until it answers its socket.
    pub fn start(&mut self, who: MemberIndex) {
        self.start_with(who, &[]);
    }

    fn start_with(&mut self, who: MemberIndex, words: &[&str]) {
        let file = self.write(who);
        let member = self.member(who);
        let mut command = member.namespace.as_ref().unwrap().command(program());
        command.args(["run", "-c"]).arg(file).args(words);
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID"] {
            command.env_remove(name);
        }
        self.member(who).daemon = Some(ChildProcess::start(command));
        wait::until("steelyard run answers", || {
            let daemon = self.member(who).daemon.as_mut().unwrap();
            assert!(daemon.try_wait().is_none(), "steelyard run ended: {}", daemon.output());
            self.whole_status(who).is_some()
        });
    }

    /// Writes a member's file.
    pub fn write(&self, who: MemberIndex) -> PathBuf {
        self.dir(who).write("steelyard.toml", self.text(who))
    }

    pub fn text(&self, who: MemberIndex) -> String {
        let member = &self.members[usize::from(who.number() - 1)];
        let dir = member.dir.path().display();
        let pins = member.pins.path().join("plane");
        let mut text = format!(
            "[global]\nworkers = 1\nhistory = \"off\"\naccess-log = \"off\"\n\
             [global.control]\nsocket = \"{dir}/sock\"\nstate = \"{dir}/state\"\n{}\
             [packets]\npins = \"{}\"\n{}\n\
             [service.shop]\nlisten = [\"{}\", \"{}\"]\nforward = \"http\"\npool = \"web\"\n\
             [pool.web]\nservers = [\"{}\"]\n",
            self.control[usize::from(who.number() - 1)],
            pins.display(),
            self.plane[usize::from(who.number() - 1)],
            SocketAddr::new(V4.shared(), 80),
            SocketAddr::new(V6.shared(), 80),
            SocketAddr::new(V4.host(SERVER), 8080),
        );
        for version in [V4, V6] {
            let crossed = self.crossed && version == V6;
            text.push_str(&format!(
                "[vrrp.{}]\ninterface = \"eth0\"\nid = 51\naddresses = \"{}\"\npriority = {}\n{}\n",
                version.group(),
                version.shared(),
                if crossed { who.other() } else { who }.priority(),
                self.group,
            ));
            let only = self.only[usize::from(who.number() - 1)].iter();
            for (_, lines) in only.filter(|(of, _)| *of == version) {
                text.push_str(&format!("{lines}\n"));
            }
        }
        text + &self.tail[usize::from(who.number() - 1)]
    }

    /// Sends SIGKILL to the daemon; its host stays.
    pub fn kill9(&mut self, who: MemberIndex) {
        self.signal(who, Signal::KILL);
        self.member(who).daemon.take().unwrap().wait();
    }

    /// Sends a signal to the daemon.
    pub fn signal(&mut self, who: MemberIndex, signal: Signal) {
        self.member(who).daemon.as_ref().unwrap().signal(signal);
    }

    pub fn stop(&mut self, who: MemberIndex) {
        let mut daemon = self.member(who).daemon.take().unwrap();
        daemon.signal(Signal::TERM);
        daemon.wait();
    }

    /// Removes the host, with its daemon.
    pub fn unplug_power(&mut self, who: MemberIndex) {
        self.hub.ip(&format!("link del {}\n", who.port())).unwrap();
        self.kill9(who);
        self.member(who).namespace = None;
    }

    /// Runs a command of the program at this member.
    pub fn verb(&mut self, who: MemberIndex, words: &[&str]) -> CommandOutput {
        let member = self.member(who);
        let mut command = member.namespace.as_ref().unwrap().command(program());
        command.args(words).env("STEELYARD_SOCKET", member.dir.join("sock"));
        run_command(command)
    }

    /// The output of a member's daemon.
    pub fn daemon_output(&mut self, who: MemberIndex) -> String {
        self.member(who).daemon.as_ref().unwrap().output()
    }

    /// Waits until the output of a member's daemon contains a text, which may follow a moment after what its API reports.
    pub fn wait_for_output(&mut self, who: MemberIndex, text: &str) {
        wait::until(text, || self.daemon_output(who).contains(text));
    }

    pub fn namespace(&self, who: MemberIndex) -> &NetworkNamespace {
        self.members[usize::from(who.number() - 1)].namespace.as_ref().unwrap()
    }

    /// The directory of a member's pins.
    pub fn pins(&self, who: MemberIndex) -> PathBuf {
        self.members[usize::from(who.number() - 1)].pins.path().to_owned()
    }

    /// The directory of a member's files.
    pub fn dir(&self, who: MemberIndex) -> &TestDir {
        &self.members[usize::from(who.number() - 1)].dir
    }

    fn member(&mut self, who: MemberIndex) -> &mut TestMember {
        &mut self.members[usize::from(who.number() - 1)]
    }

    /// The whole status of a member, if its daemon answers.
    pub fn whole_status(&self, who: MemberIndex) -> Option<api::types::Status> {
        let member = &self.members[usize::from(who.number() - 1)];
        self.runtime.block_on(member.api.status()).ok()
    }

    /// The status of a group at a member.
    pub fn status(&self, who: MemberIndex, version: ClientFamily) -> Option<MemberStatus> {
        let status = self.whole_status(who)?;
        status.vrrp.into_iter().find(|one| one.name == version.group())
    }

    /// Waits until a group has this state at a member.
    pub fn until(&self, who: MemberIndex, version: ClientFamily, state: &str) {
        let what = format!("{who:?} is {state} of {}", version.group());
        wait::until(&what, || self.status(who, version).is_some_and(|one| one.state == state));
    }

    /// Whether the kernel of a member has the shared address.
    pub fn has(&self, who: MemberIndex, version: ClientFamily) -> bool {
        let shown = self.namespace(who).ip("addr show dev eth0\n").unwrap();
        shown.contains(&format!(" {}/", version.shared()))
    }

    /// The members that answer an ARP or ND request for the shared address. The members' own addresses are resolved
    /// afterwards, so that every answer has arrived once those are answered.
    pub fn answerers(&self, version: ClientFamily) -> BTreeSet<MemberIndex> {
        let alive = Vec::from_iter([First, Second].into_iter().filter(|who| self.reachable(*who)));
        let mark = self.capture.output().len();
        self.client.ip("neigh flush dev eth0\n").unwrap();
        self.ask(version.shared());
        for who in &alive {
            self.ask(version.host(who.number()));
        }
        let answers = |ip: IpAddr| answers(&self.capture.output()[mark..], ip);
        wait::until(&format!("{alive:?} answer for themselves"), || {
            alive.iter().all(|who| answers(version.host(who.number())).contains(who))
        });
        answers(version.shared())
    }

    fn reachable(&self, who: MemberIndex) -> bool {
        let up = |text: String| text.contains("state UP");
        self.hub.ip(&format!("link show {}\n", who.port())).is_ok_and(up)
    }

    /// The link address in the client's neighbour entry for the shared address.
    pub fn known(&self, version: ClientFamily) -> Option<String> {
        let said =
            self.client.ip(&format!("neigh show to {} dev eth0\n", version.shared())).unwrap();
        let mut words = said.split_whitespace().skip_while(|word| *word != "lladdr");
        words.nth(1).map(str::to_owned)
    }

    /// Sends a datagram, which makes the client resolve the address. No listener is needed.
    pub fn ask(&self, ip: IpAddr) {
        let any: IpAddr = if ip.is_ipv4() { [0; 4].into() } else { [0u16; 8].into() };
        self.client
            .run_inside(|| {
                let socket = UdpSocket::bind(SocketAddr::new(any, 0)).unwrap();
                // Ignored: only the packets on the link matter.
                let _ = socket.send_to(b"?", SocketAddr::new(ip, 9));
            })
            .unwrap();
    }

    /// Waits until the first member alone answers at several looks in a row. A busy machine may stop it for longer than
    /// the dead man's time while everything starts, and the other one answers in between.
    fn until_begun(&self, version: ClientFamily) {
        let first = BTreeSet::from([First]);
        wait::until(&format!("the first member alone answers for {}", version.shared()), || {
            (0..6).all(|_| self.answerers(version) == first)
        });
    }

    /// Waits until exactly these members answer, and checks several times that this does not change.
    pub fn until_answers(&self, version: ClientFamily, who: &[MemberIndex]) {
        let who: BTreeSet<MemberIndex> = who.iter().copied().collect();
        wait::until(&format!("{who:?} answer for {}", version.shared()), || {
            self.answerers(version) == who
        });
        for _ in 0..5 {
            assert_eq!(self.answerers(version), who, "{version:?}");
        }
    }

    /// Waits until the service at the shared address answers.
    pub fn serves(&self, version: ClientFamily) {
        let url = format!("http://{}/", SocketAddr::new(version.shared(), 80));
        wait::until(&format!("{url} answers"), || {
            let mut curl = self.client.command(tools::program("curl"));
            curl.args(["-sS", "-o", "/dev/null", "--max-time", "2", "-w", "%{http_code}", &url]);
            curl.output().unwrap().stdout == b"200"
        });
    }
}

/// Whether the test lacks root, and was therefore skipped.
pub fn rootless() -> bool {
    let rootless = !rustix::process::geteuid().is_root();
    if rootless {
        skip("namespaces need root");
    }
    rootless
}

/// The members that answered in this capture for the address.
fn answers(capture: &str, ip: IpAddr) -> BTreeSet<MemberIndex> {
    let needle = match ip {
        IpAddr::V4(v4) => format!("Reply {v4} is-at "),
        IpAddr::V6(v6) => format!("neighbor advertisement, tgt is {v6},"),
    };
    // Unsolicited advertisements to all nodes are not answers.
    let answers =
        capture.lines().filter(|line| line.contains(&needle) && !line.contains("> 33:33:"));
    let from = |line: &str| {
        let numbers = [(":01 >", First), (":02 >", Second)];
        numbers.into_iter().find(|(end, _)| line.contains(&format!("02:00:00:00:00{end}")))
    };
    answers.filter_map(from).map(|(_, who)| who).collect()
}
