//! A chain with the daemon in its middle and a small server at its end, and the daemon's reports of its connections.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use api::types::{SlowExplained, SlowPackets};
use lab::link_emulation::{CHAIN_RETURN, CHAIN_SERVER, CHAIN_SERVICE, LinkChain, LinkShape};
use lab::net::BpfFs;
use rustix::net::sockopt::set_socket_linger;
use rustix::net::{AddressFamily, SocketType, connect, socket};
use rustix::process::Signal;
use tests::e2e::balancer::program;
use tests::e2e::cli_environment::{CommandOutput, run_command};
use tests::e2e::dir::TestDir;
use tests::e2e::process::ChildProcess;
use tests::e2e::wait;

const PORT: u16 = 80;

pub struct InsightTopology {
    daemon: Option<ChildProcess>,
    dir: TestDir,
    pins: BpfFs,
    forward: &'static str,
    pub chain: LinkChain,
}

/// A link with a delay and without loss.
pub fn far(ms: u64) -> [LinkShape; 2] {
    let shape = LinkShape { delay: Duration::from_millis(ms), ..LinkShape::default() };
    [shape.clone(), shape]
}

impl InsightTopology {
    /// Builds the chain with a service of method `forward`, and links on both sides of the daemon.
    pub fn open(
        forward: &'static str,
        near: [LinkShape; 2],
        far: [LinkShape; 2],
    ) -> InsightTopology {
        let chain =
            LinkChain::open(near, far).unwrap_or_else(|error| panic!("no chain: {error:?}"));
        let pins = BpfFs::mount().unwrap_or_else(|error| panic!("no pins: {error:?}"));
        let mut world = InsightTopology { daemon: None, dir: TestDir::new(), pins, forward, chain };
        if forward != "nat" {
            world.chain.enable_direct_return().unwrap();
        }
        if forward == "tunnel" {
            world.unwraps();
        }
        let listener = world.chain.server.run_inside(|| TcpListener::bind(("0.0.0.0", PORT)));
        let listener = listener.unwrap().unwrap();
        std::thread::spawn(move || serve(&listener));
        world.configure("1");
        world.start(&["run"]);
        world
    }

    /// Loads a decapsulator on the server, and limits its segment size.
    fn unwraps(&self) {
        let pins = self.pins.path().join("server");
        let mut command = self.chain.server.command(program());
        command.args([
            "decap",
            "load",
            "--interface",
            "eth0",
            "--mode",
            "generic",
            "--from",
            "any",
            "--pins",
        ]);
        command.arg(pins);
        let load = run_command(command);
        assert_eq!(load.code, 0, "{load:?}");
        let gateway = lab::link_emulation::CHAIN_MIDDLE[1];
        self.chain.server.ip(&format!("route change default via {gateway} advmss 1400\n")).unwrap();
    }

    /// Writes the configuration with this value of `flow-samples`.
    pub fn configure(&self, insight: &str) {
        let dir = self.dir.path().display();
        let pins = self.pins.path().display();
        let insight = if insight == "off" { "\"off\"".to_owned() } else { insight.to_owned() };
        let forward = self.forward;
        let text = format!(
            "[global]\naccess-log = \"off\"\n\
             control = {{ socket = \"{dir}/sock\", state = \"{dir}/state\" }}\n\
             [packets]\ninterfaces = [\"eth0\", \"eth1\"]\nmode = \"generic\"\npins = \"{pins}/plane\"\n\
             nat-source = [\"{CHAIN_RETURN}\"]\nflow-samples = {insight}\n\
             [service.shop]\nlisten = \"{CHAIN_SERVICE}:{PORT}\"\nforward = \"{forward}\"\npool = \"web\"\n\
             [pool.web]\nservers = [{{ name = \"a\", address = \"{CHAIN_SERVER}:{PORT}\" }}]\ninitial = \"up\"\n\
             probe = {{ tcp = true, interval = \"5m\" }}\n"
        );
        self.dir.write("steelyard.toml", text);
    }

    /// Reloads the configuration.
    pub fn reload(&self) {
        let file = self.dir.join("steelyard.toml");
        let done = self.verb(&["apply", file.to_str().unwrap()]);
        assert_eq!(done.code, 0, "{done:?}");
    }

