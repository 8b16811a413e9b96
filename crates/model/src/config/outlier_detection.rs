//! `eject` of a pool: when a server is ejected for its responses.

mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::build_outlier_detection;
pub(super) use keys::EJECT;
pub use types::OutlierDetectionConfig;
pub(super) use verify::verify_ejection_share;
