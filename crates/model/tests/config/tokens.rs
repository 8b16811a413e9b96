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
];

#[test]
fn a_table_for_tokens_that_cannot_be_is_named() {
    check_rows(ROWS);
}
