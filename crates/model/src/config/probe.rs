//! A probe: its kind, what belongs to some kinds, its times, what follows.
//!
//! Which key belongs to which kind is in `OF_KINDS`; `resolve` and `verify` go by it.

mod build;
mod keys;
mod resolve;
mod types;
mod verify;

pub(super) use build::{build_probe, owned_text};
pub(super) use keys::PROBE;
pub(super) use resolve::{resolve_probe, resolve_probe_tls};
pub use types::{
    DownAction, HttpProbe, ProbeConfig, ProbeKind, ProbeTls, ProgramProbe, SendExpectProbe,
};
pub(super) use verify::{verify_probe, verify_within_interval};
