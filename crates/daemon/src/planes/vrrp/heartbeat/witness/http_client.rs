//! Calls a server of HTTP/1.1 with JSON: one connection that is kept, by TLS where wanted, with a token. Whoever calls
//! sets the time.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use files::secret::{SecretError, SecretProtection, read_text};
use ha::witness::WitnessReply;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{HeaderValue, Method, Request};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use model::config::{WitnessConfig, WitnessUrl};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use crate::tls::client_config;

/// Bytes of an answer.
const ANSWER: usize = 64 * 1024;
/// Bytes of a file with a token.
const TOKEN: u64 = 4096;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub enum WitnessCallError {
    /// There is no place.
    #[error("there is nowhere to ask")]
    NoAddress,
    /// No server listens there, or TLS failed.
    #[error("{0}")]
    Connect(#[from] io::Error),
    /// The token or the authorities cannot be read.
    #[error("{}: {why}", file.display())]
    File { file: PathBuf, why: String },
    /// The token's file is no secret, or cannot be read.
    #[error(transparent)]
    Token(#[from] SecretError),
    /// TLS cannot be set up.
    #[error("{0}")]
    Tls(String),
    /// It is no HTTP, or ended early.
    #[error("it does not answer as HTTP: {0}")]
    Http(#[from] hyper::Error),
    /// The request cannot be made.
    #[error("it cannot be asked: {0}")]
    Request(#[from] http::Error),
    /// Another status than is meant.
    #[error("it answered {0} {1}")]
    Status(u16, String),
    /// The response has an unexpected form.
    #[error("its answer cannot be understood")]
    Content,
}

/// What a witness replied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WitnessOutcome {
    pub reply: WitnessReply,
    /// The reply in words, for people.
    pub text: String,
}

/// The result of a request.
pub type WitnessCallResult = Result<WitnessOutcome, WitnessCallError>;

/// An answer over HTTP.
pub struct WitnessHttpAnswer {
    pub status: u16,
    /// `null` where it is not JSON.
    pub body: Value,
}

pub struct WitnessHttpClient {
    place: WitnessUrl,
    token: Option<PathBuf>,
    ca: Option<PathBuf>,
    tls: Option<Arc<ClientConfig>>,
    connection: Option<HttpConnection>,
}

struct HttpConnection {
    sender: SendRequest<Full<Bytes>>,
    token: Option<HeaderValue>,
    driver: JoinHandle<()>,
}

impl Drop for HttpConnection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl WitnessHttpClient {
    /// One that is not connected.
    pub fn new(place: WitnessUrl, settings: &WitnessConfig) -> WitnessHttpClient {
        let token = settings.token.clone();
        let ca = settings.ca.clone();
        WitnessHttpClient { place, token, ca, tls: None, connection: None }
    }

    /// The next call uses a new connection.
    pub fn disconnect(&mut self) {
        self.connection = None;
    }

    /// Sends one request and reads its response.
    ///
    /// # Errors
    /// See `WitnessCallError`.
    pub async fn exchange(
        &mut self,
        method: Method,
        path: &str,
        body: &Value,
    ) -> Result<WitnessHttpAnswer, WitnessCallError> {
        if self.connection.as_ref().is_none_or(|open| open.sender.is_closed()) {
            self.connection = Some(self.connect().await?);
        }
        let open = self.connection.as_mut().ok_or(WitnessCallError::NoAddress)?;
        let WitnessUrl { host, port, path: before, .. } = &self.place;
        let authority =
            if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{before}{path}"))
            .header(HOST, authority)
            .header(CONTENT_TYPE, "application/json");
        if let Some(token) = &open.token {
            request = request.header(AUTHORIZATION, token);
        }
        open.sender.ready().await?;
        let request = request.body(Full::new(Bytes::from(body.to_string())))?;
        let answer = open.sender.send_request(request).await?;
        let status = answer.status().as_u16();
        let read = Limited::new(answer.into_body(), ANSWER).collect().await;
        let bytes = read.map_err(|_| WitnessCallError::Content)?.to_bytes();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Ok(WitnessHttpAnswer { status, body })
    }

    async fn connect(&mut self) -> Result<HttpConnection, WitnessCallError> {
        let token = self.token.as_ref().map(|file| bearer(file)).transpose()?;
        let stream = TcpStream::connect((self.place.host.as_str(), self.place.port)).await?;
        // Without it small requests are only later.
        let _ = stream.set_nodelay(true);
        if !self.place.secure {
            return open(stream, token).await;
        }
        let config = match &self.tls {
            Some(config) => Arc::clone(config),
            None => {
                let made = client_config::verifying_config(self.ca.as_deref())
                    .map_err(WitnessCallError::Tls)?;
                Arc::clone(self.tls.insert(made))
            }
        };
        let name = ServerName::try_from(self.place.host.clone());
        let name = name.map_err(|error| WitnessCallError::Tls(error.to_string()))?;
        open(TlsConnector::from(config).connect(name, stream).await?, token).await
    }
}

async fn open<S>(stream: S, token: Option<HeaderValue>) -> Result<HttpConnection, WitnessCallError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    let driver = tokio::spawn(async move {
        // The pending request reports why a connection ended early.
        let _ = connection.await;
    });
    Ok(HttpConnection { sender, token, driver })
}

fn bearer(file: &std::path::Path) -> Result<HeaderValue, WitnessCallError> {
    let wrong = |why: String| WitnessCallError::File { file: file.to_owned(), why };
    let text = read_text(file, TOKEN, SecretProtection::NotReadable)?;
    let mut value = HeaderValue::from_str(&format!("Bearer {}", text.trim()))
        .map_err(|_| wrong("there is no token in it".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}
