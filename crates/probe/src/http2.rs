//! HTTP/2 (RFC 9113): a request like HTTP/1.1's, with prior knowledge or over TLS.

use std::sync::Arc;

use ::http::{Method, Request, Uri};
use bytes::Bytes;
use h2::client::SendRequest;

use crate::answer::Wanted;
use crate::dialogue::{Step, Verdict};
use crate::h2talk::{H2Talk, ask, fault};

/// Asks for what is wanted.
pub fn new(wanted: Arc<Wanted>, host: &str, tls: bool) -> H2Talk {
    let host = host.to_owned();
    H2Talk::new(move |send| talk(send, wanted, host, tls))
}

async fn talk(send: SendRequest<Bytes>, wanted: Arc<Wanted>, host: String, tls: bool) -> Verdict {
    let request = request(&wanted, &host, tls)?;
    let (status, _, mut stream) = ask(send, request, None).await?;
    if let Some(verdict) = wanted.status(status) {
        return verdict;
    }
    let mut body = wanted.body();
    while let Some(part) = stream.data().await {
        let part = part.map_err(|error| fault(&error))?;
        // A window that is not opened again shows as a timeout.
        let _ = stream.flow_control().release_capacity(part.len());
        if let Step::Done(verdict) = wanted.part(&mut body, &part, status) {
            return verdict;
        }
    }
    wanted.whole(&mut body, status)
}

fn request(wanted: &Wanted, host: &str, tls: bool) -> Result<Request<()>, String> {
    let own = |error: &dyn std::fmt::Display| format!("the request cannot be written: {error}");
    let uri = Uri::builder()
        .scheme(if tls { "https" } else { "http" })
        .authority(host)
        .path_and_query(wanted.ask.path.as_str())
        .build()
        .map_err(|error| own(&error))?;
    let method = Method::from_bytes(wanted.ask.method.as_bytes()).map_err(|error| own(&error))?;
    let mut request = Request::builder().method(method).uri(uri);
    request = request.header("user-agent", "steelyard-probe");
    for (name, value) in &wanted.ask.headers {
        request = request.header(name.to_ascii_lowercase(), value);
    }
    request.body(()).map_err(|error| own(&error))
}
