//! What was seen of a request: by the client, and by the stand-in servers behind the balancer.

use std::net::SocketAddr;

use serde::Serialize;

/// The field in which a stand-in server names itself.
pub const SERVER: &str = "X-Stand-In";

/// A header field as it came over the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeenField {
    pub name: String,
    pub value: String,
}

/// How a connection of the client ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExchangeEnd {
    Answered,
    /// The connection was not accepted.
    Refused,
    /// The TLS handshake failed, or was ended by an alert.
    TlsFailed,
    /// Closed or reset without an answer.
    #[default]
    Closed,
    /// No answer within the deadline.
    TimedOut,
}

/// What a client speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpokenProtocol {
    #[default]
    Http1,
    /// Where the balancer agrees to it in the handshake of TLS.
    Http2,
}

/// A request, or the bytes of a connection, as a stand-in server saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SeenRequest {
    pub server: SocketAddr,
    /// Empty for bytes that are not HTTP.
    pub method: String,
    pub target: String,
    pub fields: Vec<SeenField>,
    /// Bytes of the body.
    pub body_bytes: usize,
    /// The connection began with a header of the PROXY protocol.
    pub proxy_header: bool,
    /// The connection to the server was TLS.
    pub tls: bool,
}

/// The answer to one request, and what servers saw of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StepObservation {
    pub end: ExchangeEnd,
    /// The status; 0 if there is none.
    pub status: u16,
    pub fields: Vec<SeenField>,
    #[serde(skip)]
    pub body: Vec<u8>,
    /// The connection ended before the body did.
    pub cut: bool,
    /// What was spoken.
    pub protocol: SpokenProtocol,
    /// Requests at servers, in their order: more than one after a retry.
    pub served: Vec<SeenRequest>,
}

impl StepObservation {
    pub fn ended(end: ExchangeEnd) -> StepObservation {
        StepObservation { end, ..StepObservation::default() }
    }

    /// The server that its answer names, since a mirror's copy reaches a server too; or else the last one that had the
    /// request.
    pub fn server(&self) -> Option<&SeenRequest> {
        let named = self.values(SERVER).first().and_then(|value| value.split('/').next());
        let is_named =
            |one: &&SeenRequest| named.is_some_and(|name| one.server.to_string() == name);
        self.served.iter().rev().find(is_named).or(self.served.last())
    }

    /// The address of the last server that had the request. A server of bytes answers with its own.
    pub fn server_address(&self) -> Option<SocketAddr> {
        let named = || std::str::from_utf8(&self.body).ok()?.trim().lines().last()?.parse().ok();
        self.server().map(|served| served.server).or_else(|| (self.status == 0).then(named)?)
    }

    /// Whether the answer is a server's, and not the balancer's own after a server failed.
    pub fn is_of_server(&self) -> bool {
        self.server().is_some() && !self.values(SERVER).is_empty()
    }

    /// The values of a field, in their order.
    pub fn values(&self, name: &str) -> Vec<&str> {
        field_values(&self.fields, name)
    }
}

/// The values of a field, in their order.
pub fn field_values<'f>(fields: &'f [SeenField], name: &str) -> Vec<&'f str> {
    let named = fields.iter().filter(|field| field.name.eq_ignore_ascii_case(name));
    named.map(|field| field.value.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::hostile::field;
    use super::*;

    #[test]
    fn the_server_is_the_one_that_answered_and_not_the_one_with_a_copy() {
        let served = |server: &str| SeenRequest {
            server: server.parse().unwrap(),
            method: "GET".into(),
            target: "/".into(),
            fields: Vec::new(),
            body_bytes: 0,
            proxy_header: false,
            tls: false,
        };
        let requests = vec![served("10.0.0.1:80"), served("10.0.0.2:80")];
        for (fields, expected) in [
            (vec![field(SERVER, "10.0.0.1:80/1")], "10.0.0.1:80"),
            (vec![field(SERVER, "10.0.0.9:80/1")], "10.0.0.2:80"),
            (Vec::new(), "10.0.0.2:80"),
        ] {
            let step =
                StepObservation { fields, served: requests.clone(), ..StepObservation::default() };
            assert_eq!(step.server().unwrap().server.to_string(), expected);
        }
    }
}
