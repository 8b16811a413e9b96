//! Writes an HTTP/2 request head (RFC 9113 §8.3.1) as HTTP/1.1.
//!
//! [`crate::http1::parse_request`] then parses the result and checks every rule that both versions share. No byte is
//! written that could end a line early.

use super::body::Http1BodyFraming;
use super::field::{self, FieldRole};
use crate::http1::Defect;
use crate::http1::token::is_token;

/// The pseudo-header fields of a request.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestHead<'a> {
    pub method: &'a [u8],
    pub scheme: Option<&'a [u8]>,
    pub authority: Option<&'a [u8]>,
    pub path: Option<&'a [u8]>,
    /// The `:protocol` pseudo-header field (RFC 8441 §4).
    pub protocol: Option<&'a [u8]>,
    /// The head has END_STREAM.
    pub end_stream: bool,
}

/// Appends the head as HTTP/1.1 and returns the framing for the body after it.
///
/// An extended CONNECT for a WebSocket becomes an HTTP/1.1 Upgrade (RFC 8441 §5, RFC 6455 §4.1) with `key` as its
/// `Sec-WebSocket-Key`: 24 characters of Base64.
///
/// # Errors
/// The rule that the head violates. The bytes appended so far are then useless.
pub fn write_request<'a>(
    head: &RequestHead<'_>,
    fields: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    key: &[u8],
    out: &mut Vec<u8>,
) -> Result<Http1BodyFraming, Defect> {
    let upgrade = start_line(head, out)?;
    let mut authority = head.authority.filter(|authority| !authority.is_empty());
    if let Some(authority) = authority {
        host(authority, out)?;
    }
    let mut hosts = 0;
    let mut length = None;
    let mut cookies = Vec::new();
    for (name, value) in fields {
        match field::field_role(name, value)? {
            FieldRole::Plain if upgrade && name == b"sec-websocket-key" => {}
            FieldRole::Plain => field::append_line(name, value, out),
            FieldRole::Dropped => {}
            FieldRole::Host => {
                hosts += 1;
                match authority {
                    _ if hosts > 1 => return Err(Defect::HostRepeated),
                    Some(authority) if !authority.eq_ignore_ascii_case(value) => {
                        return Err(Defect::AuthorityMismatch);
                    }
                    Some(_) => {}
                    None => {
                        host(value, out)?;
                        authority = Some(value);
                    }
                }
            }
            FieldRole::Length if upgrade => return Err(Defect::UpgradeWithBody),
            FieldRole::Length => {
                // The HTTP/1 parser rejects repeated ones.
                length = Some(field::length(value).unwrap_or_default());
                field::append_line(name, value, out);
            }
            FieldRole::Cookie => {
                if !cookies.is_empty() {
                    cookies.extend_from_slice(b"; ");
                }
                cookies.extend_from_slice(value);
            }
        }
    }
    if !cookies.is_empty() {
        field::append_line(b"cookie", &cookies, out);
    }
    let body = body(head.end_stream, upgrade, length)?;
    if upgrade {
        field::append_line(b"upgrade", b"websocket", out);
        field::append_line(b"connection", b"upgrade", out);
        field::append_line(b"sec-websocket-key", key, out);
    } else if body == Http1BodyFraming::Chunked {
        field::append_line(b"transfer-encoding", b"chunked", out);
    }
    out.extend_from_slice(b"\r\n");
    Ok(body)
}

fn body(ended: bool, upgrade: bool, length: Option<u64>) -> Result<Http1BodyFraming, Defect> {
    match (ended, upgrade, length) {
        // A tunnel that ends before it starts.
        (true, true, _) => Err(Defect::BadUpgrade),
        (false, true, _) => Ok(Http1BodyFraming::Raw),
        (true, false, None | Some(0)) => Ok(Http1BodyFraming::None),
        (true, false, Some(_)) => Err(Defect::LengthMismatch),
        (false, false, Some(length)) => Ok(Http1BodyFraming::Length(length)),
        (false, false, None) => Ok(Http1BodyFraming::Chunked),
    }
}

