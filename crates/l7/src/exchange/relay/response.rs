//! Response heads: interim ones are passed on, and the final one determines how the body is relayed.
//!
//! Reads, rewrites and writes the heads of an attempt; `flow` relays the body.

use std::sync::Arc;

use model::cause::Cause;
use model::monotonic_time::MonotonicTime;
use wire::http1::{
    self, ChunkedDecoder, ChunkedOutput, ConnectionPersistence, Defect, HeadLimits, HeadRepair,
    HeaderSlots, HttpVersion, LenientParsing, ParsedResponseHead, ReservedHeaders, ResponseBody,
    ResponseContext, ResponseEdits,
};

use super::response_compression::ResponseCompression;
use super::{AttemptEnding, AttemptFault, AttemptRelay, streams};
use crate::accounting::DownstreamProtocol;
use crate::conn::connection_auth;
use crate::conn::stream::{StreamReadResult, StreamWriteResult};
use crate::exchange::flow::BodyFraming;
use crate::exchange::load_report;
use crate::rt::NetDriver;
use crate::upstream::hedge::FIRST_READ_BYTES;

/// Most interim responses that are passed on for one request, since a server could send them without end and use up
/// memory.
/// Servers send one or two (100, 103).
const INTERIM: u32 = 32;

impl<'a, N: NetDriver> AttemptRelay<'a, N> {
    /// Reads until the final head is complete, or no more bytes are available.
    pub(super) fn read_head(&mut self) -> Result<(), AttemptFault> {
        let worker = self.context.worker;
        let mut scratch = worker.scratch.borrow_mut();
        let scratch = &mut *scratch;
        while self.answer.is_none() {
            let room = FIRST_READ_BYTES.min(self.down.read_room()).max(self.answer_prefix.len());
            let n = match self.read_input(&mut scratch.input[..room]) {
                StreamReadResult::Data(n) => n,
                StreamReadResult::WouldBlock => return Ok(()),
                StreamReadResult::End => return Err(self.no_answer(None)),
                StreamReadResult::Failed(error) => return Err(self.no_answer(Some(error))),
            };
            if self.record.first_byte.is_none() {
                self.record.first_byte = Some(worker.rt.update_now());
            }
            self.down_progress.moved_at = worker.rt.now();
            scratch.output.clear();
            if self.partial.is_empty() {
                let used = self.read_heads(&scratch.input[..n], &mut scratch.output)?;
                if self.answer.is_none() {
                    self.partial.extend_from_slice(&scratch.input[used..n]);
                }
            } else {
                let mut bytes = std::mem::take(&mut self.partial);
                let seen = bytes.len();
                bytes.extend_from_slice(&scratch.input[..n]);
                if !http1::may_complete(&bytes, seen, &self.limits()) {
                    self.partial = bytes;
                    continue;
                }
                let used = self.read_heads(&bytes, &mut scratch.output)?;
                if self.answer.is_none() {
                    bytes.drain(..used);
                    self.partial = bytes;
                }
            }
            self.write_out(&scratch.output)?;
        }
        Ok(())
    }

    /// Reads the next bytes of the response; those received before this attempt come first.
    fn read_input(&mut self, input: &mut [u8]) -> StreamReadResult {
        let given = std::mem::take(&mut self.answer_prefix);
        match input.get_mut(..given.len()) {
            Some(room) if !given.is_empty() => {
                room.copy_from_slice(&given);
                StreamReadResult::Data(given.len())
            }
            _ => self.context.server.try_read(input),
        }
    }

    fn limits(&self) -> HeadLimits {
        let limit = &self.context.pool.config.limit;
        HeadLimits {
            head_bytes: limit.header_bytes as usize,
            head_count: usize::from(limit.header_count),
            target_bytes: 0,
        }
    }

