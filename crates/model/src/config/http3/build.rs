//! Builds `http3` of the checked configuration from verified settings.

use super::types::ClientHttp3;
use crate::config::section::ConfigSection;

pub fn build_client_http3(section: &ConfigSection) -> ClientHttp3 {
    ClientHttp3 {
        offer: section.text("offer") == Some("on"),
        announce: section.time("alt-svc"),
        streams: section.count_or_zero("streams"),
        window: section.count_or_zero("window"),
        window_most: section.count_or_zero("max-window"),
        send_buffer: section.count_or_zero("send-buffer"),
        age: section.time("max-age"),
        prove: section.count_or_zero("retry-above"),
        resets: section.count_or_zero("resets"),
    }
}
