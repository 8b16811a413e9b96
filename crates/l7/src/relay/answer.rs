//! The head of an answer: informational ones are passed on, the final one decides how the body goes.
//!
//! Reads, rewrites and writes heads of an attempt; the body's bytes are `flow`'s.

use std::sync::Arc;

use model::cause::Cause;
use model::moment::Moment;
use wire::http1::{
    self, AnswerBody, Asked, Chunked, Defect, Emit, HeadRepair, Lenient, Limits, Persist, Reserved,
    Response, ResponseEdits, Slots, Version,
};

use super::coded::Recoded;
use super::{Ending, Fault, Relay, streams};
use crate::account::Protocol;
use crate::connection_auth;
use crate::flow::Framing;
use crate::hedge::FIRST;
use crate::reported;
use crate::rt::Net;
use crate::stream::{Read, Wrote};

/// Informational answers passed on for one request: a server that sends them without end must not fill our memory.
const INTERIM: u32 = 32;

impl<'a, N: Net> Relay<'a, N> {
    /// Reads until the final head has been seen, or nothing more is there.
    pub(super) fn read_head(&mut self) -> Result<(), Fault> {
        let worker = self.ends.worker;
        let mut scratch = worker.scratch.borrow_mut();
        let scratch = &mut *scratch;
        while self.answer.is_none() {
            let room = FIRST.min(self.down.room()).max(self.given.len());
            let n = match self.next(&mut scratch.input[..room]) {
                Read::Data(n) => n,
                Read::Later => return Ok(()),
                Read::End => return Err(self.no_answer(None)),
                Read::Failed(error) => return Err(self.no_answer(Some(error))),
            };
            if self.record.first_byte.is_none() {
                self.record.first_byte = Some(worker.rt.look());
            }
            self.down_moved.1 = worker.rt.now();
            scratch.output.clear();
            if self.partial.is_empty() {
                let used = self.heads(&scratch.input[..n], &mut scratch.output)?;
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
                let used = self.heads(&bytes, &mut scratch.output)?;
                if self.answer.is_none() {
                    bytes.drain(..used);
                    self.partial = bytes;
                }
            }
            self.write_out(&scratch.output)?;
        }
        Ok(())
    }

    /// The next bytes of the answer; those that came before this attempt are first.
    fn next(&mut self, input: &mut [u8]) -> Read {
        let given = std::mem::take(&mut self.given);
        match input.get_mut(..given.len()) {
            Some(room) if !given.is_empty() => {
                room.copy_from_slice(&given);
                Read::Data(given.len())
            }
            _ => self.ends.server.try_read(input),
        }
    }

    fn limits(&self) -> Limits {
        let limit = &self.ends.pool.config.limit;
        Limits {
            head_bytes: limit.header_bytes as usize,
            head_count: usize::from(limit.header_count),
            target_bytes: 0,
        }
    }

    pub(super) fn write_out(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.answer_begun |= self.answer.is_some();
        if self.down.holds() {
            self.down.keep(self.ends.worker, bytes);
            return Ok(());
        }
        if self.answer.is_some() && self.down.long_body_follows() && !self.ends.server.may_read() {
            self.down.keep(self.ends.worker, bytes);
            self.head_waits = true;
            return Ok(());
        }
        match self.ends.client.try_write(bytes) {
            Wrote::Bytes(n) => {
                self.down.given += n as u64;
                self.down.keep(self.ends.worker, &bytes[n..]);
            }
            Wrote::Later => self.down.keep(self.ends.worker, bytes),
            Wrote::Failed(_) => return Err(self.client_gone()),
        }
        Ok(())
    }

