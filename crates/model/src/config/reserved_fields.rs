//! Header fields that clients of a service may not send, because servers of its pools would trust them. `build`
//! determines them.

use std::sync::Arc;

/// Names of fields, in lower case, that are removed from received messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReservedFields {
    /// Prefixes of fields that report client certificates to servers; removed from heads and trailers of requests.
    pub prefixes: Arc<[String]>,
    /// Fields that rules set, add or remove in requests; removed from trailers of requests.
    pub request: Arc<[String]>,
    /// Fields that rules set or remove in responses; removed from trailers of responses.
    pub answer: Arc<[String]>,
}

impl ReservedFields {
    /// Whether any field must be removed from requests.
    pub fn applies_to_requests(&self) -> bool {
        !self.prefixes.is_empty() || !self.request.is_empty()
    }
}
