//! One pass over the fields of a head: what the codec acts on, and which lines it will not pass on.
//!
//! The same pass serves requests and answers; what follows from the facts is theirs. Fields are not copied: a head is
//! passed on as runs of unchanged lines between the marked ones.

use super::connection::ConnectionOptions;
use super::defect::Defect;
use super::field_set::FieldSet;
use super::framing::FramingFields;
use super::header_name::{HeaderField, classify_header};
use super::token::{elements, is_token_byte};
use httparse::Header;

/// What the fields say.
#[derive(Debug, Default)]
pub(crate) struct HeadSummary<'b> {
    pub framing: FramingFields,
    pub connection: ConnectionOptions,
    /// Lines that are never passed on as they are.
    pub dropped: FieldSet,
    /// Lines whose fate is decided when the head is written: forwarding fields of requests, our own names in answers,
    /// Trailer.
    pub conditional: FieldSet,
    /// The value of Upgrade.
    pub upgrade: Option<&'b [u8]>,
    /// The value of Host.
    pub host: Option<&'b [u8]>,
    pub host_at: usize,
    /// The value of the last Keep-Alive.
    pub keep_alive: Option<&'b [u8]>,
    /// `Expect: 100-continue` was there.
    pub expects_continue: bool,
    /// An expectation that is not known was there.
    pub expects_other: bool,
    /// `TE: trailers` was there.
    pub te_trailers: bool,
    /// Authorization or Proxy-Authorization was there.
    pub credentials: bool,
}

/// Where a field line begins in `head`, which `name` is part of.
#[inline]
pub(crate) fn field_offset(head: &[u8], name: &str) -> usize {
    (name.as_ptr() as usize).wrapping_sub(head.as_ptr() as usize)
}

impl<'b> HeadSummary<'b> {
    /// Gathers the facts of a head that httparse accepted.
    #[inline]
    pub(crate) fn from_headers<const REQUEST: bool>(
        head: &'b [u8],
        headers: &[Header<'b>],
    ) -> Result<HeadSummary<'b>, Defect> {
        lines_end_with_crlf(head, headers)?;
        let mut facts = HeadSummary::default();
        for (at, header) in headers.iter().enumerate() {
            let field = classify_header(header.name.as_bytes());
            if field != HeaderField::Other {
                facts.add_field::<REQUEST>(at, field, header.value)?;
            }
        }
        facts.connection.mark_named(headers, REQUEST, &mut facts.dropped)?;
        Ok(facts)
    }

    fn add_field<const REQUEST: bool>(
        &mut self,
        at: usize,
        field: HeaderField,
        value: &'b [u8],
    ) -> Result<(), Defect> {
        match field {
            HeaderField::Connection => self.connection.add_value(value),
            HeaderField::ContentLength => self.framing.add_content_length(value)?,
            HeaderField::TransferEncoding => self.framing.add_transfer_encoding(value)?,
            HeaderField::Upgrade => self.add_upgrade(value)?,
            HeaderField::KeepAlive => self.keep_alive = Some(value),
            HeaderField::Te => {
                self.te_trailers |= elements(value).any(|e| e.eq_ignore_ascii_case(b"trailers"));
            }
            HeaderField::ProxyConnection | HeaderField::Http2Settings => {}
            HeaderField::Trailer => return self.decide_later(at),
            HeaderField::Own if !REQUEST => return self.decide_later(at),
            _ if !REQUEST => return Ok(()),
            HeaderField::Host => return self.add_host(at, value),
            HeaderField::Expect => self.add_expect(value),
            HeaderField::Alias => return Err(Defect::AliasField),
            HeaderField::Forwarded
            | HeaderField::XForwardedFor
            | HeaderField::XForwardedProto
            | HeaderField::XForwardedOther
            | HeaderField::XRealIp => return self.decide_later(at),
            HeaderField::Credentials => {
                self.credentials = true;
                return Ok(());
            }
            HeaderField::Other | HeaderField::Own | HeaderField::Via => return Ok(()),
        }
        self.dropped.insert(at);
        Ok(())
    }

    fn decide_later(&mut self, at: usize) -> Result<(), Defect> {
        self.conditional.insert(at);
        Ok(())
    }

    fn add_host(&mut self, at: usize, value: &'b [u8]) -> Result<(), Defect> {
        if self.host.is_some() {
            return Err(Defect::HostRepeated);
        }
        self.host = Some(value);
        self.host_at = at;
        Ok(())
    }

    fn add_expect(&mut self, value: &[u8]) {
        if value.eq_ignore_ascii_case(b"100-continue") {
            self.expects_continue = true;
        } else {
            self.expects_other = true;
        }
    }

    fn add_upgrade(&mut self, value: &'b [u8]) -> Result<(), Defect> {
        let is_protocol = |element: &[u8]| {
            !element.is_empty() && element.iter().all(|&byte| is_token_byte(byte) || byte == b'/')
        };
        if self.upgrade.is_some() || !elements(value).all(is_protocol) {
            return Err(Defect::BadUpgrade);
        }
        self.upgrade = Some(value);
        Ok(())
    }
}

/// httparse takes LF alone for a line end. Every line end is before a field name or at the end, so two bytes of each
/// tell without another pass over the head.
#[inline]
fn lines_end_with_crlf(head: &[u8], headers: &[Header]) -> Result<(), Defect> {
    let ends = |at: usize| head.get(at.wrapping_sub(2)) == Some(&b'\r');
    let ended = headers.iter().all(|header| ends(field_offset(head, header.name)))
        && ends(head.len())
        && ends(head.len().wrapping_sub(2));
    if ended { Ok(()) } else { Err(Defect::BareLf) }
}
