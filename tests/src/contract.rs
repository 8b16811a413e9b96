//! The control API's contract, generated from source: an OpenAPI 3.1 document, and the types for the page.
//!
//! The types come from `api` and `model`, as serde serializes them. The routes come from `api::table`. An unknown form
//! is an error, never a guess.

pub mod check;
pub mod document;
pub mod markdown;
pub mod schema;
pub mod source;
pub mod typescript;
