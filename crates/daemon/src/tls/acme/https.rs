//! Requests to an authority: one connection each, verified by name, bounded in time and size. It knows nothing of ACME.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, StatusCode};
use http_body_util::Limited;
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use rustls::ClientConfig;

use crate::tls::{client_config, https_request};

/// One request and the head of its answer.
/// Authorities may validate and sign after their answer (RFC 8555 §7.4, §7.5.1), so no answer waits for that.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of an answer: a chain is a few thousand.
const BYTES: usize = 1 << 20;

type AcmeRequestBody = BodyWrapper<hyper::body::Bytes>;
type AcmeHttpError = Box<dyn std::error::Error + Send + Sync>;

pub(super) struct AcmeHttpsClient(Arc<ClientConfig>);

impl AcmeHttpsClient {
    /// Verifies authorities by this file, or by whom the machine trusts.
    ///
    /// # Errors
    /// No trusted certificates could be loaded.
    pub(super) fn new(ca: Option<&Path>) -> Result<AcmeHttpsClient, String> {
        client_config::verifying_config(ca)
            .map(AcmeHttpsClient)
            .map_err(|why| format!("acme: {why}"))
    }
}

impl HttpClient for AcmeHttpsClient {
    fn request(
        &self,
        request: Request<AcmeRequestBody>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        let config = Arc::clone(&self.0);
        Box::pin(async move {
            let to = request.uri().authority().map(ToString::to_string).unwrap_or_default();
            let fault = |fault: AcmeHttpError| Error::Other(format!("{to}: {fault}").into());
            match tokio::time::timeout(REQUEST_TIMEOUT, send_request(config, request)).await {
                Ok(answer) => answer.map_err(fault),
                Err(_) => {
                    Err(fault(format!("no answer within {} s", REQUEST_TIMEOUT.as_secs()).into()))
                }
            }
        })
    }
}

async fn send_request(
    config: Arc<ClientConfig>,
    request: Request<AcmeRequestBody>,
) -> Result<BytesResponse, AcmeHttpError> {
    let answer = https_request::send_request(config, request).await?;
    check_status(answer.status(), answer.headers().get(CONTENT_TYPE))?;
    Ok(BytesResponse::from(answer.map(|body| Limited::new(body, BYTES))))
}

/// A failed request carries a problem document (RFC 8555 §6.7). Without one the response is not the authority's but a
/// proxy's, or reports an outage; then only its status is known.
fn check_status(status: StatusCode, kind: Option<&HeaderValue>) -> Result<(), AcmeHttpError> {
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let json = kind.rsplit(['/', '+']).next().is_some_and(|it| it.eq_ignore_ascii_case("json"));
    if status.is_client_error() || status.is_server_error() {
        let found = if kind.is_empty() { "nothing" } else { kind };
        return match json {
            true => Ok(()),
            false => Err(format!("it answers {status} with {found} instead of why").into()),
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_without_a_reason_is_reported_by_its_status() {
        let of = |status: u16, kind: Option<&'static str>| {
            let status = StatusCode::from_u16(status).unwrap();
            let kind = kind.map(HeaderValue::from_static);
            check_status(status, kind.as_ref()).err().map(|why| why.to_string())
        };
        assert_eq!(of(200, Some("text/html")), None);
        assert_eq!(of(400, Some("application/problem+json")), None, "its reason is read");
        assert_eq!(of(429, Some("Application/Problem+JSON; charset=utf-8")), None);
        let why = of(503, Some("text/html; charset=utf-8")).unwrap();
        assert_eq!(why, "it answers 503 Service Unavailable with text/html instead of why");
        assert!(of(502, None).unwrap().contains("502 Bad Gateway with nothing"));
    }
}
