//! Builds `http2` of the checked configuration from verified settings.

use super::types::{ClientHttp2, ClientHttp2Mode, Http2FloodLimits, ServerHttp2, ServerHttp2Mode};
use crate::config::section::ConfigSection;

pub fn build_client_http2(section: &ConfigSection) -> ClientHttp2 {
    ClientHttp2 {
        offer: match section.text("offer") {
            Some("off") => ClientHttp2Mode::Off,
            Some("always") => ClientHttp2Mode::Always,
            _ => ClientHttp2Mode::Tls,
        },
        streams: section.count_or_zero("streams"),
        window: section.count_or_zero("window"),
        window_most: section.count_or_zero("max-window"),
        send_buffer: section.count_or_zero("send-buffer"),
        age: section.time("max-age"),
        flood: Http2FloodLimits {
            resets: section.count_or_zero("resets"),
            control_frames: section.count_or_zero("control-frames"),
            tiny_frames: section.count_or_zero("tiny-frames"),
            malformed: section.count_or_zero("malformed"),
        },
    }
}

pub fn build_server_http2(section: &ConfigSection) -> ServerHttp2 {
    ServerHttp2 {
        speak: match section.text("mode") {
            Some("prefer") => ServerHttp2Mode::Prefer,
            Some("only") => ServerHttp2Mode::Only,
            _ => ServerHttp2Mode::Off,
        },
        streams: section.count_or_zero("streams"),
        window: section.count_or_zero("window"),
        window_most: section.count_or_zero("max-window"),
        ping: section.time("ping"),
    }
}
