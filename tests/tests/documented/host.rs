//! A separate machine for the documented commands: a network namespace, and bind mounts over `/etc`, `/run`,
//! `/var/lib`, `/var/log` and `/tmp`. Commands therefore run as written, and their files are removed with the machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use lab::origin::{OriginKind, OriginOptions, TestOrigin};
use tests::e2e::balancer;
use tests::e2e::dir::TestDir;
use tests::e2e::h2origin::{H2Behaviour, H2Origin};
use tests::e2e::namespace::TestNamespace;
use tests::e2e::process::ChildProcess;
use tests::e2e::servers::start_with;
use tests::e2e::{tools, wait};

/// Folders that are covered by a bind mount, and the local files that are copied into them.
const FOLDERS: [(&str, &str); 5] =
    [("/etc", "/etc/."), ("/run", ""), ("/var/lib", ""), ("/var/log", ""), ("/tmp", "")];
/// The working directory of the commands.
pub const HERE: &str = "/tmp/here";
/// The home directory of the user who runs the commands.
pub const HOME: &str = "/tmp/home";
/// Addresses that the pages use for this machine and for its servers.
const ADDRESSES: [&str; 8] = [
    "203.0.113.10/24",
    "203.0.113.53/24",
    "192.0.2.5/24",
    "192.0.2.7/24",
    "192.0.2.8/24",
    "10.0.0.11/24",
    "10.0.0.12/24",
    "10.0.0.13/24",
];
const HOSTS: &str = "127.0.0.1 localhost\n203.0.113.10 shop.example admin.shop.example red.example blue.example\n192.0.2.5 lb.example\n10.0.0.13 mail.internal\n";

#[derive(Debug)]
pub struct DocumentHost {
    keeper: ChildProcess,
    _servers: Vec<TestOrigin>,
    _calls: Vec<H2Origin>,
    _namespace: TestNamespace,
    dir: TestDir,
}

impl DocumentHost {
    /// Creates the machine, or returns the reason why that is impossible.
    pub fn new() -> Result<DocumentHost, String> {
        let namespace = TestNamespace::new()?;
        let dir = TestDir::new();
        let mut script = String::from("set -e\n");
        for (over, copied) in FOLDERS {
            let inside = place(&dir, over);
            std::fs::create_dir_all(&inside).unwrap();
            if !copied.is_empty() {
                done(Command::new("cp").args(["-a", copied]).arg(&inside));
            }
        }
        for folder in [
            "/var/log/nginx",
            "/var/lib/nginx",
            "/tmp/here",
            "/tmp/bin",
            "/run/steelyard",
            "/var/log/steelyard",
            "/var/lib/steelyard",
        ] {
            std::fs::create_dir_all(place(&dir, folder)).unwrap();
        }
        std::fs::write(place(&dir, "/tmp/bin/steelyard"), "").unwrap();
        std::fs::write(place(&dir, "/etc/hosts"), HOSTS).unwrap();
        script += &format!(
            "mount --bind {} {}\n",
            balancer::program().display(),
            place(&dir, "/tmp/bin/steelyard").display()
        );
        // `/tmp` is mounted last, because the sources of the other mounts are in it.
        for (over, _) in FOLDERS {
            script += &format!("mount --rbind {} {over}\n", place(&dir, over).display());
        }
        // Pins stay on this machine.
        script += "mount -t bpf bpf /sys/fs/bpf || true\n";
        script += "echo ready\nexec sleep 3600\n";
        links(&namespace);
        let mut unshare = namespace.command(&tools::program("unshare"));
        unshare.args(["--mount", "--propagation", "private", "sh", "-c", &script]);
        let mut keeper = ChildProcess::start(unshare);
        wait::until("the machine of the pages is ready", || {
            assert!(keeper.try_wait().is_none(), "{}", keeper.output());
            keeper.output().contains("ready")
        });
        let servers = namespace.run_inside(|| ["10.0.0.11:8080", "10.0.0.12:8080"].map(server));
        let calls =
            namespace.run_inside(|| ["10.0.0.11:50051", "10.0.0.12:50051"].map(call_server));
        Ok(DocumentHost {
            keeper,
            _servers: servers.into(),
            _calls: calls.into(),
            _namespace: namespace,
            dir,
        })
    }

