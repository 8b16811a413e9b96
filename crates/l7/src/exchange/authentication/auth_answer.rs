//! Reads the answer of a server of `[auth]` in bounded memory: what others get of it, and whether its connection may
//! serve another question. It touches no socket.

use std::time::Duration;

use model::cause::Cause;
use model::config::AuthConfig;
use model::snapshot::PoolView;
use wire::http1::{
    self, ChunkedDecoder, ChunkedOutput, HeadLimits, HeaderSlots, ParsedResponseHead, ResponseBody,
    ResponseContext,
};

use crate::conn::connection_auth;
use crate::exchange::flow::{BodyFraming, ByteFlow};
use crate::rt::NetDriver;
use crate::worker::authentication::question_answer::{
    AnswerMeaning, interpret_status, taken_lines, validity, write_field,
};

/// Bytes of a refusal's body. Pages that say why are shorter.
const MAX_BODY_BYTES: usize = 64 * 1024;

/// Interim responses that are passed over (RFC 9110 §15.2). Servers send one or two.
const MAX_INTERIM: u32 = 8;

/// An answer.
#[derive(Debug, Default)]
pub struct AuthAnswer {
    pub status: u16,
    /// Of a refusal the end-to-end field lines, else those for the server.
    pub lines: Vec<u8>,
    /// The body of a refusal.
    pub body: Vec<u8>,
    /// The body was too long, and is left out.
    pub body_dropped: bool,
    /// How long the same question need not be asked again; `None`: it must be.
    pub validity: Option<Duration>,
}

/// An answer as far as anybody reads it.
pub struct ReadAnswer {
    pub answer: AuthAnswer,
    /// What is still to come.
    pub unread: BodyFraming,
    /// The connection may serve another question afterwards.
    pub keeps: bool,
}

/// An answer as it arrives.
pub struct AnswerReading<'c, N: NetDriver> {
    config: &'c AuthConfig,
    limits: HeadLimits,
    /// Bytes of a head that is not complete.
    partial: Vec<u8>,
    interim: u32,
    answer: AuthAnswer,
    /// The rest of the body.
    body: ByteFlow<N>,
    has_head: bool,
    /// The connection may serve another request.
    keeps: bool,
}

impl<'c, N: NetDriver> AnswerReading<'c, N> {
    pub fn new(config: &'c AuthConfig, pool: &PoolView) -> AnswerReading<'c, N> {
        let limit = &pool.config.limit;
        AnswerReading {
            config,
            limits: HeadLimits {
                head_bytes: limit.header_bytes as usize,
                head_count: usize::from(limit.header_count),
                target_bytes: 0,
            },
            partial: Vec::new(),
            interim: 0,
            answer: AuthAnswer::default(),
            body: ByteFlow::new(BodyFraming::Done, 0),
            has_head: false,
            keeps: false,
        }
    }

    /// Whether all that somebody reads is there.
    pub fn is_complete(&self) -> bool {
        let wants_body = interpret_status(self.answer.status) == AnswerMeaning::Refuse;
        self.has_head && (!wants_body || self.answer.body_dropped || self.body.framing.is_done())
    }

    /// Whether the answer ends where its server closes.
    pub fn ends_with_close(&self) -> bool {
        self.has_head && matches!(self.body.framing, BodyFraming::UntilEnd)
    }

    /// Adds bytes that the server sent.
    ///
    /// # Errors
    /// They are no answer.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Cause> {
        if self.has_head {
            return self.feed_body(bytes);
        }
        let seen = self.partial.len();
        self.partial.extend_from_slice(bytes);
        if !http1::may_complete(&self.partial, seen, &self.limits) {
            return Ok(());
        }
        let all = std::mem::take(&mut self.partial);
        let mut rest = all.as_slice();
        while !self.has_head {
            let mut slots = HeaderSlots::new();
            let parsed =
                http1::parse_response(rest, &self.limits, &mut slots, ResponseContext::Other);
            let Some(head) = parsed.map_err(|_| Cause::BadResponse)? else {
                self.partial = rest.to_vec();
                return Ok(());
            };
            rest = rest.get(head.head_len..).unwrap_or_default();
            match head.is_interim() {
                true => self.interim += 1,
                false => self.take_head(&head),
            }
            if self.interim > MAX_INTERIM {
                return Err(Cause::BadResponse);
            }
        }
        self.feed_body(rest)
    }

    fn take_head(&mut self, head: &ParsedResponseHead<'_, '_>) {
        self.has_head = true;
        self.answer.status = head.status;
        self.answer.lines = match interpret_status(head.status) {
            AnswerMeaning::Admit => {
                let most = self.config.cache;
                self.answer.validity = most.and_then(|most| validity(most, head.headers));
                taken_lines(self.config, head.headers)
            }
            AnswerMeaning::Refuse => {
                let mut lines = Vec::new();
                for header in head.forwarded_headers() {
                    write_field(header.name, header.value, &mut lines);
                }
                lines
            }
            AnswerMeaning::Unusable => Vec::new(),
        };
        self.keeps = head.keep_alive && !connection_auth::answer_asks_authentication(head.headers);
        self.body = ByteFlow::new(
            match head.body {
                ResponseBody::None | ResponseBody::Length(0) => BodyFraming::Done,
                ResponseBody::Length(left) => BodyFraming::Length(left),
                ResponseBody::Chunked => {
                    BodyFraming::Chunked(Box::new(ChunkedDecoder::new(ChunkedOutput::Unframed)))
                }
                ResponseBody::UntilClose => BodyFraming::UntilEnd,
            },
            0,
        );
    }

    /// What was read, and what is left.
    pub fn finish(self) -> ReadAnswer {
        ReadAnswer { answer: self.answer, unread: self.body.framing, keeps: self.keeps }
    }

    fn feed_body(&mut self, bytes: &[u8]) -> Result<(), Cause> {
        let used = self.body.decode(bytes, &mut self.answer.body);
        let used = used.map_err(|_| Cause::BadResponse)?;
        // Bytes after the end of an answer belong to no question.
        self.keeps &= used == bytes.len();
        if self.answer.body.len() > MAX_BODY_BYTES {
            self.answer.body = Vec::new();
            self.answer.body_dropped = true;
            self.keeps = false;
        }
        Ok(())
    }
}
