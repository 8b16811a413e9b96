//! The rules for the fields of a message (RFC 9113 §8.2, §8.3): a message that breaks one is malformed, and its stream
//! ends.
//!
//! What a field means for the exchange is decided elsewhere, as are the rules that HTTP/1.1 shares.

use super::field::{FieldRole, field_role, length};
use super::priority::StreamPriority;
use crate::field_section::FieldSection;
use crate::http1::Defect;
use crate::http1::token::{is_token, trim};

/// What the machine has to know of a head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HeadFacts {
    /// The status of a response; 0 for requests.
    pub(super) status: u16,
    /// The method is HEAD, whose response has a length without a body.
    pub(super) is_head: bool,
    /// The length of the body, if the head has exactly one that is valid.
    pub(super) content_length: Option<u64>,
    pub(super) priority: Option<StreamPriority>,
}

/// The pseudo-header fields of a request that were found.
#[derive(Default)]
struct RequestPseudo<'f> {
    method: Option<&'f [u8]>,
    scheme: Option<&'f [u8]>,
    authority: Option<&'f [u8]>,
    path: Option<&'f [u8]>,
    protocol: Option<&'f [u8]>,
}

/// Checks the head of a request. `extended_connect`: the client was told that it may use `:protocol`.
pub(super) fn check_request(
    fields: &FieldSection,
    extended_connect: bool,
) -> Result<HeadFacts, Defect> {
    let mut pseudo = RequestPseudo::default();
    let facts = check_fields(fields, |name, value| {
        let slot = match name {
            b":method" => &mut pseudo.method,
            b":scheme" => &mut pseudo.scheme,
            b":authority" => &mut pseudo.authority,
            b":path" => &mut pseudo.path,
            b":protocol" if extended_connect => &mut pseudo.protocol,
            _ => return Err(Defect::Http2Protocol),
        };
        match slot.replace(value) {
            None => Ok(()),
            Some(_) => Err(Defect::Http2Protocol),
        }
    })?;
    check_pseudo_values(&pseudo)?;
    let method = pseudo.method.ok_or(Defect::PseudoMissing)?;
    let connect = method == b"CONNECT";
    // RFC 9113 §8.5: CONNECT names no scheme and no path, unless it is extended (RFC 8441 §4).
    if connect && pseudo.protocol.is_none() {
        return match pseudo {
            RequestPseudo { authority: None, .. } => Err(Defect::PseudoMissing),
            RequestPseudo { scheme: None, path: None, .. } => Ok(facts),
            _ => Err(Defect::Http2Protocol),
        };
    }
    if pseudo.protocol.is_some() && !connect {
        return Err(Defect::Http2Protocol);
    }
    if pseudo.scheme.is_none() || pseudo.path.is_none_or(<[u8]>::is_empty) {
        return Err(Defect::PseudoMissing);
    }
    Ok(HeadFacts { is_head: method == b"HEAD", ..facts })
}

/// Checks that pseudo-header fields hold nothing but what their names say (RFC 9113 §8.3.1). Which forms of a target are
/// served is decided when the head is written.
fn check_pseudo_values(pseudo: &RequestPseudo<'_>) -> Result<(), Defect> {
    let scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let authority = |byte: &u8| byte.is_ascii_graphic() && !b"/?#\\".contains(byte);
    if pseudo.method.is_some_and(|method| !is_token(method)) {
        return Err(Defect::BadMethod);
    }
    if pseudo.scheme.is_some_and(|text| !text.iter().all(scheme)) {
        return Err(Defect::TargetScheme);
    }
    if pseudo.authority.is_some_and(|text| !text.iter().all(authority)) {
        return Err(Defect::BadHost);
    }
    let Some(path) = pseudo.path else { return Ok(()) };
    if !(path.starts_with(b"/") || path == b"*" || path.is_empty()) {
        return Err(Defect::TargetForm);
    }
    if !path.iter().all(u8::is_ascii_graphic) {
        return Err(Defect::TargetByte);
    }
    Ok(())
}

/// Checks the head of a response.
pub(super) fn check_response(fields: &FieldSection) -> Result<HeadFacts, Defect> {
    let mut status = None;
    let facts = check_fields(fields, |name, value| {
        let [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] = value else {
            return Err(Defect::BadStatus);
        };
        let digits = [*a, *b, *c].map(|digit| u16::from(digit - b'0'));
        let number = digits[0] * 100 + digits[1] * 10 + digits[2];
        if name != b":status" || status.replace(number).is_some() {
            return Err(Defect::Http2Protocol);
        }
        Ok(())
    })?;
    // RFC 9113 §8.6: HTTP/2 has no 101.
    match status {
        None => Err(Defect::PseudoMissing),
        Some(101) => Err(Defect::BadStatus),
        Some(status) => Ok(HeadFacts { status, ..facts }),
    }
}

