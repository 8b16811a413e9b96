//! Describes `[auth.NAME]`, and the keys of services and rules that name such an object.

use crate::config::schema::{DefaultValue, KeySchema, Keyword, TableSchema, TextFormat, ValueKind};
use crate::config::value::ConfigValue;

/// Limit for the objects of one file.
/// One for each team of a large house.
pub const OBJECTS: usize = 1_000;

pub const OF_SERVICE: KeySchema = KeySchema::new(
    "auth",
    ValueKind::Text { form: TextFormat::Name, unset: None },
    DefaultValue::Absent,
    "Authentication: the name of a table `[auth.NAME]`. Requests that rules answer, redirect or deny need no \
     credentials.",
)
.http_only();

pub const OF_RULE: KeySchema = KeySchema::new(
    "auth",
    ValueKind::Text { form: TextFormat::Name, unset: None },
    DefaultValue::Derived("the service's"),
    "The name of a table `[auth.NAME]` that its requests need in the place of the service's, also for its `answer` or \
     `redirect`; `\"off\"`: they need none.",
)
.http_only();

/// Algorithms of signatures, as RFC 7518 and RFC 8037 name them.
const ALGORITHMS: [Keyword; 13] = [
    Keyword::new("ES256"),
    Keyword::new("ES384"),
    Keyword::new("ES512"),
    Keyword::new("RS256"),
    Keyword::new("RS384"),
    Keyword::new("RS512"),
    Keyword::new("PS256"),
    Keyword::new("PS384"),
    Keyword::new("PS512"),
    Keyword::new("EdDSA"),
    Keyword::new("HS256"),
    Keyword::new("HS384"),
    Keyword::new("HS512"),
];

