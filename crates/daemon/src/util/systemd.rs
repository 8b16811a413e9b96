//! Notifications to systemd (sd_notify(3)) and the sockets that it passes at start (sd_listen_fds(3)).
//!
//! Without systemd every call does nothing. A notification is one datagram: sending never blocks for long, and a
//! datagram that systemd does not receive is lost without an error.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::time::Duration;

use l7::socket;

use crate::util::fd_passing;
use crate::util::listeners::{ListeningSocket, SocketStore, fd_store_address};

/// The first descriptor that is handed over.
/// SD_LISTEN_FDS_START of sd_listen_fds(3).
const FIRST: i32 = 3;
/// The limit of the wait for a busy systemd. After the limit the message is lost, because the daemon must not wait for
/// its supervisor.
const SEND_TIMEOUT: Duration = Duration::from_millis(200);
/// The limit of inherited descriptors; a larger number counts as an error.
const MOST: i32 = 65_536;

/// The way to systemd; cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct SystemdNotifier {
    socket: Option<Arc<UnixDatagram>>,
}

impl SystemdNotifier {
    /// A notifier for the socket in the environment.
    pub fn from_environment() -> SystemdNotifier {
        std::env::var_os("NOTIFY_SOCKET")
            .map_or_else(SystemdNotifier::default, |path| SystemdNotifier::to_path(&path))
    }

    /// A notifier for a socket's path, `@` for an abstract name; an empty path disables it.
    pub fn to_path(path: &OsStr) -> SystemdNotifier {
        let connect = || -> io::Result<UnixDatagram> {
            let socket = UnixDatagram::unbound()?;
            match path.as_bytes().strip_prefix(b"@") {
                Some(name) => {
                    let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
                    socket.connect_addr(&address)?;
                }
                None => socket.connect(path)?,
            }
            socket.set_write_timeout(Some(SEND_TIMEOUT))?;
            Ok(socket)
        };
        SystemdNotifier { socket: connect().ok().map(Arc::new) }
    }

    /// Ready, or done with reloading. After a takeover this process is the main one.
    pub fn ready(&self, status: &str) {
        let pid = std::process::id();
        self.send(&format!("READY=1\nMAINPID={pid}\nSTATUS={}\n", escape_line(status)), &[]);
    }

    /// Reloading; `Type=notify-reload` waits for `ready`.
    pub fn reloading(&self) {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let microseconds = now.tv_sec.saturating_mul(1_000_000) + now.tv_nsec / 1000;
        self.send(&format!("RELOADING=1\nMONOTONIC_USEC={microseconds}\n"), &[]);
    }

    /// On the way out, for at most `limit` more.
    pub fn stopping(&self, status: &str, limit: Duration) {
        // Five seconds on top of the drain: its end takes up to `RESET_GRACE` plus twice `FINISH_GRACE`.
        let limit = limit.saturating_add(Duration::from_secs(5)).as_micros();
        let status = escape_line(status);
        self.send(&format!("STOPPING=1\nEXTEND_TIMEOUT_USEC={limit}\nSTATUS={status}\n"), &[]);
    }

    pub fn ping_watchdog(&self) {
        self.send("WATCHDOG=1\n", &[]);
    }

