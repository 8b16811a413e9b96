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
    "Whoever asks for something of a server must prove who it is: the name of a table `[auth.NAME]`. What rules answer, \
     redirect or deny is not asked for.",
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
            "What a client shows: `basic`: a name and a password (RFC 7617). `api-key`: a key in a field or in the query. \
             `jwt`: a signed token (RFC 7519). `request`: whatever a server of `pool` accepts, which is asked for each \
             request.",
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
            "What browsers show with the question for a password; with `jwt` a part of the refusal.",
        ),
        KeySchema::new(
            "header",
            ValueKind::Text { form: TextFormat::FieldName, unset: None },
            DefaultValue::Derived(
                "`X-Api-Key` for `api-key`, unless `query` is written; `Authorization` for `jwt`, unless `cookie` is written",
            ),
            "The field that has the key or the token. In `Authorization` a token has the scheme `Bearer`.",
        ),
        KeySchema::new(
            "query",
            ValueKind::Text { form: TextFormat::Token, unset: None },
            DefaultValue::Absent,
            "The parameter of the query that has the key, in the place of a field. The log shows `-` for it.",
        ),
        KeySchema::new(
            "user-field",
            ValueKind::Text { form: TextFormat::FieldName, unset: None },
            DefaultValue::Absent,
            "A field with the user's name for servers; with `jwt` it has the claim `sub`. What clients send under this name \
             reaches no server.",
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
            "How long a proven password or token is not checked again. It ends when the file changes, and for a token when \
             the token ends. `request`: how long a 2xx answer counts for each request with the same question, unless the answer \
             says less.",
        ),
        KeySchema::new(
            "cookie",
            ValueKind::Text { form: TextFormat::Token, unset: None },
            DefaultValue::Absent,
            "`jwt`: the cookie that has the token, in the place of a field.",
        ),
        KeySchema::new(
            "jwks-url",
            ValueKind::Text { form: TextFormat::VisibleText, unset: None },
            DefaultValue::Absent,
            "`jwt`: the URL of the JWK Set in the place of `file`: `https`, or `http` on this machine. It is fetched in the \
             background. Until there are keys, requests with a token get 503.",
        ),
        KeySchema::new(
            "ca",
            ValueKind::Text { form: TextFormat::File, unset: None },
            DefaultValue::Derived("whom the machine trusts"),
            "`jwks-url`: a file of authorities in PEM that may have signed the certificate of its server.",
        ),
        // Issuers announce a key before they use it, and a token with another one has the set fetched at once.
        KeySchema::new(
            "refresh",
            ValueKind::time(1_000, 86_400_000),
            DefaultValue::millis(300_000),
            "`jwks-url`: how often it is fetched again, at the latest. `max-age` of the answer shortens it, to a minute at \
             least. A token with an unknown key has it fetched at once, but not within 5 s of the last time.",
        ),
        // A day lets somebody come to work and mend it; a withdrawn key counts no longer than that.
        KeySchema::new(
            "keep",
            ValueKind::time(2_000, 2_592_000_000),
            DefaultValue::millis(86_400_000),
            "`jwks-url`: how long keys count while they cannot be fetched again. Then requests with a token get 503.",
        ),
        KeySchema::new(
            "algorithms",
            ValueKind::KeywordList(&ALGORITHMS),
            DefaultValue::Derived("those with public keys: all but `HS256`, `HS384` and `HS512`"),
            "`jwt`: the algorithms of signatures that are accepted. `HS256` and its like need keys that can sign, too.",
        ),
        KeySchema::new(
            "issuer",
            ValueKind::Texts { form: TextFormat::VisibleText, unset: None },
            DefaultValue::Absent,
            "`jwt`: who may have issued a token: the claim `iss`. It must be written.",
        ),
        KeySchema::new(
            "audience",
            ValueKind::Texts { form: TextFormat::VisibleText, unset: None },
            DefaultValue::Absent,
            "`jwt`: whom a token must be for: the claim `aud` must name one of them. Unless it is written, a token may not \
             have that claim.",
        ),
        // What clocks that are kept by NTP differ by is far less; ten minutes are for those that are not.
        KeySchema::new(
            "leeway",
            ValueKind::time(0, 600_000),
            DefaultValue::millis(60_000),
            "`jwt`: how far the clock of the issuer may differ, for the claims `exp` and `nbf`.",
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
            "`jwt`: fields with claims for servers, `field: name` each. What clients send under these names reaches no server.",
        ),
        KeySchema::new(
            "pool",
            ValueKind::Text { form: TextFormat::Name, unset: None },
            DefaultValue::Absent,
            "`request`: the pool whose servers are asked. It must be written.",
        ),
        KeySchema::new(
            "path",
            ValueKind::Text { form: TextFormat::RequestPath, unset: None },
            DefaultValue::text("/"),
            "`request`: the path of the question, with a query if needed.",
        ),
        KeySchema::new(
            "host",
            ValueKind::Text { form: TextFormat::Host, unset: Some("auto") },
            DefaultValue::unset("auto"),
            "`request`: the Host of the question; `auto`: the one of the client's request.",
        ),
        // A check reads a session; one that takes longer is in trouble, and so is each client that waits for it.
        KeySchema::new(
            "timeout",
            ValueKind::time(10, 60_000),
            DefaultValue::millis(2_000),
            "`request`: how long a question may take in all: queue, connection and answer.",
        ),
        KeySchema::new(
            "send",
            ValueKind::Texts { form: TextFormat::FieldName, unset: Some("none") },
            DefaultValue::Derived("`[\"Cookie\", \"Authorization\"]`"),
            "`request`: fields of the client's request that the question has too.",
        ),
        KeySchema::new(
            "take",
            ValueKind::Texts { form: TextFormat::FieldName, unset: None },
            DefaultValue::Absent,
            "`request`: fields of a 2xx answer that the request to the server gets. What clients send under these names \
             reaches no server, also if the answer lacks them.",
        ),
        KeySchema::new(
            "on-failure",
            ValueKind::Keyword(&[Keyword::new("refuse"), Keyword::new("allow")]),
            DefaultValue::keyword("refuse"),
            "`request`: what happens without a usable answer: `refuse`: 503. `allow`: the request passes, without the fields \
             of `take`.",
        ),
        // A second of a thousand requests that each wait for a quarter of it.
        KeySchema::new(
            "at-once",
            ValueKind::count(1, 10_000),
            DefaultValue::count(256),
            "`request`: questions under way per worker; a further one counts as failed.",
        ),
    ],
};
