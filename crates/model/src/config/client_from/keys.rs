//! Describes the field that names clients.

use crate::config::schema::{DefaultValue, KeySchema, TextFormat, ValueKind};

pub const CLIENT_FROM: KeySchema = KeySchema::new(
    "client-from",
    ValueKind::Text { form: TextFormat::Token, unset: Some("connection") },
    DefaultValue::unset("connection"),
    "Field with the real client IP of a request from a proxy in `trust`: `\"x-forwarded-for\"` or `\"forwarded\"` \
     (RFC 7239), whose addresses are read from the last one back to the first that is not in `trust`, or a field with \
     one address, such as `\"CF-Connecting-IP\"`. Rules, limits, affinity, hashes, the access log and the SLO use it. \
     Every proxy in `trust` must write this field. `connection`: the address of the connection, or of its PROXY header.",
)
.http_only();
