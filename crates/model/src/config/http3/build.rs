//! Builds `http3` of the checked configuration from verified settings.

use super::types::ClientHttp3;
use crate::config::section::ConfigSection;

pub fn build_client_http3(section: &ConfigSection) -> ClientHttp3 {
    ClientHttp3 {
        offer: section.text("offer") == Some("on"),
        announce: section.time("announce"),
        streams: section.count_or_zero("streams"),
        window: section.count_or_zero("window"),
        window_most: section.count_or_zero("window-most"),
        send_buffer: section.count_or_zero("send-buffer"),
        age: section.time("age"),
        prove: section.count_or_zero("prove"),
        resets: section.count_or_zero("resets"),
    }
}