/// Writes the request line; returns whether the request asks for an upgrade.
fn start_line(head: &RequestHead<'_>, out: &mut Vec<u8>) -> Result<bool, Defect> {
    if !is_token(head.method) {
        return Err(Defect::BadMethod);
    }
    let connect = head.method == b"CONNECT";
    let upgrade = match head.protocol {
        Some(protocol) if connect && protocol.eq_ignore_ascii_case(b"websocket") => true,
        None if !connect => false,
        _ => return Err(Defect::ConnectRefused),
    };
    if let Some(scheme) = head.scheme
        && !scheme.eq_ignore_ascii_case(b"http")
        && !scheme.eq_ignore_ascii_case(b"https")
    {
        return Err(Defect::TargetScheme);
    }
    let path = head.path.ok_or(Defect::PseudoMissing)?;
    // Both forms that HTTP/2 allows (RFC 9113 §8.3.1), without a byte that would end the target or the line.
    if !(path.starts_with(b"/") || (path == b"*" && head.method == b"OPTIONS")) {
        return Err(Defect::TargetForm);
    }
    if path.contains(&b'#') {
        return Err(Defect::TargetFragment);
    }
    if !path.iter().all(u8::is_ascii_graphic) {
        return Err(Defect::TargetByte);
    }
    let method: &[u8] = if upgrade { b"GET" } else { head.method };
    for part in [method, b" ", path, b" HTTP/1.1\r\n"] {
        out.extend_from_slice(part);
    }
    Ok(upgrade)
}

