//! Runs this program as the balancer of a study: starts it on a host, waits until it is ready, and stops it.
//!
//! The study supplies the configuration.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use files::TemporaryDir;
use serde_json::Value;
use thiserror::Error;

use crate::net::{NetworkNamespace, find};

/// Why a study has no working balancer.
#[derive(Debug, Error)]
pub enum BalancerError {
    /// A file, a directory or the process failed.
    #[error("{what}: {source}")]
    Io {
        what: &'static str,
        #[source]
        source: io::Error,
    },
    #[error("the balancer has ended: {0}")]
    Ended(String),
    /// The balancer rejected a configuration.
    #[error("the balancer refused a configuration: {0}")]
    Refused(String),
    /// The balancer did not become ready in time.
    #[error("the balancer was not ready in time: {0}")]
    NotReady(String),
}

/// Time limit for a balancer to become ready.
/// The programs are loaded and the servers come up first; a busy machine prolongs both.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// Interval between readiness checks.
const LOOK: Duration = Duration::from_millis(30);

/// A running balancer; killed when dropped.
#[derive(Debug)]
pub struct StudyBalancer {
    program: PathBuf,
    dir: TemporaryDir,
    child: Child,
    conditions: ReadyConditions,
}

/// The parts of a configuration that take effect some time after the configuration is active.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ReadyConditions {
    packets: bool,
    bundles: Vec<ExpectedBundle>,
}

/// A link bundle as the configuration requests it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ExpectedBundle {
    name: String,
    policy: String,
    /// The balancer delays packets on the shorter links.
    equalised: bool,
}

impl ReadyConditions {
    /// The conditions of a configuration; an invalid one has none.
    fn of(text: &str) -> ReadyConditions {
        let table: toml::Table = toml::from_str(text).unwrap_or_default();
        let each = |key: &str| {
            let found = table.get(key).and_then(toml::Value::as_table).cloned();
            found.unwrap_or_default()
        };
        let by_packets = |service: &toml::Value| {
            let forward = service.get("forward").and_then(toml::Value::as_str);
            forward.is_some_and(|forward| ["mac", "nat", "tunnel"].contains(&forward))
        };
        let bundle = |(name, value): (String, toml::Value)| {
            let policy =
                value.get("policy").and_then(toml::Value::as_str).unwrap_or("hash").to_owned();
            let wished = value.get("equalise").and_then(toml::Value::as_bool).unwrap_or(true);
            ExpectedBundle { equalised: wished && policy == "round-robin", name, policy }
        };
        ReadyConditions {
            packets: each("service").values().any(by_packets),
            bundles: each("link").into_iter().map(bundle).collect(),
        }
    }
}

/// An environment variable of a balancer's process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentVariable {
    pub name: &'static str,
    pub value: String,
}

