//! Decides whether a response is compressed, and how that changes its head.
//!
//! `model::compression` makes the decision. Here the decision is counted, and compression is skipped if the worker
//! lacks CPU time or a compression slot.

use model::compression::{self, CompressionSkip, EncodingFields, ResponseSummary};
use model::config::CompressionConfig;
use wire::http1::{ParsedResponseHead, ResponseBody};

use super::AttemptRelay;
use crate::exchange::compressor::{BodyCompressor, CompressionSlot};
use crate::rt::NetDriver;

/// The changes to a response.
#[derive(Default)]
pub(super) struct ResponseCompression {
    pub compressor: Option<BodyCompressor>,
    /// Names of fields to remove.
    pub removed: Vec<String>,
    pub added_lines: Vec<u8>,
    /// The body is omitted (HEAD, 304), and its compressed length is unknown.
    pub unmeasured: bool,
}

impl ResponseCompression {
    /// Adds `Vary: Accept-Encoding` for caches, unless the response has it.
    fn add_vary(&mut self, told: &EncodingFields<'_>, gone: &[String]) {
        let left_out = gone.iter().any(|name| name == "vary");
        if !told.varies || left_out {
            self.added_lines.extend_from_slice(b"Vary: Accept-Encoding\r\n");
        }
    }

    /// Weakens a strong ETag, which may not describe other bytes.
    fn weaken_etag(&mut self, told: &EncodingFields<'_>, gone: &[String]) {
        let left_out = gone.iter().any(|name| name == "etag");
        if let Some(tag) = told.strong_tag.filter(|_| !left_out) {
            self.removed.push("etag".to_owned());
            for part in [&b"ETag: W/"[..], tag, b"\r\n"] {
                self.added_lines.extend_from_slice(part);
            }
        }
    }
}

impl<N: NetDriver> AttemptRelay<'_, N> {
    /// Chooses the changes. `old`: the client's version is HTTP/1.0. `gone`: names of fields that are removed anyway.
    pub(super) fn choose_compression(
        &self,
        response: &ParsedResponseHead,
        old: bool,
        gone: &[String],
    ) -> ResponseCompression {
        let Some(config) = &self.context.service.config.compress else {
            return ResponseCompression::default();
        };
        let told = EncodingFields::from_fields(
            response.headers.iter().map(|header| (header.name, header.value)),
        );
        let answer = ResponseSummary {
            status: response.status,
            body: response.body != ResponseBody::None,
            length: response.content_length,
            fields: told,
        };
        let mut recoded = ResponseCompression::default();
        let judged =
            compression::choose_coding(config, &self.context.accepted_encodings, &answer, old);
        // A response without content has the ETag and Vary of the full response, but neither its length nor its ranges,
        // which compression changes. Content-Encoding is not set: whether the full response would be compressed depends
        // on the worker's load (RFC 9110 §9.3.2).
        let whole = match judged {
            Err(CompressionSkip::NoBody) => compression::choose_coding_for_stripped(
                config,
                &self.context.accepted_encodings,
                &answer,
                old,
            ),
            judged => judged,
        };
        if whole.is_ok() || whole.is_err_and(CompressionSkip::depends_on_client) {
            recoded.add_vary(&told, gone);
        }
        let coding = match judged {
            Ok(coding) => coding,
            Err(skipped) => {
                if whole.is_ok() {
                    recoded.weaken_etag(&told, gone);
                    recoded.removed.push("accept-ranges".to_owned());
                    recoded.unmeasured = true;
                }
                self.count_skipped(skipped);
                return recoded;
            }
        };
        let Some(compressor) = self.new_compressor(config, coding) else { return recoded };
        recoded.compressor = Some(compressor);
        recoded.removed.push("accept-ranges".to_owned());
        recoded.removed.push("content-encoding".to_owned());
        for part in ["Content-Encoding: ", coding.name(), "\r\n"] {
            recoded.added_lines.extend_from_slice(part.as_bytes());
        }
        recoded.weaken_etag(&told, gone);
        recoded
    }

    /// Creates a compressor, if the worker has CPU time and a slot.
    fn new_compressor(
        &self,
        config: &CompressionConfig,
        coding: model::config::ContentCoding,
    ) -> Option<BodyCompressor> {
        let worker = self.context.worker;
        let counters = &self.context.service.stats.slots[worker.index].counters;
        if config.busy < 100 && worker.busy.get() > config.busy {
            counters.compress_busy.add(1);
            return None;
        }
        let place = CompressionSlot::acquire(&worker.compressing, config.at_once);
        let compressor = place.and_then(|place| BodyCompressor::new(coding, place).ok());
        if compressor.is_none() {
            counters.compress_full.add(1);
            return None;
        }
        counters.compressed.add(1);
        compressor
    }

    fn count_skipped(&self, skipped: CompressionSkip) {
        let counters = &self.context.service.stats.slots[self.context.worker.index].counters;
        let count = match skipped {
            CompressionSkip::NoBody => return,
            CompressionSkip::AlreadyEncoded => &counters.compress_coded,
            CompressionSkip::NoTransform => &counters.compress_kept,
            CompressionSkip::MediaType => &counters.compress_type,
            CompressionSkip::TooSmall => &counters.compress_small,
            CompressionSkip::Http10Client => &counters.compress_old,
            CompressionSkip::NotAccepted => &counters.compress_client,
        };
        count.add(1);
    }

    /// Counts the compressed bytes, and whether memory limited the reading ahead.
    pub(super) fn count_compressed(&self) {
        let compressed = self.down.compressed_totals();
        let counters = &self.context.service.stats.slots[self.context.worker.index].counters;
        if self.down.hit_memory_limit() {
            counters.buffer_full.add(1);
        }
        if compressed.input > 0 {
            counters.compress_in.add(compressed.input);
            counters.compress_out.add(compressed.output);
        }
    }
}
