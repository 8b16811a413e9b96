//! A stand-in for systemd: starts the daemon, hears its notifications, keeps its sockets, hands them over again.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, ErrorKind, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use files::TemporaryDir;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use crate::traffic::{LineServer, WAIT};

/// Passes the first two stored sockets as descriptors 3 and 4; a shell puts them there.
const START: &str = r#"exec 3<&0 4<&1 0</dev/null 1>&2; export LISTEN_PID=$$; exec "$0" "$@""#;

/// The stand-in, with one service.
pub struct FakeSystemd {
    /// Where the service listens.
    pub address: SocketAddr,
    pub directory: TemporaryDir,
    notify: UnixDatagram,
    stored: BTreeMap<String, Vec<OwnedFd>>,
    child: Option<Child>,
    main: u32,
    lines: (Sender<String>, Receiver<String>),
}

impl FakeSystemd {
    /// With a daemon that forwards lines to `origin`.
    pub fn new(origin: &LineServer) -> FakeSystemd {
        let directory = TemporaryDir::new("process").unwrap();
        let this = std::env::current_exe().unwrap();
        let program = directory.path().join("daemon");
        std::fs::hard_link(&this, &program)
            .or_else(|_| std::fs::copy(&this, &program).map(drop))
            .unwrap();
        let notify = UnixDatagram::bind(directory.path().join("notify")).unwrap();
        notify.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        // Free a moment ago; nothing else of this test takes ports.
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let stored = BTreeMap::new();
        let child = None;
        let main = 0;
        let systemd =
            FakeSystemd { address, directory, notify, stored, child, main, lines: channel() };
        systemd.write(&format!(
            "[service.echo]\nlisten = \"{address}\"\nforward = \"tcp\"\npool = \"echo\"\n\
             [pool.echo]\nservers = [{{ name = \"a\", address = \"{}\" }}]\n",
            origin.address
        ));
        systemd
    }

    /// Writes the configuration file.
    pub fn write(&self, text: &str) {
        let at = self.directory.path().display();
        let global = format!(
            "[global]\nworkers = 2\naccess-log = {{ target = \"off\" }}\n\
             control = {{ socket = \"{at}/control\", state = \"{at}/state\" }}\n"
        );
        std::fs::write(self.directory.path().join("file.toml"), global + text).unwrap();
    }

    pub fn program(&self) -> PathBuf {
        self.directory.path().join("daemon")
    }

