//! From settings in force to what `http3` means. Everything was judged before.

use super::super::http3::ClientHttp3;
use super::super::section::Section;

/// A service's.
pub fn service(section: &Section) -> ClientHttp3 {
    ClientHttp3 {
        offer: section.text("offer") == Some("on"),
        announce: section.time("announce"),
        streams: section.number("streams"),
        window: section.number("window"),
        window_most: section.number("window-most"),
        send_buffer: section.number("send-buffer"),
        age: section.time("age"),
        prove: section.number("prove"),
        resets: section.number("resets"),
    }
}
