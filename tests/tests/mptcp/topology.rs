//! Two hosts with two links between them. One runs a daemon with a `tcp` service, the other one a daemon that only sets
//! endpoints.

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::time::Duration;

use api::types::MptcpStatus;
use lab::link_emulation::{EmulatedLinkError, LinkShape, ParallelLinks};
use lab::net::{NamespaceError, NetworkNamespace, SysctlSetting};
use lab::origin::{OriginKind, OriginOptions, TestOrigin};
use tests::e2e::balancer::{is_long, program};
use tests::e2e::cli_environment::{CommandOutput, run_command};
use tests::e2e::dir::TestDir;
use tests::e2e::process::ChildProcess;
use tests::e2e::wait;
use tests::skip::skip;
use tokio::runtime::{Builder, Runtime};

pub const SERVICE: ([u8; 4], u16) = ([10, 41, 1, 2], 8_080);
/// The `http` service at the server, and the service at the client that forwards to it.
pub const REQUESTS: ([u8; 4], u16) = ([10, 41, 1, 2], 8_081);
pub const NEAR: ([u8; 4], u16) = ([127, 0, 0, 1], 8_082);

pub struct MptcpTopology {
    daemons: Vec<ChildProcess>,
    /// The server of the `tcp` service.
    pub sink: TcpListener,
    _origin: TestOrigin,
    pub lines: ParallelLinks,
    api: api::ApiClient,
    runtime: Runtime,
    dirs: [TestDir; 2],
}

impl MptcpTopology {
    /// Starts both daemons and waits for their endpoints. `None` without root.
    pub fn open(delays: &[Duration]) -> Option<MptcpTopology> {
        let shape = |delay: &Duration| {
            let bits_per_second = if is_long() { 500_000_000 } else { 40_000_000 };
            let queue_bytes = bits_per_second / 8 / 20;
            let shape =
                LinkShape { delay: *delay, bits_per_second, queue_bytes, ..LinkShape::default() };
            [shape.clone(), shape]
        };
        let shapes: Vec<[LinkShape; 2]> = delays.iter().map(shape).collect();
        let lines = match ParallelLinks::open(&shapes) {
            Ok(lines) => lines,
            Err(EmulatedLinkError::Namespace(NamespaceError::NotRoot)) => {
                skip("namespaces need root");
                return None;
            }
            Err(error) => panic!("{error:?}"),
        };
        if std::fs::read_to_string("/proc/sys/net/mptcp/enabled").is_err() {
            skip("the kernel has no MPTCP");
            return None;
        }
        for host in [&lines.client, &lines.server] {
            host.write_sysctls(&[
                SysctlSetting { path: "net/mptcp/enabled", value: "1" },
                SysctlSetting { path: "net/ipv4/conf/all/rp_filter", value: "0" },
            ])
            .unwrap();
        }
        let sink = lines.server.run_inside(|| TcpListener::bind("127.0.0.1:0").unwrap()).unwrap();
        let http = OriginOptions { ..OriginOptions::new("o", OriginKind::Http { body: 64 }) };
        let origin = lines.server.run_inside(|| TestOrigin::start(http)).unwrap().unwrap();
        let answers = origin.address();
        let dirs = [(); 2].map(|()| TestDir::new());
        let api = api::ApiClient::new(dirs[1].join("sock"));
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let mut world =
            MptcpTopology { daemons: Vec::new(), sink, _origin: origin, lines, api, runtime, dirs };
        let (ip, port) = SERVICE;
        let to = SocketAddr::new(IpAddr::from(ip), port);
        let near = SocketAddr::from(NEAR);
        let requests = SocketAddr::from(REQUESTS);
        world.start(
            0,
            &format!(
                "[mptcp]\nendpoints = [{{ address = \"10.41.2.1\", interface = \"eth2\" }}]\nuse = \"subflow\"\n\
                 [service.calls]\nlisten = \"{near}\"\nforward = \"http\"\npool = \"far\"\n\
                 [pool.far]\nservers = [\"{requests}\"]\nsocket = {{ mptcp = true }}\n"
            ),
        );
        let backend = world.sink.local_addr().unwrap();
        world.start(
            1,
            &format!(
                "[mptcp]\nendpoints = \"10.41.2.2\"\nuse = \"signal\"\n[service.stream]\nlisten = \"{to}\"\n\
                 forward = \"tcp\"\npool = \"sink\"\nsocket = {{ mptcp = true }}\n[pool.sink]\nservers = [\"{backend}\"]\n\
                 [service.requests]\nlisten = \"{requests}\"\nforward = \"http\"\npool = \"web\"\n\
                 socket = {{ mptcp = true }}\n[pool.web]\nservers = [\"{answers}\"]\n"
            ),
        );
        for (host, endpoint) in
            [(&world.lines.client, "10.41.2.1"), (&world.lines.server, "10.41.2.2")]
        {
            wait::until("its endpoint stands", || {
                host.ip("mptcp endpoint show\n").unwrap().contains(endpoint)
            });
        }
        wait::until("its service listens", || world.try_server().is_some());
        Some(world)
    }

    fn start(&mut self, number: usize, more: &str) {
        let dir = &self.dirs[number];
        let path = dir.path().display();
        let text = format!(
            "[global]\nworkers = 1\nhistory = \"off\"\naccess-log = \"off\"\n[global.control]\nsocket = \"{path}/sock\"\n\
             state = \"{path}/state\"\n{more}"
        );
        let file = dir.write("steelyard.toml", text);
        let mut command = self.host(number).command(program());
        command.args(["run", "-c"]).arg(file);
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID"] {
            command.env_remove(name);
        }
        self.daemons.push(ChildProcess::start(command));
    }

    fn host(&self, number: usize) -> &NetworkNamespace {
        if number == 0 { &self.lines.client } else { &self.lines.server }
    }

    fn try_server(&self) -> Option<MptcpStatus> {
        self.runtime.block_on(self.api.status()).ok()?.mptcp
    }

    /// The Multipath TCP status at the server.
    pub fn server(&self) -> MptcpStatus {
        self.try_server().expect("the daemon answers")
    }

    /// Runs a command of the program at the server.
    pub fn verb(&self, words: &[&str]) -> CommandOutput {
        let mut command = self.lines.server.command(program());
        command.args(words).env("STEELYARD_SOCKET", self.dirs[1].join("sock"));
        run_command(command)
    }

    /// The kernel's endpoints at the server.
    pub fn endpoints(&self) -> String {
        self.lines.server.ip("mptcp endpoint show\n").unwrap()
    }

    /// Stops the server's daemon.
    pub fn stop(&mut self) {
        assert_eq!(self.verb(&["stop"]).code, 0);
        self.daemons.remove(1).wait();
    }
}
