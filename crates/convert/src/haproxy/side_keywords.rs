//! The names of sections beside proxies of which nothing is written.

/// Keywords that begin sections of which nothing is written.
pub const KEYWORDS: [&str; 16] = [
    "userlist",
    "peers",
    "cache",
    "mailers",
    "program",
    "ring",
    "fcgi-app",
    "log-forward",
    "log-profile",
    "traces",
    "acme",
    "healthcheck",
    "ruleset",
    "aggregations",
    "dynamic-update",
    "stats-file",
];
