//! One balancer of a shadow run: its process in a private root, and whether it listens.
//!
//! The process and all that it starts end with this value, and also when this program is killed.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use files::create::create;
use files::regular_file;
use thiserror::Error;

use super::private_root::unshare_arguments;
use crate::net::{NetworkNamespace, find};

/// Why a balancer does not run.
#[derive(Debug, Error)]
pub enum BalancerProcessError {
    #[error("cannot start {name}")]
    Start {
        name: String,
        #[source]
        source: io::Error,
    },
    /// It refused its configuration, or crashed.
    #[error("{name} has ended: {log}")]
    Ended { name: String, log: String },
    #[error("{name} does not listen at {missing}: {log}")]
    NotListening { name: String, missing: String, log: String },
    #[error(
        "{name} ended in the middle of the run, after {done} requests, so that nothing is compared: {log}"
    )]
    Died { name: String, done: usize, log: String },
    #[error(
        "{name} hangs: after {done} requests it answers none any more, so that nothing is compared: {log}"
    )]
    Hangs { name: String, done: usize, log: String },
}

/// Time limit for all listeners to be there.
const LISTENS_WITHIN: Duration = Duration::from_secs(30);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(40);
/// What is read of the end of a log, bytes.
const LOG_READ: u64 = 64 * 1_024;
/// Lines of a log that an error quotes.
const LOG_LINES: usize = 6;

/// A running balancer.
#[derive(Debug)]
pub struct BalancerProcess {
    name: String,
    child: Mutex<Child>,
    log: PathBuf,
}

/// The authorities that the machine trusts, in a run. It is the only file of them for OpenSSL, Go and rustls.
pub const AUTHORITIES: &str = "/run/shadow-authorities.pem";

/// What is started, and where.
#[derive(Clone, Copy, Debug)]
pub struct ProcessPlace<'a> {
    pub namespace: &'a NetworkNamespace,
    /// The side's directory: of its log, of its files in `files`, and of its private root.
    pub dir: &'a Path,
    /// The balancer's program, which the private root shows.
    pub program: &'a Path,
}

impl BalancerProcess {
    pub fn start(
        name: &str,
        command: &[String],
        place: ProcessPlace<'_>,
    ) -> Result<BalancerProcess, BalancerProcessError> {
        let failed = |source| BalancerProcessError::Start { name: name.to_owned(), source };
        let log = place.dir.join("log");
        let output = create(&log, 0o600).map_err(failed)?;
        let errors = output.try_clone().map_err(failed)?;
        let mut starting = place.namespace.command(find("setpriv"));
        starting.args(["--pdeathsig", "KILL"]).arg(find("unshare"));
        let files = place.dir.join("files");
        starting.args(unshare_arguments(place.dir, &files, place.program, command));
        starting.stdin(Stdio::null()).stdout(output).stderr(errors);
        for name in
            ["NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID", "STEELYARD_SOCKET"]
        {
            starting.env_remove(name);
        }
        starting.env("SSL_CERT_FILE", AUTHORITIES);
        // Its own process group: Ctrl-C reaches only this program, which then ends the balancers.
        starting.process_group(0);
        let child = starting.spawn().map_err(failed)?;
        Ok(BalancerProcess { name: name.to_owned(), child: Mutex::new(child), log })
    }

    /// Waits until it accepts connections at these addresses, or until `stop`. Returns those at which it does not
    /// although it runs.
    pub fn wait_listening(
        &mut self,
        namespace: &NetworkNamespace,
        listeners: &[SocketAddr],
        stop: &AtomicBool,
    ) -> Result<Vec<SocketAddr>, BalancerProcessError> {
        let begun = Instant::now();
        let mut missing = listeners.to_vec();
        loop {
            let look = || {
                let deaf = |to: &&SocketAddr| TcpStream::connect_timeout(to, LOOK).is_err();
                missing.iter().filter(deaf).copied().collect::<Vec<_>>()
            };
            missing = namespace.run_inside(look).unwrap_or_default();
            if self.has_ended() {
                let log = self.log();
                return Err(BalancerProcessError::Ended { name: self.name.clone(), log });
            }
            if missing.is_empty() || stop.load(Ordering::Relaxed) {
                return Ok(missing);
            }
            // Some listeners may be the original's alone, or be missing there: that is for the comparison to show.
            if missing.len() < listeners.len() && begun.elapsed() > LISTENS_WITHIN / 10 {
                return Ok(missing);
            }
            if begun.elapsed() > LISTENS_WITHIN {
                let missing = missing.iter().map(ToString::to_string).collect::<Vec<_>>();
                return Err(BalancerProcessError::NotListening {
                    name: self.name.clone(),
                    missing: missing.join(", "),
                    log: self.log(),
                });
            }
            std::thread::park_timeout(LOOK);
        }
    }

    /// Waits until it answers at this address with something else than 404, or until `stop`.
    pub fn wait_ready(
        &mut self,
        namespace: &NetworkNamespace,
        address: SocketAddr,
        stop: &AtomicBool,
    ) -> Result<(), BalancerProcessError> {
        let begun = Instant::now();
        loop {
            let found = namespace.run_inside(|| is_answering(address)).unwrap_or(false);
            if found || stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let name = self.name.clone();
            if self.has_ended() {
                return Err(BalancerProcessError::Ended { name, log: self.log() });
            }
            if begun.elapsed() > LISTENS_WITHIN {
                let log = self.log();
                let missing = address.to_string();
                return Err(BalancerProcessError::NotListening { name, missing, log });
            }
            std::thread::park_timeout(LOOK);
        }
    }

    pub fn has_ended(&self) -> bool {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(child.try_wait(), Ok(Some(_)))
    }

    /// Why the run cannot go on, if the balancer has ended.
    pub fn find_death(&self, done: usize) -> Option<BalancerProcessError> {
        let name = self.name.clone();
        self.has_ended().then(|| BalancerProcessError::Died { name, done, log: self.log() })
    }

    /// Why the run cannot go on: the balancer runs and answers nothing.
    pub fn hanging(&self, done: usize) -> BalancerProcessError {
        BalancerProcessError::Hangs { name: self.name.clone(), done, log: self.log() }
    }

    /// The end of its output, which may be long: some programs log each request there.
    fn log_end(&self) -> Vec<u8> {
        let read = || -> io::Result<Vec<u8>> {
            let mut file = regular_file::open(&self.log)?;
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(LOG_READ)))?;
            let mut end = Vec::new();
            file.take(LOG_READ).read_to_end(&mut end)?;
            Ok(end)
        };
        read().unwrap_or_default()
    }

    /// The last lines of its output.
    pub fn log(&self) -> String {
        let text = String::from_utf8_lossy(&self.log_end()).into_owned();
        let lines: Vec<&str> = text.trim().lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].join("; ")
    }
}

impl Drop for BalancerProcess {
    fn drop(&mut self) {
        // `unshare --kill-child` ends the processes of the private namespace with it.
        let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ = child.kill();
        let _ = child.wait();
    }
}
/// Whether a request gets an answer that is no 404.
fn is_answering(address: SocketAddr) -> bool {
    let ask = || -> io::Result<bool> {
        let mut stream = TcpStream::connect_timeout(&address, LOOK)?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
        let mut begin = [0; 12];
        stream.read_exact(&mut begin)?;
        Ok(begin.starts_with(b"HTTP/") && !begin.ends_with(b"404"))
    };
    ask().unwrap_or(false)
}
