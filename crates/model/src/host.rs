//! Whether a machine's settings fit what it is wanted for: ports, files, queues, buffers, offloads, steering, clocks.
//!
//! Checks over a picture that somebody else has taken; each says what was found, why it matters and what changes it.
//! Nothing is read or changed here.

mod check;
mod snapshot;

pub use check::{HostCheckResult, HostFinding, SettingChange, check_host};
pub use snapshot::{HostInterface, HostSnapshot, HostWorkload};
