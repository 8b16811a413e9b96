//! `grpc.health.v1.Health/Check` (the gRPC health checking protocol): SERVING or not.

use ::http::{HeaderMap, Request, Uri};
use bytes::{BufMut, Bytes, BytesMut};
use h2::client::SendRequest;

use crate::dialogue::{ProbeResult, printable_text};
use crate::http2_dialogue::{Http2Dialogue, Http2ProbeResponse, describe_error, send_request};

/// Bytes of a reply's message: a health reply needs two.
const MESSAGE_BYTES: usize = 1_024;
const PATH: &str = "/grpc.health.v1.Health/Check";

/// Checks the health of a service.
pub fn new_dialogue(service: &str, host: &str, tls: bool) -> Http2Dialogue {
    let service = service.to_owned();
    let host = host.to_owned();
    Http2Dialogue::new(move |send| run_check(send, service, host, tls))
}

async fn run_check(
    send: SendRequest<Bytes>,
    service: String,
    host: String,
    tls: bool,
) -> ProbeResult {
    let uri = Uri::builder()
        .scheme(if tls { "https" } else { "http" })
        .authority(host.as_str())
        .path_and_query(PATH)
        .build()
        .map_err(|error| format!("the request cannot be written: {error}"))?;
    let request = Request::post(uri)
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("user-agent", "steelyard-probe")
        .body(())
        .map_err(|error| format!("the request cannot be written: {error}"))?;
    let Http2ProbeResponse { status, headers, body: mut stream } =
        send_request(send, request, Some(encode_request(&service))).await?;
    if status != 200 {
        return Err(format!("grpc health: http status {status}"));
    }
    check_grpc_status(&headers)?;
    let mut body = Vec::new();
    while let Some(part) = stream.data().await {
        let part = part.map_err(|error| describe_error(&error))?;
        // Fails only when more is released than was received.
        let _ = stream.flow_control().release_capacity(part.len());
        body.extend_from_slice(&part);
        if body.len() > MESSAGE_BYTES {
            return Err("grpc health: the answer is too long".to_owned());
        }
    }
    if let Some(trailers) = stream.trailers().await.map_err(|error| describe_error(&error))? {
        check_grpc_status(&trailers)?;
    }
    let of = if service.is_empty() { String::new() } else { format!(" {service}") };
    match serving_status(&body) {
        Some(1) => Ok(format!("grpc health{of}: serving")),
        Some(2) => Err(format!("grpc health{of}: not serving")),
        Some(3) => Err(format!("grpc health{of}: service unknown")),
        Some(other) => Err(format!("grpc health{of}: status {other}")),
        None => Err("grpc health: the answer is not a HealthCheckResponse".to_owned()),
    }
}

/// A failure in `grpc-status`, which stands in the trailers, or in the headers of a reply without a body.
fn check_grpc_status(fields: &HeaderMap) -> Result<(), String> {
    match fields.get("grpc-status").map(|value| value.as_bytes()) {
        None | Some(b"0") => Ok(()),
        Some(status) => {
            let text = fields.get("grpc-message").map(|text| printable_text(text.as_bytes()));
            let text = text.map(|text| format!(": {text}")).unwrap_or_default();
            Err(format!("grpc health: {}{text}", status_name(status)))
        }
    }
}

fn status_name(status: &[u8]) -> String {
    match status {
        b"5" => "service unknown".to_owned(),
        b"7" => "permission denied".to_owned(),
        b"12" => "the server has no health service".to_owned(),
        b"14" => "unavailable".to_owned(),
        b"16" => "not authenticated".to_owned(),
        other => format!("grpc-status {}", printable_text(other)),
    }
}

/// HealthCheckRequest { service = 1 } behind the prefix of gRPC messages.
fn encode_request(service: &str) -> Bytes {
    let mut inner = BytesMut::new();
    if !service.is_empty() {
        inner.put_u8(0x0a);
        let mut length = service.len();
        while length >= 0x80 {
            inner.put_u8(length as u8 | 0x80);
            length >>= 7;
        }
        inner.put_u8(length as u8);
        inner.put_slice(service.as_bytes());
    }
    let mut out = BytesMut::new();
    out.put_u8(0);
    out.put_u32(u32::try_from(inner.len()).unwrap_or(u32::MAX));
    out.put(inner);
    out.freeze()
}

/// HealthCheckResponse { status = 1 }; an absent field is UNKNOWN, 0.
fn serving_status(body: &[u8]) -> Option<u64> {
    let [0, a, b, c, d, message @ ..] = body else { return None };
    let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
    match message.get(..length)? {
        [] => Some(0),
        [0x08, status, ..] if *status < 0x80 => Some(u64::from(*status)),
        _ => None,
    }
}
