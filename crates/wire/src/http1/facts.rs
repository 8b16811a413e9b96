//! One pass over the fields of a head: what the codec acts on, and which lines it will not pass on.
//!
//! The same pass serves requests and answers; what follows from the facts is theirs. Fields are not copied: a head is
//! passed on as runs of unchanged lines between the marked ones.

use super::bits::Marks;
use super::connection::Options;
use super::defect::Defect;
use super::framing::Framing;
use super::name::{Field, classify};
use super::token::{elements, is_token_byte};
use httparse::Header;

/// What the fields say.
#[derive(Debug, Default)]
pub(crate) struct Facts<'b> {
    /// Content-Length and Transfer-Encoding.
    pub framing: Framing,
    /// Connection.
    pub connection: Options,
    /// Lines that are never passed on as they are.
    pub dropped: Marks,
    /// Lines whose fate is decided when the head is written: forwarding fields of requests, our own names in answers,
    /// Trailer.
    pub conditional: Marks,
    /// The value of Upgrade.
    pub upgrade: Option<&'b [u8]>,
    /// The value of Host.
    pub host: Option<&'b [u8]>,
    /// Where Host is.
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
pub(crate) fn offset(head: &[u8], name: &str) -> usize {
    (name.as_ptr() as usize).wrapping_sub(head.as_ptr() as usize)
}

impl<'b> Facts<'b> {
    /// Gathers the facts of a head that httparse accepted.
    #[inline]
    pub(crate) fn gather<const REQUEST: bool>(
        head: &'b [u8],
        headers: &[Header<'b>],
    ) -> Result<Facts<'b>, Defect> {
        lines_end_with_crlf(head, headers)?;
        let mut facts = Facts::default();
        for (at, header) in headers.iter().enumerate() {
            let field = classify(header.name.as_bytes());
            if field != Field::Other {
                facts.take::<REQUEST>(at, field, header.value)?;
            }
        }
        facts.connection.mark_named(headers, REQUEST, &mut facts.dropped)?;
        Ok(facts)
    }

    fn take<const REQUEST: bool>(
        &mut self,
        at: usize,
        field: Field,
        value: &'b [u8],
    ) -> Result<(), Defect> {
        match field {
            Field::Connection => self.connection.take(value),
            Field::ContentLength => self.framing.take_length(value)?,
            Field::TransferEncoding => self.framing.take_coding(value)?,
            Field::Upgrade => self.take_upgrade(value)?,
            Field::KeepAlive => self.keep_alive = Some(value),
            Field::Te => {
                self.te_trailers |= elements(value).any(|e| e.eq_ignore_ascii_case(b"trailers"));
            }
            Field::ProxyConnection | Field::Http2Settings => {}
            Field::Trailer => return self.decide_later(at),
            Field::Own if !REQUEST => return self.decide_later(at),
            _ if !REQUEST => return Ok(()),
            Field::Host => return self.take_host(at, value),
            Field::Expect => self.take_expect(value),
            Field::Alias => return Err(Defect::AliasField),
            Field::Forwarded
            | Field::XForwardedFor
            | Field::XForwardedProto
            | Field::XForwardedOther
            | Field::XRealIp => return self.decide_later(at),
            Field::Credentials => {
                self.credentials = true;
                return Ok(());
            }
            Field::Other | Field::Own | Field::Via => return Ok(()),
        }
        self.dropped.set(at);
        Ok(())
    }

    fn decide_later(&mut self, at: usize) -> Result<(), Defect> {
        self.conditional.set(at);
        Ok(())
    }

    fn take_host(&mut self, at: usize, value: &'b [u8]) -> Result<(), Defect> {
        if self.host.is_some() {
            return Err(Defect::HostRepeated);
        }
        self.host = Some(value);
        self.host_at = at;
        Ok(())
    }

    fn take_expect(&mut self, value: &[u8]) {
        if value.eq_ignore_ascii_case(b"100-continue") {
            self.expects_continue = true;
        } else {
            self.expects_other = true;
        }
    }

    fn take_upgrade(&mut self, value: &'b [u8]) -> Result<(), Defect> {
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
    let ended = headers.iter().all(|header| ends(offset(head, header.name)))
        && ends(head.len())
        && ends(head.len().wrapping_sub(2));
    if ended { Ok(()) } else { Err(Defect::BareLf) }
}
