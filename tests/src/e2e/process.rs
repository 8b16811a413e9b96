//! A child process whose output is recorded. Dropping the value ends the process with its process group.
//!
//! This module does not depend on the program it runs. Facts about a process come from /proc.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{ioctl_fionread, read};
use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};
use rustix::process::{kill_process_group, test_kill_process_group};

use super::tools::program;
use super::wait;

/// A running child process, the leader of a new process group.
#[derive(Debug)]
pub struct ChildProcess {
    name: String,
    child: Child,
    /// Standard output and error.
    streams: [Arc<OutputStream>; 2],
    output: Arc<Mutex<CollectedOutput>>,
    ended: Option<ExitStatus>,
}

/// The reading end of a pipe that a process writes to.
#[derive(Debug)]
struct OutputStream(OwnedFd);

#[derive(Debug, Default)]
struct CollectedOutput {
    /// The whole lines of both streams, in the order in which they were read.
    lines: String,
    /// What each stream has after its last line break.
    rest: [Vec<u8>; 2],
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
        let streams = [
            OwnedFd::from(child.stdout.take().unwrap()),
            OwnedFd::from(child.stderr.take().unwrap()),
        ]
        .map(|pipe| Arc::new(OutputStream(pipe)));
        let output = Arc::new(Mutex::new(CollectedOutput::default()));
        for (which, stream) in streams.iter().enumerate() {
            let stream = Arc::clone(stream);
            let output = Arc::clone(&output);
            std::thread::spawn(move || while stream.collect(which, &output) {});
        }
        ChildProcess { name: what, child, streams, output, ended: None }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The whole lines of output so far, both streams together; all that was written before its end, if it has ended.
    pub fn output(&self) -> String {
        let output = self.output.lock().unwrap();
        let mut text = output.lines.clone();
        if self.ended.is_some() {
            output.rest.iter().for_each(|rest| text.push_str(&String::from_utf8_lossy(rest)));
        }
        text
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.id(), signal).unwrap_or_else(|error| panic!("{}: {error}", self.name));
    }

    /// The exit status, if the process has ended.
    pub fn try_wait(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().unwrap();
            if self.ended.is_some() {
                // Its children may still have the pipes, so that their ends may never come.
                wait::until("all that it wrote is read", || {
                    let _reading = self.output.lock().unwrap();
                    self.streams.iter().all(|stream| stream.is_empty())
                });
            }
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

impl OutputStream {
    /// Waits for bytes, and adds them to the output; `false` at the end. It reads while it holds the lock, so that an empty
    /// pipe means to a holder of the lock that all is in the output.
    fn collect(&self, which: usize, output: &Mutex<CollectedOutput>) -> bool {
        let mut readable = [PollFd::from_borrowed_fd(self.0.as_fd(), PollFlags::IN)];
        if poll(&mut readable, None) == Err(rustix::io::Errno::INTR) {
            return true;
        }
        let mut bytes = [0; 16 * 1024];
        let mut output = output.lock().unwrap();
        let count = match read(&self.0, &mut bytes) {
            Err(rustix::io::Errno::INTR) => return true,
            read => read.unwrap_or(0),
        };
        let CollectedOutput { lines, rest } = &mut *output;
        // A line may be many megabytes long: what was read before has no end of it.
        let known = rest[which].len();
        rest[which].extend_from_slice(&bytes[..count]);
        if let Some(end) = bytes[..count].iter().rposition(|byte| *byte == b'\n') {
            let whole: Vec<u8> = rest[which].drain(..=known + end).collect();
            lines.push_str(&String::from_utf8_lossy(&whole));
        }
        count > 0
    }

    fn is_empty(&self) -> bool {
        ioctl_fionread(&self.0).is_ok_and(|bytes| bytes == 0)
    }
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
