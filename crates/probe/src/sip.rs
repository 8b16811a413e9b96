//! SIP over UDP (RFC 3261 §11): OPTIONS answered with a good final status. The check neither registers nor calls.

use model::config::StatusRange;

use crate::context::ProbeContext;
use crate::dialogue::{DialogueStep, ProbeDialogue, printable_text};
use crate::http_response::{format_ranges, is_in_ranges};

#[derive(Debug)]
pub struct SipProbe {
    request: String,
    /// The Call-ID of the request, which a reply repeats.
    call: String,
    status: Vec<StatusRange>,
}

impl SipProbe {
    pub fn new(status: &[StatusRange], context: &ProbeContext<'_>) -> SipProbe {
        let to = context.address;
        let call = format!("{:016x}@steelyard.invalid", context.random);
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
            context.random, context.random as u32,
        );
        SipProbe { request, call, status: status.to_vec() }
    }
}

impl ProbeDialogue for SipProbe {
    fn start(&mut self, out: &mut Vec<u8>) -> DialogueStep {
        out.extend_from_slice(self.request.as_bytes());
        DialogueStep::Wait
    }

    fn receive(&mut self, bytes: &[u8], _: &mut Vec<u8>) -> DialogueStep {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.split("\r\n");
        let first = lines.next().unwrap_or_default();
        let status = first
            .strip_prefix("SIP/2.0 ")
            .and_then(|rest| rest.get(..3))
            .and_then(|code| code.parse::<u16>().ok());
        let Some(status) = status else {
            return DialogueStep::failure(format!(
                "the answer is not SIP: {:?}",
                printable_text(bytes)
            ));
        };
        let ours = |line: &str| {
            let (name, value) = line.split_once(':').unwrap_or_default();
            let name = name.trim();
            (name.eq_ignore_ascii_case("call-id") || name.eq_ignore_ascii_case("i"))
                && value.trim() == self.call
        };
        if !lines.take_while(|line| !line.is_empty()).any(ours) || (100..200).contains(&status) {
            return DialogueStep::Wait;
        }
        if is_in_ranges(&self.status, status) {
            return DialogueStep::success(format!("sip OPTIONS {status}"));
        }
        DialogueStep::failure(format!(
            "sip OPTIONS: status {status}, expected {}",
            format_ranges(&self.status)
        ))
    }

    fn awaited(&self) -> &'static str {
        "answer"
    }
}