impl StudyBalancer {
    /// Starts a balancer in a namespace. `body` is the configuration without `[global]`; `environment` holds its
    /// variables.
    pub fn start(
        namespace: &NetworkNamespace,
        program: &Path,
        body: &str,
        environment: &[EnvironmentVariable],
    ) -> Result<StudyBalancer, BalancerError> {
        let io = |what| move |source| BalancerError::Io { what, source };
        let dir = TemporaryDir::with_prefix(&crate::net::unique_name("study"));
        let dir = dir.map_err(io("cannot make a directory"))?;
        let text = full_configuration(dir.path(), body);
        let wanted = ReadyConditions::of(&text);
        let file = dir.write("steelyard.toml", text);
        let file = file.map_err(io("cannot write a configuration"))?;
        let log = dir.create("log").map_err(io("cannot write a log"))?;
        // The parent-death signal kills the balancer however this process ends.
        let mut command = namespace.command(find("setpriv"));
        command.args(["--pdeathsig", "KILL"]).arg(program).args(["run", "-c"]).arg(&file);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        command.envs(environment.iter().map(|variable| (variable.name, &variable.value)));
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID"] {
            command.env_remove(name);
        }
        // Its own process group: Ctrl-C reaches only the study, which then stops the balancer.
        command.process_group(0);
        let child = command.spawn().map_err(io("cannot start the balancer"))?;
        let mut balancer =
            StudyBalancer { program: program.to_owned(), dir, child, conditions: wanted };
        balancer.wait_ready()?;
        Ok(balancer)
    }

    /// Applies another configuration and waits until it has taken effect.
    pub fn apply(&mut self, body: &str) -> Result<(), BalancerError> {
        let io = |what| move |source| BalancerError::Io { what, source };
        let file = self.dir.path().join("next.toml");
        let text = full_configuration(self.dir.path(), body);
        self.conditions = ReadyConditions::of(&text);
        files::create::write(&file, text, 0o600).map_err(io("cannot write a configuration"))?;
        let mut command = Command::new(&self.program);
        command.arg("apply").arg(&file).arg("--socket").arg(self.dir.path().join("sock"));
        let output = command.stdin(Stdio::null()).output().map_err(io("cannot run apply"))?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(BalancerError::Refused(why));
        }
        self.wait_ready()
    }

    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Fails unless the process still runs.
    ///
    /// # Errors
    /// The process has ended: measurements since then are invalid.
    pub fn check_running(&mut self) -> Result<(), BalancerError> {
        match self.child.try_wait() {
            Ok(Some(_)) => Err(BalancerError::Ended(self.log())),
            _ => Ok(()),
        }
    }

    /// The balancer's status; `None`: it does not respond yet.
    pub fn status(&self) -> Option<Value> {
        let mut command = Command::new(&self.program);
        command.args(["status", "--json", "--socket"]).arg(self.dir.path().join("sock"));
        let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        serde_json::from_slice(&output.stdout).ok().filter(|_| output.status.success())
    }

    fn wait_ready(&mut self) -> Result<(), BalancerError> {
        let begun = Instant::now();
        loop {
            self.check_running()?;
            let why = match self.status() {
                None => "it does not answer".to_owned(),
                Some(status) => match unmet_condition(&status, &self.conditions) {
                    None => return Ok(()),
                    Some(why) => why,
                },
            };
            if begun.elapsed() > READY_WITHIN {
                return Err(BalancerError::NotReady(format!("{why}; {}", self.log())));
            }
            std::thread::park_timeout(LOOK);
        }
    }

    fn log(&self) -> String {
        let log = fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
        let lines: Vec<&str> = log.trim().lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].join("; ")
    }
}

/// Adds the `[global]` section that every study's balancer needs.
fn full_configuration(dir: &Path, body: &str) -> String {
    let at = dir.display();
    format!(
        "[global]\naccess-log = \"off\"\nhistory = \"off\"\n\
         control = {{ socket = \"{at}/sock\", state = \"{at}/state\" }}\n{body}"
    )
}

/// Log lines quoted in an error message.
const LOG_LINES: usize = 5;