    /// Starts a daemon, which may take over from a running one. Waits until packets are forwarded and sampled.
    pub fn start(&mut self, words: &[&str]) {
        let mut command = self.chain.middle.command(program());
        command.args(words).arg("-c").arg(self.dir.join("steelyard.toml"));
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID"] {
            command.env_remove(name);
        }
        let next = ChildProcess::start(command);
        if let Some(mut old) = self.daemon.replace(next) {
            assert!(old.wait().success(), "{}", old.output());
        }
        wait::until("the plane stands, knows its server, and watches", || {
            let status = self.status();
            let packets = &status["packets"];
            let all = |list: &str, so: &dyn Fn(&serde_json::Value) -> bool| {
                packets[list].as_array().is_some_and(|all| !all.is_empty() && all.iter().all(so))
            };
            all("interfaces", &|one| one["mode"].is_string())
                && all("neighbours", &|one| one["state"] == "ok")
                && packets["flow-samples"]["one-in"] == 1
        });
    }

    /// Sends SIGKILL, and waits for the end.
    pub fn kill(&mut self) {
        let mut daemon = self.daemon.take().unwrap();
        daemon.signal(Signal::KILL);
        daemon.wait();
    }

    pub fn verb(&self, words: &[&str]) -> CommandOutput {
        let mut command = self.chain.middle.command(program());
        command.args(words).env("STEELYARD_SOCKET", self.dir.join("sock"));
        run_command(command)
    }

    /// `null` if the daemon does not answer.
    pub fn status(&self) -> serde_json::Value {
        let status = self.verb(&["status", "--json"]);
        serde_json::from_str(&status.stdout).unwrap_or_default()
    }

    pub fn dir(&self) -> &TestDir {
        &self.dir
    }

    /// The report about the service in the last hour. `None` if no samples exist.
    pub fn explained(&self) -> Option<SlowPackets> {
        let said = self.verb(&["explain", "slow", "shop", "--since", "1h", "--json"]);
        let explained: SlowExplained =
            serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
        assert!(explained.services.is_empty(), "{explained:?}");
        explained.packets.into_iter().next()
    }

    /// Waits until the report satisfies a condition.
    pub fn until(&self, what: &str, so: impl Fn(&SlowPackets) -> bool) -> SlowPackets {
        wait::until_some(what, || self.explained().filter(&so))
    }

    /// Waits until the report covers `begun` connections and no longer changes.
    pub fn settled(&self, begun: usize) -> SlowPackets {
        let mut last = None;
        let mut since = Instant::now();
        wait::until_some("everything was read", || {
            let now = self.explained().filter(|it| it.started == begun);
            let counts = now.as_ref().map(|it| (it.client, it.server, it.handshakes.clone()));
            if counts.is_none() || counts != last {
                last = counts;
                since = Instant::now();
            }
            // Two reads of the table happen in this time.
            now.filter(|_| since.elapsed() > Duration::from_millis(2_500))
        })
    }

    pub fn connect(&self) -> TcpStream {
        self.connect_with(|_| ())
    }

    /// Connects a client's socket after `prepare`.
    pub fn connect_with(&self, prepare: fn(&OwnedFd)) -> TcpStream {
        let stream = self.chain.client.run_inside(|| {
            let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
            prepare(&socket);
            connect(&socket, &SocketAddr::from((CHAIN_SERVICE, PORT)))?;
            std::io::Result::Ok(TcpStream::from(socket))
        });
        stream.unwrap().unwrap_or_else(|error| panic!("no connection: {error}"))
    }

    /// Requests `bytes` bytes, and reads all of them to the end of the stream.
    pub fn fetch(&self, bytes: usize) {
        let mut stream = self.connect();
        ask(&mut stream, &format!("get {bytes}"));
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), bytes);
    }

    /// Sends `bytes` bytes, and waits until the server has read them.
    pub fn push(&self, bytes: usize) {
        let mut stream = self.connect();
        ask(&mut stream, &format!("put {bytes}"));
        stream.write_all(&vec![b'x'; bytes]).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        assert_eq!(all, b"done");
    }
}

/// Sends a command line to the server.
pub fn ask(stream: &mut TcpStream, what: &str) {
    stream.write_all(format!("{what}\n").as_bytes()).unwrap();
}

fn serve(listener: &TcpListener) {
    for stream in listener.incoming().map_while(Result::ok) {
        std::thread::spawn(move || {
            // Ignored: some tests reset the connection on purpose.
            let _ = answer(stream);
        });
    }
}

/// `get N` sends N bytes. `put N` reads N bytes and confirms. `reset` resets the connection. `hold` waits until the
/// client closes.
fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut line = Vec::new();
    let mut byte = [0];
    while stream.read(&mut byte)? == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    let line = String::from_utf8_lossy(&line).into_owned();
    let number = |text: &str| text.parse::<usize>().unwrap_or_default();
    match line.split_once(' ') {
        Some(("get", bytes)) => stream.write_all(&vec![b'x'; number(bytes)])?,
        Some(("put", bytes)) => {
            let mut rest = number(bytes);
            let mut buffer = vec![0; 65_536];
            while rest > 0 {
                let most = rest.min(buffer.len());
                let got = stream.read(&mut buffer[..most])?;
                rest = if got == 0 { 0 } else { rest - got };
            }
            stream.write_all(b"done")?;
        }
        _ if line == "reset" => {
            set_socket_linger(&stream, Some(Duration::ZERO))?;
        }
        _ => {
            stream.read_to_end(&mut Vec::new())?;
        }
    }
    Ok(())
}
