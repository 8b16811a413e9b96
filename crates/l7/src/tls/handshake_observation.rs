//! What a TLS handshake shows on the way and the library does not expose: the server name, which session a ticket
//! resumes, and until when the client's certificate is valid.
//!
//! The library asks for certificates and tickets in the middle of a step, on its thread. What these callbacks see is
//! stored here and collected by the session after the step; between steps nothing is stored.

use std::cell::RefCell;

#[derive(Clone, Debug, Default)]
pub struct HandshakeObservation {
    /// The name that the client asked for, lower case, without the dot of the root.
    pub name: Option<Box<str>>,
    /// The session: the same for every connection that resumes it.
    pub lineage: Option<u64>,
    /// Its hello was read.
    client_hello_seen: bool,
    /// It has shown a ticket that was good.
    pub resumes_session: bool,
    /// Until when its certificate is good, seconds since 1970; `None`: it has shown none.
    good_until: Option<u64>,
}

thread_local! {
    static ASIDE: RefCell<HandshakeObservation> = RefCell::default();
}

/// Before a step of a session that has seen this.
pub fn begin_step(seen: &HandshakeObservation) {
    ASIDE.with_borrow_mut(|aside| aside.clone_from(seen));
}

/// After it: what has been seen by now.
pub fn end_step() -> HandshakeObservation {
    ASIDE.with_borrow_mut(std::mem::take)
}

/// The client asked for this name, or for none.
pub fn note_server_name(name: Option<&str>) {
    let lower = |name: &str| name.trim_end_matches('.').to_ascii_lowercase().into_boxed_str();
    ASIDE.with_borrow_mut(|aside| (aside.client_hello_seen, aside.name) = (true, name.map(lower)));
}

/// Looks at the name that the client asked for: `None` before its hello, `Some(None)` when it asked for none.
pub fn with_server_name<T>(look: impl FnOnce(Option<Option<&str>>) -> T) -> T {
    ASIDE.with_borrow(|aside| look(aside.client_hello_seen.then_some(aside.name.as_deref())))
}

/// The client continues this session.
pub fn note_resumption(ticket: TicketContents) {
    ASIDE.with_borrow_mut(|aside| {
        aside.lineage = Some(ticket.lineage);
        aside.good_until = ticket.good_until;
        aside.resumes_session = true;
    });
}

/// The client's certificate is good until then.
pub fn note_client_expiry(seconds: u64) {
    ASIDE.with_borrow_mut(|aside| aside.good_until = Some(seconds));
}

/// What a new ticket carries.
pub fn new_ticket(draw: impl FnOnce() -> u64) -> TicketContents {
    ASIDE.with_borrow_mut(|aside| TicketContents {
        lineage: *aside.lineage.get_or_insert_with(draw),
        good_until: aside.good_until,
    })
}

/// What a ticket carries beside what the library puts into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TicketContents {
    /// The session: the same for every connection that resumes it.
    pub lineage: u64,
    /// Until when the client's certificate is good, seconds since 1970; `None`: it has shown none.
    pub good_until: Option<u64>,
}

/// Bytes that a ticket's own part takes.
const BYTES: usize = 16;

impl TicketContents {
    /// The ticket's text: this, and what the library has to say.
    pub fn wrap(self, plain: &[u8]) -> Vec<u8> {
        // No certificate ends at the last second that there is.
        let until = self.good_until.unwrap_or(u64::MAX);
        [&self.lineage.to_be_bytes(), &until.to_be_bytes(), plain].concat()
    }

    /// Takes it apart again; `None`: it is no such text.
    pub fn unwrap_from(text: &[u8]) -> Option<(TicketContents, &[u8])> {
        let (own, plain) = text.split_at_checked(BYTES)?;
        let (lineage, until) = own.split_first_chunk::<8>()?;
        let until = u64::from_be_bytes(*until.first_chunk::<8>()?);
        let good_until = (until != u64::MAX).then_some(until);
        Some((TicketContents { lineage: u64::from_be_bytes(*lineage), good_until }, plain))
    }

    /// Whether the session may be continued at this time.
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
            assert_eq!(TicketContents::unwrap_from(&text), Some((ticket, &b"plain"[..])));
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
