//! Builds socket options of the checked configuration.

use super::types::{KeepAlive, PathHint, SocketOptions};
use crate::config::section::ConfigSection;

pub fn build_socket_options(section: &ConfigSection) -> SocketOptions {
    let keep_alive = section.table("keep-alive").map(|keep| KeepAlive {
        idle: keep.time_or_zero("idle"),
        interval: keep.time_or_zero("interval"),
        count: keep.count_or_zero("count"),
    });
    let path = section.table("path");
    SocketOptions {
        nodelay: section.flag("nodelay"),
        delayed_ack: section.flag("delayed-ack"),
        syn_retries: section.count("syn-retries"),
        mss_min: section.count("mss-min"),
        keep_alive,
        user_timeout: section.time("user-timeout"),
        mss: section.count("mss"),
        congestion: section.text("congestion").map(str::to_owned),
        defer_accept: section.time("defer-accept"),
        fast_open: section.count("fast-open"),
        // A pool has no backlog, so the type's default remains.
        backlog: section.count("backlog").unwrap_or(SocketOptions::default().backlog),
        mptcp: section.flag("mptcp"),
        transparent: section.flag("transparent"),
        shared: false,
        interface: section.text("interface").map(str::to_owned),
        mark: section.count("mark"),
        send_buffer: section.count("send-buffer"),
        receive_buffer: section.count("receive-buffer"),
        path: path.map(|path| PathHint {
            rate: path.count_or_zero("rate"),
            round_trip: path.time_or_zero("round-trip"),
        }),
    }
}
