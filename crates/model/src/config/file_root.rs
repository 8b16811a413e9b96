//! The root table of the configuration; the tables below it have their own modules.

mod build;
mod diff;
mod keys;
mod reserved_fields;
mod resolve;
mod reuse;
mod types;
mod verify;

pub(super) use build::build_config;
pub use diff::{ConfigDiff, diff};
pub(super) use keys::ROOT;
pub(super) use resolve::resolve_config;
pub use types::Config;
pub(super) use verify::verify_config;
