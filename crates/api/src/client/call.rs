//! One call: a connection to the daemon, a request, a response of bounded size before a deadline.
//!
//! It knows HTTP and its errors, and nothing of the content.

use std::time::Duration;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Request, Response, StatusCode, body::Incoming};
use hyper_util::rt::TokioIo;
use tokio::task::JoinHandle;

use super::error::ApiError;
use super::tls::tls_error;
use super::transport::DaemonTransport;
use crate::routes;
use crate::types::Problem;

#[derive(Clone, Debug)]
pub struct ApiCall {
    pub method: CallMethod,
    pub path: String,
    /// The media type of the body; empty if there is none.
    pub content_type: &'static str,
    pub body: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallMethod {
    Get,
    Post,
}

/// The bounds of a call.
#[derive(Clone, Copy, Debug)]
pub struct CallLimits {
    /// From connecting to the response's last byte.
    pub time: Duration,
    /// The limit of the response's body.
    pub bytes: usize,
}

/// Sends `call` and returns the text of the response, which must be of the `expected` kind.
pub(super) async fn call_text(
    way: &DaemonTransport,
    call: ApiCall,
    ceiling: CallLimits,
    expected: &'static str,
) -> Result<String, ApiError> {
    let path = call.path.clone();
    let CompleteResponse { status, content_type, body } =
        match tokio::time::timeout(ceiling.time, exchange(way, call, ceiling)).await {
            Ok(done) => done?,
            Err(_) => {
                return Err(ApiError::TimedOut {
                    place: way.to_string(),
                    path,
                    after: ceiling.time,
                });
            }
        };
    if !status.is_success() {
        return Err(refusal(path, status, &content_type, &body));
    }
    if content_type != expected {
        return Err(ApiError::ContentType { path, found: content_type, expected });
    }
    String::from_utf8(body.into()).map_err(|_| ApiError::NotText { path })
}

/// The explanation of a refusal, if it has one.
fn refusal(path: String, status: StatusCode, content_type: &str, body: &[u8]) -> ApiError {
    if content_type == routes::PROBLEM
        && let Ok(mut problem) = serde_json::from_slice::<Problem>(body)
    {
        problem.status = status.as_u16();
        return ApiError::Refused(Box::new(problem));
    }
    ApiError::Status { path, status: status.as_u16() }
}

/// A response that was read to its end.
struct CompleteResponse {
    status: StatusCode,
    content_type: String,
    body: Bytes,
}

/// Connects, sends the request and reads the whole response.
async fn exchange(
    way: &DaemonTransport,
    call: ApiCall,
    ceiling: CallLimits,
) -> Result<CompleteResponse, ApiError> {
    let path = call.path.clone();
    let BegunCall { response, driver: _driver } = send(way, call).await?;
    let status = response.status();
    let content_type = media_type(&response);
    match Limited::new(response.into_body(), ceiling.bytes).collect().await {
        Ok(body) => Ok(CompleteResponse { status, content_type, body: body.to_bytes() }),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(ApiError::TooLarge { path, limit: ceiling.bytes })
        }
        Err(error) => match error.downcast::<hyper::Error>() {
            Ok(source) => Err(transport_error(way, &path, *source)),
            Err(_) => Err(ApiError::Closed { place: way.to_string(), path }),
        },
    }
}

/// A call whose response has begun; its body ends when the driver is dropped.
pub(super) struct BegunCall {
    pub(super) response: Response<Incoming>,
    pub(super) driver: ConnectionDriver,
}

/// Connects and sends the request; the body is still to be read.
pub(super) async fn send(way: &DaemonTransport, call: ApiCall) -> Result<BegunCall, ApiError> {
    let path = call.path.clone();
    let failed = |source: hyper::Error| transport_error(way, &path, source);
    let stream = way.connect().await?;
    let (mut sender, connection) =
        http1::handshake::<_, Full<Bytes>>(TokioIo::new(stream)).await.map_err(failed)?;
    let driver = ConnectionDriver(tokio::spawn(async move {
        // Ignored: the request that needed the connection reports its error.
        let _ = connection.await;
    }));
    let response = sender.send_request(request(way, call)?).await.map_err(failed)?;
    Ok(BegunCall { response, driver })
}

fn transport_error(way: &DaemonTransport, path: &str, source: hyper::Error) -> ApiError {
    let place = way.to_string();
    let path = path.to_owned();
    if let Some(why) = tls_error(&source) {
        ApiError::Handshake { place, why }
    } else if source.is_parse() {
        ApiError::NotHttp { place, source }
    } else {
        ApiError::Closed { place, path }
    }
}

/// Ends the connection's task when the call ends.
pub(super) struct ConnectionDriver(JoinHandle<()>);

impl Drop for ConnectionDriver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn request(way: &DaemonTransport, call: ApiCall) -> Result<Request<Full<Bytes>>, ApiError> {
    let method = match call.method {
        CallMethod::Get => hyper::Method::GET,
        CallMethod::Post => hyper::Method::POST,
    };
    let mut request = Request::builder()
        .method(method)
        .uri(&call.path)
        .header(HOST, way.host())
        .header(ACCEPT, "*/*");
    if let Some(token) = way.token() {
        request = request.header(AUTHORIZATION, format!("Bearer {token}"));
    }
    if !call.content_type.is_empty() {
        request = request.header(CONTENT_TYPE, call.content_type);
    }
    request
        .body(Full::new(Bytes::from(call.body)))
        .map_err(|source| ApiError::Request { path: call.path, source })
}

/// The response's media type without parameters, in lower case.
pub(super) fn media_type(response: &Response<Incoming>) -> String {
    let value =
        response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    value.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
}
