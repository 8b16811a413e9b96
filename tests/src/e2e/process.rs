//! A child process whose output is recorded. Dropping the value ends the process with its process group.
//!
//! This module does not depend on the program it runs. Facts about a process come from /proc.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};
use rustix::process::{kill_process_group, test_kill_process_group};

use super::tools::program;
use super::wait;

/// A running child process, the leader of a new process group.
#[derive(Debug)]
pub struct ChildProcess {
    name: String,
    child: Child,
    output: Arc<Mutex<String>>,
    ended: Option<ExitStatus>,
}

impl ChildProcess {
    /// Starts the process and records its standard output and error. The process also ends when the test is
    /// interrupted.
    pub fn start(command: Command) -> ChildProcess {
        let what = format!("{command:?}");
        let mut command = die_with_parent(&command);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.process_group(0).spawn();
        let mut child = child.unwrap_or_else(|error| panic!("cannot start {what}: {error}"));
        let said = Arc::new(Mutex::new(String::new()));
        collect_lines(child.stdout.take().unwrap(), &said);
        collect_lines(child.stderr.take().unwrap(), &said);
        ChildProcess { name: what, child, output: said, ended: None }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The output so far, both streams together.
    pub fn output(&self) -> String {
        self.output.lock().unwrap().clone()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.id(), signal).unwrap_or_else(|error| panic!("{}: {error}", self.name));
    }

    /// The exit status, if the process has ended.
    pub fn try_wait(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().unwrap();
        }
        self.ended
    }

    /// Waits until the process has ended.
    pub fn wait(&mut self) -> ExitStatus {
        let what = format!("the end of {}", self.name);
        wait::until_some(&what, || self.try_wait())
    }

    pub fn resident_bytes(&self) -> u64 {
        self.memory("VmRSS:")
    }

    /// Resident memory without file-backed pages, because the number of mapped pages of the program's file varies.
    pub fn private_bytes(&self) -> u64 {
        self.memory("RssAnon:")
    }

    fn memory(&self, key: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    pub fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().count()
    }

    fn id(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        let group = self.id();
        if self.try_wait().is_none() {
            let _ = kill_process_group(group, Signal::KILL);
            let _ = self.child.wait();
        }
        if std::thread::panicking() {
            println!("-- {} said:\n{}--", self.name, self.output());
            return;
        }
        // Child processes end a moment after their parent.
        wait::until(&format!("everything of {} gone", self.name), || {
            test_kill_process_group(group).is_err()
        });
    }
}

/// The same command, which is killed when the starting thread ends.
fn die_with_parent(command: &Command) -> Command {
    let mut tied = Command::new(program("setpriv"));
    tied.args(["--pdeathsig", "KILL"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => tied.env(name, value),
            None => tied.env_remove(name),
        };
    }
    if let Some(dir) = command.get_current_dir() {
        tied.current_dir(dir);
    }
    tied
}

/// Appends every line to `said`, on a thread that ends with the stream.
fn collect_lines(stream: impl Read + Send + 'static, said: &Arc<Mutex<String>>) {
    let said = Arc::clone(said);
    std::thread::spawn(move || {
        let mut lines = BufReader::new(stream);
        let mut line = Vec::new();
        while matches!(lines.read_until(b'\n', &mut line), Ok(1..)) {
            said.lock().unwrap().push_str(&String::from_utf8_lossy(&line));
            line.clear();
        }
    });
}

/// Raises the descriptor limit of this process and its children to at least `wanted`.
pub fn descriptors_for(wanted: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|now| now >= wanted) {
        return;
    }
    let maximum = maximum.map(|most| most.max(wanted));
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    raised.unwrap_or_else(|error| panic!("{wanted} descriptors may not be opened: {error}"));
}

/// The same program with a descriptor limit of `most`.
pub fn with_descriptors(most: u64, command: &Command) -> Command {
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n \"$0\" && exec \"$@\"", &most.to_string()]);
    limited.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    limited
}
