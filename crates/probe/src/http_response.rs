//! Checks of an HTTP response in any version: its status, and the expected content of its body.

use aws_lc_rs::digest::{Context as Hash, SHA256};
use model::config::{HttpProbe, StatusRange};
use regex::bytes::Regex;

use crate::dialogue::{DialogueStep, ProbeResult};

#[derive(Clone, Debug)]
pub struct ExpectedResponse {
    pub request: HttpProbe,
    pub expect: Option<Regex>,
    /// The body itself is the result: it becomes the probe's text.
    pub returns_body: bool,
}

/// A body under check.
#[derive(Debug)]
pub struct ResponseCheck {
    bytes: Vec<u8>,
    hash: Option<DigestState>,
    length: u64,
}

struct DigestState(Hash);

impl std::fmt::Debug for DigestState {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Hashing")
    }
}

impl ExpectedResponse {
    /// Checks the status. `None`: it is good, and the body is needed too.
    pub fn check_status(&self, status: u16) -> Option<ProbeResult> {
        let HttpProbe { path, method, status: good, .. } = &self.request;
        if !is_in_ranges(good, status) {
            let expected = format_ranges(good);
            return Some(Err(format!(
                "http {method} {path}: status {status}, expected {expected}"
            )));
        }
        (!self.request.needs_body() && !self.returns_body).then(|| Ok(self.describe_status(status)))
    }

    /// Starts the check of a body.
    pub fn begin_body(&self) -> ResponseCheck {
        let hash = self.request.digest.as_ref().map(|_| DigestState(Hash::new(&SHA256)));
        ResponseCheck { bytes: Vec::new(), hash, length: 0 }
    }

    /// Checks a part of the body.
    pub fn check_body_part(
        &self,
        body: &mut ResponseCheck,
        bytes: &[u8],
        status: u16,
    ) -> DialogueStep {
        body.length += bytes.len() as u64;
        let most = self.request.body_bytes as usize;
        if let Some(DigestState(hash)) = &mut body.hash {
            if body.length > most as u64 {
                return DialogueStep::failure(format!("the body exceeds {most} bytes"));
            }
            hash.update(bytes);
        }
        if self.expect.is_some() || self.returns_body {
            let room = most.saturating_sub(body.bytes.len());
            body.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
            // Beyond the limit only a digest continues, up to the same limit.
            if body.bytes.len() == most && body.hash.is_none() {
                return DialogueStep::Done(self.check_whole_body(body, status));
            }
        }
        DialogueStep::Wait
    }

    /// Checks the complete body.
    pub fn check_whole_body(&self, body: &mut ResponseCheck, status: u16) -> ProbeResult {
        if self.returns_body {
            return Ok(String::from_utf8_lossy(&body.bytes).into_owned());
        }
        let HttpProbe { path, method, .. } = &self.request;
        if let Some(expect) = self.expect.as_ref().filter(|expect| !expect.is_match(&body.bytes)) {
            let expect = expect.as_str();
            return Err(format!("http {method} {path} {status}: the body lacks {expect}"));
        }
        if let (Some(wanted), Some(DigestState(hash))) = (&self.request.digest, body.hash.take()) {
            let digest = hash.finish();
            let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
            if hex != *wanted {
                return Err(format!(
                    "http {method} {path} {status}: the body's digest is sha256:{hex}"
                ));
            }
        }
        Ok(self.describe_status(status))
    }

    fn describe_status(&self, status: u16) -> String {
        let HttpProbe { path, method, .. } = &self.request;
        format!("http {method} {path} {status}")
    }
}

pub fn is_in_ranges(ranges: &[StatusRange], status: u16) -> bool {
    ranges.iter().any(|range| range.contains(status))
}

pub fn format_ranges(ranges: &[StatusRange]) -> String {
    ranges.iter().map(StatusRange::to_string).collect::<Vec<_>>().join(", ")
}
