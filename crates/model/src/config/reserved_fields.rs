//! Fields that a client of a service may not write, because somebody behind its pools would believe them. `build` works
//! them out.

use std::sync::Arc;

/// Names of fields, in lower case, that are dropped from what peers send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReservedFields {
    /// Beginnings of names that tell servers of a client's certificate: dropped from heads and trailers of requests.
    pub prefixes: Arc<[String]>,
    /// What rules set, add or remove in requests, and fields with clients' addresses: dropped from trailers of requests.
    pub request: Arc<[String]>,
    /// What rules set or remove in answers: dropped from trailers of answers.
    pub answer: Arc<[String]>,
}

impl ReservedFields {
    /// Whether there is anything to look for in requests.
    pub fn applies_to_requests(&self) -> bool {
        !self.prefixes.is_empty() || !self.request.is_empty()
    }
}
