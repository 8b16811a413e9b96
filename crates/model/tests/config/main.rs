//! The configuration from outside: rows of mistakes, inheritance, explanation, differences, robustness.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test's helpers fail the test"
)]

mod access_log;
mod acme;
mod balance;
mod client_certificates;
mod cookies;
mod diff;
mod dns;
mod edits;
mod error_pages;
mod explanation;
mod former_names;
mod forwarded;
mod heartbeat;
mod hostile;
mod key_effects;
mod large_files;
mod ldap_search;
mod link;
mod mistakes;
mod no_effect;
mod objectives;
mod packets;
mod questions;
mod reference;
mod resilience;
mod rule_overrides;
mod rule_values;
mod rules;
mod server_edit;
mod support;
mod ten_mistakes;
mod tokens;
mod unix_servers;
mod uplink;
mod valid_files;
mod vrrp;
mod warnings;
