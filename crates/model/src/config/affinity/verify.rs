//! Verifies `sticky`: how clients are recognised, and which keys that needs.

use crate::config::decode::key_path::quote_key;
use crate::config::effective_settings::EffectiveSettings;
use crate::config::finding::{FindingCollector, FindingDetails};
use crate::config::section::ConfigSection;
use crate::config::unsupported_keys::forwards_packets;

/// Keys that apply only to the balancer's own cookie.
const INSERT_ONLY_KEYS: [&str; 5] = ["secure", "http-only", "same-site", "domain", "hide"];

/// Without a shared secret each member of a pair creates its own, and the other member cannot verify its cookies.
pub fn verify_shared_secret(effective: &EffectiveSettings, sink: &mut FindingCollector<'_, '_>) {
    if effective.vrrp.is_empty() || effective.global.text("sticky-secret-file").is_some() {
        return;
    }
    for service in &effective.services {
        let Some(sticky) = service.table("sticky") else { continue };
        let mode = sticky.text("cookie").unwrap_or("insert");
        if sticky.text("by") != Some("cookie") || !matches!(mode, "insert" | "rewrite") {
            continue;
        }
        let trouble = FindingDetails::new(
            "each member of a shared address makes cookies with a secret of its own, so clients lose their servers when \
             the address moves",
        );
        let path = format!("service.{}.sticky.cookie", quote_key(&service.name));
        let expected = "`sticky-secret-file` in `[global]`, the same on both members";
        sink.warning(sticky.span_of("by"), &path, trouble.with_expected(expected));
    }
}

pub fn verify_affinity(service: &ConfigSection, sink: &mut FindingCollector<'_, '_>) {
    let Some(sticky) = service.table("sticky") else { return };
    let path = format!("service.{}.sticky", quote_key(&service.name));
    let forward = service.text("forward");
    let by = sticky.text("by").unwrap_or_default();
    let mode = sticky.text("cookie").unwrap_or("insert");
    let mut wrong = |key: &str, trouble: FindingDetails| {
        sink.error(sticky.span_of(key), &format!("{path}.{key}"), trouble);
    };
    let of_requests = matches!(by, "cookie" | "header" | "path" | "query");
    if of_requests && forward != Some("http") && !forwards_packets(service) {
        let trouble = FindingDetails::new(format!("bytes show no {by}"));
        wrong("by", trouble.with_expected("\"address\" or \"tls-session\""));
    }
    if by == "tls-session" && service.table("tls").is_none() {
        let trouble =
            FindingDetails::new("the service does not speak TLS, so no session is resumed");
        wrong("by", trouble.with_expected("`tls` in the service"));
    }
    if by == "tls-session" && service.table("tls").is_some_and(|tls| tls.is_unset("tickets")) {
        let trouble = FindingDetails::new("`tls.tickets` is off, so no session is resumed");
        wrong("by", trouble.with_expected("`tickets` of a time, such as \"6h\", in `tls`"));
    }
    let needs_name = matches!(by, "cookie" | "header" | "query");
    if needs_name && sticky.setting("name").is_none() && !sticky.is_invalid("name") {
        wrong("by", FindingDetails::new(format!("`by = \"{by}\"` needs its `name`")));
    }
    if !needs_name && sticky.is_written("name") {
        wrong("name", FindingDetails::new(format!("`by = \"{by}\"` has no name")));
    }
    if by != "cookie" && sticky.is_written("cookie") {
        wrong("cookie", FindingDetails::new("it belongs to `by = \"cookie\"`"));
    }
    let stateless = by == "cookie" && mode != "learn";
    for key in INSERT_ONLY_KEYS {
        if sticky.is_written(key) && !(by == "cookie" && mode == "insert") {
            wrong(
                key,
                FindingDetails::new("it belongs to `by = \"cookie\"` with `cookie = \"insert\"`"),
            );
        }
    }
    if sticky.time("expire").is_none() && !sticky.is_invalid("expire") && !stateless {
        let trouble = FindingDetails::new("what is remembered must end: `expire` is missing");
        wrong("expire", trouble.with_found("nothing").with_expected("a time, such as \"10m\""));
    }
    for key in ["mask4", "mask6"] {
        if sticky.is_written(key) && by != "address" {
            wrong(key, FindingDetails::new("it belongs to `by = \"address\"`"));
        }
    }
    if by == "cookie" {
        verify_cookie(sticky, mode, &mut wrong);
    } else if sticky.is_written("no-cache") {
        wrong("no-cache", no_cache_misplaced());
    }
}

/// Reports keys that do not fit the mode of the cookie.
fn verify_cookie(
    sticky: &ConfigSection,
    mode: &str,
    wrong: &mut impl FnMut(&'static str, FindingDetails),
) {
    let changes = matches!(mode, "insert" | "rewrite" | "prefix");
    if sticky.is_written("no-cache") && !changes {
        wrong("no-cache", no_cache_misplaced());
    }
    let foreign = matches!(mode, "rewrite" | "prefix" | "passive");
    if foreign && sticky.is_written("expire") {
        wrong("expire", FindingDetails::new("the cookie is the application's, and so is its time"));
    }
    if sticky.is_written("entries") && mode != "learn" {
        let message = match mode {
            "insert" | "rewrite" => {
                "our cookies carry the server themselves: nothing is remembered"
            }
            _ => "the cookie carries the server itself: nothing is remembered",
        };
        wrong("entries", FindingDetails::new(message));
    }
    if sticky.text("same-site") == Some("none")
        && sticky.setting("secure").is_some()
        && !sticky.flag("secure")
    {
        wrong("same-site", FindingDetails::new("browsers take `none` only with `secure = true`"));
    }
}

fn no_cache_misplaced() -> FindingDetails {
    FindingDetails::new("it belongs to `by = \"cookie\"` with a cookie that we set or change")
        .with_expected("`cookie = \"insert\"`, `\"rewrite\"` or `\"prefix\"`")
}