    fn send(&self, text: &str, descriptors: &[BorrowedFd<'_>]) {
        if let Some(socket) = &self.socket {
            // If systemd does not read the message, there is nowhere to report it.
            let _ = fd_passing::send_descriptors(socket.as_fd(), text.as_bytes(), descriptors);
        }
    }
}

impl SocketStore for SystemdNotifier {
    fn store_sockets(&mut self, name: &str, sockets: &[BorrowedFd<'_>]) {
        for some in sockets.chunks(fd_passing::PER_MESSAGE) {
            self.send(&format!("FDSTORE=1\nFDPOLL=0\nFDNAME={name}\n"), some);
        }
    }

    fn remove_sockets(&mut self, name: &str) {
        self.send(&format!("FDSTOREREMOVE=1\nFDNAME={name}\n"), &[]);
    }
}

/// Half of systemd's watchdog interval; `None`: there is no watchdog. After a takeover, this process answers the
/// watchdog of the previous one.
pub fn watchdog_interval(microseconds: Option<&str>) -> Option<Duration> {
    let microseconds = microseconds?.parse::<u64>().ok().filter(|us| *us > 0)?;
    // Below a millisecond the timer would fire in a busy loop.
    Some(Duration::from_micros(microseconds / 2).max(Duration::from_millis(1)))
}

/// The listening sockets that systemd stored, by the address that they were configured with. Called once, at start,
/// before any other descriptor is opened.
pub fn stored_sockets() -> Vec<ListeningSocket> {
    let variable = |name| std::env::var(name).ok();
    let passed = passed_descriptors(
        variable("LISTEN_PID").as_deref(),
        variable("LISTEN_FDS").as_deref(),
        variable("LISTEN_FDNAMES").as_deref(),
        std::process::id(),
    );
    let take = |PassedDescriptor { number, name }| {
        let socket = socket::adopt_inherited(number).ok()?;
        let bound = socket::bound_address(socket.as_fd())?;
        // The stored name holds the configured address (its port may be 0); other sockets are named by their bound
        // address.
        Some(ListeningSocket { address: fd_store_address(&name).unwrap_or(bound), socket })
    };
    passed.into_iter().filter_map(take).collect()
}

/// A descriptor that systemd passes, with the name that it was stored under.
#[derive(Debug, PartialEq, Eq)]
struct PassedDescriptor {
    number: i32,
    name: String,
}

/// The descriptors that are meant for process `pid`.
fn passed_descriptors(
    for_pid: Option<&str>,
    count: Option<&str>,
    names: Option<&str>,
    pid: u32,
) -> Vec<PassedDescriptor> {
    if for_pid.and_then(|text| text.parse().ok()) != Some(pid) {
        return Vec::new();
    }
    let count = count.and_then(|text| text.parse::<i32>().ok()).unwrap_or(0).clamp(0, MOST);
    let mut names = names.unwrap_or_default().split(':');
    let name = |at| PassedDescriptor {
        number: FIRST + at,
        name: names.next().unwrap_or_default().to_owned(),
    };
    (0..count).map(name).collect()
}

/// A message is lines: a sentence must not begin another one.
fn escape_line(text: &str) -> String {
    // systemctl shows the status on one line; 200 characters are enough for one sentence.
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_taken_only_when_they_are_meant_for_us() {
        let names = Some("10.0.0.1_80:10.0.0.1_80");
        let ours = passed_descriptors(Some("7"), Some("3"), names, 7);
        let expected = [(3, "10.0.0.1_80"), (4, "10.0.0.1_80"), (5, "")];
        let expected =
            expected.map(|(number, name)| PassedDescriptor { number, name: name.to_owned() });
        assert_eq!(ours, expected);
        for (pid, count) in
            [(Some("8"), Some("3")), (None, Some("3")), (Some("7"), None), (Some("7"), Some("-1"))]
        {
            assert!(passed_descriptors(pid, count, names, 7).is_empty(), "{pid:?} {count:?}");
        }
        assert_eq!(passed_descriptors(Some("7"), Some("999999999"), None, 7).len(), 65_536);
    }

    #[test]
    fn systemd_receives_messages_and_sockets() {
        let directory = crate::util::scratch_dir::Scratch::new("notify").unwrap();
        let path = directory.path().join("notify");
        let systemd = UnixDatagram::bind(&path).unwrap();
        let mut notify = SystemdNotifier::to_path(path.as_os_str());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();

        notify.store_sockets("127.0.0.1_80", &[listener.as_fd(), listener.as_fd()]);
        let mut buffer = [0; 512];
        let mut sockets = Vec::new();
        let length = fd_passing::receive_descriptors(&systemd, &mut buffer, &mut sockets).unwrap();
        assert_eq!(&buffer[..length], b"FDSTORE=1\nFDPOLL=0\nFDNAME=127.0.0.1_80\n");
        assert_eq!(sockets.len(), 2);
        let at = socket::listening_address(sockets[0].as_fd());
        assert_eq!(at, Some(listener.local_addr().unwrap()));

        notify.ready("two\nlines");
        let length = systemd.recv(&mut buffer).unwrap();
        let pid = std::process::id();
        let text = std::str::from_utf8(&buffer[..length]).unwrap();
        assert_eq!(text, format!("READY=1\nMAINPID={pid}\nSTATUS=two lines\n"));

        notify.reloading();
        let length = systemd.recv(&mut buffer).unwrap();
        let text = std::str::from_utf8(&buffer[..length]).unwrap();
        let time = text.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").unwrap().trim_end();
        assert!(time.parse::<u64>().unwrap() > 0);

        notify.remove_sockets("127.0.0.1_80");
        let length = systemd.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"FDSTOREREMOVE=1\nFDNAME=127.0.0.1_80\n");
    }

    #[test]
    fn without_systemd_nothing_happens() {
        SystemdNotifier::default().ready("alone");
        SystemdNotifier::to_path(OsStr::new("/nonexistent/notify"))
            .stopping("alone", Duration::from_secs(1));
        assert_eq!(watchdog_interval(None), None);
        assert_eq!(watchdog_interval(Some("0")), None);
        assert_eq!(watchdog_interval(Some("3000000")), Some(Duration::from_millis(1500)));
    }
}
