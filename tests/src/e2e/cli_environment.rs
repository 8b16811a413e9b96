//! One configuration file and one control socket for several processes, in sequence or at once.
//!
//! `balancer` runs one process for the whole test. Here a test starts, replaces and kills processes itself.

use std::cell::RefCell;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use api::types::{Events, Report, Status};
use rustix::process::{Pid, Signal, kill_process};
use tokio::runtime::{Builder, Runtime};

use super::balancer::program;
use super::balancer_config::BalancerConfig;
use super::dir::TestDir;
use super::process::ChildProcess;
use super::wait;

/// Variables of systemd, which a test must not inherit.
const NOT_INHERITED: [&str; 6] = [
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
];

#[derive(Debug)]
pub struct CliEnvironment {
    setup: RefCell<BalancerConfig>,
    api: api::ApiClient,
    runtime: Runtime,
    dir: TestDir,
}

/// The result of a command.
#[derive(Clone, Debug)]
pub struct CommandOutput {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl CliEnvironment {
    /// A directory with this configuration.
    pub fn new(setup: &BalancerConfig) -> CliEnvironment {
        let dir = TestDir::new();
        let api = api::ApiClient::new(dir.join("sock"));
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let place = CliEnvironment { setup: RefCell::new(setup.clone()), api, runtime, dir };
        place.write(setup);
        place
    }

    /// Writes the configuration without a reload.
    pub fn write(&self, setup: &BalancerConfig) -> PathBuf {
        self.setup.replace(setup.clone());
        self.dir.write("steelyard.toml", setup.text(self.dir.path()))
    }

    pub fn file(&self) -> PathBuf {
        self.dir.join("steelyard.toml")
    }

    /// The last written configuration.
    pub fn setup(&self) -> BalancerConfig {
        self.setup.borrow().clone()
    }

    pub fn dir(&self) -> &TestDir {
        &self.dir
    }

    /// `steelyard run` with the configuration file.
    pub fn command(&self) -> Command {
        self.command_of(program())
    }

    /// The command with another binary.
    pub fn command_of(&self, binary: PathBuf) -> Command {
        let mut command = Command::new(binary);
        command.args(["run", "-c"]).arg(self.file());
        for name in NOT_INHERITED {
            command.env_remove(name);
        }
        command
    }

    /// Starts it and waits until it answers.
    pub fn start(&self) -> ChildProcess {
        self.start_command(self.command())
    }

    /// Starts a command, and waits until the daemon answers.
    pub fn start_command(&self, command: Command) -> ChildProcess {
        let mut process = ChildProcess::start(command);
        wait::until("steelyard run answers", || {
            let ended = process.try_wait();
            assert!(ended.is_none(), "steelyard run ended: {}", process.output());
            self.pid().is_some()
        });
        process
    }

    /// The ID of the process that answers on the control socket.
    pub fn pid(&self) -> Option<u32> {
        self.runtime.block_on(self.api.status()).ok().map(|status| status.pid)
    }

    /// Waits until another process answers.
    pub fn wait_for_other_pid(&self, pid: u32) -> SpawnedDaemon {
        SpawnedDaemon(wait::until_some("another process answers", || {
            self.pid().filter(|now| *now != pid)
        }))
    }

    pub fn status(&self) -> Status {
        self.runtime.block_on(self.api.status()).unwrap_or_else(|e| panic!("no status: {e}"))
    }

    pub fn report(&self) -> Report {
        self.runtime.block_on(self.api.report(None)).unwrap_or_else(|e| panic!("no report: {e}"))
    }

    pub fn events(&self) -> Events {
        self.runtime.block_on(self.api.events()).unwrap_or_else(|e| panic!("no events: {e}"))
    }

    /// The number of events of this kind.
    pub fn count_events(&self, what: &str) -> usize {
        self.events().events.iter().filter(|event| event.kind == what).count()
    }

    /// The number of exchanges and connections that ended with this cause.
    pub fn count_of(&self, cause: &str) -> u64 {
        let causes = self.report().total.causes;
        causes.iter().find(|it| it.cause == cause).map_or(0, |it| it.count.total)
    }

    /// Runs a command of the program against this test's daemon.
    pub fn run_verb(&self, arguments: &[&str]) -> CommandOutput {
        let mut command = Command::new(program());
        command.args(arguments).env("STEELYARD_SOCKET", self.dir.join("sock"));
        run_command(command)
    }

    /// Runs a command, which must succeed.
    pub fn run_verb_ok(&self, arguments: &[&str]) -> CommandOutput {
        let said = self.run_verb(arguments);
        assert_eq!(said.code, 0, "{arguments:?}: {said:?}");
        said
    }
}

/// Runs a program to its end.
pub fn run_command(mut command: Command) -> CommandOutput {
    let what = format!("{command:?}");
    let output = command.stdin(Stdio::null()).output();
    let Output { status, stdout, stderr } = output.unwrap_or_else(|e| panic!("{what}: {e}"));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let code = status.code().unwrap_or_else(|| panic!("{what}: {status}"));
    CommandOutput { code, stdout: text(stdout), stderr: text(stderr) }
}

/// A daemon that another daemon started. It is killed on drop.
#[derive(Debug)]
pub struct SpawnedDaemon(u32);

impl SpawnedDaemon {
    pub fn pid(&self) -> u32 {
        self.0
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.0.cast_signed()).unwrap();
        kill_process(pid, signal).unwrap_or_else(|error| panic!("process {}: {error}", self.0));
    }

    /// Whether the process has ended.
    pub fn is_gone(&self) -> bool {
        // An unreaped process keeps its entry in /proc, but the link to its program is gone.
        fs::read_link(format!("/proc/{}/exe", self.0)).is_err()
    }

    /// Sends SIGTERM, and waits for the end.
    pub fn end(self) {
        self.signal(Signal::TERM);
        wait::until("the last process gone", || self.is_gone());
    }
}

impl Drop for SpawnedDaemon {
    fn drop(&mut self) {
        if let Some(pid) = Pid::from_raw(self.0.cast_signed()).filter(|_| !self.is_gone()) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}
