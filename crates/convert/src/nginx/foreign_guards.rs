//! Directives that guard requests: those of modules that authenticate, and those that nobody here knows.

use super::directives;
use super::known_words;
use super::tree::Directive;

/// Whether a directive belongs to a module or script that authenticates clients.
pub fn authenticates(name: &str) -> bool {
    let settings =
        ["_file", "_delay", "_set", "_key", "_claim", "_type", "_leeway", "_size", "Config"];
    let is_setting = settings.iter().any(|word| name.contains(word));
    if matches!(name, "auth_jwt" | "auth_request" | "js_access" | "modsecurity" | "ssl_ocsp") {
        return true;
    }
    let scripts = ["access_by_lua", "rewrite_by_lua", "server_rewrite_by_lua"];
    if scripts.iter().any(|script| name.starts_with(script)) {
        return true;
    }
    let is_own = name.starts_with("auth_") && name != "auth_http";
    (is_own || is_unknown_guard(name)) && !is_setting
}

/// What directives of modules that guard have in their names.
const GUARD_WORDS: [&str; 24] = [
    "access",
    "acl",
    "auth",
    "banned",
    "blacklist",
    "block",
    "captcha",
    "csrf",
    "deny",
    "denied",
    "firewall",
    "guard",
    "jwt",
    "modsecurity",
    "oidc",
    "protect",
    "saml",
    "secrules",
    "secur",
    "shib",
    "sso",
    "testcookie",
    "token",
    "whitelist",
];

/// Whether a directive that is not known seems to decide who may pass.
fn is_unknown_guard(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_read = matches!(name, "deny" | "allow" | "secure_link" | "auth_http");
    let is_guard = GUARD_WORDS.iter().any(|word| lower.contains(word)) || lower.contains("waf");
    is_guard && !is_read && !lower.contains("by_lua") && !directives::is_known(name)
}

/// Beginnings of the names of directives that change no access: of nginx's own modules, and of widespread others.
const HARMLESS: [&str; 81] = [
    "accept_language",
    "accelerated_",
    "acme_",
    "add_",
    "aio_",
    "ancient_browser",
    "autoindex_",
    "body_filter_by_lua",
    "brotli",
    "charset",
    "chunkin",
    "client_body_",
    "concat",
    "connection_pool_size",
    "content_by_lua",
    "datadog",
    "directio_",
    "disable_symlinks",
    "early_hints",
    "echo",
    "error_log",
    "exit_worker_by_lua",
    "expires_by_types",
    "f4f",
    "fancyindex",
    "flv_",
    "footer",
    "geoip",
    "grpc_",
    "gunzip",
    "gzip",
    "header_filter_by_lua",
    "headers_",
    "health_check",
    "hls",
    "image_filter",
    "init_by_lua",
    "init_worker_by_lua",
    "js_",
    "keepalive_",
    "log_",
    "lua_",
    "max_headers",
    "max_ranges",
    "min_delete_depth",
    "modern_browser",
    "more_",
    "mp4_",
    "open_log_file_cache",
    "opentelemetry",
    "opentracing",
    "override_charset",
    "pagespeed",
    "perl",
    "proxy_",
    "push_stream",
    "read_ahead",
    "redis",
    "referer_hash_",
    "replace_filter",
    "request_pool_size",
    "rtmp",
    "send_lowat",
    "session_log",
    "set_by_lua",
    "set_misc",
    "source_charset",
    "srcache",
    "ssi_",
    "ssl_alpn",
    "ssl_certificate",
    "ssl_ech",
    "ssl_key_log",
    "ssl_password_file",
    "status",
    "subs_filter",
    "trim",
    "tunnel_",
    "upload",
    "upstream_conf",
    "zstd",
];

/// Ends of the names of settings, of which another directive makes use.
const SETTINGS: [&str; 11] = [
    "_buffer",
    "_buffers",
    "_cache",
    "_format",
    "_interval",
    "_level",
    "_log",
    "_path",
    "_size",
    "_timeout",
    "_zone",
];

/// Whether nobody here knows what a directive does, so that it may guard what it stands in.
fn is_foreign(name: &str) -> bool {
    let is_harmless = HARMLESS.iter().any(|begin| name.starts_with(begin))
        || SETTINGS.iter().any(|end| name.ends_with(end));
    !is_harmless && !known_words::READ.contains(&name) && !directives::is_known(name)
}

/// Whether a directive may refuse requests in a way that is not converted. What stands around all servers counts if it is
/// switched on there: else it commonly says what others make use of.
pub fn is_guard(directive: &Directive, is_outermost: bool) -> bool {
    let name = directive.name.as_str();
    let is_on = || matches!(directive.peek(0), "on" | "yes" | "enable" | "enabled" | "true");
    authenticates(name) || is_foreign(name) && (!is_outermost || is_on())
}