impl Drop for StudyBalancer {
    fn drop(&mut self) {
        // Fails only for a process that has already ended; `wait` reaps it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A smaller difference between links needs no delayed packets, microseconds.
const LEAST_SKEW_US: u64 = 1_000;

/// How a bundle differs from its configuration; `None`: it matches.
fn bundle_mismatch(status: &Value, wanted: &ExpectedBundle) -> Option<String> {
    let mut found = status["links"].as_array().into_iter().flatten();
    let Some(bundle) = found.find(|bundle| bundle["name"] == *wanted.name) else {
        return Some(format!("the bundle {} is not there", wanted.name));
    };
    let links = bundle["links"].as_array().cloned().unwrap_or_default();
    let state = &bundle["state"];
    let policy = &bundle["policy"];
    if *state != "up" || *policy != *wanted.policy {
        return Some(format!("the bundle {} is {state} with {policy}", wanted.name));
    }
    if links.iter().any(|link| link["round-trip-us"].is_null()) {
        return Some(format!("the links of {} are not measured", wanted.name));
    }
    let held = links.iter().filter_map(|link| link["added-delay-us"].as_u64()).max().unwrap_or(0);
    let skew = bundle["skew-us"].as_u64().unwrap_or(0);
    // A difference below a millisecond is within the accuracy of emulated links.
    let uneven = wanted.equalised && skew >= LEAST_SKEW_US && held < skew / 2;
    uneven.then(|| format!("the bundle {} holds packets for {held} of {skew} µs", wanted.name))
}

/// The first condition that a balancer with this status does not meet; `None`: it is ready.
fn unmet_condition(status: &Value, wanted: &ReadyConditions) -> Option<String> {
    let each = |value: &Value| value.as_array().cloned().unwrap_or_default();
    for pool in each(&status["pools"]) {
        if let Some(server) = each(&pool["servers"]).iter().find(|server| server["state"] != "up") {
            return Some(format!("{} is {}", server["name"], server["state"]));
        }
    }
    if let Some(why) = wanted.bundles.iter().find_map(|bundle| bundle_mismatch(status, bundle)) {
        return Some(why);
    }
    let packets = &status["packets"];
    if packets.is_null() {
        return wanted.packets.then(|| "the packet plane is not there".to_owned());
    }
    if packets["generation"] != status["generation"] {
        return Some("the packet plane is being changed".to_owned());
    }
    let link = each(&packets["interfaces"]).into_iter().find(|link| link["mode"].is_null());
    let hop = each(&packets["neighbours"]).into_iter().find(|hop| hop["state"] != "ok");
    packets["problem"]
        .as_str()
        .map(str::to_owned)
        .or(link.map(|link| format!("{} takes no packets: {}", link["name"], link["problem"])))
        .or(hop.map(|hop| format!("the next hop of {} is {}", hop["address"], hop["state"])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_balancer_is_ready_when_nothing_is_missing() {
        let up = json!({"generation": 1, "pools": [{"servers": [{"name": "a", "state": "up"}]}]});
        assert_eq!(unmet_condition(&up, &ReadyConditions::default()), None);
        let mut down = up.clone();
        down["pools"][0]["servers"][0]["state"] = "unknown".into();
        assert!(unmet_condition(&down, &ReadyConditions::default()).unwrap().contains("unknown"));
        let mut packets = up.clone();
        packets["packets"] =
            json!({"generation": 1, "interfaces": [{"name": "eth0", "mode": "generic"}]});
        assert_eq!(unmet_condition(&packets, &ReadyConditions::default()), None);
        packets["packets"]["neighbours"] = json!([{"address": "10.0.0.1", "state": "trying"}]);
        assert!(
            unmet_condition(&packets, &ReadyConditions::default()).unwrap().contains("10.0.0.1")
        );
        packets["packets"]["generation"] = 0.into();
        assert!(
            unmet_condition(&packets, &ReadyConditions::default()).unwrap().contains("changed")
        );
        let naive = ReadyConditions::of("[link.up]\npolicy = \"round-robin\"\nequalise = false\n");
        let equal = ReadyConditions::of("[link.up]\npolicy = \"round-robin\"\n");
        let bundle = |held: u64| {
            let links = json!([{"round-trip-us": 4_000, "added-delay-us": held}, {"round-trip-us": 21_000, "added-delay-us": 0}]);
            let up = json!({"name": "up", "state": "up", "policy": "round-robin", "skew-us": 8_500, "links": links});
            json!({"links": [up]})
        };
        assert!(unmet_condition(&up, &naive).unwrap().contains("not there"));
        assert_eq!(unmet_condition(&bundle(0), &naive), None);
        assert!(unmet_condition(&bundle(0), &equal).unwrap().contains("0 of 8500"));
        assert_eq!(unmet_condition(&bundle(8_400), &equal), None);
        let hash = ReadyConditions::of("[link.up]\n");
        assert!(unmet_condition(&bundle(0), &hash).unwrap().contains("round-robin"));
        let nat = ReadyConditions::of("[service.shop]\nforward = \"nat\"\n");
        assert!(unmet_condition(&up, &nat).unwrap().contains("packet plane"));
    }
}
