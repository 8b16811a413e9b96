//! Host checks: whether a machine's settings fit its purpose. Ports, files, queues, buffers, offloads, steering,
//! clocks.
//!
//! The checks work on a snapshot that the caller took; each result has the observed setting, why it matters and the
//! command that changes it. Nothing is read or changed here.

mod check;
mod snapshot;

pub use check::{HostCheckResult, HostFinding, SettingChange, check_host};
pub use snapshot::{DescriptorLimits, HostInterface, HostSnapshot, HostWorkload};
