//! Why a server was not reached, as a cause or a sentence. It reaches none.

use std::io;

use model::cause::Cause;
use model::config::Host;

/// A server without an address.
pub fn unresolved(host: &Host) -> String {
    match host {
        Host::Ip(ip) => format!("{ip} has no address"),
        Host::Name(name) => format!("{name} does not resolve"),
    }
}

/// What the kernel said of a connection that was not made.
pub fn cause_of(error: &io::Error) -> Cause {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::ConnectionRefused => Cause::ServerRefused,
        Kind::ConnectionReset | Kind::ConnectionAborted => Cause::ServerReset,
        Kind::TimedOut => Cause::ConnectTimeout,
        Kind::AddrNotAvailable => Cause::NoSourcePort,
        _ if matches!(
            error.raw_os_error(),
            Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM)
        ) =>
        {
            Cause::NoDescriptor
        }
        _ => Cause::ServerUnreachable,
    }
}
