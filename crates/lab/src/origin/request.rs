//! The parts of a request that its response needs, stored after the received bytes are gone.
//!
//! It makes no decision about the response.

use wire::http1::{HttpVersion, ParsedRequestHead};

use super::route::OriginRoute;
use super::websocket;

#[derive(Debug)]
pub struct OriginRequest {
    pub route: OriginRoute,
    pub is_head: bool,
    pub is_post: bool,
    pub version: HttpVersion,
    /// Whether the connection stays open afterwards.
    pub persist: bool,
    /// The identifier in the head.
    pub id: Option<u64>,
    /// The `Sec-WebSocket-Accept` value for the request's key.
    pub accept: Option<String>,
    /// The body received so far.
    pub body: Vec<u8>,
}

impl OriginRequest {
    pub fn from_request(request: &ParsedRequestHead<'_, '_>) -> OriginRequest {
        let field = |name: &str| {
            let found = request.headers.iter().find(|h| h.name.eq_ignore_ascii_case(name))?;
            std::str::from_utf8(found.value).ok()
        };
        let route = OriginRoute::from_target(request.target);
        OriginRequest {
            route,
            is_head: request.method.is_head(),
            is_post: request.method.as_str() == "POST",
            version: request.version,
            persist: request.keep_alive,
            id: field("x-lab-id").and_then(|id| u64::from_str_radix(id, 16).ok()),
            accept: (route == OriginRoute::WebSocket && request.upgrade.is_some())
                .then(|| field("sec-websocket-key").map(websocket::accept_key))
                .flatten(),
            body: Vec::new(),
        }
    }

    /// The identifier: from the body if the body begins with one, otherwise from the head.
    pub fn identifier(&self) -> Option<u64> {
        let in_body = self.body.get(..19).and_then(|start| start.strip_prefix(b"id="));
        let in_body = in_body.and_then(|digits| std::str::from_utf8(digits).ok());
        in_body.and_then(|digits| u64::from_str_radix(digits, 16).ok()).or(self.id)
    }
}
