//! Tables `[auth]` for questions to servers that cannot be.

use std::time::Duration;

use super::mistakes::{MistakeRow, check_rows, row};
use super::support::good;

macro_rules! object {
    ($keys:literal) => {
        concat!(
            "[service.s]\nlisten = \"127.0.0.1:1\"\nforward = \"http\"\npool = \"web\"\nauth = \"a\"\n\
             [pool.sso]\nservers = [\"127.0.0.1:3\"]\n[auth.a]\nkind = \"request\"\n",
            $keys
        )
    };
}

const ROWS: &[MistakeRow] = &[
    row(object!(""), "auth.a.pool", "needs `pool`"),
    row(object!("pool = \"elsewhere\"\n"), "auth.a.pool", "there is no pool `elsewhere`"),
    row(object!("pool = \"sso\"\nfile = \"/a\"\n"), "auth.a.file", "has no effect"),
    row(object!("pool = \"sso\"\nuser-field = \"X-U\"\n"), "auth.a.user-field", "has no effect"),
    row(object!("pool = \"sso\"\nrealm = \"x\"\n"), "auth.a.realm", "has no effect"),
    row(
        object!("pool = \"sso\"\nrequest-headers = \"X_Forwarded_Uri\"\n"),
        "auth.a.request-headers",
        "is written by us",
    ),
    row(
        object!("pool = \"sso\"\nrequest-headers = [\"X-User\"]\nresponse-headers = \"x_user\"\n"),
        "auth.a.request-headers",
        "which is in `response-headers`",
    ),
    row(
        object!("pool = \"sso\"\nresponse-headers = \"Cookie\"\n"),
        "auth.a.response-headers",
        "has another meaning",
    ),
    row(
        object!("pool = \"sso\"\nresponse-headers = \"X-Forwarded-For\"\n"),
        "auth.a.response-headers",
        "has another meaning",
    ),
    row(
        object!("pool = \"sso\"\nresponse-headers = [\"X-User\", \"X_USER\"]\n"),
        "auth.a.response-headers",
        "is written twice",
    ),
    row(object!("pool = \"sso\"\non-failure = \"pass\"\n"), "auth.a.on-failure", ""),
    row(object!("pool = \"sso\"\ntimeout = \"5ms\"\n"), "auth.a.timeout", ""),
    row(
        "[service.s]\nlisten = \"127.0.0.1:1\"\nforward = \"http\"\npool = \"web\"\nauth = \"a\"\n\
         [auth.a]\nkind = \"basic\"\nfile = \"/a\"\npool = \"web\"\n",
        "auth.a.pool",
        "has no effect",
    ),
];

#[test]
fn a_table_for_questions_that_cannot_be_is_named() {
    check_rows(ROWS);
}

#[test]
fn a_question_has_defaults_of_its_own() {
    let text = "[service.s]\nlisten = \"127.0.0.1:1\"\nforward = \"http\"\npool = \"web\"\nauth = \"a\"\n\
        [pool.web]\nservers = [\"127.0.0.1:2\"]\n[pool.sso]\nservers = [\"127.0.0.1:3\"]\n\
        [auth.a]\nkind = \"request\"\npool = \"sso\"\nresponse-headers = [\"Authorization\", \"X-User\"]\n";
    let loaded = good(text);
    let object = &loaded.config.auths["a"];
    assert_eq!(object.send, ["Cookie", "Authorization"]);
    assert_eq!((object.cache, object.timeout), (None, Duration::from_secs(2)));
    assert_eq!((object.path.as_str(), object.host.as_deref()), ("/", None));
    // A client's own credentials are needed for the question.
    assert_eq!(*loaded.config.services["s"].auth_plan.user_fields, ["x-user".to_owned()]);
    let basic = text.replace(
        "kind = \"request\"\npool = \"sso\"\nresponse-headers = [\"Authorization\", \"X-User\"]",
        "kind = \"basic\"\nfile = \"/a\"",
    );
    assert_eq!(good(&basic).config.auths["a"].cache, Some(Duration::from_secs(300)));
}
