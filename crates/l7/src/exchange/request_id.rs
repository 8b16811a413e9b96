//! The id of a request in a field: taken from a trusted proxy or made, for the server, the client and the access log.

use model::config::{RequestIdConfig, ServiceConfig};
use wire::http1::{Header, RequestIdHeader};

use crate::accounting::{ExchangeRecord, RequestId};
use crate::rt::NetDriver;
use crate::upstream::response_changes::{RequestIdLine, ResponseChanges};
use crate::worker::Worker;

/// Most bytes of an id that is taken from a proxy.
/// A trace context of W3C has 55, and two UUIDs 73.
const MAX_ID_BYTES: usize = 128;

/// The id of a request, where the service has a field for it.
#[derive(Debug)]
pub struct RequestIdValue {
    /// The balancer's own, by which the access log names the exchange.
    own: RequestId,
    /// The id that a trusted proxy sent.
    taken: Option<String>,
}

impl RequestIdValue {
    /// The id of a request with these fields; `None`: the service has no such field. `span` is the id of its span.
    pub fn find<N: NetDriver>(
        worker: &Worker<N>,
        service: &ServiceConfig,
        is_trusted: bool,
        headers: &[Header],
        span: Option<RequestId>,
    ) -> Option<Box<RequestIdValue>> {
        let config = service.request_id.as_ref()?;
        let own = span.unwrap_or_else(|| worker.ids.next_id());
        let taken = if is_trusted { read_id(&config.header, headers) } else { None };
        Some(Box::new(RequestIdValue { own, taken }))
    }

    /// The field for the server.
    pub fn header<'a>(&'a self, service: &'a ServiceConfig) -> Option<RequestIdHeader<'a>> {
        let RequestIdConfig { header, .. } = service.request_id.as_ref()?;
        Some(RequestIdHeader { name: header, value: self.text() })
    }

    /// The id that a proxy sent.
    pub fn taken(&self) -> Option<&str> {
        self.taken.as_deref()
    }

    /// The changes of a response as its exchange begins: the field with the id, where answers have it. The record gets
    /// the balancer's own id.
    pub fn begin_changes(
        &self,
        service: &ServiceConfig,
        record: &mut ExchangeRecord,
    ) -> ResponseChanges {
        record.set_id(self.own);
        let config = service.request_id.as_ref().filter(|config| config.answer);
        let request_id = config.map(|RequestIdConfig { header, .. }| {
            let line = [header.as_str(), ": ", self.text(), "\r\n"].concat().into_bytes();
            Box::new(RequestIdLine { name: header.to_ascii_lowercase(), line })
        });
        ResponseChanges { request_id, ..ResponseChanges::default() }
    }

    fn text(&self) -> &str {
        self.taken.as_deref().unwrap_or(self.own.as_str())
    }
}

/// The only value of the field, if it is an id: visible ASCII without quotes, backslashes and angle brackets, which would
/// have a meaning where ids are shown.
fn read_id(name: &str, headers: &[Header]) -> Option<String> {
    let mut own = headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
    let value = own.next().filter(|_| own.next().is_none())?.value.trim_ascii();
    let fits = |byte: &u8| byte.is_ascii_graphic() && !b"\"'\\<>`".contains(byte);
    let is_id = (1..=MAX_ID_BYTES).contains(&value.len()) && value.iter().all(fits);
    str::from_utf8(value).ok().filter(|_| is_id).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_short_visible_value_is_an_id() {
        let long = "a".repeat(MAX_ID_BYTES + 1);
        for (values, want) in [
            (&["7f-a_b:c/d="][..], Some("7f-a_b:c/d=")),
            (&[" a "], Some("a")),
            (&[""], None),
            (&["a b"], None),
            (&["a\tb"], None),
            (&["a\u{e9}"], None),
            (&["a\"b"], None),
            (&["<script>"], None),
            (&["a\\n"], None),
            (&["a", "b"], None),
            (&[&long], None),
            (&[&long[1..]], Some(&long[1..])),
            (&[], None),
        ] {
            let headers: Vec<Header> = values
                .iter()
                .map(|value: &&str| Header { name: "x-request-id", value: value.as_bytes() })
                .collect();
            assert_eq!(read_id("X-Request-Id", &headers).as_deref(), want, "{values:?}");
        }
    }
}
