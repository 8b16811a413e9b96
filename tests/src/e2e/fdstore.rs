//! A stand-in for systemd's socket handling: it receives notifications, stores descriptors, and passes them to a
//! started process.
//!
//! See sd_notify(3) and sd_listen_fds(3). Every process that starts meanwhile inherits the stored descriptors, so a
//! test that uses this module must be alone in its program.

use std::collections::BTreeMap;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use super::dir::TestDir;
use super::process::ChildProcess;

/// Moves the descriptors in `KEPT` to the numbers that sd_listen_fds(3) expects, from 3 on.
const START: &str = r#"n=3; for k in $KEPT; do eval "exec $n<&$k $k<&-"; n=$((n+1)); done
unset KEPT; export LISTEN_PID=$$; exec "$@""#;

/// Descriptor numbers from here on are free in the new process.
const HIGH: i32 = 500;

/// Time between two checks of the stop flag.
const LOOK: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct FdStore {
    path: PathBuf,
    state: Arc<Mutex<NotifyState>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct NotifyState {
    stored: BTreeMap<String, Vec<OwnedFd>>,
    ready: usize,
}

impl FdStore {
    /// Listens on a socket in this directory permanently, as systemd does, without stored descriptors.
    pub fn new(dir: &TestDir) -> FdStore {
        let path = dir.join("notify");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_read_timeout(Some(LOOK)).unwrap();
        let heard = Arc::new(Mutex::new(NotifyState::default()));
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&heard);
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                if let Some((message, sockets)) = receive(&socket) {
                    told.lock().unwrap().record(&message, sockets);
                }
            }
        });
        FdStore { path, state: heard, stop, thread: Some(thread) }
    }

    /// Starts the command as a service with all stored descriptors.
    pub fn start(&self, command: &Command) -> ChildProcess {
        let mut names = Vec::new();
        let mut passed = Vec::new();
        for (name, sockets) in &self.state.lock().unwrap().stored {
            for socket in sockets {
                let copy = fcntl_dupfd_cloexec(socket, HIGH).unwrap();
                fcntl_setfd(&copy, FdFlags::empty()).unwrap();
                names.push(name.clone());
                passed.push(copy);
            }
        }
        let numbers: Vec<String> = passed.iter().map(|fd| fd.as_raw_fd().to_string()).collect();
        let mut shell = Command::new("bash");
        shell.args(["-c", START, "start"]).arg(command.get_program()).args(command.get_args());
        shell.env("NOTIFY_SOCKET", &self.path).env("KEPT", numbers.join(" "));
        shell.env("LISTEN_FDS", names.len().to_string()).env("LISTEN_FDNAMES", names.join(":"));
        ChildProcess::start(shell)
    }

    /// How many `READY=1` notifications arrived.
    pub fn ready(&self) -> usize {
        self.state.lock().unwrap().ready
    }

    /// The number of stored sockets under each name.
    pub fn stored_counts(&self) -> BTreeMap<String, usize> {
        let heard = self.state.lock().unwrap();
        heard.stored.iter().map(|(name, sockets)| (name.clone(), sockets.len())).collect()
    }
}

impl Drop for FdStore {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl NotifyState {
    fn record(&mut self, message: &str, sockets: Vec<OwnedFd>) {
        let value = |key: &str| message.lines().find_map(|line| line.strip_prefix(key));
        let name = value("FDNAME=").unwrap_or_default().to_owned();
        if value("FDSTORE=").is_some() {
            let kept = self.stored.entry(name).or_default();
            // Each socket is stored once, even if it is sent several times.
            let number = |socket: &OwnedFd| rustix::fs::fstat(socket).unwrap().st_ino;
            let had: Vec<u64> = kept.iter().map(number).collect();
            kept.extend(sockets.into_iter().filter(|socket| !had.contains(&number(socket))));
        } else if value("FDSTOREREMOVE=").is_some() {
            self.stored.remove(&name);
        }
        self.ready += usize::from(value("READY=").is_some());
    }
}

/// The next message and its descriptors, if one arrives before the read times out.
fn receive(socket: &UnixDatagram) -> Option<(String, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(64))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = [0; 4096];
    let slices = &mut [IoSliceMut::new(&mut bytes)];
    let got = recvmsg(socket, slices, &mut control, RecvFlags::CMSG_CLOEXEC).ok()?;
    let rights = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(sockets) => Some(sockets),
        _ => None,
    });
    let sockets = rights.flatten().collect();
    Some((String::from_utf8_lossy(&bytes[..got.bytes]).into_owned(), sockets))
}
