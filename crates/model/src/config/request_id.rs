//! The field with the id of a request.

mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::build_request_id;
pub(super) use keys::REQUEST_ID;
pub use types::RequestIdConfig;
pub(super) use verify::verify_request_id;
