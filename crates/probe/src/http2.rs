//! HTTP/2 (RFC 9113): a request like HTTP/1.1's, with prior knowledge or over TLS.

use std::sync::Arc;

use ::http::{Method, Request, Uri};
use bytes::Bytes;
use h2::client::SendRequest;

use crate::dialogue::{DialogueStep, ProbeResult};
use crate::http_response::ExpectedResponse;
use crate::http2_dialogue::{Http2Dialogue, Http2ProbeResponse, describe_error, send_request};

pub fn new_dialogue(wanted: Arc<ExpectedResponse>, host: &str, tls: bool) -> Http2Dialogue {
    let host = host.to_owned();
    Http2Dialogue::new(move |send| run_request(send, wanted, host, tls))
}

async fn run_request(
    send: SendRequest<Bytes>,
    wanted: Arc<ExpectedResponse>,
    host: String,
    tls: bool,
) -> ProbeResult {
    let request = build_request(&wanted, &host, tls)?;
    let Http2ProbeResponse { status, body: mut stream, .. } =
        send_request(send, request, None).await?;
    if let Some(verdict) = wanted.check_status(status) {
        return verdict;
    }
    let mut body = wanted.begin_body();
    while let Some(part) = stream.data().await {
        let part = part.map_err(|error| describe_error(&error))?;
        // Ignored: a failure shows as a timeout, because the window stays closed.
        let _ = stream.flow_control().release_capacity(part.len());
        if let DialogueStep::Done(verdict) = wanted.check_body_part(&mut body, &part, status) {
            return verdict;
        }
    }
    wanted.check_whole_body(&mut body, status)
}

fn build_request(wanted: &ExpectedResponse, host: &str, tls: bool) -> Result<Request<()>, String> {
    let own = |error: &dyn std::fmt::Display| format!("the request cannot be written: {error}");
    let uri = Uri::builder()
        .scheme(if tls { "https" } else { "http" })
        .authority(host)
        .path_and_query(wanted.request.path.as_str())
        .build()
        .map_err(|error| own(&error))?;
    let method =
        Method::from_bytes(wanted.request.method.as_bytes()).map_err(|error| own(&error))?;
    let mut request = Request::builder().method(method).uri(uri);
    request = request.header("user-agent", "steelyard-probe");
    for field in &wanted.request.headers {
        request = request.header(field.name.to_ascii_lowercase(), &field.value);
    }
    request.body(()).map_err(|error| own(&error))
}
