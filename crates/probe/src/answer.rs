//! What HTTP answers have in common, whatever the version: is the status good, does the body hold what is expected.

use aws_lc_rs::digest::{Context as Hash, SHA256};
use model::config::HttpAsk;
use regex::bytes::Regex;

use crate::dialogue::{Step, Verdict};

/// What is expected of an answer.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The request.
    pub ask: HttpAsk,
    /// Its expression, compiled.
    pub expect: Option<Regex>,
    /// The body itself is what is wanted: it becomes the verdict's text.
    pub keep: bool,
}

/// A body under judgement.
#[derive(Debug)]
pub struct Body {
    held: Vec<u8>,
    hash: Option<Hashing>,
    length: u64,
}

struct Hashing(Hash);

impl std::fmt::Debug for Hashing {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Hashing")
    }
}

impl Wanted {
    /// The status has come. `None`: it is good and the body is wanted as well.
    pub fn status(&self, status: u16) -> Option<Verdict> {
        let HttpAsk { path, method, status: good, .. } = &self.ask;
        if !within(good, status) {
            let expected = listed(good);
            return Some(Err(format!(
                "http {method} {path}: status {status}, expected {expected}"
            )));
        }
        (!self.ask.wants_body() && !self.keep).then(|| Ok(self.seen(status)))
    }

    /// A body to be judged.
    pub fn body(&self) -> Body {
        let hash = self.ask.digest.as_ref().map(|_| Hashing(Hash::new(&SHA256)));
        Body { held: Vec::new(), hash, length: 0 }
    }

    /// Some of the body has come.
    pub fn part(&self, body: &mut Body, bytes: &[u8], status: u16) -> Step {
        body.length += bytes.len() as u64;
        let most = self.ask.body_bytes as usize;
        if let Some(Hashing(hash)) = &mut body.hash {
            if body.length > most as u64 {
                return Step::bad(format!("the body exceeds {most} bytes"));
            }
            hash.update(bytes);
        }
        if self.expect.is_some() || self.keep {
            let room = most.saturating_sub(body.held.len());
            body.held.extend_from_slice(&bytes[..bytes.len().min(room)]);
            // Beyond the limit nothing is looked at: with a digest the rest is still read, up to the same limit.
            if body.held.len() == most && body.hash.is_none() {
                return Step::Done(self.whole(body, status));
            }
        }
        Step::Wait
    }

    /// The body is complete.
    pub fn whole(&self, body: &mut Body, status: u16) -> Verdict {
        if self.keep {
            return Ok(String::from_utf8_lossy(&body.held).into_owned());
        }
        let HttpAsk { path, method, .. } = &self.ask;
        if let Some(expect) = self.expect.as_ref().filter(|expect| !expect.is_match(&body.held)) {
            let expect = expect.as_str();
            return Err(format!("http {method} {path} {status}: the body lacks {expect}"));
        }
        if let (Some(wanted), Some(Hashing(hash))) = (&self.ask.digest, body.hash.take()) {
            let digest = hash.finish();
            let hex: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
            if hex != *wanted {
                return Err(format!(
                    "http {method} {path} {status}: the body's digest is sha256:{hex}"
                ));
            }
        }
        Ok(self.seen(status))
    }

    fn seen(&self, status: u16) -> String {
        let HttpAsk { path, method, .. } = &self.ask;
        format!("http {method} {path} {status}")
    }
}

/// Whether a status is in one of the ranges.
pub fn within(ranges: &[(u16, u16)], status: u16) -> bool {
    ranges.iter().any(|(from, to)| (*from..=*to).contains(&status))
}

/// Ranges for people.
pub fn listed(ranges: &[(u16, u16)]) -> String {
    let one = |(from, to): &(u16, u16)| {
        if from == to { from.to_string() } else { format!("{from}-{to}") }
    };
    ranges.iter().map(one).collect::<Vec<_>>().join(", ")
}
