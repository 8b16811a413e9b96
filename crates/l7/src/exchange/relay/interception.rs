//! A server's answer that an error page replaces: its body is discarded, and some of its fields go with the page.

use wire::http1::ParsedResponseHead;

use super::{AttemptEnding, AttemptRelay};
use crate::conn::connection_auth;
use crate::exchange::flow::BodyFraming;
use crate::exchange::load_report;
use crate::rt::NetDriver;

/// Fields without which an answer of its status is of no use to the client (RFC 9110 §10.2, §11.6 and §11.7).
const PASSED_ON: [&str; 4] = ["www-authenticate", "proxy-authenticate", "allow", "retry-after"];

impl<N: NetDriver> AttemptRelay<'_, N> {
    /// Whether a page replaces an answer with this status.
    pub(super) fn is_intercepted(&self, status: u16) -> bool {
        let pages = self.context.service.error_pages.as_ref();
        pages.is_some_and(|pages| pages.find_intercepting(status).is_some())
    }

    /// Takes note of the answer, and discards `rest`, which came with its head.
    pub(super) fn intercept(&mut self, response: &ParsedResponseHead, rest: &[u8]) {
        self.record.status = response.status;
        self.keep_alive_timeout = response.keep_alive_timeout;
        self.incoming.authenticates |=
            connection_auth::answer_asks_authentication(response.headers);
        self.load_report = load_report::read_report(&self.context.pool.config, response.headers);
        let removed = &self.context.changes.interim_edits().removed;
        for header in response.headers {
            let named = |name: &&str| header.name.eq_ignore_ascii_case(name);
            let is_removed = removed.iter().any(|name| header.name.eq_ignore_ascii_case(name));
            if PASSED_ON.iter().any(named) && !is_removed {
                for part in [header.name.as_bytes(), b": ", header.value, b"\r\n"] {
                    self.intercepted.lines.extend_from_slice(part);
                }
            }
        }
        let framing = self.body_framing(response, false);
        let has_end = !matches!(framing, BodyFraming::UntilEnd);
        self.down.framing = framing;
        let consumed = self.down.decode(rest, &mut Vec::new());
        // The client gets nothing of what is still to come.
        self.intercepted.unread = std::mem::take(&mut self.down.framing);
        let keep_server = response.keep_alive && has_end && consumed == Ok(rest.len());
        self.answer = Some(AttemptEnding::Intercepted { keep_server });
    }
}
