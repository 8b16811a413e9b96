//! A health check (probe): its kind, the keys of some kinds, its intervals, and the action on failure.
//!
//! `OF_KINDS` assigns keys to kinds; `resolve` and `verify` use it.

mod build;
mod keys;
mod ldap_keys;
mod resolve;
mod types;
mod verify;

pub(super) use build::{build_probe, owned_text};
pub(super) use keys::PROBE;
pub(super) use resolve::{probe_kind, resolve_probe, resolve_probe_tls};
pub use types::{
    DownAction, HttpProbe, LdapScope, LdapSearch, ProbeConfig, ProbeHeaderField, ProbeKind,
    ProbeTls, ProgramProbe, SendExpectProbe,
};
pub(super) use verify::{verify_probe, verify_within_interval};