    /// Reads heads until the final one, and the beginning of its body; returns how many bytes were used.
    pub(super) fn heads(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Result<usize, Fault> {
        let limits = self.limits();
        let asked = self.asked();
        let mut used = 0;
        let mut mended = Vec::new();
        loop {
            let mut slots = Slots::new();
            let rest = &bytes[used..];
            let (source, head_len) = match self.mend(rest, &mut mended) {
                HeadRepair::More => return Ok(used),
                HeadRepair::Mended(len, _) => (mended.as_slice(), Some(len)),
                HeadRepair::AsItIs => (rest, None),
            };
            let mut response = match http1::parse_response(source, &limits, &mut slots, asked) {
                Ok(Some(response)) => response,
                Ok(None) => return Ok(used),
                Err(defect) => {
                    return Err(Fault { defect: Some(defect), ..self.fault(Cause::BadResponse) });
                }
            };
            let head_len = head_len.unwrap_or(response.head_len);
            used += head_len;
            self.heads += head_len as u64;
            if response.status == 101 {
                if !self.switches_as_asked(&response) {
                    let defect = Some(Defect::UnaskedSwitch);
                    return Err(Fault { defect, ..self.fault(Cause::BadResponse) });
                }
                self.switch(&response, out);
                self.down.framing = Framing::Done;
                out.extend_from_slice(&bytes[used..]);
                return Ok(bytes.len());
            }
            if response.status < 200 {
                self.interim_head(&response, out)?;
                continue;
            }
            if self.is_unwanted(response.status) {
                return Err(self.fault(Cause::ServerStatus));
            }
            self.final_head(&mut response, out);
            let rest = &bytes[used..];
            let taken = self.down.decode(rest, out).map_err(|defect| Fault {
                defect: Some(defect),
                ..self.fault(Cause::BadResponse)
            })?;
            if taken < rest.len()
                && let Some(Ending::Answered { keep_server, .. }) = &mut self.answer
            {
                // Bytes after the end of an answer belong to nothing that was asked.
                *keep_server = false;
            }
            return Ok(bytes.len());
        }
    }

    /// An answer that another one follows. What a rule keeps from clients does not leave early; what it adds is the final
    /// answer's.
    fn interim_head(&mut self, response: &Response, out: &mut Vec<u8>) -> Result<(), Fault> {
        self.interim += 1;
        if self.interim > INTERIM {
            return Err(self.fault(Cause::BadResponse));
        }
        if self.incoming.version == Version::Http11 {
            let slot = &self.ends.service.live.slots[self.ends.worker.index];
            slot.counters.informational.add(1);
            self.interim_sent = true;
            let hidden = self.ends.changes.hidden();
            let edits = ResponseEdits {
                gone: hidden.gone,
                gone_cookie: hidden.gone_cookie,
                ..self.edits(Persist::KeepAlive, false)
            };
            http1::emit_response(response, &edits, out);
        }
        Ok(())
    }

    /// What the answer's framing depends on.
    fn asked(&self) -> Asked {
        match &self.incoming {
            incoming if incoming.head_only => Asked::Head,
            incoming if incoming.upgrade => Asked::Upgrade,
            _ => Asked::Other,
        }
    }

    /// Mends the next head as the pool allows; counted.
    fn mend(&self, bytes: &[u8], out: &mut Vec<u8>) -> HeadRepair {
        let allowed = self.ends.pool.config.lenient_answers;
        let lenient = Lenient {
            repeated_length: allowed.repeated_length,
            bare_lf: allowed.bare_lf,
            space_before_colon: allowed.space_before_colon,
        };
        if !lenient.is_any() {
            return HeadRepair::AsItIs;
        }
        let mending = http1::mend_answer(bytes, &self.limits(), lenient, out);
        if let HeadRepair::Mended(_, mended) = mending {
            self.meter.mended(mended);
        }
        mending
    }

    /// Whether the server switches to protocols alone that the client asked for (RFC 9110 §7.8).
    fn switches_as_asked(&self, response: &Response) -> bool {
        let head = self.incoming.view();
        let asked = |to: &str| {
            let mut offered = head.field(b"upgrade").flat_map(|value| value.split(|b| *b == b','));
            offered.any(|one| one.trim_ascii().eq_ignore_ascii_case(to.trim().as_bytes()))
        };
        response.upgrade.is_some_and(|to| to.split(',').all(asked))
    }

    pub(super) fn switch(&mut self, response: &Response, out: &mut Vec<u8>) {
        let worked = self.ends.changes.of(response.headers, self.ends.worker.rt.now());
        let edits = ResponseEdits {
            gone: worked.gone,
            gone_cookie: worked.gone_cookie,
            lines: &worked.lines,
            ..self.edits(Persist::KeepAlive, true)
        };
        http1::emit_response(response, &edits, out);
        self.record.status = 101;
        self.answer = Some(Ending::Upgraded);
    }

    pub(super) fn final_head(&mut self, response: &mut Response, out: &mut Vec<u8>) {
        self.record.status = response.status;
        self.keep_alive_timeout = response.keep_alive_timeout;
        self.incoming.authenticates |= connection_auth::is_asked_for(response.headers);
        self.reported = reported::read(&self.ends.pool.config, response.headers);
        self.streams |= streams::answers(response);
        let old = self.incoming.version == Version::Http10;
        let worked = self.ends.changes.of(response.headers, self.ends.worker.rt.now());
        let Recoded { coder, gone, lines, unmeasured } = self.recode(response, old, worked.gone);
        let framing = match response.body {
            AnswerBody::None | AnswerBody::Length(0) => Framing::Done,
            AnswerBody::Length(n) => Framing::Length(n),
            AnswerBody::Chunked => {
                let emit = match (coder.is_some(), old) {
                    (true, _) => Emit::Apart,
                    (false, true) => Emit::Plain,
                    (false, false) => Emit::Chunked,
                };
                let chunked = Chunked::new(emit);
                let names = &self.ends.service.config.reserved.answer;
                Framing::Chunked(Box::new(match names.is_empty() {
                    true => chunked,
                    false => {
                        chunked.without(Reserved { prefixes: Arc::default(), names: names.clone() })
                    }
                }))
            }
            AnswerBody::UntilClose => Framing::UntilEnd,
        };
        let closing = matches!(framing, Framing::UntilEnd);
        let open_ended =
            coder.is_none() && (closing || (old && matches!(framing, Framing::Chunked(_))));
        let ending = self.ends.worker.draining.get() || self.ends.cut_at.get() != Moment::NEVER;
        let keep_client = self.incoming.keep_alive && !open_ended && !ending;
        self.answer =
            Some(Ending::Answered { keep_client, keep_server: response.keep_alive && !closing });
        let persist = if keep_client { Persist::KeepAlive } else { Persist::Close };
        // A client that is told to upgrade is told to what (RFC 9110 §15.5.22).
        let told_to = response.status == 426 && self.incoming.protocol == Protocol::Http11;
        let edits = self.edits(persist, told_to);
        if coder.is_some() {
            response.recode();
        } else if unmeasured {
            response.content_length = None;
        }
        let mut gone = [worked.gone, &gone].concat();
        let mut lines = [worked.lines, lines].concat();
        if let Some(told) = self.announcement() {
            // What a server tells of other ways to itself is no way to us.
            gone.push("alt-svc".to_owned());
            lines.extend_from_slice(told.as_bytes());
        }
        let gone_cookie = worked.gone_cookie;
        let edits = ResponseEdits { gone: &gone, gone_cookie, lines: &lines, ..edits };
        http1::emit_response(response, &edits, out);
        self.down.framing = framing;
        if let Some(coder) = coder {
            self.down.code(coder);
        }
        self.runs_ahead();
    }

    /// Trailers of the answer that were dropped.
    pub fn trailers_dropped(&self) -> u8 {
        self.down.trailers_dropped
    }

    /// The line that tells a client that HTTP/3 is spoken where it is (RFC 7838 §3), if it does not speak it.
    fn announcement(&self) -> Option<String> {
        let http3 = &self.ends.service.config.http3;
        let age = http3.announce.filter(|_| http3.offer)?;
        if self.incoming.protocol == Protocol::Http3 {
            return None;
        }
        let port = self.ends.client.port()?;
        Some(format!("Alt-Svc: h3=\":{port}\"; ma={}\r\n", age.as_secs()))
    }

    pub(super) fn edits(&self, persist: Persist, keep_upgrade: bool) -> ResponseEdits<'a> {
        ResponseEdits {
            client_version: self.incoming.version,
            persist,
            via: self
                .ends
                .service
                .config
                .forwarded
                .via
                .then_some(self.ends.worker.options.node.as_str()),
            keep_upgrade,
            gone: &[],
            gone_cookie: None,
            lines: b"",
        }
    }
}