/// Checks trailers, which have no pseudo-header fields (RFC 9113 §8.1).
pub(super) fn check_trailers(fields: &FieldSection) -> Result<(), Defect> {
    check_fields(fields, |_, _| Err(Defect::BadTrailer)).map(|_| ())
}

/// Checks all fields; pseudo-header fields are given to `take_pseudo`.
fn check_fields<'f>(
    fields: &'f FieldSection,
    mut take_pseudo: impl FnMut(&'f [u8], &'f [u8]) -> Result<(), Defect>,
) -> Result<HeadFacts, Defect> {
    let mut facts = HeadFacts::default();
    let mut regular = false;
    for (name, value) in fields.iter() {
        if name.first() == Some(&b':') {
            // Pseudo-header fields precede all others (RFC 9113 §8.3).
            if regular {
                return Err(Defect::Http2Protocol);
            }
            take_pseudo(name, value)?;
            continue;
        }
        regular = true;
        // Blanks around a value are found when the head is written.
        match field_role(name, trim(value))? {
            FieldRole::Length => {
                let length = content_length(value)?;
                if facts.content_length.replace(length).is_some_and(|before| before != length) {
                    return Err(Defect::LengthRepeated);
                }
            }
            _ if name == b"priority" => facts.priority = Some(StreamPriority::parse(value)),
            _ => {}
        }
    }
    Ok(facts)
}

/// The value of a Content-Length: digits alone (RFC 9110 §8.6).
fn content_length(value: &[u8]) -> Result<u64, Defect> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(Defect::BadLength);
    }
    length(value).ok_or(Defect::LengthOverflow)
}

#[cfg(test)]
mod tests {
    use super::*;

    type FieldRows = &'static [(&'static str, &'static str)];

    fn section(rows: &[(&str, &str)]) -> FieldSection {
        let mut fields = FieldSection::default();
        rows.iter().for_each(|(name, value)| fields.push(name.as_bytes(), value.as_bytes()));
        fields
    }

    const GET: [(&str, &str); 3] = [(":method", "GET"), (":scheme", "https"), (":path", "/")];

    #[test]
    fn requests_are_checked() {
        use Defect::{BadLength, BadName, BadValue, HopByHop, Http2Protocol, PseudoMissing};
        let rows: [(FieldRows, Result<(), Defect>); 24] = [
            (&[], Err(PseudoMissing)),
            (&GET, Ok(())),
            (&[(":method", "GET"), (":path", "/")], Err(PseudoMissing)),
            (&[(":method", "GET"), (":scheme", "https")], Err(PseudoMissing)),
            (&[(":method", "GET"), (":scheme", "https"), (":path", "")], Err(PseudoMissing)),
            (&[(":scheme", "https"), (":path", "/")], Err(PseudoMissing)),
            (&[GET[0], GET[0], GET[1], GET[2]], Err(Http2Protocol)),
            (&[GET[0], GET[1], GET[2], (":status", "200")], Err(Http2Protocol)),
            (&[GET[0], GET[1], GET[2], (":own", "x")], Err(Http2Protocol)),
            (&[GET[0], GET[1], ("a", "b"), GET[2]], Err(Http2Protocol)),
            (&[GET[0], GET[1], GET[2], (":protocol", "websocket")], Err(Http2Protocol)),
            (&[(":method", "CONNECT"), (":authority", "a:1")], Ok(())),
            (&[(":method", "CONNECT")], Err(PseudoMissing)),
            (&[(":method", "CONNECT"), (":authority", "a:1"), GET[2]], Err(Http2Protocol)),
            (&[(":method", "CONNECT"), GET[1], GET[2], (":protocol", "websocket")], Ok(())),
            (&[GET[0], GET[1], GET[2], ("Upper", "x")], Err(BadName)),
            (&[GET[0], GET[1], GET[2], ("a b", "x")], Err(BadName)),
            (&[GET[0], GET[1], GET[2], ("", "x")], Err(BadName)),
            (&[GET[0], GET[1], GET[2], ("a", "x\r\ny")], Err(BadValue)),
            (&[GET[0], GET[1], GET[2], ("a", " x")], Ok(())),
            (&[GET[0], GET[1], GET[2], ("connection", "close")], Err(HopByHop)),
            (&[GET[0], GET[1], GET[2], ("te", "gzip")], Err(HopByHop)),
            (&[GET[0], GET[1], GET[2], ("te", "trailers")], Ok(())),
            (&[GET[0], GET[1], GET[2], ("content-length", "x")], Err(BadLength)),
        ];
        for (rows, wanted) in rows {
            assert_eq!(check_request(&section(rows), true).map(|_| ()), wanted, "{rows:?}");
        }
        let tunnel = [(":method", "CONNECT"), GET[1], GET[2], (":protocol", "websocket")];
        assert_eq!(check_request(&section(&tunnel), false), Err(Http2Protocol));
    }

