//! What a stand-in server says on one connection, whatever protocol the balancer speaks to it.
//!
//! It sees from the first bytes what is spoken: the PROXY protocol, TLS, HTTP/1, HTTP/2, a database's greeting, or
//! bytes. It accepts everything; `comparison` decides what matters.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::{ServerConnection, StreamOwned};

use super::message::{BodyEnd, MessageStream, SeenHead};
use super::observation::{SERVER, SeenField, SeenRequest};
use super::request::{MARK, ORDER};
use super::serve_checks::{greet, serve_check};
use super::serve_http2;
use super::served_record::ServerContext;

/// What is known of a connection beneath its requests.
#[derive(Clone, Copy, Debug, Default)]
struct ConnectionFacts {
    proxy_header: bool,
    tls: bool,
}

/// A balancer keeps idle connections to servers for this long at most, in this run.
const IDLE: Duration = Duration::from_secs(120);

/// The answer to the key in all requests for WebSockets (RFC 6455 section 1.3).
const WEBSOCKET: &str = "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";
/// Serves a connection to its end.
pub fn serve(stream: &TcpStream, context: &Arc<ServerContext>) -> io::Result<()> {
    stream.set_read_timeout(Some(IDLE))?;
    stream.set_nodelay(true)?;
    let mut plain = MessageStream::new(stream, Vec::new());
    if !greet(&mut plain, &context.greeting)? {
        return Ok(());
    }
    let mut first = [0; 4];
    // Waits for the first bytes and leaves them in the socket. HTTP/2 without TLS begins with its preface.
    let length = stream.peek(&mut first)?;
    if first[..length] == *b"PRI " {
        return serve_http2::serve(stream.try_clone()?, context);
    }
    plain.fill()?;
    let mut facts = ConnectionFacts::default();
    if let Some(length) = proxy_header(plain.ahead()) {
        facts.proxy_header = true;
        plain.skip(length);
        if plain.ahead().is_empty() {
            plain.fill()?;
        }
    }
    if plain.ahead().first() != Some(&0x16) {
        return speak(plain, facts, context);
    }
    facts.tls = true;
    let machine = ServerConnection::new(context.tls.clone()).map_err(io::Error::other)?;
    let mut secure = MessageStream::new(StreamOwned::new(machine, plain.into_parts()), Vec::new());
    secure.fill()?;
    speak(secure, facts, context)
}

/// The length of a PROXY protocol header at the start.
fn proxy_header(bytes: &[u8]) -> Option<usize> {
    if bytes.starts_with(b"PROXY ") {
        return super::message::find(bytes, b"\r\n").map(|end| end + 2);
    }
    let length = bytes.get(14..16)?;
    bytes
        .starts_with(b"\r\n\r\n\x00\r\nQUIT\n")
        .then(|| 16 + usize::from(u16::from_be_bytes([length[0], length[1]])))
}

fn speak<S: Read + Write>(
    mut stream: MessageStream<S>,
    facts: ConnectionFacts,
    context: &ServerContext,
) -> io::Result<()> {
    if serve_check(&mut stream)? {
        return Ok(());
    }
    let ahead = stream.ahead();
    if !ahead.first().is_some_and(u8::is_ascii_uppercase) || !ahead.contains(&b' ') {
        return speak_bytes(&mut stream, facts, context);
    }
    while let Some(head) = stream.head()? {
        if !answer(&mut stream, &head, facts, context)? {
            break;
        }
    }
    Ok(())
}

fn speak_bytes<S: Read + Write>(
    stream: &mut MessageStream<S>,
    facts: ConnectionFacts,
    context: &ServerContext,
) -> io::Result<()> {
    if stream.ahead().is_empty() {
        return Ok(());
    }
    context.record.enter(None, facts.served(context, &SeenHead::default(), stream.ahead().len()));
    stream.send(format!("{}\n", context.address).as_bytes())
}

impl ConnectionFacts {
    fn served(self, context: &ServerContext, head: &SeenHead, bytes: usize) -> SeenRequest {
        SeenRequest {
            server: context.address,
            method: head.word(0).to_owned(),
            target: head.word(1).to_owned(),
            fields: head.fields.clone(),
            body_bytes: bytes,
            proxy_header: self.proxy_header,
            tls: self.tls,
        }
    }
}

