//! Sets options on sockets, and names the option that was rejected.
//!
//! Maps each setting of `SocketOptions` to the kernel's option.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use model::config::SocketOptions;
use rustix::net::sockopt;
use socket2::{SockRef, Socket, TcpKeepalive};

use crate::rt::sys;

/// A setting that the kernel rejected.
#[derive(Debug, thiserror::Error)]
#[error("socket.{option} = {value} was refused: {source}; {advice}")]
pub struct SocketOptionError {
    /// The configuration key, under `socket`.
    pub option: &'static str,
    /// The requested value.
    pub value: String,
    pub advice: String,
    #[source]
    pub source: io::Error,
}

impl SocketOptionError {
    /// The system's error alone, for callers that act on its kind.
    pub(super) fn into_io(self) -> io::Error {
        self.source
    }
}

/// Whether a socket still has the kernel's defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SocketFreshness {
    /// Just opened: a setting that is not configured has the kernel's default.
    Yes,
    /// Already in use: a setting that is not configured is reset to the default.
    No,
}

/// Whether the change from `old` to `new` requires new sockets. Multipath is another protocol, an interface is part of
/// the address, and a configured buffer or number of SYN retries cannot return to the system's.
pub fn needs_reopening(old: &SocketOptions, new: &SocketOptions) -> bool {
    old.mptcp != new.mptcp
        || (old.syn_retries.is_some() && new.syn_retries.is_none())
        || old.interface != new.interface
        || (old.send_buffer.is_some() && new.send_buffer.is_none())
        || (old.receive_buffer.is_some() && new.receive_buffer.is_none())
}

/// Unsent bytes in a client's socket. A client that stops reading occupies about this much kernel memory, instead of
/// the whole send buffer that autotuning allows.
const UNSENT: i32 = 256 * 1024;

/// Settings of a listener, which accepted sockets inherit.
pub(super) fn listening(
    socket: BorrowedFd<'_>,
    address: SocketAddr,
    options: &SocketOptions,
    fresh: SocketFreshness,
) -> Result<(), SocketOptionError> {
    let socket = &*SockRef::from(&socket);
    common(socket, address, options, fresh)?;
    let seconds = options.defer_accept.map(whole_seconds);
    number(socket, "defer-accept", libc::TCP_DEFER_ACCEPT, seconds, fresh)?;
    let queue = options.fast_open.map(|queue| i32::try_from(queue).unwrap_or(i32::MAX));
    number(socket, "fast-open", libc::TCP_FASTOPEN, queue, fresh)?;
    // Not every kernel and protocol supports this option. Without it only the limit of the send buffer applies.
    let _ = sys::set_option(socket.as_fd(), libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, UNSENT);
    buffers_as_asked(socket, options)
}

/// Settings of a UDP socket: those that do not concern connections.
pub(super) fn packets(
    socket: &Socket,
    address: SocketAddr,
    options: &SocketOptions,
) -> Result<(), SocketOptionError> {
    privileged(socket, address, options, SocketFreshness::Yes)
}

/// Settings of a socket to a server.
pub(super) fn outgoing(
    socket: &Socket,
    to: SocketAddr,
    options: &SocketOptions,
) -> Result<(), SocketOptionError> {
    common(socket, to, options, SocketFreshness::Yes)?;
    if options.fast_open.is_some_and(|queue| queue != 0) {
        number(socket, "fast-open", libc::TCP_FASTOPEN_CONNECT, Some(1), SocketFreshness::Yes)?;
    }
    Ok(())
}

/// The kernel limits a buffer to a system limit without an error. This returns an error, after trying to exceed the
/// limit (which requires CAP_NET_ADMIN).
pub(super) fn buffers_as_asked(
    socket: &Socket,
    options: &SocketOptions,
) -> Result<(), SocketOptionError> {
    if let Some(asked) = options.send_buffer {
        let size = usize::try_from(asked).unwrap_or(usize::MAX);
        // The kernel doubles the requested size for its bookkeeping (socket(7)).
        let short = |got: io::Result<usize>| got.is_ok_and(|got| got / 2 < size);
        if short(socket.send_buffer_size()) {
            // Fails without CAP_NET_ADMIN; the size that is read next shows it.
            let _ = sockopt::set_socket_send_buffer_size_force(socket, size);
            if short(socket.send_buffer_size()) {
                return Err(buffer_cut_error("send-buffer", asked, "net.core.wmem_max"));
            }
        }
    }
    if let Some(asked) = options.receive_buffer {
        let size = usize::try_from(asked).unwrap_or(usize::MAX);
        let short = |got: io::Result<usize>| got.is_ok_and(|got| got / 2 < size);
        if short(socket.recv_buffer_size()) {
            // Fails without CAP_NET_ADMIN; the size that is read next shows it.
            let _ = sockopt::set_socket_recv_buffer_size_force(socket, size);
            if short(socket.recv_buffer_size()) {
                return Err(buffer_cut_error("receive-buffer", asked, "net.core.rmem_max"));
            }
        }
    }
    Ok(())
}

