//! Tables `[auth]` for signed tokens that cannot be.

use super::mistakes::{MistakeRow, check_rows, row};

macro_rules! object {
    ($keys:literal) => {
        concat!(
            "[service.s]\nlisten = \"127.0.0.1:1\"\nforward = \"http\"\npool = \"web\"\nauth = \"a\"\n\
             [auth.a]\n",
            $keys
        )
    };
}

macro_rules! url {
    ($url:literal) => {
        concat!(
            "[service.s]\nlisten = \"127.0.0.1:1\"\nforward = \"http\"\npool = \"web\"\nauth = \"a\"\n\
             [auth.a]\nkind = \"jwt\"\nissuer = \"us\"\njwks-url = \"",
            $url,
            "\"\n"
        )
    };
}

const ROWS: &[MistakeRow] = &[
    row(object!("kind = \"jwt\"\nfile = \"/a\"\n"), "auth.a.issuer", "needs `issuer`"),
    row(object!("kind = \"jwt\"\nissuer = \"us\"\n"), "auth.a.file", "needs `file`"),
    row(
        object!("kind = \"jwt\"\nfile = \"/a\"\nissuer = \"us\"\nquery = \"token\"\n"),
        "auth.a.query",
        "has no effect",
    ),
    row(
        object!("kind = \"basic\"\nfile = \"/a\"\nissuer = \"us\"\n"),
        "auth.a.issuer",
        "has no effect",
    ),
    row(
        object!("kind = \"jwt\"\nfile = \"/a\"\nissuer = \"us\"\nalgorithms = \"none\"\n"),
        "auth.a.algorithms",
        "",
    ),
    row(
        object!(
            "kind = \"jwt\"\nfile = \"/a\"\nissuer = \"us\"\nheader = \"X-T\"\ncookie = \"t\"\n"
        ),
        "auth.a.cookie",
        "exclude each other",
    ),
    row(
        object!("kind = \"jwt\"\nfile = \"/a\"\nissuer = \"us\"\nclaim-fields = \"Cookie: sub\"\n"),
        "auth.a.claim-fields",
        "has another meaning",
    ),
    row(
        object!(
            "kind = \"jwt\"\nfile = \"/a\"\nissuer = \"us\"\nuser-field = \"X-A\"\nclaim-fields = \"x_a: b\"\n"
        ),
        "auth.a.claim-fields",
        "is written twice",
    ),
    row(url!("http://a.example/k"), "auth.a.jwks-url", "without TLS"),
    row(url!("a.example/k"), "auth.a.jwks-url", "does not begin with `https://`"),
    row(url!("https://me:x@a.example/k"), "auth.a.jwks-url", "a name and a password"),
    row(url!("https://a.example:0/k"), "auth.a.jwks-url", "its port is none"),
    row(url!("https://a.example/k\"\nfile = \"/a"), "auth.a.jwks-url", "exclude each other"),
    row(url!("http://[::1]/k\"\nca = \"/a"), "auth.a.ca", "has no effect without TLS"),
    row(
        url!("https://a.example/k\"\nrefresh = \"1m\"\nmax-stale = \"90s"),
        "auth.a.max-stale",
        "too old before a fetch could be tried again",
    ),
    row(
        url!("https://a.example/k\"\nalgorithms = \"HS256"),
        "auth.a.algorithms",
        "keys of `HS256` are secrets",
    ),
    row(
        object!("kind = \"jwt\"\nfile = \"/a\"\nissuer = \"us\"\nrefresh = \"1m\"\n"),
        "auth.a.refresh",
        "has no effect without `jwks-url`",
    ),
    row(
        object!("kind = \"basic\"\nfile = \"/a\"\njwks-url = \"https://a.example/\"\n"),
        "auth.a.jwks-url",
        "has no effect",
    ),
];

#[test]
fn a_table_for_tokens_that_cannot_be_is_named() {
    check_rows(ROWS);
}
