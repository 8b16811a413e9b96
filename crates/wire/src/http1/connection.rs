//! The Connection field (RFC 9110 §7.6.1): the options that the balancer acts on, and the fields that it names for
//! removal.

use super::defect::Defect;
use super::field_set::FieldSet;
use super::header_name::{HeaderField, classify_header};
use super::token::{elements, is_token};
use httparse::Header;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ConnectionOptions {
    pub close: bool,
    pub keep_alive: bool,
    pub upgrade: bool,
    /// An option was not a token.
    pub malformed: bool,
    /// There was another option, which may name a field.
    other_names: bool,
}

impl ConnectionOptions {
    /// Adds the options of one Connection value. Empty list elements are allowed by RFC 9110 §5.6.1.2.
    #[inline]
    pub(crate) fn add_value(&mut self, value: &[u8]) {
        for option in elements(value) {
            match option.len() {
                0 => {}
                5 if option.eq_ignore_ascii_case(b"close") => self.close = true,
                7 if option.eq_ignore_ascii_case(b"upgrade") => self.upgrade = true,
                10 if option.eq_ignore_ascii_case(b"keep-alive") => self.keep_alive = true,
                _ if is_token(option) => self.other_names = true,
                _ => self.malformed = true,
            }
        }
    }

    /// Marks the fields that Connection names for removal. A protected field is never marked, and with `refuse` naming
    /// one is an error. Otherwise a client could remove its own address from the fields that an earlier proxy added.
    /// Whether a field was marked.
    #[inline]
    pub(crate) fn mark_named(
        &self,
        headers: &[Header],
        refuse: bool,
        dropped: &mut FieldSet,
    ) -> Result<bool, Defect> {
        if self.other_names { mark_named(headers, refuse, dropped) } else { Ok(false) }
    }
}

#[cold]
fn mark_named(headers: &[Header], refuse: bool, dropped: &mut FieldSet) -> Result<bool, Defect> {
    let mut is_any_marked = false;
    for lists in headers {
        if classify_header(lists.name.as_bytes()) != HeaderField::Connection {
            continue;
        }
        for option in elements(lists.value).filter(|option| !option.is_empty()) {
            let field = classify_header(option);
            if field.is_protected() {
                if refuse {
                    return Err(Defect::ConnectionProtected);
                }
                continue;
            }
            // The codec already has a rule for every other field that it classifies; it only observes credentials.
            if !matches!(field, HeaderField::Other | HeaderField::Credentials) {
                continue;
            }
            for (at, header) in headers.iter().enumerate() {
                if header.name.as_bytes().eq_ignore_ascii_case(option) {
                    dropped.insert(at);
                    is_any_marked = true;
                }
            }
        }
    }
    Ok(is_any_marked)
}