fn buffer_cut_error(option: &'static str, asked: u64, limit: &str) -> SocketOptionError {
    SocketOptionError {
        option,
        value: asked.to_string(),
        advice: format!(
            "raise it (`sysctl -w {limit}={asked}`), give CAP_NET_ADMIN, ask for less, \
             or unset it: the kernel's autotuning is usually better"
        ),
        source: io::Error::other(format!("{limit} is lower")),
    }
}

/// The settings that listeners and outgoing sockets share.
fn common(
    socket: &Socket,
    near: SocketAddr,
    options: &SocketOptions,
    fresh: SocketFreshness,
) -> Result<(), SocketOptionError> {
    if options.nodelay || fresh == SocketFreshness::No {
        let set = socket.set_tcp_nodelay(options.nodelay);
        set.map_err(|e| option_error("nodelay", options.nodelay, "unset it", e))?;
    }
    keep_alive(socket, options, fresh)?;
    let timeout = options.user_timeout.map(milliseconds);
    number(socket, "user-timeout", libc::TCP_USER_TIMEOUT, timeout, fresh)?;
    let retries = options.syn_retries.map(i32::from);
    number(socket, "syn-retries", libc::TCP_SYNCNT, retries, fresh)?;
    let mss = options.mss.map(i32::from);
    number(socket, "mss", libc::TCP_MAXSEG, mss, fresh)?;
    congestion(socket, options, fresh)?;
    privileged(socket, near, options, fresh)?;
    if let Some(size) = options.send_buffer {
        let set = socket.set_send_buffer_size(usize::try_from(size).unwrap_or(usize::MAX));
        set.map_err(|e| option_error("send-buffer", size, "unset it", e))?;
    }
    if let Some(size) = options.receive_buffer {
        let set = socket.set_recv_buffer_size(usize::try_from(size).unwrap_or(usize::MAX));
        set.map_err(|e| option_error("receive-buffer", size, "unset it", e))?;
    }
    Ok(())
}

fn keep_alive(
    socket: &Socket,
    options: &SocketOptions,
    fresh: SocketFreshness,
) -> Result<(), SocketOptionError> {
    let Some(times) = options.keep_alive else {
        if fresh == SocketFreshness::No {
            let set = socket.set_keepalive(false);
            set.map_err(|e| option_error("keep-alive", "off", "leave it on", e))?;
        }
        return Ok(());
    };
    let all = TcpKeepalive::new()
        .with_time(at_least_a_second(times.idle))
        .with_interval(at_least_a_second(times.interval))
        .with_retries(times.count);
    let set = socket.set_tcp_keepalive(&all);
    set.map_err(|e| {
        let value = format!("{:?}/{:?}/{}", times.idle, times.interval, times.count);
        option_error("keep-alive", value, "times go up to 32767 s, the count to 127", e)
    })
}

fn congestion(
    socket: &Socket,
    options: &SocketOptions,
    fresh: SocketFreshness,
) -> Result<(), SocketOptionError> {
    let wanted = match (&options.congestion, fresh) {
        (Some(name), _) => name.clone(),
        (None, SocketFreshness::Yes) => return Ok(()),
        (None, SocketFreshness::No) => {
            match std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control") {
                Ok(name) => name.trim().to_owned(),
                Err(_) => return Ok(()),
            }
        }
    };
    if fresh == SocketFreshness::No
        && sockopt::tcp_congestion(socket).is_ok_and(|now| now == wanted)
    {
        return Ok(());
    }
    socket.set_tcp_congestion(wanted.as_bytes()).map_err(|e| {
        let list = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
        let list = list.unwrap_or_default();
        let advice = match e.raw_os_error() {
            Some(libc::EPERM) => "allow it in net.ipv4.tcp_allowed_congestion_control, \
                or give CAP_NET_ADMIN"
                .to_owned(),
            _ => format!("loaded are: {}; `modprobe tcp_{wanted}` may load it", list.trim()),
        };
        option_error("congestion", &wanted, advice, e)
    })
}

