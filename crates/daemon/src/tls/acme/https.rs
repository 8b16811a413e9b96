//! Requests to an authority: one connection each, verified by name, bounded in time and size. It knows nothing of ACME.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::header::{CONTENT_TYPE, HOST};
use http::{HeaderValue, Request, StatusCode, Uri};
use http_body_util::Limited;
use hyper_util::rt::TokioIo;
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::tls::client_config;

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
    mut request: Request<AcmeRequestBody>,
) -> Result<BytesResponse, AcmeHttpError> {
    let uri = request.uri().clone();
    let host = uri.host().ok_or("it has no host")?.trim_matches(['[', ']']).to_owned();
    let secure = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
    let authority = uri.authority().map_or("", |it| it.as_str());
    request.headers_mut().insert(HOST, HeaderValue::from_str(authority)?);
    *request.uri_mut() =
        uri.path_and_query().map_or(Ok(Uri::from_static("/")), |it| Uri::try_from(it.as_str()))?;
    let tcp = TcpStream::connect((host.as_str(), port)).await?;
    if secure {
        let name = ServerName::try_from(host)?;
        send_over(TlsConnector::from(config).connect(name, tcp).await?, request).await
    } else {
        send_over(tcp, request).await
    }
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

async fn send_over<S>(
    stream: S,
    request: Request<AcmeRequestBody>,
) -> Result<BytesResponse, AcmeHttpError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut send, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    // The connection ends with its one response, or when the requester has stopped waiting. Errors are reported by the
    // request.
    tokio::spawn(connection);
    let answer = send.send_request(request).await?;
    check_status(answer.status(), answer.headers().get(CONTENT_TYPE))?;
    Ok(BytesResponse::from(answer.map(|body| Limited::new(body, BYTES))))
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
