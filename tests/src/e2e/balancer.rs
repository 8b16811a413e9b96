//! The built program with a test's configuration, and its queries.
//!
//! `STEELYARD` names the program; by default it is the newest local build. This module asserts nothing about the
//! product's behaviour.

use std::cell::Cell;
use std::net::SocketAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use api::ApiError;
use api::types::{Events, RefusedRequests, Report, ServerAction, Status};
use rustix::process::Signal;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};

use super::balancer_config::BalancerConfig;
use super::client::HttpClient;
use super::dir::TestDir;
use super::namespace::TestNamespace;
use super::process::ChildProcess;
use super::target;
use super::tools;
use super::wait;

/// A running `steelyard run`.
#[derive(Debug)]
pub struct TestBalancer {
    process: ChildProcess,
    setup: BalancerConfig,
    api: api::ApiClient,
    runtime: Runtime,
    stop_sent: Cell<bool>,
    // Dropped last, after every process that writes to the directory has ended.
    dir: TestDir,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct BalancerExit {
    /// The exit code. `None` means that a signal ended the process.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub output: String,
}

impl TestBalancer {
    /// Starts the program, and waits until it answers on its control socket.
    pub fn start(setup: &BalancerConfig) -> TestBalancer {
        TestBalancer::start_command(setup, Command::new)
    }

    /// Starts the program inside a namespace.
    pub fn start_in(namespace: &TestNamespace, setup: &BalancerConfig) -> TestBalancer {
        TestBalancer::start_command(setup, |program| namespace.command(&program))
    }

    /// Starts the program inside a namespace of the lab.
    pub fn start_at(
        namespace: &lab::net::NetworkNamespace,
        setup: &BalancerConfig,
    ) -> TestBalancer {
        TestBalancer::start_command(setup, |program| namespace.command(program))
    }

    /// Starts the program with a limit of open descriptors.
    pub fn start_with_descriptors(descriptors: u32, setup: &BalancerConfig) -> TestBalancer {
        TestBalancer::start_command(setup, |program| {
            let mut command = Command::new("sh");
            let limited = format!("ulimit -n {descriptors} && exec \"$0\" \"$@\"");
            command.arg("-c").arg(limited).arg(program);
            command
        })
    }

    /// Starts the program in another time zone, such as `ABC-14`, 14 hours ahead of UTC (POSIX).
    pub fn start_in_zone(zone: &str, setup: &BalancerConfig) -> TestBalancer {
        TestBalancer::start_command(setup, |program| {
            let mut command = Command::new(program);
            command.env("TZ", zone);
            command
        })
    }

    fn start_command(
        setup: &BalancerConfig,
        command: impl FnOnce(PathBuf) -> Command,
    ) -> TestBalancer {
        let dir = TestDir::new();
        let file = dir.write("steelyard.toml", setup.text(dir.path()));
        let mut command = command(program());
        command.args(["run", "-c"]).arg(file);
        // A test must not inherit systemd's variables.
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID"] {
            command.env_remove(name);
        }
        let mut balancer = TestBalancer {
            process: ChildProcess::start(command),
            setup: setup.clone(),
            api: api::ApiClient::new(dir.join("sock")),
            runtime: Builder::new_current_thread().enable_all().build().unwrap(),
            stop_sent: Cell::new(false),
            dir,
        };
        wait::until("steelyard run answers", || {
            let ended = balancer.process.try_wait();
            assert!(ended.is_none(), "steelyard run ended: {}", balancer.process.output());
            balancer.try_status().is_ok()
        });
        balancer
    }

