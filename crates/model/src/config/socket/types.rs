//! The checked configuration of socket options. `l7` sets them.

use serde::Serialize;
use std::time::Duration;

/// Socket options of a service (its listeners and clients) or of a pool (its servers).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct SocketOptions {
    /// TCP_NODELAY; default true.
    pub nodelay: bool,
    /// Whether the kernel may delay acknowledgements; without it TCP_QUICKACK is renewed after each read. Default true.
    pub delayed_ack: bool,
    /// TCP_SYNCNT; `None`: the system's default.
    pub syn_retries: Option<u8>,
    /// The smallest segment that a client may accept (services only).
    pub mss_min: Option<u16>,
    /// SO_KEEPALIVE and its parameters; default 60 s idle, 10 s interval, 3 probes.
    pub keep_alive: Option<KeepAlive>,
    /// TCP_USER_TIMEOUT; `None`: the kernel's default.
    pub user_timeout: Option<Duration>,
    /// TCP_MAXSEG in bytes, 88–65,495.
    pub mss: Option<u16>,
    /// TCP_CONGESTION; `None`: the system's default.
    pub congestion: Option<String>,
    /// TCP_DEFER_ACCEPT (services only).
    pub defer_accept: Option<Duration>,
    /// TCP_FASTOPEN queue length (services), or TCP_FASTOPEN_CONNECT when not 0 (pools).
    pub fast_open: Option<u32>,
    /// listen(2) backlog (services only); default 4096.
    pub backlog: u32,
    /// IPPROTO_MPTCP; default false.
    pub mptcp: bool,
    /// IP_TRANSPARENT: a service accepts for any address; a pool connects from the client's address.
    pub transparent: bool,
    /// Whether the address is a VRRP address: the socket listens even while another machine has it. Not a key.
    pub shared: bool,
    /// SO_BINDTODEVICE.
    pub interface: Option<String>,
    /// SO_MARK.
    pub mark: Option<u32>,
    /// SO_SNDBUF in bytes as requested; `None`: autotuning.
    pub send_buffer: Option<u64>,
    /// SO_RCVBUF in bytes as requested; `None`: autotuning.
    pub receive_buffer: Option<u64>,
    /// The rate and round trip that the operator expects, used only for warnings.
    pub path: Option<PathHint>,
}

/// SO_KEEPALIVE, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct KeepAlive {
    /// Silence before the first keep-alive probe.
    pub idle: Duration,
    /// Interval between keep-alive probes.
    pub interval: Duration,
    /// Unanswered keep-alive probes until the connection counts as dead.
    pub count: u32,
}

/// The expected capacity of a path, with which `check` reports the rate that a buffer size allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PathHint {
    /// Expected bits per second.
    pub rate: u64,
    /// Round trip.
    pub round_trip: Duration,
}

impl Default for SocketOptions {
    fn default() -> Self {
        SocketOptions {
            nodelay: true,
            delayed_ack: true,
            syn_retries: None,
            mss_min: None,
            keep_alive: Some(KeepAlive {
                // A dead peer is found after 60 + 3 × 10 = 90 s.
                idle: Duration::from_secs(60),
                interval: Duration::from_secs(10),
                count: 3,
            }),
            user_timeout: None,
            mss: None,
            congestion: None,
            defer_accept: None,
            fast_open: None,
            backlog: 4096,
            mptcp: false,
            transparent: false,
            shared: false,
            interface: None,
            mark: None,
            send_buffer: None,
            receive_buffer: None,
            path: None,
        }
    }
}
