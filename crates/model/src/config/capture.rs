//! `[capture.NAME]`: conditions that start a packet capture automatically.

mod build;
mod diff;
mod keys;
mod types;
mod verify;

pub(super) use build::build_capture;
pub use diff::CaptureKey;
pub(super) use keys::{CAPTURE, RULES};
pub use types::CaptureConfig;
pub(super) use verify::verify_capture;
