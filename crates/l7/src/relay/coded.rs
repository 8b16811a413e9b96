//! Whether an answer is compressed, and what that changes in its head.
//!
//! The judgement is `model::compress`'s; here it is counted, and refused where the worker has no time or no place for it.

use model::compress::{self, Answer, Skipped, Told};
use model::config::Compress;
use wire::http1::{AnswerBody, Response};

use super::Relay;
use crate::coder::{Coder, Place};
use crate::rt::Net;

/// What becomes of an answer.
#[derive(Default)]
pub(super) struct Recoded {
    /// Compresses its body.
    pub coder: Option<Coder>,
    /// Names of fields that go.
    pub gone: Vec<String>,
    /// Lines that come.
    pub lines: Vec<u8>,
    /// Its content is left out, and its length would be another one.
    pub unmeasured: bool,
}

impl Recoded {
    /// Tells caches that the answer follows Accept-Encoding, where it does not say so itself.
    fn vary(&mut self, told: &Told<'_>, gone: &[String]) {
        let left_out = gone.iter().any(|name| name == "vary");
        if !told.varies || left_out {
            self.lines.extend_from_slice(b"Vary: Accept-Encoding\r\n");
        }
    }

    /// Makes a strong validator weak: other bytes must not bear it.
    fn weaken(&mut self, told: &Told<'_>, gone: &[String]) {
        let left_out = gone.iter().any(|name| name == "etag");
        if let Some(tag) = told.strong_tag.filter(|_| !left_out) {
            self.gone.push("etag".to_owned());
            for part in [&b"ETag: W/"[..], tag, b"\r\n"] {
                self.lines.extend_from_slice(part);
            }
        }
    }
}

impl<N: Net> Relay<'_, N> {
    /// What becomes of this answer; `old`: its client speaks HTTP/1.0; `gone`: names of fields that are left out anyway.
    pub(super) fn recode(&self, response: &Response, old: bool, gone: &[String]) -> Recoded {
        let Some(config) = &self.ends.service.config.compress else { return Recoded::default() };
        let told = Told::gather(response.headers.iter().map(|header| (header.name, header.value)));
        let answer = Answer {
            status: response.status,
            body: response.body != AnswerBody::None,
            length: response.content_length,
            told,
        };
        let mut recoded = Recoded::default();
        let judged = compress::judge(config, &self.ends.asked, &answer, old);
        // Without content an answer has the validator and Vary of the whole one, and neither the length nor the ranges
        // that this has not. It is not coded itself: whether there will be time for that is not known (RFC 9110 §9.3.2).
        let whole = match judged {
            Err(Skipped::Bodiless) => {
                compress::judge_left_out(config, &self.ends.asked, &answer, old)
            }
            judged => judged,
        };
        if whole.is_ok() || whole.is_err_and(Skipped::depends_on_client) {
            recoded.vary(&told, gone);
        }
        let coding = match judged {
            Ok(coding) => coding,
            Err(skipped) => {
                if whole.is_ok() {
                    recoded.weaken(&told, gone);
                    recoded.gone.push("accept-ranges".to_owned());
                    recoded.unmeasured = true;
                }
                self.skips(skipped);
                return recoded;
            }
        };
        let Some(coder) = self.coder(config, coding) else { return recoded };
        recoded.coder = Some(coder);
        recoded.gone.push("accept-ranges".to_owned());
        recoded.gone.push("content-encoding".to_owned());
        for part in ["Content-Encoding: ", coding.name(), "\r\n"] {
            recoded.lines.extend_from_slice(part.as_bytes());
        }
        recoded.weaken(&told, gone);
        recoded
    }

    /// A coder, if there is time and place for one.
    fn coder(&self, config: &Compress, coding: model::config::Coding) -> Option<Coder> {
        let worker = self.ends.worker;
        let counters = &self.ends.service.live.slots[worker.index].counters;
        if config.busy < 100 && worker.busy.get() > config.busy {
            counters.compress_busy.add(1);
            return None;
        }
        let place = Place::take(&worker.coding, config.at_once);
        let coder = place.and_then(|place| Coder::new(coding, place).ok());
        if coder.is_none() {
            counters.compress_full.add(1);
            return None;
        }
        counters.compressed.add(1);
        coder
    }

    fn skips(&self, skipped: Skipped) {
        let counters = &self.ends.service.live.slots[self.ends.worker.index].counters;
        let count = match skipped {
            Skipped::Bodiless => return,
            Skipped::Coded => &counters.compress_coded,
            Skipped::Kept => &counters.compress_kept,
            Skipped::Type => &counters.compress_type,
            Skipped::Small => &counters.compress_small,
            Skipped::Old => &counters.compress_old,
            Skipped::Client => &counters.compress_client,
        };
        count.add(1);
    }

    /// Counts what was compressed, and whether there was memory to read ahead.
    pub(super) fn coded(&self) {
        let (taken, given) = self.down.coded();
        let counters = &self.ends.service.live.slots[self.ends.worker.index].counters;
        if self.down.was_full() {
            counters.buffer_full.add(1);
        }
        if taken > 0 {
            counters.compress_in.add(taken);
            counters.compress_out.add(given);
        }
    }
}
