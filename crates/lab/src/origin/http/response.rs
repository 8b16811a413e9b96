//! The response of an origin to a complete request, by route and by fault.

use wire::http1::HttpVersion;

use crate::origin::content::{FILLER, INLINE, OriginContent, OriginFault, ResponseFraming};
use crate::origin::request::OriginRequest;
use crate::origin::route::OriginRoute;

use super::{CloseMode, HttpOriginConnection, HttpOriginState};

impl HttpOriginConnection {
    /// Responds by route, or with the active fault.
    pub(super) fn send_answer(&mut self, ask: &OriginRequest, site: &OriginContent) {
        if let Some(fault) = site.fault {
            return self.apply_fault(fault, ask, site);
        }
        let is_usual = ask.persist && !ask.is_head && ask.version == HttpVersion::Http11;
        match ask.route {
            OriginRoute::Root if is_usual && !site.root.is_empty() => {
                self.out.extend_from_slice(&site.root);
            }
            OriginRoute::Root => {
                self.send_response(ask, site, 200, ResponsePayload::Filler(site.body))
            }
            OriginRoute::Health => {
                self.send_response(ask, site, 200, ResponsePayload::Bytes(b"ok\n"))
            }
            OriginRoute::Bytes(bytes) => {
                self.send_response(ask, site, 200, ResponsePayload::Filler(bytes))
            }
            OriginRoute::Delay(_) => {
                self.send_response(ask, site, 200, ResponsePayload::Bytes(b"late\n"))
            }
            OriginRoute::Status(status) => {
                self.send_response(ask, site, status, ResponsePayload::Bytes(b""))
            }
            OriginRoute::Echo => {
                self.send_response(ask, site, 200, ResponsePayload::Bytes(&ask.body))
            }
            OriginRoute::Chunked(bytes) if ask.version == HttpVersion::Http11 => {
                self.finish_head(ask, site, 200, ResponseFraming::Chunked);
                if !ask.is_head {
                    self.chunks = Some(bytes);
                }
            }
            OriginRoute::Chunked(bytes) => {
                self.send_response(ask, site, 200, ResponsePayload::Filler(bytes))
            }
            OriginRoute::WebSocket => match &ask.accept {
                Some(accept) => {
                    let accept = format!("Sec-WebSocket-Accept: {accept}");
                    let fields = ["Upgrade: websocket", "Connection: Upgrade", &accept];
                    site.write_head(&mut self.out, 101, ResponseFraming::Nothing, &fields);
                    self.state = HttpOriginState::WebSocket;
                }
                None => self.send_response(
                    ask,
                    site,
                    400,
                    ResponsePayload::Bytes(b"a WebSocket handshake is needed\n"),
                ),
            },
            OriginRoute::Unknown => {
                self.send_response(ask, site, 404, ResponsePayload::Bytes(b"no such page\n"))
            }
        }
    }

    fn send_response(
        &mut self,
        ask: &OriginRequest,
        site: &OriginContent,
        status: u16,
        payload: ResponsePayload<'_>,
    ) {
        let bytes = match payload {
            ResponsePayload::Bytes(bytes) => bytes.len() as u64,
            ResponsePayload::Filler(bytes) => bytes,
        };
        let framing = if matches!(status, 204 | 304) {
            ResponseFraming::Nothing
        } else {
            ResponseFraming::Length(bytes)
        };
        self.finish_head(ask, site, status, framing);
        match payload {
            _ if ask.is_head => {}
            ResponsePayload::Bytes(bytes) => self.out.extend_from_slice(bytes),
            ResponsePayload::Filler(bytes) if bytes <= INLINE => {
                self.out.resize(self.out.len() + bytes as usize, FILLER);
            }
            ResponsePayload::Filler(bytes) => self.fill = bytes,
        }
    }

    fn finish_head(
        &mut self,
        ask: &OriginRequest,
        site: &OriginContent,
        status: u16,
        framing: ResponseFraming,
    ) {
        let fields: &[&str] = match (ask.persist, ask.version) {
            (true, HttpVersion::Http11) => &[],
            (true, HttpVersion::Http10) => &["Connection: keep-alive"],
            (false, _) => &["Connection: close"],
        };
        site.write_head(&mut self.out, status, framing, fields);
        if !ask.persist {
            self.ending = Some(CloseMode::Close);
        }
    }

    fn apply_fault(&mut self, fault: OriginFault, ask: &OriginRequest, site: &OriginContent) {
        let ending = match fault {
            OriginFault::Status(status) => {
                return self.send_response(ask, site, status, ResponsePayload::Bytes(b""));
            }
            OriginFault::Silence => return,
            OriginFault::Garbage => {
                self.out.extend_from_slice(b"\x16\x03this is not HTTP\r\n\r\n");
                CloseMode::Close
            }
            OriginFault::CloseBeforeAnswer => CloseMode::Close,
            OriginFault::ResetBeforeAnswer => CloseMode::Reset,
            OriginFault::CloseMidAnswer | OriginFault::ResetMidAnswer => {
                site.write_head(&mut self.out, 200, ResponseFraming::Length(100), &[]);
                self.out.extend_from_slice(b"only these");
                if fault == OriginFault::CloseMidAnswer {
                    CloseMode::Close
                } else {
                    CloseMode::Reset
                }
            }
        };
        self.ending = Some(ending);
    }

    pub(super) fn next_chunk(&mut self) {
        let Some(left) = self.chunks else { return };
        let size = left.min(INLINE);
        self.out.extend_from_slice(format!("{size:x}\r\n").as_bytes());
        self.out.resize(self.out.len() + size as usize, FILLER);
        self.out.extend_from_slice(b"\r\n");
        self.chunks = (size > 0).then(|| left - size);
    }
}

enum ResponsePayload<'a> {
    Bytes(&'a [u8]),
    Filler(u64),
}
