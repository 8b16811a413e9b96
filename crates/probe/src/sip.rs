//! SIP over UDP (RFC 3261 §11): OPTIONS answered with a good final status. It registers and calls nobody.

use crate::answer::{listed, within};
use crate::context::Context;
use crate::dialogue::{Dialogue, Step, shown};

/// A dialogue under way.
#[derive(Debug)]
pub struct Sip {
    request: String,
    /// What an answer to us bears in its Call-ID.
    call: String,
    status: Vec<(u16, u16)>,
}

impl Sip {
    /// Asks this server.
    pub fn new(status: &[(u16, u16)], context: &Context<'_>) -> Sip {
        let (to, call) = (context.address, format!("{:016x}@steelyard.invalid", context.draw));
        let request = format!(
            "OPTIONS sip:{to} SIP/2.0\r\n\
             Via: SIP/2.0/UDP steelyard.invalid;branch=z9hG4bK{:016x};rport\r\n\
             Max-Forwards: 70\r\n\
             To: <sip:{to}>\r\n\
             From: <sip:probe@steelyard.invalid>;tag={:08x}\r\n\
             Call-ID: {call}\r\n\
             CSeq: 1 OPTIONS\r\n\
             Contact: <sip:probe@steelyard.invalid>\r\n\
             Accept: application/sdp\r\n\
             Content-Length: 0\r\n\r\n",
            context.draw, context.draw as u32,
        );
        Sip { request, call, status: status.to_vec() }
    }
}

impl Dialogue for Sip {
    fn begin(&mut self, out: &mut Vec<u8>) -> Step {
        out.extend_from_slice(self.request.as_bytes());
        Step::Wait
    }

    fn take(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> Step {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.split("\r\n");
        let first = lines.next().unwrap_or_default();
        let status = first
            .strip_prefix("SIP/2.0 ")
            .and_then(|rest| rest.get(..3))
            .and_then(|code| code.parse::<u16>().ok());
        let Some(status) = status else {
            return Step::bad(format!("the answer is not SIP: {:?}", shown(bytes)));
        };
        let ours = |line: &str| {
            let (name, value) = line.split_once(':').unwrap_or_default();
            let name = name.trim();
            (name.eq_ignore_ascii_case("call-id") || name.eq_ignore_ascii_case("i"))
                && value.trim() == self.call
        };
        if !lines.take_while(|line| !line.is_empty()).any(ours) || (100..200).contains(&status) {
            return Step::Wait;
        }
        if within(&self.status, status) {
            return Step::good(format!("sip OPTIONS {status}"));
        }
        Step::bad(format!("sip OPTIONS: status {status}, expected {}", listed(&self.status)))
    }

    fn awaits(&self) -> &'static str {
        "answer"
    }
}
