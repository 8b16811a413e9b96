//! Facts of a TLS handshake that the library does not expose: the server name, which session a ticket resumes, and
//! until when the client's certificate is valid.
//!
//! The library calls its certificate and ticket callbacks during a step, on the session's thread. The callbacks store
//! what they see here, and the session collects it after the step. Nothing is stored between steps.

use std::cell::RefCell;

#[derive(Clone, Debug, Default)]
pub struct HandshakeObservation {
    /// The server name (SNI) in lower case, without a trailing dot.
    pub name: Option<Box<str>>,
    /// Identifies the session over all connections that resume it.
    pub lineage: Option<u64>,
    /// The ClientHello was read.
    client_hello_seen: bool,
    /// The client presented a valid ticket.
    pub resumes_session: bool,
    /// When the client's certificate expires, in seconds since 1970; `None`: the client sent none.
    good_until: Option<u64>,
}

thread_local! {
    static ASIDE: RefCell<HandshakeObservation> = RefCell::default();
}

/// Starts a step of a session with this state.
pub fn begin_step(seen: &HandshakeObservation) {
    ASIDE.with_borrow_mut(|aside| aside.clone_from(seen));
}

/// Ends a step: returns the new state.
pub fn end_step() -> HandshakeObservation {
    ASIDE.with_borrow_mut(std::mem::take)
}

/// Records the server name of the ClientHello, which may have none.
pub fn note_server_name(name: Option<&str>) {
    let lower = |name: &str| name.trim_end_matches('.').to_ascii_lowercase().into_boxed_str();
    ASIDE.with_borrow_mut(|aside| (aside.client_hello_seen, aside.name) = (true, name.map(lower)));
}

/// Calls `look` with the server name: `None` before the ClientHello, `Some(None)` if it has no name.
pub fn with_server_name<T>(look: impl FnOnce(Option<Option<&str>>) -> T) -> T {
    ASIDE.with_borrow(|aside| look(aside.client_hello_seen.then_some(aside.name.as_deref())))
}

/// Records that the client resumes this session.
pub fn note_resumption(ticket: TicketContents) {
    ASIDE.with_borrow_mut(|aside| {
        aside.lineage = Some(ticket.lineage);
        aside.good_until = ticket.good_until;
        aside.resumes_session = true;
    });
}

/// Records when the client's certificate expires.
pub fn note_client_expiry(seconds: u64) {
    ASIDE.with_borrow_mut(|aside| aside.good_until = Some(seconds));
}

/// The contents of a new ticket.
pub fn new_ticket(draw: impl FnOnce() -> u64) -> TicketContents {
    ASIDE.with_borrow_mut(|aside| TicketContents {
        lineage: *aside.lineage.get_or_insert_with(draw),
        good_until: aside.good_until,
    })
}

/// The contents of a ticket in addition to the library's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TicketContents {
    /// Identifies the session over all connections that resume it.
    pub lineage: u64,
    /// When the client's certificate expires, in seconds since 1970; `None`: the client sent none.
    pub good_until: Option<u64>,
}

/// The parts of a ticket's plaintext.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnwrappedTicket<'t> {
    pub contents: TicketContents,
    /// The library's contents.
    pub plain: &'t [u8],
}

/// Length of these contents in a ticket, in bytes.
const BYTES: usize = 16;

impl TicketContents {
    /// The plaintext of a ticket: these contents, then the library's.
    pub fn wrap(self, plain: &[u8]) -> Vec<u8> {
        // No certificate expires at the largest value, so it can stand for "no certificate".
        let until = self.good_until.unwrap_or(u64::MAX);
        [&self.lineage.to_be_bytes(), &until.to_be_bytes(), plain].concat()
    }

    /// Splits the plaintext of a ticket; `None`: it is malformed.
    pub fn unwrap_from(text: &[u8]) -> Option<UnwrappedTicket<'_>> {
        let (own, plain) = text.split_at_checked(BYTES)?;
        let (lineage, until) = own.split_first_chunk::<8>()?;
        let until = u64::from_be_bytes(*until.first_chunk::<8>()?);
        let good_until = (until != u64::MAX).then_some(until);
        let contents = TicketContents { lineage: u64::from_be_bytes(*lineage), good_until };
        Some(UnwrappedTicket { contents, plain })
    }

    /// Whether the session may be resumed at this time.
    pub fn is_good(self, now: u64) -> bool {
        self.good_until.is_none_or(|until| now < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_ends_with_the_certificate_of_its_client() {
        for good_until in [None, Some(0), Some(1_000)] {
            let ticket = TicketContents { lineage: 7, good_until };
            let text = ticket.wrap(b"plain");
            assert_eq!(
                TicketContents::unwrap_from(&text),
                Some(UnwrappedTicket { contents: ticket, plain: b"plain" })
            );
        }
        assert_eq!(TicketContents::unwrap_from(b"short"), None);
        let until = |good_until| TicketContents { lineage: 7, good_until };
        assert!(until(None).is_good(u64::MAX) && until(Some(1_000)).is_good(999));
        assert!(!until(Some(1_000)).is_good(1_000) && !until(Some(0)).is_good(0));
    }

    #[test]
    fn before_a_hello_no_name_is_known_and_after_it_none_may_be() {
        begin_step(&HandshakeObservation::default());
        assert!(with_server_name(|name| name.is_none()));
        note_server_name(None);
        assert!(with_server_name(|name| name == Some(None)));
        note_server_name(Some("Shop.Example."));
        let seen = end_step();
        begin_step(&seen);
        assert!(with_server_name(|name| name == Some(Some("shop.example"))));
        end_step();
    }
}