    /// The address of the first listener.
    pub fn front(&self) -> SocketAddr {
        self.setup.fronts()[0]
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.front())
    }

    pub fn client(&self) -> HttpClient {
        HttpClient::connect(self.front())
    }

    pub fn setup(&self) -> BalancerConfig {
        self.setup.clone()
    }

    pub fn dir(&self) -> &TestDir {
        &self.dir
    }

    pub fn process(&self) -> &ChildProcess {
        &self.process
    }

    pub fn status(&self) -> Status {
        self.try_status().unwrap_or_else(|error| panic!("no status: {error}"))
    }

    fn try_status(&self) -> Result<Status, ApiError> {
        self.runtime.block_on(self.api.status())
    }

    pub fn events(&self) -> Events {
        self.runtime.block_on(self.api.events()).unwrap_or_else(|e| panic!("no events: {e}"))
    }

    /// The number of events of this kind.
    pub fn count_events(&self, what: &str) -> usize {
        self.events().events.iter().filter(|event| event.kind == what).count()
    }

    /// The metrics in Prometheus' text format.
    pub fn metrics(&self) -> String {
        let socket = self.dir.join("sock");
        let arguments =
            ["--unix-socket".into(), socket.into_os_string(), "http://x/v1/metrics".into()];
        tools::curl_text(&arguments)
    }

    /// The recent rejected requests.
    pub fn refused(&self) -> RefusedRequests {
        self.runtime
            .block_on(self.api.refused(None))
            .unwrap_or_else(|error| panic!("no refused requests: {error}"))
    }

    pub fn report(&self) -> Report {
        self.runtime
            .block_on(self.api.report(None))
            .unwrap_or_else(|error| panic!("no report: {error}"))
    }

    /// Waits for a report with this property, and returns it.
    pub fn report_when(&self, what: &str, so: impl Fn(&Report) -> bool) -> Report {
        wait::until_some(what, || Some(self.report()).filter(&so))
    }

    /// The report once no request and no connection is open.
    pub fn report_when_settled(&self) -> Report {
        self.report_when("nothing under way", |report| {
            let total = &report.total;
            total.requests.in_flight == 0 && total.connections.open == 0
        })
    }

    /// A report without exchanges in flight; clients may still be connected.
    pub fn report_when_idle(&self) -> Report {
        self.report_when("no exchange under way", |r| r.total.requests.in_flight == 0)
    }

    /// The state of a server of the pool `web`.
    pub fn server(&self, name: &str) -> api::types::ServerStatus {
        let status = self.status();
        let servers = status.pools.iter().find(|pool| pool.name == "web").map(|p| &p.servers);
        let server = servers.and_then(|servers| servers.iter().find(|s| s.name == name));
        server.unwrap_or_else(|| panic!("no server {name} in {status:?}")).clone()
    }

    /// Sends a command for a server of the pool `web`.
    pub fn order_server(&self, name: &str, action: ServerAction) {
        let done = self.runtime.block_on(self.api.server("web", name, action));
        done.unwrap_or_else(|error| panic!("web/{name}: {error}"));
    }

    /// Writes the file, sends SIGHUP and waits until every worker uses it.
    pub fn reload(&mut self, setup: &BalancerConfig) {
        let before = self.status().generation;
        self.dir.write("steelyard.toml", setup.text(self.dir.path()));
        self.setup = setup.clone();
        self.process.signal(Signal::HUP);
        let said = || self.process.output();
        wait::until(&format!("a generation after {before}"), || {
            assert!(!said().contains("reload-failed"), "{}", said());
            self.status().generation > before
        });
    }

    pub fn log_text(&self) -> String {
        std::fs::read_to_string(self.dir.join("access.log")).unwrap_or_default()
    }

    /// The output of a command for this daemon.
    pub fn cli_output(&self, arguments: &[&str]) -> String {
        let mut command = std::process::Command::new(program());
        command.args(arguments).arg("--socket").arg(self.dir.join("sock"));
        let output = command.output().unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The access log so far: whole lines.
    pub fn log(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.dir.join("access.log")).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let parsed = whole.lines().map(serde_json::from_str::<Value>);
        parsed.map(|line| line.unwrap_or_else(|error| panic!("{error} in {whole}"))).collect()
    }

    /// Waits for a line of the access log with this property.
    pub fn wait_for_log_line(&self, what: &str, so: impl Fn(&Value) -> bool) -> Value {
        wait::until_some(&format!("in the log: {what}"), || self.log().into_iter().find(&so))
    }

    pub fn sigterm(&self) {
        self.stop_sent.set(true);
        self.process.signal(Signal::TERM);
    }

    pub fn kill9(&self) {
        self.stop_sent.set(true);
        self.process.signal(Signal::KILL);
    }

    /// Waits until the program has ended after a stop.
    pub fn wait_for_exit(mut self) -> BalancerExit {
        let status = self.process.wait();
        // The last output arrives a moment after the process has ended.
        let clean = status.success();
        if clean {
            wait::until("its last words", || self.process.output().contains("left"));
        }
        BalancerExit { code: status.code(), signal: status.signal(), output: self.process.output() }
    }
}

impl Drop for TestBalancer {
    fn drop(&mut self) {
        if !std::thread::panicking() && !self.stop_sent.get() {
            let said = self.process.output();
            assert!(self.process.try_wait().is_none(), "it ended by itself:\n{said}");
            assert!(!said.contains("panicked"), "{said}");
        }
    }
}

/// The path of the built program.
///
/// # Panics
/// The program does not exist.
pub fn program() -> PathBuf {
    if let Some(named) = std::env::var_os("STEELYARD") {
        // Cargo runs tests in their package's folder. A relative path is relative to the repository's top, where cargo
        // is called.
        let named = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(named);
        assert!(named.is_file(), "STEELYARD names {named:?}, which is not there");
        return named;
    }
    let target = target::target();
    let builds = ["debug", "release"].map(|profile| target.join(profile).join("steelyard"));
    let built = builds.into_iter().filter_map(|file| {
        let changed = file.metadata().and_then(|facts| facts.modified()).ok()?;
        Some((changed, file))
    });
    let newest = built.max_by_key(|(changed, _)| *changed);
    newest
        .unwrap_or_else(|| {
            panic!("build it first: cargo build -p steelyard, or name it in STEELYARD")
        })
        .1
}

/// Whether the long variants of tests run, whose figures are recorded.
pub fn is_long() -> bool {
    std::env::var_os("STEELYARD_LONG").is_some_and(|long| long != "0")
}

/// Prints a figure for the records.
pub fn figure(text: impl std::fmt::Display) {
    println!("proof: {text}");
}
