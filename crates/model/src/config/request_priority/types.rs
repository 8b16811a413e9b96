//! The checked configuration of request priorities.

use serde::Serialize;

/// The priority class of a service's requests in a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RequestPriority {
    /// The class of requests without another one; default 5.
    pub class: u8,
    /// The request header field with the class, in lower case; `None`: none.
    pub header: Option<String>,
}
