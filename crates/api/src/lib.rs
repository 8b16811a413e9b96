//! The control contract: types, routes, a client, and the page for browsers.
//!
//! JSON with kebab-case keys under `/v1/`. Numbers carry their unit in their name; moments are Unix milliseconds.
//! It decides nothing and serves nothing: the daemon does both.

pub mod client;
pub mod page;
mod plain_text;
pub mod routes;
pub mod table;
pub mod types;

pub use client::ApiClient;
pub use client::error::ApiError;
