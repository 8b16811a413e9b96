//! One pass over the fields of a head: the values that the codec acts on, and the lines that are not passed on.
//!
//! The same pass serves requests and responses; each of them draws its own conclusions. Fields are not copied: a head
//! is forwarded as runs of unchanged lines between the marked ones.

use super::connection::ConnectionOptions;
use super::defect::Defect;
use super::field_set::FieldSet;
use super::framing::FramingFields;
use super::header_name::{HeaderField, classify_header};
use super::token::{elements, is_token_byte};
use httparse::Header;

/// The values that were found.
#[derive(Debug, Default)]
pub(crate) struct HeadSummary<'b> {
    pub framing: FramingFields,
    pub connection: ConnectionOptions,
    /// Lines that are never passed on unchanged.
    pub dropped: FieldSet,
    /// Connection named fields that are here.
    pub hides_fields: bool,
    /// Lines that are decided on when the head is written: forwarding fields of requests, `x-steelyard-` names in
    /// responses, and Trailer.
    pub conditional: FieldSet,
    pub upgrade: Option<&'b [u8]>,
    pub host: Option<&'b [u8]>,
    pub host_at: usize,
    /// The value of the last Keep-Alive field.
    pub keep_alive: Option<&'b [u8]>,
    pub expects_continue: bool,
    /// There was an expectation other than `100-continue`.
    pub expects_other: bool,
    pub te_trailers: bool,
    /// There was an Authorization or Proxy-Authorization field.
    pub credentials: bool,
}

/// The offset in `head` of the field line that starts with `name`, a slice of `head`.
#[inline]
pub(crate) fn field_offset(head: &[u8], name: &str) -> usize {
    (name.as_ptr() as usize).wrapping_sub(head.as_ptr() as usize)
}

impl<'b> HeadSummary<'b> {
    /// Summarises a head that httparse accepted.
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
        facts.hides_fields = facts.connection.mark_named(headers, REQUEST, &mut facts.dropped)?;
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

/// httparse accepts a bare LF as a line end. Every line end precedes a field name or is at the end of the head, so the
/// byte before each LF can be checked without another pass.
#[inline]
fn lines_end_with_crlf(head: &[u8], headers: &[Header]) -> Result<(), Defect> {
    let ends = |at: usize| head.get(at.wrapping_sub(2)) == Some(&b'\r');
    let ended = headers.iter().all(|header| ends(field_offset(head, header.name)))
        && ends(head.len())
        && ends(head.len().wrapping_sub(2));
    if ended { Ok(()) } else { Err(Defect::BareLf) }
}
