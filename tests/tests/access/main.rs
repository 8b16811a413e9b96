//! Who may come in: passwords and keys, beside nginx where it does the same.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that fails is told best by panicking"
)]

mod api_keys;
mod asked_server;
mod beside_nginx;
mod issuer;
mod key_server;
mod key_urls;
mod passwords;
mod questions;
mod remembered;
mod scope;
mod tokens;
