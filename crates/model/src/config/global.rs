//! `[global]`: settings of the process, and defaults for services and pools.

mod build;
mod diff;
mod keys;
mod types;
mod verify;

pub(super) use build::build_global;
pub use diff::GlobalKey;
pub(super) use keys::{CONTROL, GLOBAL};
pub use types::{AccessLogConfig, AccessLogFormat, AccessLogTarget, GlobalConfig};
pub(super) use verify::verify_global;
