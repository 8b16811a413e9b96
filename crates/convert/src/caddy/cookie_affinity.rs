//! The cookie that keeps a client at a server.

use crate::source::SourcePlace;

/// The cookie of `lb_policy cookie`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CookieAffinity {
    pub name: String,
    pub source: SourcePlace,
}