fn host(value: &[u8], out: &mut Vec<u8>) -> Result<(), Defect> {
    if value.contains(&b'@') {
        return Err(Defect::TargetUserinfo);
    }
    if !value.iter().all(u8::is_ascii_graphic) {
        return Err(Defect::BadHost);
    }
    field::append_line(b"host", value, out);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http1::{BodyKind, HeadLimits, HeaderSlots, parse_request};

    type Fields = &'static [(&'static str, &'static str)];

    const KEY: &[u8] = b"AAAAAAAAAAAAAAAAAAAAAA==";

    fn head<'a>(method: &'a str, path: &'a str) -> RequestHead<'a> {
        RequestHead {
            method: method.as_bytes(),
            scheme: Some(b"https"),
            authority: Some(b"shop.example"),
            path: Some(path.as_bytes()),
            protocol: None,
            end_stream: true,
        }
    }

    fn written(
        head: &RequestHead<'_>,
        fields: &[(&str, &str)],
    ) -> Result<(String, Http1BodyFraming), Defect> {
        let mut out = Vec::new();
        let fields = fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let body = write_request(head, fields, KEY, &mut out)?;
        let mut slots = HeaderSlots::new();
        let parsed =
            parse_request(&out, &HeadLimits::default(), &mut slots)?.ok_or(Defect::Malformed)?;
        assert_eq!(parsed.head_len, out.len(), "one head and nothing behind it");
        let as_parsed = match parsed.body {
            BodyKind::None | BodyKind::Length(0) if parsed.upgrade.is_some() => {
                Http1BodyFraming::Raw
            }
            BodyKind::None | BodyKind::Length(0) => Http1BodyFraming::None,
            BodyKind::Length(length) => Http1BodyFraming::Length(length),
            BodyKind::Chunked => Http1BodyFraming::Chunked,
        };
        assert!(as_parsed == body || body == Http1BodyFraming::Length(0), "{as_parsed:?} {body:?}");
        Ok((String::from_utf8(out).unwrap_or_default(), body))
    }

    #[test]
    fn a_request_is_written_as_one_of_http_1() {
        let (text, body) = written(
            &head("GET", "/a?b"),
            &[("accept", "*/*"), ("cookie", "a=1"), ("cookie", "b=2")],
        )
        .unwrap();
        let wanted =
            "GET /a?b HTTP/1.1\r\nhost: shop.example\r\naccept: */*\r\ncookie: a=1; b=2\r\n\r\n";
        assert_eq!((text.as_str(), body), (wanted, Http1BodyFraming::None));
        let open = RequestHead { end_stream: false, ..head("POST", "/") };
        assert_eq!(written(&open, &[]).map(|it| it.1), Ok(Http1BodyFraming::Chunked));
        assert_eq!(
            written(&open, &[("content-length", "5")]).map(|it| it.1),
            Ok(Http1BodyFraming::Length(5))
        );
        let bare = RequestHead { authority: None, ..head("GET", "/") };
        assert!(written(&bare, &[("host", "a.example")]).is_ok());
        assert!(written(&head("OPTIONS", "*"), &[("host", "SHOP.example")]).is_ok());
        assert!(written(&head("GET", "/"), &[("te", "trailers")]).is_ok());
    }

    #[test]
    fn a_websocket_becomes_an_upgrade() {
        let connect = RequestHead {
            protocol: Some(b"websocket"),
            end_stream: false,
            ..head("CONNECT", "/chat")
        };
        let fields = [("sec-websocket-version", "13"), ("sec-websocket-key", "theirs")];
        let (text, body) = written(&connect, &fields).unwrap();
        assert_eq!(body, Http1BodyFraming::Raw);
        assert!(text.starts_with("GET /chat HTTP/1.1\r\n"), "{text}");
        assert!(text.contains("upgrade: websocket\r\n") && !text.contains("theirs"), "{text}");
    }

    #[test]
    fn what_only_http_2_can_get_wrong_is_named() {
        let get = head("GET", "/");
        let without = |change: fn(&mut RequestHead<'static>)| {
            let mut head = head("GET", "/");
            change(&mut head);
            head
        };
        let rows: [(RequestHead<'_>, Fields, Defect); 24] = [
            (get, &[("connection", "close")], Defect::HopByHop),
            (get, &[("keep-alive", "timeout=1")], Defect::HopByHop),
            (get, &[("proxy-connection", "close")], Defect::HopByHop),
            (get, &[("transfer-encoding", "chunked")], Defect::HopByHop),
            (get, &[("upgrade", "h2c")], Defect::HopByHop),
            (get, &[("te", "gzip")], Defect::HopByHop),
            (get, &[("Accept", "x")], Defect::BadName),
            (get, &[("a b", "x")], Defect::BadName),
            (get, &[(":path", "/")], Defect::BadName),
            (get, &[("", "x")], Defect::BadName),
            (get, &[("a", "x\r\nb: c")], Defect::BadValue),
            (get, &[("a", "x\0")], Defect::BadValue),
            (get, &[("a", " x")], Defect::BadValue),
            (get, &[("a", "x\n")], Defect::BadValue),
            (get, &[("host", "other.example")], Defect::AuthorityMismatch),
            (get, &[("host", "shop.example"), ("host", "shop.example")], Defect::HostRepeated),
            (get, &[("content-length", "5")], Defect::LengthMismatch),
            (head("GET /x", "/"), &[], Defect::BadMethod),
            (head("GET", "/ HTTP/1.1\r\nx:"), &[], Defect::TargetByte),
            (head("GET", "http://a/"), &[], Defect::TargetForm),
            (head("GET", "/#a"), &[], Defect::TargetFragment),
            (head("CONNECT", "/"), &[], Defect::ConnectRefused),
            (without(|head| head.path = None), &[], Defect::PseudoMissing),
            (without(|head| head.scheme = Some(b"ftp")), &[], Defect::TargetScheme),
        ];
        for (head, fields, defect) in rows {
            assert_eq!(written(&head, fields), Err(defect), "{head:?} {fields:?}");
        }
        let user = without(|head| head.authority = Some(b"me@shop.example"));
        assert_eq!(written(&user, &[]), Err(Defect::TargetUserinfo));
        let blank = without(|head| head.authority = Some(b"a\r\nb"));
        assert_eq!(written(&blank, &[]), Err(Defect::BadHost));
        let nobody = without(|head| head.authority = None);
        assert_eq!(written(&nobody, &[]), Err(Defect::HostMissing));
        let open = RequestHead { end_stream: false, ..get };
        let twice = [("content-length", "5"), ("content-length", "5")];
        assert_eq!(written(&open, &twice), Err(Defect::LengthRepeated));
        assert_eq!(written(&open, &[("content_length", "5")]), Err(Defect::AliasField));
    }
}
