//! One process takes over from another: the listening sockets themselves change hands, no connection is lost.
//!
//! ```text
//! new                                old
//!  │ hello ─────────────────────────▶ │  changes are refused from here on
//!  │ ◀───────── offer, then sockets   │  configuration, health, words
//!  │ (opens everything, accepts)      │  (accepts too: the sockets are shared)
//!  │ ready ─────────────────────────▶ │
//!  │ ◀─────────────────────── leaving │  stops accepting, drains, exits
//!  │ ◀─────────────────────── remains │  each second, until it is gone
//! ```
//!
//! If the new one dies before it is ready the old one goes on as if nothing had happened; if the old one dies the
//! new one goes on alone. How each of them starts or leaves is not decided here.

pub mod draining_process;
pub mod message;
pub mod new_process;
pub mod old_process;
pub mod spawn;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

/// The socket for handover requests, beside the control socket.
pub fn socket_beside(control: &Path) -> PathBuf {
    let mut path = control.as_os_str().to_owned();
    path.push(".upgrade");
    PathBuf::from(path)
}
