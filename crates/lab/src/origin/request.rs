//! What of a request its answer needs, kept after the bytes are gone.
//!
//! It decides nothing about the answer.

use wire::http1::{HttpVersion, ParsedRequestHead};

use super::route::OriginRoute;
use super::websocket;

/// What of a request its answer needs.
#[derive(Debug)]
pub struct OriginRequest {
    /// What is asked for.
    pub route: OriginRoute,
    pub is_head: bool,
    pub is_post: bool,
    pub version: HttpVersion,
    /// Whether the connection goes on afterwards.
    pub persist: bool,
    /// The identifier in the head.
    pub id: Option<u64>,
    /// The answer to a WebSocket's key.
    pub accept: Option<String>,
    /// The body, as far as it has come.
    pub body: Vec<u8>,
}

impl OriginRequest {
    /// Of a request's head.
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

    /// The identifier: of the body if it begins with one, else of the head.
    pub fn identifier(&self) -> Option<u64> {
        let in_body = self.body.get(..19).and_then(|start| start.strip_prefix(b"id="));
        let in_body = in_body.and_then(|digits| std::str::from_utf8(digits).ok());
        in_body.and_then(|digits| u64::from_str_radix(digits, 16).ok()).or(self.id)
    }
}
