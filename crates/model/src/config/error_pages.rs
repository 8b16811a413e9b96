//! `[[service.NAME.error-page]]`: the operator's own pages for errors.

mod build;
mod keys;
mod types;
mod verify;

pub(super) use build::build_error_page;
pub(super) use keys::ERROR_PAGE;
pub use types::{ErrorPageConfig, ErrorPageContent};
pub(super) use verify::verify_error_pages;
