//! HTTP/2 of the stand-in servers, for balancers that speak it to servers without TLS.
//!
//! Each request is answered with the server's name, and with gRPC's status in a field.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use http::{Request, Response};
use tokio::runtime::Builder;

use super::observation::{SERVER, SeenField, SeenRequest};
use super::request::MARK;
use super::served_record::ServerContext;

/// Serves a connection to its end, on the calling thread.
pub fn serve(stream: TcpStream, context: &Arc<ServerContext>) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let stream = tokio::net::TcpStream::from_std(stream)?;
        let mut connection = h2::server::handshake(stream).await.map_err(io::Error::other)?;
        while let Some(accepted) = connection.accept().await {
            let accepted = accepted.map_err(io::Error::other)?;
            let context = context.clone();
            // The connection must be driven while a body is read.
            tokio::spawn(async move {
                // Ignored: a balancer may end a stream at any point.
                let _ = answer(accepted.0, accepted.1, &context).await;
            });
        }
        Ok(())
    })
}

async fn answer(
    mut request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    context: &ServerContext,
) -> Result<(), h2::Error> {
    let mut body_bytes = 0;
    while let Some(piece) = request.body_mut().data().await {
        let length = piece?.len();
        body_bytes += length;
        request.body_mut().flow_control().release_capacity(length)?;
    }
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let mut fields: Vec<SeenField> = Vec::new();
    if let Some(host) = request.uri().authority() {
        fields.push(SeenField { name: "host".to_owned(), value: host.to_string() });
    }
    fields.extend(
        request
            .headers()
            .iter()
            .map(|(name, value)| SeenField { name: name.as_str().to_owned(), value: text(value) }),
    );
    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
    let served = SeenRequest {
        server: context.address,
        method: request.method().to_string(),
        target: target.to_owned(),
        fields,
        body_bytes,
        proxy_header: false,
        tls: false,
    };
    let mark = request.headers().get(MARK).and_then(|mark| mark.to_str().ok()?.parse().ok());
    let number = context.record.enter(mark, served);
    let head = Response::builder()
        .status(200)
        .header(SERVER, format!("{}/{number}", context.address))
        .header("content-type", "application/grpc")
        .header("grpc-status", "0");
    // The parts are constants and an address, so that they always make a head.
    let Ok(head) = head.body(()) else { return Ok(()) };
    respond.send_response(head, true)?;
    Ok(())
}