    #[test]
    fn pseudo_header_fields_hold_nothing_else() {
        let rows = [
            (":method", "GET /x HTTP/1.1\r\nx:", Defect::BadMethod),
            (":method", "", Defect::BadMethod),
            (":scheme", "http://a/", Defect::TargetScheme),
            (":authority", "a.example/x", Defect::BadHost),
            (":authority", "a.example\r\nx: y", Defect::BadHost),
            (":path", "x", Defect::TargetForm),
            (":path", "http://a/", Defect::TargetForm),
            (":path", "/ HTTP/1.1\r\nx: y", Defect::TargetByte),
        ];
        for (name, value, defect) in rows {
            let with = GET.map(|field| if field.0 == name { (name, value) } else { field });
            let mut with = with.to_vec();
            if !with.contains(&(name, value)) {
                with.push((name, value));
            }
            assert_eq!(check_request(&section(&with), true), Err(defect), "{name} {value:?}");
        }
        for (name, value) in [(":path", "*"), (":path", "/#a"), (":scheme", "ftp")] {
            let with = GET.map(|field| if field.0 == name { (name, value) } else { field });
            assert!(check_request(&section(&with), true).is_ok(), "{name} {value:?}");
        }
    }

    #[test]
    fn what_is_read_of_a_request() {
        let read =
            |more: &[(&str, &str)]| check_request(&section(&[&GET[..], more].concat()), true);
        assert_eq!(read(&[("content-length", "7")]).unwrap().content_length, Some(7));
        let twice = [("content-length", "7"), ("content-length", "7")];
        assert_eq!(read(&twice).unwrap().content_length, Some(7));
        let differing = [("content-length", "7"), ("content-length", "8")];
        assert_eq!(read(&differing), Err(Defect::LengthRepeated));
        for (value, defect) in [
            ("+5", Defect::BadLength),
            (" 5", Defect::BadLength),
            ("5, 5", Defect::BadLength),
            ("", Defect::BadLength),
            ("18446744073709551621", Defect::LengthOverflow),
        ] {
            assert_eq!(read(&[("content-length", value)]), Err(defect), "{value:?}");
        }
        assert_eq!(read(&[("priority", "u=1")]).unwrap().priority.unwrap().urgency, 1);
        let head = [(":method", "HEAD"), GET[1], GET[2]];
        assert!(check_request(&section(&head), true).unwrap().is_head);
    }

    #[test]
    fn responses_and_trailers_are_checked() {
        use Defect::{BadStatus, BadTrailer, HopByHop, Http2Protocol, PseudoMissing};
        let rows: [(FieldRows, Result<u16, Defect>); 10] = [
            (&[(":status", "200")], Ok(200)),
            (&[(":status", "103"), ("link", "x")], Ok(103)),
            (&[("a", "b")], Err(PseudoMissing)),
            (&[(":status", "101")], Err(BadStatus)),
            (&[(":status", "2000")], Err(BadStatus)),
            (&[(":status", "099")], Err(BadStatus)),
            (&[(":status", "200"), (":status", "200")], Err(Http2Protocol)),
            (&[(":path", "200")], Err(Http2Protocol)),
            (&[("a", "b"), (":status", "200")], Err(Http2Protocol)),
            (&[(":status", "200"), ("upgrade", "x")], Err(HopByHop)),
        ];
        for (rows, wanted) in rows {
            let status = check_response(&section(rows)).map(|facts| facts.status);
            assert_eq!(status, wanted, "{rows:?}");
        }
        assert_eq!(check_trailers(&section(&[("grpc-status", "0")])), Ok(()));
        assert_eq!(check_trailers(&section(&[(":path", "/")])), Err(BadTrailer));
    }
}