    /// Starts the daemon with the stored sockets.
    pub fn start(&mut self) {
        let kept: Vec<_> = self
            .stored
            .iter()
            .flat_map(|(name, sockets)| {
                sockets.iter().map(|it| (name.clone(), it.try_clone().unwrap()))
            })
            .collect();
        let names: Vec<_> = kept.iter().map(|(name, _)| name.clone()).collect();
        assert!(kept.len() <= 2, "{names:?}");
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(START)
            .arg(self.program())
            .arg("run")
            .arg(self.directory.path().join("file.toml"));
        command.env("NOTIFY_SOCKET", self.directory.path().join("notify"));
        command.env("LISTEN_FDS", kept.len().to_string()).env("LISTEN_FDNAMES", names.join(":"));
        let mut sockets = kept.into_iter().map(|(_, socket)| Stdio::from(socket));
        command.stdin(sockets.next().unwrap_or_else(Stdio::null));
        command.stdout(sockets.next().unwrap_or_else(Stdio::null));
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let errors = child.stderr.take().unwrap();
        let lines = self.lines.0.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                let _ = lines.send(line);
            }
        });
        self.main = child.id();
        self.child = Some(child);
    }

    /// Waits for the next READY; returns the main process's id.
    pub fn wait_ready(&mut self) -> u32 {
        self.hear_until(|message| message.contains("READY=1"));
        self.main
    }

    /// Waits until another process has become the main one.
    pub fn wait_main_other_than(&mut self, pid: u32) -> u32 {
        self.hear_until(|message| {
            message.contains("READY=1") && !message.contains(&format!("MAINPID={pid}\n"))
        });
        self.main
    }

    /// Waits for a line of the daemon's own events.
    pub fn wait_line(&mut self, start: &str) {
        let deadline = Instant::now() + WAIT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let line = self.lines.1.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("the daemon never said: {start}"));
            if line.starts_with(start) {
                return;
            }
        }
    }

    /// Kills the daemon as nothing can be survived.
    pub fn kill(&mut self) {
        // Reads earlier messages first.
        self.hear();
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// A signal to the main process.
    pub fn signal(&self, name: &str) {
        self.signal_to(self.main, name);
    }

    /// A signal to a process.
    pub fn signal_to(&self, pid: u32, name: &str) {
        let sent = Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).status();
        assert!(sent.unwrap().success());
    }

    /// Waits until the process that was started here has ended, in order.
    pub fn wait_exit(&mut self) {
        let mut child = self.child.take().unwrap();
        let deadline = Instant::now() + WAIT;
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                assert!(status.success(), "{status}");
                return;
            }
            assert!(Instant::now() < deadline, "the daemon does not end");
            // Waits briefly for one message.
            self.hear_one();
        }
    }

    /// Waits until the main process, which was not started here, is gone.
    pub fn wait_gone(&mut self) {
        let process = format!("/proc/{}/exe", self.main);
        let deadline = Instant::now() + WAIT;
        while std::fs::read_link(Path::new(&process)).is_ok() {
            assert!(Instant::now() < deadline, "the daemon does not end");
            self.hear_one();
        }
    }

    /// Waits until no listener is left: the daemon and this stand-in have closed their sockets.
    pub fn wait_refused(&mut self) {
        let deadline = Instant::now() + WAIT;
        let refused = |result: std::io::Result<TcpStream>| {
            result.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
        };
        // While a listener closes it lets handshakes wait: they must not hold us up.
        while !refused(TcpStream::connect_timeout(&self.address, Duration::from_millis(50))) {
            assert!(Instant::now() < deadline, "{} still takes connections", self.address);
            self.hear();
        }
    }

    /// The number of stored sockets.
    pub fn stored(&mut self) -> usize {
        self.hear();
        self.stored.values().map(Vec::len).sum()
    }

    fn hear_until(&mut self, wanted: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + WAIT;
        loop {
            match self.hear_one() {
                Some(message) if wanted(&message) => return,
                Some(_) | None => assert!(Instant::now() < deadline, "systemd heard nothing of it"),
            }
        }
    }

    fn hear(&mut self) {
        while self.hear_one().is_some() {}
    }

    fn hear_one(&mut self) -> Option<String> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(64))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut buffer = [0; 4096];
        let slices = &mut [IoSliceMut::new(&mut buffer)];
        let got = recvmsg(&self.notify, slices, &mut control, RecvFlags::CMSG_CLOEXEC).ok()?;
        let sockets: Vec<OwnedFd> = control
            .drain()
            .filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(sockets) => Some(sockets),
                _ => None,
            })
            .flatten()
            .collect();
        let message = String::from_utf8(buffer[..got.bytes].to_vec()).unwrap();
        let value = |key: &str| message.lines().find_map(|line| line.strip_prefix(key));
        let name = value("FDNAME=").unwrap_or_default().to_owned();
        if value("FDSTORE=").is_some() {
            let stored = self.stored.entry(name).or_default();
            // systemd stores a socket once, however often it is sent.
            let number = |socket: &OwnedFd| rustix::fs::fstat(socket).unwrap().st_ino;
            let had: Vec<u64> = stored.iter().map(number).collect();
            stored.extend(sockets.into_iter().filter(|socket| !had.contains(&number(socket))));
        } else if value("FDSTOREREMOVE=").is_some() {
            self.stored.remove(&name);
        }
        if let Some(pid) = value("MAINPID=") {
            self.main = pid.parse().unwrap();
        }
        Some(message)
    }
}

impl Drop for FakeSystemd {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