    pub(super) fn write_out(&mut self, bytes: &[u8]) -> Result<(), AttemptFault> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.answer_begun |= self.answer.is_some();
        if self.down.has_pending() {
            self.down.queue_bytes(self.context.worker, bytes);
            return Ok(());
        }
        if self.answer.is_some() && self.down.long_body_follows() && !self.context.server.may_read()
        {
            self.down.queue_bytes(self.context.worker, bytes);
            self.head_pending = true;
            return Ok(());
        }
        match self.context.client.try_write(bytes) {
            StreamWriteResult::Bytes(n) => {
                self.down.bytes_out += n as u64;
                self.down.queue_bytes(self.context.worker, &bytes[n..]);
            }
            StreamWriteResult::WouldBlock => self.down.queue_bytes(self.context.worker, bytes),
            StreamWriteResult::Failed(_) => return Err(self.client_gone()),
        }
        Ok(())
    }

    /// Parses heads up to the final one, and the start of its body; returns how many bytes were used.
    pub(super) fn read_heads(
        &mut self,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<usize, AttemptFault> {
        let limits = self.limits();
        let context = self.response_context();
        let mut used = 0;
        let mut repaired = Vec::new();
        loop {
            let mut slots = HeaderSlots::new();
            let rest = &bytes[used..];
            let (source, head_len) = match self.repair_head(rest, &mut repaired) {
                HeadRepair::NeedMore => return Ok(used),
                HeadRepair::Repaired(len, _) => (repaired.as_slice(), Some(len)),
                HeadRepair::Unchanged => (rest, None),
            };
            let mut response = match http1::parse_response(source, &limits, &mut slots, context) {
                Ok(Some(response)) => response,
                Ok(None) => return Ok(used),
                Err(defect) => {
                    return Err(AttemptFault {
                        defect: Some(defect),
                        ..self.fault(Cause::BadResponse)
                    });
                }
            };
            let head_len = head_len.unwrap_or(response.head_len);
            used += head_len;
            self.heads += head_len as u64;
            if response.status == 101 {
                if !self.is_requested_upgrade(&response) {
                    let defect = Some(Defect::UnaskedSwitch);
                    return Err(AttemptFault { defect, ..self.fault(Cause::BadResponse) });
                }
                self.switch_protocols(&response, out);
                self.down.framing = BodyFraming::Done;
                out.extend_from_slice(&bytes[used..]);
                return Ok(bytes.len());
            }
            if response.status < 200 {
                self.handle_interim_head(&response, out)?;
                continue;
            }
            if self.is_retried_status(response.status) {
                return Err(self.fault(Cause::ServerStatus));
            }
            if self.is_intercepted(response.status) {
                self.intercept(&response, &bytes[used..]);
                return Ok(bytes.len());
            }
            self.handle_final_head(&mut response, out);
            let rest = &bytes[used..];
            let consumed = self.down.decode(rest, out).map_err(|defect| AttemptFault {
                defect: Some(defect),
                ..self.fault(Cause::BadResponse)
            })?;
            if consumed < rest.len()
                && let Some(AttemptEnding::Answered { keep_server, .. }) = &mut self.answer
            {
                // Bytes after the end of a response belong to no request.
                *keep_server = false;
            }
            return Ok(bytes.len());
        }
    }

    /// Passes on an interim response. Fields that a rule removes are removed here too; fields that a rule adds are only
    /// added to the final response.
    fn handle_interim_head(
        &mut self,
        response: &ParsedResponseHead,
        out: &mut Vec<u8>,
    ) -> Result<(), AttemptFault> {
        self.interim += 1;
        if self.interim > INTERIM {
            return Err(self.fault(Cause::BadResponse));
        }
        if self.incoming.version == HttpVersion::Http11 {
            let slot = &self.context.service.stats.slots[self.context.worker.index];
            slot.counters.informational.add(1);
            self.interim_sent = true;
            let hidden = self.context.changes.interim_edits();
            let edits = ResponseEdits {
                removed_headers: &hidden.removed,
                removed_cookie: hidden.removed_cookie,
                ..self.edits(ConnectionPersistence::KeepAlive, false)
            };
            http1::emit_response(response, &edits, out);
        }
        Ok(())
    }

    /// The request's properties that the response's framing depends on.
    fn response_context(&self) -> ResponseContext {
        match &self.incoming {
            incoming if incoming.head_only => ResponseContext::Head,
            incoming if incoming.upgrade => ResponseContext::Upgrade,
            _ => ResponseContext::Other,
        }
    }

    /// Repairs the next head as far as the pool allows, and counts each repair.
    fn repair_head(&self, bytes: &[u8], out: &mut Vec<u8>) -> HeadRepair {
        let allowed = self.context.pool.config.lenient_answers;
        let lenient = LenientParsing {
            repeated_length: allowed.repeated_length,
            bare_lf: allowed.bare_lf,
            space_before_colon: allowed.space_before_colon,
        };
        if !lenient.is_any() {
            return HeadRepair::Unchanged;
        }
        let repair = http1::repair_response_head(bytes, &self.limits(), lenient, out);
        if let HeadRepair::Repaired(_, repaired) = repair {
            self.meter.count_repair(repaired);
        }
        repair
    }

    /// Whether the server switches only to protocols that the client offered (RFC 9110 §7.8).
    fn is_requested_upgrade(&self, response: &ParsedResponseHead) -> bool {
        let head = self.incoming.view();
        let context = |to: &str| {
            let mut offered = head.field(b"upgrade").flat_map(|value| value.split(|b| *b == b','));
            offered.any(|one| one.trim_ascii().eq_ignore_ascii_case(to.trim().as_bytes()))
        };
        response.upgrade.is_some_and(|to| to.split(',').all(context))
    }

    pub(super) fn switch_protocols(&mut self, response: &ParsedResponseHead, out: &mut Vec<u8>) {
        let now = self.context.worker.rt.now();
        let worked = self.context.changes.edits_for(response.status, response.headers, now);
        let edits = ResponseEdits {
            removed_headers: &worked.removed,
            removed_cookie: worked.removed_cookie,
            lines: &worked.added_lines,
            ..self.edits(ConnectionPersistence::KeepAlive, true)
        };
        http1::emit_response(response, &edits, out);
        self.record.status = 101;
        self.answer = Some(AttemptEnding::Upgraded);
    }

    pub(super) fn handle_final_head(
        &mut self,
        response: &mut ParsedResponseHead,
        out: &mut Vec<u8>,
    ) {
        self.record.status = response.status;
        self.keep_alive_timeout = response.keep_alive_timeout;
        self.incoming.authenticates |=
            connection_auth::answer_asks_authentication(response.headers);
        self.load_report = load_report::read_report(&self.context.pool.config, response.headers);
        self.streams |= streams::answer_streams(response);
        let old = self.incoming.version == HttpVersion::Http10;
        let now = self.context.worker.rt.now();
        let worked = self.context.changes.edits_for(response.status, response.headers, now);
        let ResponseCompression { compressor, removed: gone, added_lines: lines, unmeasured } =
            self.choose_compression(response, old, &worked.removed);
        let framing = self.body_framing(response, compressor.is_some());
        let closing = matches!(framing, BodyFraming::UntilEnd);
        let open_ended = compressor.is_none()
            && (closing || (old && matches!(framing, BodyFraming::Chunked(_))));
        let ending =
            self.context.worker.draining.get() || self.context.cut_at.get() != MonotonicTime::NEVER;
        let keep_client = self.incoming.keep_alive && !open_ended && !ending;
        self.answer = Some(AttemptEnding::Answered {
            keep_client,
            keep_server: response.keep_alive && !closing,
        });
        let persist = if keep_client {
            ConnectionPersistence::KeepAlive
        } else {
            ConnectionPersistence::Close
        };
        // A 426 carries the Upgrade field with the required protocols (RFC 9110 §15.5.22).
        let keep_upgrade =
            response.status == 426 && self.incoming.protocol == DownstreamProtocol::Http11;
        let edits = self.edits(persist, keep_upgrade);
        if compressor.is_some() {
            response.set_unknown_length();
        } else if unmeasured {
            response.content_length = None;
        }
        let mut gone = [&*worked.removed, &gone].concat();
        let mut lines = [worked.added_lines, lines].concat();
        if let Some(alt_svc) = self.alt_svc_line() {
            // A server's alternative services (RFC 7838) would lead clients past this balancer.
            gone.push("alt-svc".to_owned());
            lines.extend_from_slice(alt_svc.as_bytes());
        }
        let gone_cookie = worked.removed_cookie;
        let edits = ResponseEdits {
            removed_headers: &gone,
            removed_cookie: gone_cookie,
            lines: &lines,
            ..edits
        };
        http1::emit_response(response, &edits, out);
        self.down.framing = framing;
        if let Some(compressor) = compressor {
            self.down.compress_with(compressor);
        }
        self.enable_read_ahead();
    }

    /// The framing in which the response's body is read, and written to the client.
    pub(super) fn body_framing(
        &self,
        response: &ParsedResponseHead,
        compresses: bool,
    ) -> BodyFraming {
        let old = self.incoming.version == HttpVersion::Http10;
        match response.body {
            ResponseBody::None | ResponseBody::Length(0) => BodyFraming::Done,
            ResponseBody::Length(n) => BodyFraming::Length(n),
            ResponseBody::Chunked => {
                let emit = match (compresses, old) {
                    (true, _) => ChunkedOutput::SeparateTrailers,
                    (false, true) => ChunkedOutput::Unframed,
                    (false, false) => ChunkedOutput::Chunked,
                };
                let chunked = ChunkedDecoder::new(emit);
                let names = &self.context.service.config.reserved.answer;
                BodyFraming::Chunked(Box::new(match names.is_empty() {
                    true => chunked,
                    false => chunked.with_reserved(ReservedHeaders {
                        prefixes: Arc::default(),
                        names: names.clone(),
                        unusual: false,
                    }),
                }))
            }
            ResponseBody::UntilClose => BodyFraming::UntilEnd,
        }
    }

    /// Number of dropped trailers of the response.
    pub fn trailers_dropped(&self) -> u8 {
        self.down.trailers_dropped
    }

    /// The Alt-Svc line that offers HTTP/3 on the same port (RFC 7838 §3), unless the client uses HTTP/3 already.
    fn alt_svc_line(&self) -> Option<String> {
        let http3 = &self.context.service.config.http3;
        let age = http3.announce.filter(|_| http3.offer)?;
        if self.incoming.protocol == DownstreamProtocol::Http3 {
            return None;
        }
        let port = self.context.client.local_port()?;
        Some(format!("Alt-Svc: h3=\":{port}\"; ma={}\r\n", age.as_secs()))
    }

    pub(super) fn edits(
        &self,
        persist: ConnectionPersistence,
        keep_upgrade: bool,
    ) -> ResponseEdits<'a> {
        ResponseEdits {
            client_version: self.incoming.version,
            persist,
            via: self
                .context
                .service
                .config
                .forwarded
                .via
                .then_some(self.context.worker.options.node.as_str()),
            keep_upgrade,
            removed_headers: &[],
            removed_cookie: None,
            lines: b"",
        }
    }
}
