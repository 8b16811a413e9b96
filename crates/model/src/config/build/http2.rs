//! From settings in force to what `http2` means. Everything was judged before.

use super::super::http2::{ClientHttp2, Http2Flood, Offer, ServerHttp2, Speak};
use super::super::section::Section;

/// A service's.
pub fn service(section: &Section) -> ClientHttp2 {
    ClientHttp2 {
        offer: match section.text("offer") {
            Some("off") => Offer::Off,
            Some("always") => Offer::Always,
            _ => Offer::Tls,
        },
        streams: section.number("streams"),
        window: section.number("window"),
        window_most: section.number("window-most"),
        send_buffer: section.number("send-buffer"),
        age: section.time("age"),
        flood: Http2Flood {
            resets: section.number("resets"),
            control_frames: section.number("control-frames"),
            tiny_frames: section.number("tiny-frames"),
            malformed: section.number("malformed"),
        },
    }
}

/// A pool's.
pub fn pool(section: &Section) -> ServerHttp2 {
    ServerHttp2 {
        speak: match section.text("speak") {
            Some("prefer") => Speak::Prefer,
            Some("only") => Speak::Only,
            _ => Speak::Off,
        },
        streams: section.number("streams"),
        window: section.number("window"),
        window_most: section.number("window-most"),
        ping: section.time("ping"),
    }
}
