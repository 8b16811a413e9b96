//! What a request target asks of an origin.
//!
//! Only reading of the target; the answers are made in `http`.

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// `/`: the origin's own body.
    Root,
    /// `/healthz`: `ok`.
    Health,
    /// `/bytes/N`: a body of N bytes.
    Bytes(u64),
    /// `/chunked/N`: the same in chunks, without a length.
    Chunked(u64),
    /// `/delay/MS`: an answer after so many milliseconds.
    Delay(u64),
    /// `/status/N`: an empty answer with this status.
    Status(u16),
    /// `/echo`: the request's body.
    Echo,
    /// `/ws`: an upgrade to an echoing WebSocket.
    WebSocket,
    /// Anything else.
    Unknown,
}

impl Route {
    /// Of a target in origin form; a query is ignored.
    pub fn of(target: &str) -> Route {
        let path = target.split('?').next().unwrap_or(target);
        match path {
            "/" => return Route::Root,
            "/healthz" => return Route::Health,
            "/echo" => return Route::Echo,
            "/ws" => return Route::WebSocket,
            _ => {}
        }
        let number = |prefix: &str| path.strip_prefix(prefix)?.parse::<u64>().ok();
        if let Some(bytes) = number("/bytes/").filter(|bytes| *bytes <= MOST_BYTES) {
            Route::Bytes(bytes)
        } else if let Some(bytes) = number("/chunked/").filter(|bytes| *bytes <= MOST_BYTES) {
            Route::Chunked(bytes)
        } else if let Some(delay) = number("/delay/").filter(|delay| *delay <= MOST_DELAY_MS) {
            Route::Delay(delay)
        } else {
            match number("/status/").and_then(|status| u16::try_from(status).ok()) {
                Some(status @ 200..=599) => Route::Status(status),
                _ => Route::Unknown,
            }
        }
    }
}

const MOST_BYTES: u64 = 1 << 34;
const MOST_DELAY_MS: u64 = 600_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        let rows = [
            ("/", Route::Root),
            ("/?x=1", Route::Root),
            ("/bytes/425984", Route::Bytes(425_984)),
            ("/bytes/-1", Route::Unknown),
            ("/bytes/99999999999999", Route::Unknown),
            ("/chunked/0", Route::Chunked(0)),
            ("/delay/15?a", Route::Delay(15)),
            ("/status/503", Route::Status(503)),
            ("/status/101", Route::Unknown),
            ("/ws", Route::WebSocket),
            ("/none", Route::Unknown),
            ("*", Route::Unknown),
        ];
        for (target, route) in rows {
            assert_eq!(Route::of(target), route, "{target}");
        }
    }
}