/// Those whose keys cannot sign: what an object accepts unless it says more.
pub const PUBLIC_KEY_ALGORITHMS: [&str; 10] =
    ["ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "EdDSA"];

pub static AUTH: TableSchema = TableSchema {
    description: "an authentication",
    exclusive_groups: &[&["header"], &["query"], &["cookie"]],
    keys: &[
        KeySchema::new(
            "kind",
            ValueKind::Keyword(&[
                Keyword::new("basic"),
                Keyword::new("api-key"),
                Keyword::new("jwt"),
                Keyword::new("request"),
            ]),
            DefaultValue::Required,
            "Kind of credentials: `basic`: a name and a password (RFC 7617). `api-key`: a key in a header field or in \
             the query. `jwt`: a signed token (RFC 7519). `request`: external authentication, where a server of `pool` \
             decides about each request.",
        ),
        KeySchema::new(
            "file",
            ValueKind::Text { form: TextFormat::File, unset: None },
            DefaultValue::Absent,
            "`basic`: a file as `htpasswd` writes it, `name:hash` a line, with bcrypt, argon2, SHA-crypt or apr1. `api-key`: \
             `name:digest` a line, the digest is the SHA-256 of the key in 64 hexadecimal digits. `jwt`: a JWK Set \
             (RFC 7517), unless `jwks-url` is written. Read again when it has changed.",
        ),
        KeySchema::new(
            "realm",
            ValueKind::Text { form: TextFormat::VisibleText, unset: None },
            DefaultValue::Derived("the name of the table"),
            "Realm that browsers show when they prompt for a password; with `jwt` a part of the refusal.",
        ),
        KeySchema::new(
            "header",
            ValueKind::Text { form: TextFormat::FieldName, unset: None },
            DefaultValue::Derived(
                "`X-Api-Key` for `api-key`, unless `query` is written; `Authorization` for `jwt`, unless `cookie` is written",
            ),
            "Header field with the key or the token. In `Authorization` a token has the scheme `Bearer`.",
        ),
        KeySchema::new(
            "query",
            ValueKind::Text { form: TextFormat::Token, unset: None },
            DefaultValue::Absent,
            "Query parameter with the key, instead of a header field. The log shows `-` for it.",
        ),
        KeySchema::new(
            "user-field",
            ValueKind::Text { form: TextFormat::FieldName, unset: None },
            DefaultValue::Absent,
            "Header field with the user's name for servers; with `jwt` the claim `sub`. Fields of clients with this \
             name reach no server.",
        ),
        KeySchema::new(
            "keep-credentials",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(false)),
            "`true`: servers get the password, key or token too.",
        ),
        // A changed file ends it at once; a browser sends the password with each request.
        KeySchema::new(
            "cache",
            ValueKind::time_or_keyword(1_000, 86_400_000, "off"),
            DefaultValue::Derived("`5m`; `off` for `request`"),
            "How long a verified password or token is cached. It ends when the file changes, and for a token when the \
             token expires. `request`: how long a 2xx response is cached for the same check, unless the response \
             limits it further.",
        ),
        KeySchema::new(
            "cookie",
            ValueKind::Text { form: TextFormat::Token, unset: None },
            DefaultValue::Absent,
            "`jwt`: the cookie with the token, instead of a header field.",
        ),
        KeySchema::new(
            "jwks-url",
            ValueKind::Text { form: TextFormat::VisibleText, unset: None },
            DefaultValue::Absent,
            "`jwt`: the URL of the JWK Set, instead of `file`: `https`, or `http` on this machine. It is fetched in \
             the background. Until there are keys, requests with a token get 503.",
        ),
        KeySchema::new(
            "ca",
            ValueKind::Text { form: TextFormat::File, unset: None },
            DefaultValue::Derived("whom the machine trusts"),
            "`jwks-url`: a PEM file of CAs for its server's certificate.",
        ),
        // Issuers announce a key before they use it, and a token with another one has the set fetched at once.
        KeySchema::new(
            "refresh",
            ValueKind::time(1_000, 86_400_000),
            DefaultValue::millis(300_000),
            "`jwks-url`: the longest time between two fetches. `max-age` of the response shortens it, to a minute at \
             least. A token with an unknown key triggers a fetch, but not within 5 s of the last one.",
        ),
        // A day lets somebody come to work and mend it; a withdrawn key counts no longer than that.
        KeySchema::new(
            "max-stale",
            ValueKind::time(2_000, 2_592_000_000),
            DefaultValue::millis(86_400_000),
            "`jwks-url`: how long keys are valid while they cannot be fetched again. Then requests with a token get \
             503.",
        ).formerly(&["keep"]),
        KeySchema::new(
            "algorithms",
            ValueKind::KeywordList(&ALGORITHMS),
            DefaultValue::Derived("those with public keys: all but `HS256`, `HS384` and `HS512`"),
            "`jwt`: accepted signature algorithms. The keys of `HS256` and the like can also sign.",
        ),
        KeySchema::new(
            "issuer",
            ValueKind::Texts { form: TextFormat::VisibleText, unset: None },
            DefaultValue::Absent,
            "`jwt`: accepted issuers: the claim `iss`. Required.",
        ),
        KeySchema::new(
            "audience",
            ValueKind::Texts { form: TextFormat::VisibleText, unset: None },
            DefaultValue::Absent,
            "`jwt`: accepted audiences: the claim `aud` must name one of them. Without this key a token must not have \
             that claim.",
        ),
        // What clocks that are kept by NTP differ by is far less; ten minutes are for those that are not.
        KeySchema::new(
            "leeway",
            ValueKind::time(0, 600_000),
            DefaultValue::millis(60_000),
            "`jwt`: tolerance for a different clock of the issuer, for the claims `exp` and `nbf`.",
        ),
        KeySchema::new(
            "required-claims",
            ValueKind::Texts { form: TextFormat::VisibleText, unset: None },
            DefaultValue::Absent,
            "`jwt`: claims that a token must have, `name` or `name: value`. A list must have the value as a member, and the \
             claims `scope` and `scp` as a word. `/a/b` is the claim `b` in the claim `a` (RFC 6901).",
        ),
        KeySchema::new(
            "claim-fields",
            ValueKind::Lines { form: TextFormat::Field, most: 16 },
            DefaultValue::Absent,
            "`jwt`: header fields with claims for servers, `field: name` each. Fields of clients with these names \
             reach no server.",
        ),
        KeySchema::new(
            "pool",
            ValueKind::Text { form: TextFormat::Name, unset: None },
            DefaultValue::Absent,
            "`request`: the pool of the authentication servers. Required.",
        ),
        KeySchema::new(
            "path",
            ValueKind::Text { form: TextFormat::RequestPath, unset: None },
            DefaultValue::text("/"),
            "`request`: the path of the check, with a query if needed.",
        ),
        KeySchema::new(
            "host",
            ValueKind::Text { form: TextFormat::Host, unset: Some("auto") },
            DefaultValue::unset("auto"),
            "`request`: the Host of the check; `auto`: that of the client's request.",
        ),
        // A check reads a session; one that takes longer is in trouble, and so is each client that waits for it.
        KeySchema::new(
            "timeout",
            ValueKind::time(10, 60_000),
            DefaultValue::millis(2_000),
            "`request`: time for the whole check: queue, connection and response.",
        ),
        KeySchema::new(
            "request-headers",
            ValueKind::Texts { form: TextFormat::FieldName, unset: Some("none") },
            DefaultValue::Derived("`[\"Cookie\", \"Authorization\"]`"),
            "`request`: header fields of the client's request to include in the check.",
        ).formerly(&["send"]),
        KeySchema::new(
            "response-headers",
            ValueKind::Texts { form: TextFormat::FieldName, unset: None },
            DefaultValue::Absent,
            "`request`: header fields of a 2xx response to add to the request for the server. Fields of clients with \
             these names reach no server, even if the response lacks them.",
        ).formerly(&["take"]),
        KeySchema::new(
            "on-failure",
            ValueKind::Keyword(&[Keyword::new("refuse"), Keyword::new("allow")]),
            DefaultValue::keyword("refuse"),
            "`request`: without a usable response: `refuse`: 503. `allow`: the request passes, without the fields of \
             `response-headers`.",
        ),
        // A second of a thousand requests that each wait for a quarter of it.
        KeySchema::new(
            "max-concurrent",
            ValueKind::count(1, 10_000),
            DefaultValue::count(256),
            "`request`: checks in flight per worker; further ones fail.",
        )
        .formerly(&["at-once"]),
    ],
};
