//! HTTP/2 (RFC 9113): a request like HTTP/1.1's, with prior knowledge or over TLS.

use std::sync::Arc;

use wire::http2::FieldSection;

use crate::dialogue::{DialogueStep, ProbeResult};
use crate::http_response::{ExpectedResponse, ResponseCheck};
use crate::http2_dialogue::{Http2Dialogue, Http2ProbeRequest, ResponseEvaluator};

pub fn new_dialogue(wanted: Arc<ExpectedResponse>, host: &str, tls: bool) -> Http2Dialogue {
    let request = build_request(&wanted, host, tls);
    let body = wanted.begin_body();
    Http2Dialogue::new(request, Box::new(ExpectedEvaluator { wanted, body, status: 0 }))
}

/// Compares a response with what is expected.
struct ExpectedEvaluator {
    wanted: Arc<ExpectedResponse>,
    body: ResponseCheck,
    status: u16,
}

impl ResponseEvaluator for ExpectedEvaluator {
    fn read_head(&mut self, status: u16, _: &FieldSection) -> DialogueStep {
        self.status = status;
        self.wanted.check_status(status).map_or(DialogueStep::Wait, DialogueStep::Done)
    }

    fn read_data(&mut self, part: &[u8]) -> DialogueStep {
        self.wanted.check_body_part(&mut self.body, part, self.status)
    }

    fn read_end(&mut self, _: Option<&FieldSection>) -> ProbeResult {
        self.wanted.check_whole_body(&mut self.body, self.status)
    }
}

fn build_request(wanted: &ExpectedResponse, host: &str, tls: bool) -> Http2ProbeRequest {
    let mut fields = FieldSection::default();
    fields.push(b":method", wanted.request.method.as_bytes());
    fields.push(b":scheme", if tls { b"https" } else { b"http" });
    fields.push(b":authority", host.as_bytes());
    fields.push(b":path", wanted.request.path.as_bytes());
    let named = |name: &str| {
        wanted.request.headers.iter().any(|field| field.name.eq_ignore_ascii_case(name))
    };
    if !named("user-agent") {
        fields.push(b"user-agent", b"steelyard-probe");
    }
    for field in &wanted.request.headers {
        fields.push_lowercase(field.name.as_bytes(), field.value.as_bytes());
    }
    Http2ProbeRequest { fields, body: None }
}
