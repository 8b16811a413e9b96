//! One request of the corpus, and its bytes on the wire.

use std::net::{IpAddr, SocketAddr};

use serde::Serialize;

use super::observation::{SeenField, SpokenProtocol};

/// The field by which a stand-in server knows which request it has.
pub const MARK: &str = "X-Shadow";
/// The field that orders an answer from a stand-in server.
pub const ORDER: &str = "X-Shadow-Order";

/// The certificate that a client shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientCertificate {
    #[default]
    None,
    /// Of the authority that the configuration trusts.
    Right,
    /// Of another authority.
    Wrong,
}

impl ClientCertificate {
    pub const ALL: [ClientCertificate; 3] =
        [ClientCertificate::None, ClientCertificate::Right, ClientCertificate::Wrong];
}

/// The name in a client's TLS handshake.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerNameChoice {
    /// The connection is not TLS.
    #[default]
    Plain,
    /// TLS without a name.
    Unnamed,
    Named(String),
}

/// The body of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestBody {
    #[default]
    None,
    /// Zeros of this many bytes, with their length.
    Sized(usize),
    /// The same in chunks.
    Chunked(usize),
}

/// What is sent on one connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShadowPayload {
    /// A request, repeated with the cookies of the answers.
    Http(HttpRequest),
    /// Bytes through a `tcp` service: the answer is a server's name.
    Bytes,
    /// A TLS handshake through a `tcp` service, and a request inside.
    TlsThrough,
}

/// A request without its connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HttpRequest {
    pub method: String,
    pub target: String,
    pub host: String,
    /// Further fields, in their order.
    pub fields: Vec<SeenField>,
    pub body: RequestBody,
    /// How often it is sent, with the cookies that were set: 1 to 3.
    pub steps: u8,
}

/// A connection of the corpus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ShadowRequest {
    /// The service that listens there.
    pub service: String,
    pub to: SocketAddr,
    /// The client's address; `None`: what the kernel chooses.
    pub from: Option<IpAddr>,
    pub name: ServerNameChoice,
    pub certificate: ClientCertificate,
    /// The listener expects a header of the PROXY protocol.
    pub proxy_header: bool,
    /// What the client would speak.
    pub protocol: SpokenProtocol,
    pub payload: ShadowPayload,
    /// Why it is sent, such as `path beside /admin`.
    pub purpose: String,
}

impl ShadowRequest {
    /// A request of a test, in which only what it says differs.
    #[cfg(test)]
    pub fn sample() -> ShadowRequest {
        ShadowRequest {
            service: "web".into(),
            to: "127.0.0.1:80".parse().unwrap(),
            from: None,
            name: ServerNameChoice::Plain,
            certificate: ClientCertificate::None,
            proxy_header: false,
            protocol: SpokenProtocol::default(),
            payload: ShadowPayload::Http(HttpRequest::default()),
            purpose: String::new(),
        }
    }

    pub fn http(&self) -> Option<&HttpRequest> {
        match &self.payload {
            ShadowPayload::Http(request) => Some(request),
            ShadowPayload::Bytes | ShadowPayload::TlsThrough => None,
        }
    }

    /// The request in one line, for people.
    pub fn describe(&self) -> String {
        let sni = match &self.name {
            ServerNameChoice::Plain => String::new(),
            ServerNameChoice::Unnamed => " without SNI".to_owned(),
            ServerNameChoice::Named(name) => format!(" SNI {name}"),
        };
        let certificate = match self.certificate {
            ClientCertificate::None => "",
            ClientCertificate::Right => " with a certificate",
            ClientCertificate::Wrong => " with a foreign certificate",
        };
        let protocol = match self.protocol {
            SpokenProtocol::Http1 => "",
            SpokenProtocol::Http2 => " over HTTP/2",
        };
        let from = self.from.map_or(String::new(), |from| format!(" from {from}"));
        let what = match &self.payload {
            ShadowPayload::Http(HttpRequest { method, target, host, .. }) => {
                format!("{method} {host} {target}")
            }
            ShadowPayload::Bytes => "bytes".to_owned(),
            ShadowPayload::TlsThrough => "TLS".to_owned(),
        };
        format!("{what} at {}{sni}{certificate}{protocol}{from} ({})", self.to, self.purpose)
    }
}

impl HttpRequest {
    /// The bytes of one step. `cookies` are name=value pairs that earlier answers set.
    pub fn bytes(&self, mark: u32, cookies: &[String]) -> Vec<u8> {
        let HttpRequest { method, target, host, .. } = self;
        let mut head = format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n{MARK}: {mark}\r\n");
        for SeenField { name, value } in &self.fields {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !cookies.is_empty() {
            head.push_str(&format!("Cookie: {}\r\n", cookies.join("; ")));
        }
        if !self.fields.iter().any(|field| field.name.eq_ignore_ascii_case("connection")) {
            head.push_str("Connection: close\r\n");
        }
        match self.body {
            RequestBody::None if matches!(method.as_str(), "POST" | "PUT" | "PATCH") => {
                head.push_str("Content-Length: 0\r\n\r\n");
                head.into_bytes()
            }
            RequestBody::None => (head + "\r\n").into_bytes(),
            RequestBody::Sized(bytes) => {
                head.push_str(&format!("Content-Length: {bytes}\r\n\r\n"));
                let mut all = head.into_bytes();
                all.resize(all.len() + bytes, b'0');
                all
            }
            RequestBody::Chunked(bytes) => {
                head.push_str("Transfer-Encoding: chunked\r\n\r\n");
                head.push_str(&format!("{bytes:x}\r\n{}\r\n0\r\n\r\n", "0".repeat(bytes)));
                head.into_bytes()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_its_mark_its_fields_and_its_body() {
        let field = SeenField { name: "X-A".into(), value: "1".into() };
        let mut request = HttpRequest {
            method: "POST".into(),
            target: "/a".into(),
            host: "h".into(),
            fields: vec![field],
            body: RequestBody::Chunked(3),
            steps: 1,
        };
        let text = |request: &HttpRequest| {
            String::from_utf8(request.bytes(7, &["c=1".to_owned()])).unwrap()
        };
        let head = "POST /a HTTP/1.1\r\nHost: h\r\nX-Shadow: 7\r\nX-A: 1\r\nCookie: c=1\r\nConnection: close\r\n";
        let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n3\r\n000\r\n0\r\n\r\n");
        assert_eq!(text(&request), chunked);
        request.body = RequestBody::None;
        assert_eq!(text(&request), format!("{head}Content-Length: 0\r\n\r\n"));
    }
}
