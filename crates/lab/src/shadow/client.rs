//! The client of a shadow run: sends one request of the corpus and observes its answers.
//!
//! Each connection and each read has a deadline. It runs in the network of the calling thread.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};
use rustls::StreamOwned;

use super::client_http2;
use super::identity::{HTTP2, ShadowIdentity};
use super::message::{BodyEnd, MessageStream, SeenHead};
use super::observation::{ExchangeEnd, SERVER, SpokenProtocol, StepObservation};
use super::request::{HttpRequest, ServerNameChoice, ShadowPayload, ShadowRequest};
use super::served_record::ServedRecord;

/// The longest silence of a balancer before a request counts as unanswered.
const DEADLINE: Duration = Duration::from_secs(6);

/// The client of one side.
#[derive(Debug)]
pub struct ShadowClient<'a> {
    pub identity: &'a ShadowIdentity,
    pub record: &'a ServedRecord,
}

trait ByteConnection: Read + Write {}
impl<T: Read + Write> ByteConnection for T {}

impl ShadowClient<'_> {
    /// Sends a request with its further steps, each on a connection of its own.
    pub fn send(&self, request: &ShadowRequest, mark: u32) -> Vec<StepObservation> {
        let mut cookies: Vec<String> = Vec::new();
        let steps = request.http().map_or(1, |http| http.steps.max(1));
        let mut seen = Vec::new();
        for _ in 0..steps {
            let mut step = self.step(request, mark, &cookies);
            let number = step
                .values(SERVER)
                .first()
                .and_then(|value| value.rsplit('/').next().and_then(|number| number.parse().ok()));
            step.served.extend(self.record.take(mark, number));
            for cookie in step.values("set-cookie") {
                remember(&mut cookies, cookie);
            }
            seen.push(step);
        }
        seen
    }

    fn step(&self, request: &ShadowRequest, mark: u32, cookies: &[String]) -> StepObservation {
        let Ok(stream) = open(request.to, request.from) else {
            return StepObservation::ended(ExchangeEnd::Refused);
        };
        let mut stream = stream;
        if request.proxy_header {
            let family = if request.to.is_ipv4() { "TCP4" } else { "TCP6" };
            let client = if request.to.is_ipv4() { "192.0.2.77" } else { "2001:db8::77" };
            let line = format!("PROXY {family} {client} {} 40000 80\r\n", request.to.ip());
            // A listener that has closed already shows it at the next read.
            let _ = stream.write_all(line.as_bytes());
        }
        let connection =
            self.identity.connection(&request.name, request.certificate, request.protocol);
        let stream: Box<dyn ByteConnection> = match connection {
            Ok(None) => match request.http() {
                Some(http) if request.protocol == SpokenProtocol::Http2 => {
                    return client_http2::exchange(&mut stream, "http", http, mark, cookies);
                }
                _ => Box::new(stream),
            },
            Ok(Some(machine)) => {
                let mut secure = StreamOwned::new(machine, stream);
                while secure.conn.is_handshaking() {
                    if let Err(error) = secure.conn.complete_io(&mut secure.sock) {
                        return StepObservation::ended(tls_end(&error));
                    }
                }
                let agreed = secure.conn.alpn_protocol() == Some(HTTP2);
                if let (true, Some(http)) = (agreed, request.http()) {
                    return client_http2::exchange(&mut secure, "https", http, mark, cookies);
                }
                Box::new(secure)
            }
            Err(_) => return StepObservation::ended(ExchangeEnd::TlsFailed),
        };
        match &request.payload {
            ShadowPayload::Http(http) => exchange(stream, http, mark, cookies),
            ShadowPayload::Bytes => raw(stream, b"who are you?\n"),
            ShadowPayload::TlsThrough => {
                let http = HttpRequest {
                    method: "GET".to_owned(),
                    target: "/".to_owned(),
                    host: match &request.name {
                        ServerNameChoice::Named(name) => name.clone(),
                        _ => "nobody.invalid".to_owned(),
                    },
                    ..HttpRequest::default()
                };
                exchange(stream, &http, mark, cookies)
            }
        }
    }
}

fn open(to: SocketAddr, from: Option<IpAddr>) -> io::Result<TcpStream> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let fd = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_tcp_nodelay(&fd, true)?;
    if let Some(from) = from.filter(|from| from.is_ipv4() == to.is_ipv4()) {
        bind(&fd, &SocketAddr::new(from, 0))?;
    }
    connect(&fd, &to)?;
    let stream = TcpStream::from(fd);
    stream.set_read_timeout(Some(DEADLINE))?;
    stream.set_write_timeout(Some(DEADLINE))?;
    Ok(stream)
}

fn exchange(
    stream: Box<dyn ByteConnection>,
    request: &HttpRequest,
    mark: u32,
    cookies: &[String],
) -> StepObservation {
    let mut stream = MessageStream::new(stream, Vec::new());
    // Ignored: a balancer may answer and close before it has read a body. Its answer is read below.
    let _ = stream.send(&request.bytes(mark, cookies));
    let head = loop {
        match stream.head() {
            // Interim answers have no part in the comparison, but for 101.
            Ok(Some(head)) if head.word(1).starts_with('1') && head.word(1) != "101" => {}
            Ok(Some(head)) => break head,
            Ok(None) => return StepObservation::ended(ExchangeEnd::Closed),
            Err(error) => return StepObservation::ended(tls_end(&error)),
        }
    };
    observed(&mut stream, &head, &request.method)
}

fn observed(
    stream: &mut MessageStream<Box<dyn ByteConnection>>,
    head: &SeenHead,
    method: &str,
) -> StepObservation {
    let body = stream.body(BodyEnd::of_answer(head, method));
    StepObservation {
        end: ExchangeEnd::Answered,
        status: head.word(1).parse().unwrap_or(0),
        fields: head.fields.clone(),
        cut: body.is_err(),
        body: body.unwrap_or_default(),
        ..StepObservation::default()
    }
}

fn raw(mut stream: Box<dyn ByteConnection>, bytes: &[u8]) -> StepObservation {
    let mut body = Vec::new();
    if stream.write_all(bytes).and_then(|()| stream.flush()).is_err() {
        return StepObservation::ended(ExchangeEnd::Closed);
    }
    let read = stream.take(1_024).read_to_end(&mut body);
    match read {
        Err(error) if body.is_empty() => StepObservation::ended(tls_end(&error)),
        _ if body.is_empty() => StepObservation::ended(ExchangeEnd::Closed),
        _ => StepObservation { end: ExchangeEnd::Answered, body, ..StepObservation::default() },
    }
}

fn tls_end(error: &io::Error) -> ExchangeEnd {
    let alert = error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>());
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => ExchangeEnd::TimedOut,
        _ if alert => ExchangeEnd::TlsFailed,
        _ => ExchangeEnd::Closed,
    }
}

/// Remembers a cookie as a browser does: by its name, and an expired one is forgotten.
fn remember(cookies: &mut Vec<String>, set: &str) {
    let pair = set.split(';').next().unwrap_or("").trim();
    let name = pair.split('=').next().unwrap_or("");
    cookies.retain(|known| known.split('=').next() != Some(name));
    let lower = set.to_ascii_lowercase();
    if !lower.contains("max-age=0") && !lower.contains("01-jan-1970") && !name.is_empty() {
        cookies.push(pair.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_replaced_by_name_and_forgotten_when_they_expire() {
        let mut cookies = Vec::new();
        for set in ["a=1; Path=/", "b=2", "a=3", "b=; Max-Age=0"] {
            remember(&mut cookies, set);
        }
        assert_eq!(cookies, ["a=3"]);
    }
}
