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
//! If the new process dies before it is ready, the old process continues unchanged. If the old process dies, the new
//! process continues alone. How the processes start or end is decided elsewhere.

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
