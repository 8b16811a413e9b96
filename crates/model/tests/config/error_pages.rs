//! Error pages that cannot be, and those that are never used.

use super::mistakes::{MistakeRow, check_rows, row, service};
use super::support::findings;

const ROWS: &[MistakeRow] = &[
    row(
        "[service.s]\nlisten = \"127.0.0.1:1\"\nforward = \"tcp\"\npool = \"web\"\n\
         error-page = [{ status = 503, body = \"x\" }]\n",
        "service.s.error-page",
        "belongs to `forward = \"http\"`",
    ),
    row(
        service!("error-page = [{ body = \"x\" }]\n"),
        "service.s.error-page[0].status",
        "needs `status`",
    ),
    row(
        service!("error-page = [{ status = [500, \"302-404\"], body = \"x\" }]\n"),
        "service.s.error-page[0].status",
        "302-404 is not a status of an error",
    ),
    row(
        service!("error-page = [{ status = 503 }]\n"),
        "service.s.error-page[0].status",
        "this page holds nothing",
    ),
    row(
        service!("error-page = [{ status = 503, file = \"/a\", body = \"x\" }]\n"),
        "service.s.error-page[0].body",
        "exclude each other",
    ),
    row(
        service!("error-page = [{ status = 503, body = \"x\", format = \"http\" }]\n"),
        "service.s.error-page[0].format",
        "only a file has a head of its own",
    ),
    row(
        service!(
            "error-page = [{ status = 503, file = \"/a\", format = \"http\", type = \"a/b\" }]\n"
        ),
        "service.s.error-page[0].type",
        "the file's head has the type",
    ),
    row(
        service!("error-page = [{ status = 503, body = \"x\", as = 103 }]\n"),
        "service.s.error-page[0].as",
        "",
    ),
    row(
        service!("error-page = [{ status = 503, headers = [\"Content-Length: 3\"] }]\n"),
        "service.s.error-page[0].headers",
        "written by us",
    ),
];

#[test]
fn a_page_that_cannot_be_is_named() {
    check_rows(ROWS);
}

#[test]
fn a_page_whose_statuses_others_have_is_never_used() {
    let text = |second: &str| {
        format!(
            "{}error-page = [{{ status = [502, \"503-504\"], body = \"x\" }}, {{ status = {second}, body = \"y\" }}]\n",
            service!("")
        )
    };
    for (second, covered) in [("503", true), ("\"502-504\"", true), ("[500, 503]", false)] {
        let found = findings(&text(second));
        let named = found.iter().any(|finding| {
            finding.key == "service.s.error-page[1].status"
                && finding.message.contains("never used")
        });
        assert_eq!(named, covered, "{second}: {found:?}");
    }
}
