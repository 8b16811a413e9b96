//! From settings in force to what `http3` means. Everything was judged before.

use super::super::http3::ClientHttp3;
use super::super::section::ConfigSection;

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