/// Answers a request; false: the connection ends.
fn answer<S: Read + Write>(
    stream: &mut MessageStream<S>,
    head: &SeenHead,
    facts: ConnectionFacts,
    context: &ServerContext,
) -> io::Result<bool> {
    if head.lists("expect", "100-continue") {
        stream.send(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    let body = stream.body(BodyEnd::of_request(head))?;
    let mark = head.value(MARK).and_then(|mark| mark.parse().ok());
    let number = context.record.enter(mark, facts.served(context, head, body.len()));
    let order = AnswerOrder::parse(head.value(ORDER).unwrap_or(""));
    if order.is_silent {
        // Until the balancer has had enough.
        while stream.fill()? {}
    }
    if order.drops || order.is_silent {
        return Ok(false);
    }
    let name = format!("{SERVER}: {}/{number}\r\n", context.address);
    if let Some(protocol) = head.value("upgrade").filter(|_| head.lists("connection", "upgrade")) {
        let upgraded = format!(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n{WEBSOCKET}{name}\r\n"
        );
        stream.send(upgraded.as_bytes())?;
        return Ok(false);
    }
    let closes = head.lists("connection", "close") || head.start.ends_with("HTTP/1.0");
    let mut text = format!("stand-in {}", context.address).into_bytes();
    text.resize(order.body_bytes, b' ');
    let mut out = format!("HTTP/1.1 {} Ordered\r\n{name}Content-Type: text/html\r\n", order.status);
    for SeenField { name, value } in &order.fields {
        out.push_str(&format!("{name}: {value}\r\n"));
    }
    if closes {
        out.push_str("Connection: close\r\n");
    }
    let bodyless = matches!(order.status, 204 | 304);
    if !bodyless {
        out.push_str(&format!("Content-Length: {}\r\n", text.len()));
    }
    out.push_str("\r\n");
    let mut out = out.into_bytes();
    if !bodyless && head.word(0) != "HEAD" {
        out.extend(if order.is_cut { &text[..text.len() / 2] } else { &text });
    }
    stream.send(&out)?;
    Ok(!closes && !order.is_cut)
}

/// The answer that a request orders: `status=302|location=/x|set-cookie=a=b|size=9|cut`, or `drop`, or `silence`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerOrder {
    pub status: u16,
    pub fields: Vec<SeenField>,
    /// Bytes of the body.
    pub body_bytes: usize,
    /// The connection is closed without an answer.
    pub drops: bool,
    /// The connection is closed in the middle of the body.
    pub is_cut: bool,
    /// Nothing is answered, and the connection stays.
    pub is_silent: bool,
}

/// Bytes of the body of a usual answer.
const BODY_BYTES: usize = 2_049;

impl AnswerOrder {
    pub fn parse(text: &str) -> AnswerOrder {
        let mut order = AnswerOrder {
            status: 200,
            fields: Vec::new(),
            body_bytes: BODY_BYTES,
            drops: false,
            is_cut: false,
            is_silent: false,
        };
        // `|` separates, because values of fields contain `;` and `,`.
        for part in text.split('|').map(str::trim).filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some(("status", status)) => order.status = status.parse().unwrap_or(200),
                Some(("size", bytes)) => order.body_bytes = bytes.parse().unwrap_or(BODY_BYTES),
                Some((name, value)) => {
                    order.fields.push(SeenField { name: name.to_owned(), value: value.to_owned() });
                }
                None => {
                    order.drops |= part == "drop";
                    order.is_cut |= part == "cut";
                    order.is_silent |= part == "silence";
                }
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_name_status_fields_and_silence() {
        let order = AnswerOrder::parse("status=302|Location=http://a/b?c=d|Set-Cookie=a=b; Path=/");
        let values: Vec<&str> = order.fields.iter().map(|field| field.value.as_str()).collect();
        assert_eq!((order.status, values), (302, vec!["http://a/b?c=d", "a=b; Path=/"]));
        assert!(AnswerOrder::parse("drop").drops && !AnswerOrder::parse("").drops);
        let large = AnswerOrder::parse("size=9|cut");
        assert!(large.body_bytes == 9 && large.is_cut && !large.is_silent);
        assert!(AnswerOrder::parse("silence").is_silent);
    }

    #[test]
    fn headers_of_the_proxy_protocol_are_measured() {
        for (bytes, length) in [
            (&b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\nGET"[..], Some(32)),
            (b"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c123456789012GET", Some(28)),
            (b"GET / HTTP/1.1\r\n", None),
            (b"", None),
        ] {
            assert_eq!(proxy_header(bytes), length, "{bytes:?}");
        }
    }
}