fn privileged(
    socket: &Socket,
    near: SocketAddr,
    options: &SocketOptions,
    fresh: SocketFreshness,
) -> Result<(), SocketOptionError> {
    let transparent = |on| match near {
        SocketAddr::V4(_) => socket.set_ip_transparent_v4(on),
        SocketAddr::V6(_) => socket.set_ip_transparent_v6(on),
    };
    let is_transparent = || match near {
        SocketAddr::V4(_) => socket.ip_transparent_v4().unwrap_or(false),
        SocketAddr::V6(_) => socket.ip_transparent_v6().unwrap_or(false),
    };
    if options.transparent || (fresh == SocketFreshness::No && is_transparent()) {
        transparent(options.transparent).map_err(|e| {
            option_error(
                "transparent",
                options.transparent,
                "it takes CAP_NET_ADMIN or CAP_NET_RAW",
                e,
            )
        })?;
    }
    if options.shared && fresh == SocketFreshness::Yes {
        let done = match near {
            SocketAddr::V4(_) => socket.set_freebind_v4(true),
            SocketAddr::V6(_) => socket.set_freebind_v6(true),
        };
        done.map_err(|e| option_error("shared", true, "the address is one of `[vrrp.NAME]`", e))?;
    }
    let mark = options.mark.unwrap_or(0);
    if options.mark.is_some()
        || (fresh == SocketFreshness::No && socket.mark().is_ok_and(|now| now != 0))
    {
        socket
            .set_mark(mark)
            .map_err(|e| option_error("mark", mark, "it takes CAP_NET_ADMIN", e))?;
    }
    // For a socket in use the interface is part of the address: see `needs_reopening`.
    if let (Some(interface), SocketFreshness::Yes) = (&options.interface, fresh) {
        socket.bind_device(Some(interface.as_bytes())).map_err(|e| {
            let advice = match e.raw_os_error() {
                Some(libc::ENODEV) => "`ip link` lists the interfaces there are",
                _ => "it takes CAP_NET_RAW",
            };
            option_error("interface", interface, advice, e)
        })?;
    }
    Ok(())
}

/// A numeric TCP option, for which zero means the kernel's default.
fn number(
    socket: &Socket,
    option: &'static str,
    name: i32,
    value: Option<i32>,
    fresh: SocketFreshness,
) -> Result<(), SocketOptionError> {
    let wanted = match (value, fresh) {
        (Some(value), _) => value,
        (None, SocketFreshness::Yes) => return Ok(()),
        // Not every protocol supports every option; an unsupported one need not be reset.
        (None, SocketFreshness::No) => {
            let _ = sys::set_option(socket.as_fd(), libc::IPPROTO_TCP, name, 0);
            return Ok(());
        }
    };
    sys::set_option(socket.as_fd(), libc::IPPROTO_TCP, name, wanted).map_err(|e| {
        let advice = match e.raw_os_error() {
            Some(libc::EOPNOTSUPP | libc::ENOPROTOOPT) => {
                "this kernel does not know it, or not for multipath: unset it or unset `mptcp`"
            }
            _ => "the kernel does not take this value: choose another or unset it",
        };
        option_error(option, wanted, advice, e)
    })
}

fn option_error(
    option: &'static str,
    value: impl ToString,
    advice: impl Into<String>,
    source: io::Error,
) -> SocketOptionError {
    SocketOptionError { option, value: value.to_string(), advice: advice.into(), source }
}

/// The kernel counts these times in seconds and rejects values below one.
fn at_least_a_second(span: Duration) -> Duration {
    span.max(Duration::from_secs(1))
}

fn whole_seconds(span: Duration) -> i32 {
    i32::try_from(span.as_secs() + u64::from(span.subsec_nanos() > 0)).unwrap_or(i32::MAX)
}

fn milliseconds(span: Duration) -> i32 {
    i32::try_from(span.as_millis()).unwrap_or(i32::MAX)
}
