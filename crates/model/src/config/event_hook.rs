//! `hook` of `[global]`: programs started on events.

mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::build_hook;
pub(super) use keys::HOOK;
pub use keys::{hook_events, renamed_event};
pub use types::EventHook;
pub(super) use verify::verify_hooks;
