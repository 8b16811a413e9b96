//! One request on one connection of its own: by TLS, or without for `http`. Whoever calls bounds its time and the size of
//! its answer. It follows no redirect and uses no proxy.

use std::sync::Arc;

use http::header::HOST;
use http::{HeaderValue, Request, Response, Uri};
use hyper::body::{Body, Incoming};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum HttpsRequestError {
    #[error("it has no host")]
    NoHost,
    #[error("its host is no name of a certificate: {0}")]
    Name(#[from] rustls::pki_types::InvalidDnsNameError),
    #[error(transparent)]
    Field(#[from] http::header::InvalidHeaderValue),
    #[error(transparent)]
    Target(#[from] http::uri::InvalidUri),
    #[error(transparent)]
    Connect(#[from] std::io::Error),
    #[error(transparent)]
    Http(#[from] hyper::Error),
}

/// Sends a request to the server of its absolute URI, and reads the head of the answer.
///
/// # Errors
/// There is no answer.
pub async fn send_request<B>(
    config: Arc<ClientConfig>,
    mut request: Request<B>,
) -> Result<Response<Incoming>, HttpsRequestError>
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let uri = request.uri().clone();
    let host = uri.host().ok_or(HttpsRequestError::NoHost)?.trim_matches(['[', ']']).to_owned();
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

async fn send_over<S, B>(
    stream: S,
    request: Request<B>,
) -> Result<Response<Incoming>, HttpsRequestError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (mut send, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    // The connection ends with its one response, or when the requester has stopped waiting. Errors are reported by the
    // request.
    tokio::spawn(connection);
    Ok(send.send_request(request).await?)
}
