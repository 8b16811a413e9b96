//! How much of each text a line of the access log shows, so that every line has a bound.

/// Most bytes shown of a request target.
/// Longer targets are search strings and tokens, whose beginning identifies the request.
pub const TARGET: usize = 1024;
/// Most bytes shown of a method.
/// The longest method that the parser accepts.
pub const METHOD: usize = 32;
/// Most bytes shown of a name.
/// Names of services, pools and servers are shorter as a rule.
pub const NAME: usize = 128;
/// Most bytes shown of a rejected request's host.
/// The longest name of DNS (RFC 1035 §2.3.4).
pub const HOST: usize = 255;
/// Most bytes shown of the name of a field that violated a rule.
/// Cross-Origin-Embedder-Policy-Report-Only, a registered name, has 40 bytes.
pub const FIELD: usize = 64;
/// Most bytes shown at a violation.
/// Enough to recognise what was sent.
pub const FOUND: usize = 64;
/// Most bytes shown of a field or cookie of the request.
/// Nearly all user agents have fewer.
pub const VALUE: usize = 256;
/// Upper bound of a line's length without further fields: an escaped byte takes at most six bytes.
pub(super) const MAX_LINE_BYTES: usize =
    6 * (TARGET + METHOD + HOST + FIELD + FOUND + 5 * NAME) + 2304;
