//! `sticky`: session affinity, which keeps a client on its server.

mod build;
mod keys;
mod resolve;
mod types;
mod verify;

pub(super) use build::build_affinity;
pub(super) use keys::STICKY;
pub(super) use resolve::fill_affinity_defaults;
pub use types::{AffinityConfig, AffinityCookie, AffinityKey, CookieMode, UnavailableServerAction};
pub(super) use verify::{verify_affinity, verify_shared_secret};
