//! Writes an HTTP/2 response head (RFC 9113 §8.3.2) as HTTP/1.1.
//!
//! [`crate::http1::parse_response`] then parses the result.

use super::body::Http1BodyFraming;
use super::field::{self, FieldRole};
use crate::http1::Defect;
use crate::http1::number;

/// The properties of a response besides its fields.
#[derive(Clone, Copy, Debug)]
pub struct ResponseHead<'a> {
    pub status: u16,
    /// The head has END_STREAM.
    pub end_stream: bool,
    pub head_only: bool,
    /// Set for the response to an extended CONNECT: the `Sec-WebSocket-Accept` value that confirms the upgrade to an
    /// HTTP/1.1 peer (RFC 6455 §4.2.2).
    pub accept: Option<&'a [u8]>,
}

/// Appends the head as HTTP/1.1 and returns the framing for the body after it.
///
/// A 2xx to an extended CONNECT becomes 101 (RFC 8441 §5).
///
/// # Errors
/// The rule that the head violates. The bytes appended so far are then useless.
pub fn write_response<'a>(
    head: &ResponseHead<'_>,
    fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    out: &mut Vec<u8>,
) -> Result<Http1BodyFraming, Defect> {
    let accept = head.accept.filter(|_| (200..300).contains(&head.status));
    // RFC 9113 §8.6: HTTP/2 has no 101.
    if head.status == 101 || !(100..1000).contains(&head.status) {
        return Err(Defect::BadStatus);
    }
    out.extend_from_slice(b"HTTP/1.1 ");
    number::decimal(accept.map_or(u64::from(head.status), |_| 101), out);
    out.extend_from_slice(b" \r\n");
    let mut length = None;
    for (name, value) in fields {
        match field::field_role(name, value)? {
            FieldRole::Dropped => {}
            FieldRole::Length if accept.is_some() => {}
            FieldRole::Plain if accept.is_some() && name == b"sec-websocket-accept" => {}
            FieldRole::Length => {
                length = Some(field::length(value).unwrap_or_default());
                field::append_line(name, value, out);
            }
            FieldRole::Plain | FieldRole::Host | FieldRole::Cookie => {
                field::append_line(name, value, out)
            }
        }
    }
    let body = body(head, accept.is_some(), length);
    if let Some(accept) = accept {
        field::append_line(b"upgrade", b"websocket", out);
        field::append_line(b"connection", b"upgrade", out);
        field::append_line(b"sec-websocket-accept", accept, out);
    } else if body == Http1BodyFraming::Chunked {
        field::append_line(b"transfer-encoding", b"chunked", out);
    } else if length.is_none() && head.end_stream && !head.head_only && !has_no_body(head.status) {
        field::append_line(b"content-length", b"0", out);
    }
    out.extend_from_slice(b"\r\n");
    Ok(body)
}

fn body(head: &ResponseHead<'_>, switched: bool, length: Option<u64>) -> Http1BodyFraming {
    if switched {
        return Http1BodyFraming::Raw;
    }
    if head.end_stream || head.head_only || has_no_body(head.status) {
        return Http1BodyFraming::None;
    }
    length.map_or(Http1BodyFraming::Chunked, Http1BodyFraming::Length)
}

fn has_no_body(status: u16) -> bool {
    status < 200 || status == 204 || status == 304
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http1::{HeadLimits, HeaderSlots, ResponseBody, ResponseContext, parse_response};

    type Fields = &'static [(&'static str, &'static str)];

    fn head(status: u16, ended: bool) -> ResponseHead<'static> {
        ResponseHead { status, end_stream: ended, head_only: false, accept: None }
    }

    fn written(
        head: &ResponseHead<'_>,
        fields: &[(&str, &str)],
        asked: ResponseContext,
    ) -> Result<(u16, ResponseBody, Http1BodyFraming), Defect> {
        let mut out = Vec::new();
        let fields = fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let body = write_response(head, fields, &mut out)?;
        let mut slots = HeaderSlots::new();
        let parsed = parse_response(&out, &HeadLimits::default(), &mut slots, asked)?;
        let parsed = parsed.ok_or(Defect::Malformed)?;
        assert_eq!(parsed.head_len, out.len());
        Ok((parsed.status, parsed.body, body))
    }

    #[test]
    fn answers_get_the_framing_that_their_stream_has() {
        let other = ResponseContext::Other;
        type Row =
            (ResponseHead<'static>, Fields, ResponseContext, (u16, ResponseBody, Http1BodyFraming));
        let rows: [Row; 8] = [
            (head(200, false), &[], other, (200, ResponseBody::Chunked, Http1BodyFraming::Chunked)),
            (
                head(200, false),
                &[("content-length", "7")],
                other,
                (200, ResponseBody::Length(7), Http1BodyFraming::Length(7)),
            ),
            (head(200, true), &[], other, (200, ResponseBody::Length(0), Http1BodyFraming::None)),
            (
                head(200, true),
                &[("grpc-status", "0")],
                other,
                (200, ResponseBody::Length(0), Http1BodyFraming::None),
            ),
            (head(204, true), &[], other, (204, ResponseBody::None, Http1BodyFraming::None)),
            (
                head(304, false),
                &[("content-length", "7")],
                other,
                (304, ResponseBody::None, Http1BodyFraming::None),
            ),
            (
                head(103, false),
                &[("link", "</a>")],
                other,
                (103, ResponseBody::None, Http1BodyFraming::None),
            ),
            (
                ResponseHead { head_only: true, ..head(200, true) },
                &[("content-length", "7")],
                ResponseContext::Head,
                (200, ResponseBody::None, Http1BodyFraming::None),
            ),
        ];
        for (head, fields, asked, wanted) in rows {
            assert_eq!(written(&head, fields, asked), Ok(wanted), "{head:?} {fields:?}");
        }
    }

    #[test]
    fn an_agreed_tunnel_becomes_101_and_a_refused_one_stays() {
        let tunnel =
            ResponseHead { accept: Some(b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), ..head(200, false) };
        let answer = written(&tunnel, &[("sec-websocket-protocol", "x")], ResponseContext::Upgrade);
        assert_eq!(answer, Ok((101, ResponseBody::None, Http1BodyFraming::Raw)));
        let refused = ResponseHead { status: 403, ..tunnel };
        let answer = written(&refused, &[], ResponseContext::Upgrade);
        assert_eq!(answer, Ok((403, ResponseBody::Chunked, Http1BodyFraming::Chunked)));
    }

    #[test]
    fn what_a_server_may_not_send_is_named() {
        let rows: [(u16, Fields, Defect); 4] = [
            (101, &[], Defect::BadStatus),
            (99, &[], Defect::BadStatus),
            (200, &[("connection", "close")], Defect::HopByHop),
            (200, &[("a", "b\r\nc: d")], Defect::BadValue),
        ];
        for (status, fields, defect) in rows {
            assert_eq!(written(&head(status, true), fields, ResponseContext::Other), Err(defect));
        }
    }
}
