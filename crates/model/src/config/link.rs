//! `[link.NAME]`: a bundle of several links to one far end.

mod build;
mod diff;
mod keys;
mod resolve;
mod types;
mod verify;

pub(super) use build::build_bundle;
pub use diff::LinkKey;
pub(super) use keys::{BUNDLES, LINK, MEMBER};
pub(super) use resolve::resolve_link;
pub use types::{BundleLink, LinkBundle, LinkPolicy, LinkProbe};
pub(super) use verify::verify_link;
