//! Maps a request target to a route of the origin.
//!
//! It only parses the target; `http` makes the responses.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OriginRoute {
    /// `/`: the origin's normal body.
    Root,
    Health,
    /// `/bytes/N`: a body of N bytes.
    Bytes(u64),
    /// `/chunked/N`: the same as chunks, without a length.
    Chunked(u64),
    /// `/delay/MS`: a response after this many milliseconds.
    Delay(u64),
    /// `/status/N`: an empty response with this status.
    Status(u16),
    /// `/echo`: the request's body.
    Echo,
    /// `/ws`: an upgrade to an echoing WebSocket.
    WebSocket,
    Unknown,
}

impl OriginRoute {
    /// Parses a target in origin form; the query is ignored.
    pub fn from_target(target: &str) -> OriginRoute {
        let path = target.split('?').next().unwrap_or(target);
        match path {
            "/" => return OriginRoute::Root,
            "/healthz" => return OriginRoute::Health,
            "/echo" => return OriginRoute::Echo,
            "/ws" => return OriginRoute::WebSocket,
            _ => {}
        }
        let number = |prefix: &str| path.strip_prefix(prefix)?.parse::<u64>().ok();
        if let Some(bytes) = number("/bytes/").filter(|bytes| *bytes <= MOST_BYTES) {
            OriginRoute::Bytes(bytes)
        } else if let Some(bytes) = number("/chunked/").filter(|bytes| *bytes <= MOST_BYTES) {
            OriginRoute::Chunked(bytes)
        } else if let Some(delay) = number("/delay/").filter(|delay| *delay <= MOST_DELAY_MS) {
            OriginRoute::Delay(delay)
        } else {
            match number("/status/").and_then(|status| u16::try_from(status).ok()) {
                Some(status @ 200..=599) => OriginRoute::Status(status),
                _ => OriginRoute::Unknown,
            }
        }
    }
}

/// Bodies are generated, so only sizes that would take hours count as mistakes.
const MOST_BYTES: u64 = 1 << 34;
/// Ten minutes: longer than any timeout under test.
const MOST_DELAY_MS: u64 = 600_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        let rows = [
            ("/", OriginRoute::Root),
            ("/?x=1", OriginRoute::Root),
            ("/bytes/425984", OriginRoute::Bytes(425_984)),
            ("/bytes/-1", OriginRoute::Unknown),
            ("/bytes/99999999999999", OriginRoute::Unknown),
            ("/chunked/0", OriginRoute::Chunked(0)),
            ("/delay/15?a", OriginRoute::Delay(15)),
            ("/status/503", OriginRoute::Status(503)),
            ("/status/101", OriginRoute::Unknown),
            ("/ws", OriginRoute::WebSocket),
            ("/none", OriginRoute::Unknown),
            ("*", OriginRoute::Unknown),
        ];
        for (target, route) in rows {
            assert_eq!(OriginRoute::from_target(target), route, "{target}");
        }
    }
}
