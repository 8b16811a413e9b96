//! The control contract, written from its source: an OpenAPI 3.1 document, and the types for the page.
//!
//! Types are read from `api` and `model` as serde sees them, routes from `api::table`. A form that it does not know is
//! an error, never a guess.

pub mod check;
pub mod document;
pub mod schema;
pub mod source;
pub mod typescript;
