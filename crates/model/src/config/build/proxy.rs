//! From settings in force to what the PROXY protocol means. Everything was judged before.

use super::super::proxy::{AcceptProxy, Others, SendProxy};
use super::super::section::Section;

/// A service's.
pub fn accept(section: &Section) -> AcceptProxy {
    AcceptProxy {
        from: section.prefixes("from").to_vec(),
        others: match section.text("others") {
            Some("plain") => Others::Plain,
            _ => Others::Refuse,
        },
        time: section.span("time"),
    }
}

/// A pool's.
pub fn send(section: &Section) -> Option<SendProxy> {
    match section.text("send-proxy") {
        Some("v1") => Some(SendProxy::V1),
        Some("v2") => Some(SendProxy::V2),
        _ => None,
    }
}
