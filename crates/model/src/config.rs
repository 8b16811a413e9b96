//! The configuration: what was written (`raw`), what it means (`Config`, valid by construction), what changed
//! (`diff`). It reads no file: text comes in.

pub mod checked;
pub mod socket;

pub use checked::{
    AccessFormat, AccessLog, AccessTarget, AllDown, Balance, Config, Control, Fanout, Forward, Forwarded, Global,
    Host, Initial, Metrics, Pool, Probe, ProbeKind, Server, ServerAddress, Service,
};
pub use checked::{Admin, Limits, PoolLimits, PoolTimeouts, ServiceTimeouts, Weight};
pub use socket::{KeepAlive, PathHint, SocketOptions};
