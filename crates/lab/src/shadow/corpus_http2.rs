//! The requests of a run from clients that speak HTTP/2.
//!
//! Pure.

use std::collections::BTreeMap;

use super::client_http2::OF_HTTP1;
use super::observation::{SeenField, SpokenProtocol};
use super::request::ShadowRequest;

/// Appends the first requests of each kind once more, from clients that speak HTTP/2 where the balancer does. Of all,
/// `most` stay.
pub fn repeat_over_http2(requests: &mut Vec<ShadowRequest>, each: usize, most: usize) {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    let mut repeated = Vec::new();
    for request in requests.iter() {
        let Some(http) = request.http() else { continue };
        let sent = kinds.entry(request.purpose.clone()).or_default();
        if *sent < each && !http.fields.iter().any(is_of_http1) {
            *sent += 1;
            repeated.push(ShadowRequest { protocol: SpokenProtocol::Http2, ..request.clone() });
        }
    }
    requests.truncate(most.saturating_sub(repeated.len()));
    requests.append(&mut repeated);
}

/// Sends all requests over HTTP/2. Those that only HTTP/1 can carry are left out.
pub fn send_over_http2(requests: &mut Vec<ShadowRequest>) {
    requests
        .retain(|request| request.http().is_some_and(|http| !http.fields.iter().any(is_of_http1)));
    for request in requests {
        request.protocol = SpokenProtocol::Http2;
    }
}

fn is_of_http1(field: &SeenField) -> bool {
    OF_HTTP1.iter().any(|name| name.eq_ignore_ascii_case(&field.name))
}
