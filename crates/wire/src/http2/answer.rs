//! The head of an answer in HTTP/2 (RFC 9113 §8.3.2), written as HTTP/1.1.
//!
//! What is written is still to be parsed by [`crate::http1::parse_response`].

use super::body::Body;
use super::field::{self, Sort};
use crate::http1::Defect;
use crate::http1::number;

/// What is known of an answer besides its fields.
#[derive(Clone, Copy, Debug)]
pub struct AnswerHead<'a> {
    /// `:status`.
    pub status: u16,
    /// The stream ends with the head.
    pub ended: bool,
    /// It answers HEAD.
    pub head_only: bool,
    /// It answers an extended CONNECT: what proves to the other side of HTTP/1.1 that the upgrade was understood
    /// (`Sec-WebSocket-Accept`, RFC 6455 §4.2.2).
    pub accept: Option<&'a [u8]>,
}

/// Appends the head as HTTP/1.1 and says how its body is to be written behind it.
///
/// A 2xx to an extended CONNECT becomes 101 (RFC 8441 §5).
///
/// # Errors
/// The rule that the head breaks. What was appended until then is of no use.
pub fn write_answer<'a>(
    head: &AnswerHead<'_>,
    fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    out: &mut Vec<u8>,
) -> Result<Body, Defect> {
    let accept = head.accept.filter(|_| (200..300).contains(&head.status));
    // RFC 9113 §8.6: there is no 101.
    if head.status == 101 || !(100..1000).contains(&head.status) {
        return Err(Defect::BadStatus);
    }
    out.extend_from_slice(b"HTTP/1.1 ");
    number::decimal(accept.map_or(u64::from(head.status), |_| 101), out);
    out.extend_from_slice(b" \r\n");
    let mut length = None;
    for (name, value) in fields {
        match field::sort(name, value)? {
            Sort::Dropped => {}
            Sort::Length if accept.is_some() => {}
            Sort::Plain if accept.is_some() && name == b"sec-websocket-accept" => {}
            Sort::Length => {
                length = Some(field::length(value).unwrap_or_default());
                field::line(name, value, out);
            }
            Sort::Plain | Sort::Host | Sort::Cookie => field::line(name, value, out),
        }
    }
    let body = body(head, accept.is_some(), length);
    if let Some(accept) = accept {
        field::line(b"upgrade", b"websocket", out);
        field::line(b"connection", b"upgrade", out);
        field::line(b"sec-websocket-accept", accept, out);
    } else if body == Body::Chunked {
        field::line(b"transfer-encoding", b"chunked", out);
    } else if length.is_none() && head.ended && !head.head_only && !bodiless(head.status) {
        field::line(b"content-length", b"0", out);
    }
    out.extend_from_slice(b"\r\n");
    Ok(body)
}

fn body(head: &AnswerHead<'_>, switched: bool, length: Option<u64>) -> Body {
    if switched {
        return Body::Raw;
    }
    if head.ended || head.head_only || bodiless(head.status) {
        return Body::None;
    }
    length.map_or(Body::Chunked, Body::Length)
}

/// RFC 9110 §6.4.1.
fn bodiless(status: u16) -> bool {
    status < 200 || status == 204 || status == 304
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http1::{AnswerBody, Asked, Limits, Slots, parse_response};

    type Fields = &'static [(&'static str, &'static str)];

    fn head(status: u16, ended: bool) -> AnswerHead<'static> {
        AnswerHead { status, ended, head_only: false, accept: None }
    }

    fn written(
        head: &AnswerHead<'_>,
        fields: &[(&str, &str)],
        asked: Asked,
    ) -> Result<(u16, AnswerBody, Body), Defect> {
        let mut out = Vec::new();
        let fields = fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let body = write_answer(head, fields, &mut out)?;
        let mut slots = Slots::new();
        let parsed = parse_response(&out, &Limits::default(), &mut slots, asked)?;
        let parsed = parsed.ok_or(Defect::Malformed)?;
        assert_eq!(parsed.head_len, out.len());
        Ok((parsed.status, parsed.body, body))
    }

    #[test]
    fn answers_get_the_framing_that_their_stream_has() {
        let other = Asked::Other;
        type Row = (AnswerHead<'static>, Fields, Asked, (u16, AnswerBody, Body));
        let rows: [Row; 8] = [
            (head(200, false), &[], other, (200, AnswerBody::Chunked, Body::Chunked)),
            (
                head(200, false),
                &[("content-length", "7")],
                other,
                (200, AnswerBody::Length(7), Body::Length(7)),
            ),
            (head(200, true), &[], other, (200, AnswerBody::Length(0), Body::None)),
            (
                head(200, true),
                &[("grpc-status", "0")],
                other,
                (200, AnswerBody::Length(0), Body::None),
            ),
            (head(204, true), &[], other, (204, AnswerBody::None, Body::None)),
            (
                head(304, false),
                &[("content-length", "7")],
                other,
                (304, AnswerBody::None, Body::None),
            ),
            (head(103, false), &[("link", "</a>")], other, (103, AnswerBody::None, Body::None)),
            (
                AnswerHead { head_only: true, ..head(200, true) },
                &[("content-length", "7")],
                Asked::Head,
                (200, AnswerBody::None, Body::None),
            ),
        ];
        for (head, fields, asked, wanted) in rows {
            assert_eq!(written(&head, fields, asked), Ok(wanted), "{head:?} {fields:?}");
        }
    }

    #[test]
    fn an_agreed_tunnel_becomes_101_and_a_refused_one_stays() {
        let tunnel =
            AnswerHead { accept: Some(b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), ..head(200, false) };
        let answer = written(&tunnel, &[("sec-websocket-protocol", "x")], Asked::Upgrade);
        assert_eq!(answer, Ok((101, AnswerBody::None, Body::Raw)));
        let refused = AnswerHead { status: 403, ..tunnel };
        let answer = written(&refused, &[], Asked::Upgrade);
        assert_eq!(answer, Ok((403, AnswerBody::Chunked, Body::Chunked)));
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
            assert_eq!(written(&head(status, true), fields, Asked::Other), Err(defect));
        }
    }
}
