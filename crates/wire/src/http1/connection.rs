//! The Connection field (RFC 9110 §7.6.1): the options that we act on, and the fields that it names for removal.

use super::bits::Marks;
use super::defect::Defect;
use super::name::{Field, classify};
use super::token::{elements, is_token};
use httparse::Header;

/// The options seen so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    /// `close`.
    pub close: bool,
    /// `keep-alive`.
    pub keep_alive: bool,
    /// `upgrade`.
    pub upgrade: bool,
    /// An option was no token.
    pub broken: bool,
    /// Any other option, which may name a field.
    others: bool,
}

impl Options {
    /// Takes one Connection value. Empty elements are allowed by RFC 9110 §5.6.1.2.
    #[inline]
    pub(crate) fn take(&mut self, value: &[u8]) {
        for option in elements(value) {
            match option.len() {
                0 => {}
                5 if option.eq_ignore_ascii_case(b"close") => self.close = true,
                7 if option.eq_ignore_ascii_case(b"upgrade") => self.upgrade = true,
                10 if option.eq_ignore_ascii_case(b"keep-alive") => self.keep_alive = true,
                _ if is_token(option) => self.others = true,
                _ => self.broken = true,
            }
        }
    }

    /// Marks the fields that Connection names for removal. A protected field is never marked; with `refuse` it is an
    /// offence to name one: a client could otherwise strip its own address from what a proxy before us has added.
    #[inline]
    pub(crate) fn mark_named(
        &self,
        headers: &[Header],
        refuse: bool,
        dropped: &mut Marks,
    ) -> Result<(), Defect> {
        if self.others { mark_named(headers, refuse, dropped) } else { Ok(()) }
    }
}

#[cold]
fn mark_named(headers: &[Header], refuse: bool, dropped: &mut Marks) -> Result<(), Defect> {
    for lists in headers {
        if classify(lists.name.as_bytes()) != Field::Connection {
            continue;
        }
        for option in elements(lists.value).filter(|option| !option.is_empty()) {
            let field = classify(option);
            if field.is_protected() {
                if refuse {
                    return Err(Defect::ConnectionProtected);
                }
                continue;
            }
            // What the codec treats has its own rule already; credentials it only sees.
            if !matches!(field, Field::Other | Field::Credentials) {
                continue;
            }
            for (at, header) in headers.iter().enumerate() {
                if header.name.as_bytes().eq_ignore_ascii_case(option) {
                    dropped.set(at);
                }
            }
        }
    }
    Ok(())
}