    /// The local path of a file on the machine.
    pub fn place(&self, path: &str) -> PathBuf {
        place(&self.dir, path)
    }

    /// Writes a file on the machine. A relative path is in the working directory.
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.place(&absolute(path));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// A shell command on the machine, which is killed after a minute.
    pub fn shell(&self, line: &str, socket: Option<&str>) -> Command {
        let limited = Command::new(tools::program("timeout"));
        self.inside(limited, &["-s", "KILL", "60", "nsenter"], line, socket)
    }

    /// As `shell`, without a timeout around the command.
    fn inside(
        &self,
        mut command: Command,
        words: &[&str],
        line: &str,
        socket: Option<&str>,
    ) -> Command {
        let pid = self.keeper.pid().to_string();
        command.args(words).args(["--mount", "--net", "--target", &pid]);
        command.args(["sh", "-c", &format!("cd {HERE} && {line}")]);
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("/tmp/bin:{path}:/usr/sbin:/sbin"));
        command.envs([("HOME", HOME), ("TERM", "xterm"), ("SHELL", "/bin/sh")]);
        // What it says is waited for while it runs.
        command.env("PYTHONUNBUFFERED", "1");
        for name in std::env::vars().map(|(name, _)| name).filter(|it| it.starts_with("STEELYARD_"))
        {
            command.env_remove(name);
        }
        command.env_remove("TMPDIR");
        command.env("STEELYARD_CA", "/etc/steelyard/ca.pem");
        if let Some(socket) = socket {
            command.env("STEELYARD_SOCKET", socket);
        }
        command.stdin(Stdio::null());
        command
    }

    /// A command on a terminal of the machine. `q` is pressed once the screen shows `sees`.
    pub fn screen(&self, line: &str, socket: Option<&str>, sees: &str) -> Command {
        let seen = format!("grep -q '{sees}' seen");
        let press = format!("for n in $(seq 400); do {seen} && break; sleep 0.05; done; printf q");
        let script = format!("script -qefc 'stty cols 140 rows 40; {line}' seen");
        self.shell(&format!(": > seen && {{ {press}; }} | {script}"), socket)
    }

    /// Runs a command, which must succeed.
    pub fn done(&self, line: &str) -> Output {
        done(&mut self.shell(line, None))
    }

    /// Whether a command succeeds.
    pub fn well(&self, line: &str) -> bool {
        self.shell(line, None).output().is_ok_and(|output| output.status.success())
    }

    /// Starts a program that keeps running, and waits until its output contains `says`.
    pub fn start(&self, line: &str, socket: Option<&str>, says: &str) -> ChildProcess {
        let mut process = ChildProcess::start(self.inside(
            Command::new(tools::program("nsenter")),
            &[],
            &format!("exec {line}"),
            socket,
        ));
        wait::until(&format!("{line} says {says:?}"), || {
            let said = process.output();
            assert!(said.contains(says) || process.try_wait().is_none(), "{line} ended: {said}");
            said.contains(says)
        });
        process
    }
}

fn links(namespace: &TestNamespace) {
    for address in ADDRESSES {
        inside(namespace, &["address", "add", address, "dev", "lo"]);
    }
    inside(namespace, &["address", "add", "2001:db8::10/64", "dev", "lo", "nodad"]);
    inside(namespace, &["link", "add", "eth0", "type", "veth", "peer", "name", "eth1"]);
}

fn inside(namespace: &TestNamespace, words: &[&str]) {
    done(Command::new(tools::program("ip")).args(["-n", namespace.name()]).args(words));
}

fn server(address: &str) -> TestOrigin {
    let listen = address.parse().unwrap();
    start_with(OriginOptions {
        listen,
        ..OriginOptions::new(address, OriginKind::Http { body: 4096 })
    })
}

/// A server of gRPC calls.
fn call_server(address: &str) -> H2Origin {
    let behaviour = H2Behaviour { name: "calls", streams: 100, refusals: 0 };
    H2Origin::start_at(address.parse().unwrap(), behaviour)
}

fn done(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {output:?}");
    output
}

fn place(dir: &TestDir, path: &str) -> PathBuf {
    dir.path().join(path.trim_start_matches('/'))
}

fn absolute(path: &str) -> String {
    Path::new(HERE).join(path).display().to_string()
}
