//! The checked configuration of requests' priorities.

use serde::Serialize;

/// Which class of priority requests of a service have in a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RequestPriority {
    /// That of requests of which nothing else says one; default 5.
    pub class: u8,
    /// The field of a request that says it, in lower case; `None`: none does.
    pub header: Option<String>,
}
