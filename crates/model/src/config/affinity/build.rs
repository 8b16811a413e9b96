//! Builds sticky sessions of the checked configuration.

use super::types::{
    AffinityConfig, AffinityCookie, AffinityKey, CookieMode, UnavailableServerAction,
};
use crate::config::rules::owned_text;
use crate::config::section::ConfigSection;

/// Builds the affinity of a proxied service.
pub fn build_affinity(sticky: &ConfigSection, speaks_tls: bool) -> AffinityConfig {
    let name = || owned_text(sticky, "name").unwrap_or_default();
    let flag = |key, else_| sticky.setting(key).map_or(else_, |_| sticky.flag(key));
    let by = match sticky.text("by") {
        Some("cookie") => AffinityKey::Cookie(AffinityCookie {
            name: name(),
            mode: match sticky.text("cookie") {
                Some("rewrite") => CookieMode::Rewrite,
                Some("learn") => CookieMode::Learn,
                Some("prefix") => CookieMode::Prefix,
                Some("passive") => CookieMode::Passive,
                _ => CookieMode::Insert,
            },
            secure: flag("secure", speaks_tls),
            http_only: flag("http-only", true),
            same_site: match sticky.text("same-site") {
                Some("strict") => Some("Strict"),
                Some("none") => Some("None"),
                Some("omit") => None,
                _ => Some("Lax"),
            },
            domain: owned_text(sticky, "domain"),
            hide: flag("hide", false),
            no_cache: flag("no-cache", false),
        }),
        Some("header") => AffinityKey::Header(name().to_ascii_lowercase()),
        Some("path") => AffinityKey::Path,
        Some("query") => AffinityKey::Query(name()),
        Some("tls-session") => AffinityKey::TlsSession,
        _ => AffinityKey::Address(sticky.count_or_zero("mask4"), sticky.count_or_zero("mask6")),
    };
    AffinityConfig {
        by,
        time: sticky.time("expire"),
        entries: sticky.count_or_zero("entries"),
        when_down: match sticky.text("when-down") {
            Some("wait") => UnavailableServerAction::Wait,
            Some("refuse") => UnavailableServerAction::Refuse,
            _ => UnavailableServerAction::Choose,
        },
        spill: sticky.text("when-full") == Some("spill"),
        drain: sticky.time_or_zero("drain"),
        share: owned_text(sticky, "group"),
    }
}
