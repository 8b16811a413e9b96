//! `grpc.health.v1.Health/Check` (the gRPC health checking protocol): SERVING or not.

use bytes::{BufMut, Bytes, BytesMut};
use wire::http2::FieldSection;

use crate::dialogue::{DialogueStep, ProbeResult, printable_text};
use crate::http2_dialogue::{Http2Dialogue, Http2ProbeRequest, ResponseEvaluator};

/// Bytes of a reply's message: a health reply needs two.
const MESSAGE_BYTES: usize = 1_024;
const PATH: &str = "/grpc.health.v1.Health/Check";

/// Checks the health of a service.
pub fn new_dialogue(service: &str, host: &str, tls: bool) -> Http2Dialogue {
    let mut fields = FieldSection::default();
    fields.push(b":method", b"POST");
    fields.push(b":scheme", if tls { b"https" } else { b"http" });
    fields.push(b":authority", host.as_bytes());
    fields.push(b":path", PATH.as_bytes());
    fields.push(b"content-type", b"application/grpc");
    fields.push(b"te", b"trailers");
    fields.push(b"user-agent", b"steelyard-probe");
    let request = Http2ProbeRequest { fields, body: Some(encode_request(service)) };
    let evaluator = HealthEvaluator { service: service.to_owned(), message: Vec::new() };
    Http2Dialogue::new(request, Box::new(evaluator))
}

/// Reads the health that a server reports.
struct HealthEvaluator {
    service: String,
    /// The part of the reply's message that has arrived.
    message: Vec<u8>,
}

impl ResponseEvaluator for HealthEvaluator {
    fn read_head(&mut self, status: u16, fields: &FieldSection) -> DialogueStep {
        if status != 200 {
            return DialogueStep::failure(format!("grpc health: http status {status}"));
        }
        match check_grpc_status(fields) {
            Ok(()) => DialogueStep::Wait,
            Err(failure) => DialogueStep::failure(failure),
        }
    }

    fn read_data(&mut self, part: &[u8]) -> DialogueStep {
        self.message.extend_from_slice(part);
        if self.message.len() > MESSAGE_BYTES {
            return DialogueStep::failure("grpc health: the answer is too long");
        }
        DialogueStep::Wait
    }

    fn read_end(&mut self, trailers: Option<&FieldSection>) -> ProbeResult {
        trailers.map_or(Ok(()), check_grpc_status)?;
        let of = if self.service.is_empty() { String::new() } else { format!(" {}", self.service) };
        match serving_status(&self.message) {
            Some(1) => Ok(format!("grpc health{of}: serving")),
            Some(2) => Err(format!("grpc health{of}: not serving")),
            Some(3) => Err(format!("grpc health{of}: service unknown")),
            Some(other) => Err(format!("grpc health{of}: status {other}")),
            None => Err("grpc health: the answer is not a HealthCheckResponse".to_owned()),
        }
    }
}

/// A failure in `grpc-status`, which stands in the trailers, or in the headers of a reply without a body.
fn check_grpc_status(fields: &FieldSection) -> Result<(), String> {
    match fields.get(b"grpc-status") {
        None | Some(b"0") => Ok(()),
        Some(status) => {
            let text = fields.get(b"grpc-message").map(printable_text);
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
