//! A correct HTTP/2 client from a library: many requests at once on one connection.
//!
//! The client uses HTTP/2 by prior knowledge, without TLS. Every operation has a deadline. It checks nothing.

use std::future::poll_fn;
use std::net::SocketAddr;

use bytes::Bytes;
use h2::client::SendRequest;
use http::HeaderMap;
use tokio::net::TcpStream;
use tokio::runtime::Builder;

use super::wait::DEADLINE;

#[derive(Clone, Debug)]
pub struct H2Request {
    pub method: &'static str,
    pub path: String,
    /// The request's body. `None` means that the headers end the stream.
    pub body: Option<Vec<u8>>,
    /// Trailers after the body.
    pub trailers: Vec<(&'static str, &'static str)>,
    pub fields: Vec<(&'static str, String)>,
}

/// A response, or the error of its stream.
#[derive(Clone, Debug, Default)]
pub struct H2Response {
    /// The response's status; 0 means that no response arrived.
    pub status: u16,
    pub fields: HeaderMap,
    pub body: Vec<u8>,
    pub trailers: HeaderMap,
    /// The reason why the response is incomplete.
    pub error: Option<String>,
}

impl H2Request {
    pub fn get(path: &str) -> H2Request {
        let path = path.to_owned();
        H2Request { method: "GET", path, body: None, trailers: Vec::new(), fields: Vec::new() }
    }

    /// A POST with this body.
    pub fn post(path: &str, body: &[u8]) -> H2Request {
        H2Request { method: "POST", body: Some(body.to_vec()), ..H2Request::get(path) }
    }
}

impl H2Response {
    pub fn field(&self, name: &str) -> Option<String> {
        self.fields.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
    }
}

/// Sends all requests at once on one connection; returns the responses in the order of the requests.
pub fn send_all(front: SocketAddr, asked: &[H2Request]) -> Vec<H2Response> {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let all = async {
        let stream = TcpStream::connect(front).await.unwrap();
        let (send, connection) = h2::client::handshake(stream).await.unwrap();
        let driver = tokio::spawn(connection);
        let tasks: Vec<_> =
            asked.iter().map(|one| tokio::spawn(send_request(send.clone(), one.clone()))).collect();
        drop(send);
        let mut answers = Vec::new();
        for task in tasks {
            answers.push(task.await.unwrap());
        }
        driver.abort();
        answers
    };
    runtime.block_on(async { tokio::time::timeout(DEADLINE, all).await }).expect("answers in time")
}

async fn send_request(send: SendRequest<Bytes>, asked: H2Request) -> H2Response {
    let mut answered = H2Response::default();
    if let Err(error) = exchange(send, asked, &mut answered).await {
        answered.error = Some(error.to_string());
    }
    answered
}

async fn exchange(
    send: SendRequest<Bytes>,
    asked: H2Request,
    into: &mut H2Response,
) -> Result<(), h2::Error> {
    let mut request = http::Request::builder()
        .method(asked.method)
        .uri(format!("http://shop.example{}", asked.path));
    for (name, value) in &asked.fields {
        request = request.header(*name, value);
    }
    let mut send = send.ready().await?;
    let (answer, body) = send.send_request(request.body(()).unwrap(), asked.body.is_none())?;
    // Both directions run at once, because a response may begin before its request has ended.
    let (gave, got) = tokio::join!(send_body(body, asked), read_response(answer, into));
    got.and(gave)
}

async fn send_body(mut body: h2::SendStream<Bytes>, asked: H2Request) -> Result<(), h2::Error> {
    if let Some(bytes) = asked.body {
        let mut rest = Bytes::from(bytes);
        while !rest.is_empty() {
            body.reserve_capacity(rest.len());
            let Some(room) = poll_fn(|cx| body.poll_capacity(cx)).await else { break };
            let piece = rest.split_to(room?.min(rest.len()));
            body.send_data(piece, rest.is_empty() && asked.trailers.is_empty())?;
        }
        if !asked.trailers.is_empty() {
            let trailers = asked.trailers.iter().map(|(name, value)| {
                (http::HeaderName::from_static(name), http::HeaderValue::from_static(value))
            });
            body.send_trailers(trailers.collect())?;
        }
    }
    Ok(())
}

async fn read_response(
    answer: h2::client::ResponseFuture,
    into: &mut H2Response,
) -> Result<(), h2::Error> {
    let answer = answer.await?;
    into.status = answer.status().as_u16();
    into.fields = answer.headers().clone();
    let mut body = answer.into_body();
    while let Some(piece) = body.data().await {
        let piece = piece?;
        let _ = body.flow_control().release_capacity(piece.len());
        into.body.extend_from_slice(&piece);
    }
    into.trailers = body.trailers().await?.unwrap_or_default();
    Ok(())
}
