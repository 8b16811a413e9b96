//! Why a listener could not be opened, in a sentence with advice. The error names the process that holds the port.

use std::io;
use std::net::SocketAddr;

use model::config::SocketOptions;

use super::port_holder::{self, PortHolder};
use super::socket_option::SocketOptionError;

/// Advice for rejected multipath.
pub(super) const MPTCP_ADVICE: &str =
    "; multipath (socket.mptcp) takes a kernel with MPTCP and `sysctl net.mptcp.enabled=1`";

/// Why an address cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error("cannot listen on {address}: {}", write_taken(.address, .holders))]
    Taken {
        address: SocketAddr,
        /// The processes that hold the port, as far as this user may see them.
        holders: Vec<PortHolder>,
    },
    /// The host does not have the address.
    #[error(
        "cannot listen on {address}: this machine does not have that address; `ip address` lists those it has, \
         `sysctl net.ipv4.ip_nonlocal_bind=1` (ipv6: net.ipv6.ip_nonlocal_bind) allows others"
    )]
    NotLocal { address: SocketAddr },
    /// The port requires a privilege.
    #[error(
        "cannot listen on {address}: ports below {first_free} need a privilege that this user lacks; as root, give the \
         program CAP_NET_BIND_SERVICE with `setcap cap_net_bind_service=+ep {program}` (the systemd unit has it), or free \
         the port with `sysctl net.ipv4.ip_unprivileged_port_start={}`, or listen on a higher port and redirect to it: \
         `iptables -t nat -A PREROUTING -p tcp --dport {} -j REDIRECT --to-ports PORT`",
        address.port(), address.port()
    )]
    Privileged {
        address: SocketAddr,
        /// The first port that requires no privilege.
        first_free: u16,
        /// The path of this program.
        program: String,
    },
    /// A setting was rejected.
    #[error("cannot listen on {address} as configured: {refused}")]
    Setting {
        address: SocketAddr,
        /// The setting, with advice.
        #[source]
        refused: SocketOptionError,
    },
    /// An inherited socket is not a listening TCP socket.
    #[error("the socket that was handed to us does not listen")]
    NotListening,
    /// Several addresses are not available.
    #[error("{}", write_several(.0))]
    Several(Vec<ListenError>),
    /// There are too few descriptors for all sockets; none was opened.
    #[error(
        "{sockets} listening sockets are needed for {addresses} addresses ({workers} workers), and this process may open \
         {room} descriptors more of its {limit}: raise the limit (LimitNOFILE= in the unit, `ulimit -Hn` in a shell), or lower \
         global.workers"
    )]
    NoDescriptors { sockets: u64, addresses: usize, workers: usize, room: u64, limit: u64 },
    /// Any other system error.
    #[error("cannot {action} a socket for {address}: {source}{advice}")]
    System {
        address: SocketAddr,
        action: &'static str,
        /// Advice, or empty.
        advice: &'static str,
        #[source]
        source: io::Error,
    },
}

/// Most errors that the message lists; further ones are counted.
/// A message with more lines hides the first ones.
const NAMED: usize = 16;

fn write_several(all: &[ListenError]) -> String {
    let named: Vec<String> = all.iter().take(NAMED).map(ToString::to_string).collect();
    let more = all.len().saturating_sub(NAMED);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!("{}{more}", named.join("; "))
}

impl ListenError {
    /// Combines the errors; `None`: there are none.
    pub fn combine(mut refused: Vec<ListenError>) -> Option<ListenError> {
        match refused.len() {
            0 | 1 => refused.pop(),
            _ => Some(ListenError::Several(refused)),
        }
    }

    /// The individual errors.
    pub fn each(&self) -> &[ListenError] {
        match self {
            ListenError::Several(all) => all,
            one => std::slice::from_ref(one),
        }
    }

    /// Interprets a failed bind(2) or listen(2).
    pub(super) fn address(
        address: SocketAddr,
        options: &SocketOptions,
        source: io::Error,
    ) -> ListenError {
        match source.raw_os_error() {
            Some(libc::EADDRINUSE) => {
                ListenError::Taken { address, holders: port_holder::find_holders(address) }
            }
            Some(libc::EADDRNOTAVAIL) => ListenError::NotLocal { address },
            Some(libc::EACCES) if address.port() != 0 && address.port() < first_free() => {
                ListenError::Privileged { address, first_free: first_free(), program: program() }
            }
            _ => ListenError::socket(address, options.mptcp, source),
        }
    }

    /// Interprets a failed socket(2).
    pub(super) fn socket(address: SocketAddr, mptcp: bool, source: io::Error) -> ListenError {
        let advice = match source.raw_os_error() {
            Some(libc::EMFILE) => "; raise the limit of descriptors (LimitNOFILE in the unit)",
            Some(libc::EAFNOSUPPORT) => "; this kernel does not have that address family",
            Some(libc::EPROTONOSUPPORT | libc::ENOPROTOOPT | libc::EINVAL) if mptcp => MPTCP_ADVICE,
            _ => "",
        };
        ListenError::System { address, action: "open", advice, source }
    }

    pub(super) fn system(
        address: SocketAddr,
        action: &'static str,
        source: io::Error,
    ) -> ListenError {
        ListenError::System { address, action, advice: "", source }
    }
}

/// The first port that requires no privilege.
fn first_free() -> u16 {
    std::fs::read_to_string("/proc/sys/net/ipv4/ip_unprivileged_port_start")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(1024)
}

/// The path of this program, as a shell takes it.
fn program() -> String {
    let path = std::env::current_exe().map(|path| path.display().to_string());
    path.unwrap_or_else(|_| "$(command -v steelyard)".to_owned())
}

fn write_taken(address: &SocketAddr, holders: &[PortHolder]) -> String {
    let port = address.port();
    if holders.is_empty() {
        return format!(
            "another process listens there; as root, `ss -ltnp 'sport = :{port}'` names it"
        );
    }
    let names: Vec<String> = holders.iter().map(PortHolder::to_string).collect();
    format!("{} listens there", names.join(", "))
}
