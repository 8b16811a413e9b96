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
        let of_http1 =
            |field: &SeenField| OF_HTTP1.iter().any(|name| name.eq_ignore_ascii_case(&field.name));
        let sent = kinds.entry(request.purpose.clone()).or_default();
        if *sent < each && !http.fields.iter().any(of_http1) {
            *sent += 1;
            repeated.push(ShadowRequest { protocol: SpokenProtocol::Http2, ..request.clone() });
        }
    }
    requests.truncate(most.saturating_sub(repeated.len()));
    requests.append(&mut repeated);
}
