//! Requests to the API that several readers would understand differently: refused as the request plane refuses them.
//!
//! What breaks the grammar of HTTP itself (folded lines, blanks before a colon, two lengths that differ) never comes here:
//! the library that reads heads refuses it with 400.

use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{CONNECTION, HOST, TRANSFER_ENCODING};
use axum::http::{HeaderValue, Version};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use wire::http1::is_host;

use super::peer::RequestConnection;
use super::problem::ApiProblem;
use crate::util::admin_listeners::api_counters::{ApiCounters, RefusalReason};

/// Lets a request through that all read alike.
pub(super) async fn refuse(
    State(counts): State<Arc<ApiCounters>>,
    ConnectInfo(entry): ConnectInfo<RequestConnection>,
    request: Request,
    next: Next,
) -> Response {
    let both = "the request has both Transfer-Encoding and Content-Length";
    let both = entry.slot().has_conflicting_lengths().then_some(both);
    if let Some(why) = both.or_else(|| fault(&request)) {
        counts.record_refusal(RefusalReason::Malformed);
        return closing(ApiProblem::new(400, "malformed", why).into_response());
    }
    // The connection closes after a request with Transfer-Encoding: bytes behind its body could be a smuggled request.
    let ends = request.headers().contains_key(TRANSFER_ENCODING);
    let answer = next.run(request).await;
    if ends { closing(answer) } else { answer }
}

fn closing(mut answer: Response) -> Response {
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    answer
}

/// The first defect of a request head.
fn fault(request: &Request) -> Option<&'static str> {
    let headers = request.headers();
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(_), Some(_)) => return Some("the request has several Host fields"),
        (Some(host), None) if !is_host(host.as_bytes()) => {
            return Some("the Host field is not a host with an optional port");
        }
        (None, _) if request.version() == Version::HTTP_11 => {
            return Some("the request has no Host field");
        }
        _ => {}
    }
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let coding = codings.next()?;
    let more = codings.next();
    let chunked = coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked");
    (!chunked || more.is_some()).then_some("Transfer-Encoding is not `chunked` alone")
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    #[test]
    fn what_could_be_read_in_two_ways_is_a_fault() {
        for (version, fields, says) in [
            (Version::HTTP_11, &[("host", "x")][..], None),
            (Version::HTTP_11, &[("host", "[::1]:9180"), ("transfer-encoding", "Chunked")], None),
            (Version::HTTP_10, &[], None),
            (Version::HTTP_11, &[("host", "x"), ("content-length", "1")], None),
            (Version::HTTP_11, &[], Some("no Host")),
            (Version::HTTP_11, &[("host", "x"), ("host", "x")], Some("several Host")),
            (Version::HTTP_10, &[("host", "x"), ("host", "y")], Some("several Host")),
            (Version::HTTP_11, &[("host", "")], Some("not a host")),
            (Version::HTTP_11, &[("host", "x, y")], Some("not a host")),
            (Version::HTTP_11, &[("host", "u@x")], Some("not a host")),
            (Version::HTTP_10, &[("host", "x:y")], Some("not a host")),
            (
                Version::HTTP_11,
                &[("host", "x"), ("transfer-encoding", "gzip, chunked")],
                Some("`chunked` alone"),
            ),
            (
                Version::HTTP_11,
                &[
                    ("host", "x"),
                    ("transfer-encoding", "chunked"),
                    ("transfer-encoding", "chunked"),
                ],
                Some("`chunked` alone"),
            ),
        ] {
            let mut request = Request::builder().version(version).uri("/v1/status");
            for (name, value) in fields {
                request = request.header(*name, *value);
            }
            let defect = fault(&request.body(Body::empty()).unwrap());
            assert_eq!(defect.is_some(), says.is_some(), "{fields:?}: {defect:?}");
            let defect = defect.unwrap_or_default();
            assert!(defect.contains(says.unwrap_or_default()), "{fields:?}: {defect}");
        }
    }
}
