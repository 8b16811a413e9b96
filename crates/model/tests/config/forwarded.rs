//! Mistakes in what servers are told of a client, and in names of fields.

use super::mistakes::{MistakeRow, check_rows, near, row, service};

const ROWS: &[MistakeRow] = &[
    row(
        service!("forwarded = { client-field = \"X-Forwarded-For\" }\n"),
        "service.s.forwarded.client-field.name",
        "writes `X-Forwarded-For` as well",
    ),
    row(
        service!(
            "forwarded = { x-forwarded = \"pass\", client-field = { name = \"x_forwarded-proto\" } }\n"
        ),
        "service.s.forwarded.client-field.name",
        "no field for a client's address",
    ),
    row(
        service!("forwarded = { client-field = { name = \"a: b\" } }\n"),
        "service.s.forwarded.client-field.name",
        "not a text",
    ),
    row(
        service!("forwarded = { client-field = { name = \"a\", except = \"nowhere\" } }\n"),
        "service.s.forwarded.client-field.except",
        "",
    ),
    near(
        service!("forwarded = { client-field = { name = \"a\", mode = \"lists\" } }\n"),
        "service.s.forwarded.client-field.mode",
        "not a word",
        "\"list\"",
    ),
    row(
        service!("trust = \"10.0.0.0/8\"\nclient-from = \"Cookie\"\n"),
        "service.s.client-from",
        "no field for a client's address",
    ),
    row(service!("client-from = \"a b\"\n"), "service.s.client-from", ""),
    row(service!("request-id = { header = \"a b\" }\n"), "service.s.request-id.header", ""),
    row(service!("request-id = { header = \"Host\" }\n"), "service.s.request-id.header", ""),
    row(
        service!("request-id = { header = \"X_Forwarded_For\" }\n"),
        "service.s.request-id.header",
        "no field for an id",
    ),
    row(
        service!("request-id = \"traceparent\"\n"),
        "service.s.request-id.header",
        "no field for an id",
    ),
    row(
        service!("request-id = \"X-Id\"\nforwarded = { client-field = \"x_id\" }\n"),
        "service.s.request-id.header",
        "writes `X-Id` as well",
    ),
    row(
        service!(
            "request-id = \"X_Api-Key\"\nauth = \"a\"\n[auth.a]\nkind = \"api-key\"\nfile = \"/a\"\n"
        ),
        "service.s.request-id.header",
        "`X_Api-Key` has what clients show `[auth.a]`",
    ),
    row(
        service!(
            "request-id = \"X-User\"\nauth = \"a\"\n\
             [auth.a]\nkind = \"basic\"\nfile = \"/a\"\nuser-field = \"X-User\"\n"
        ),
        "service.s.request-id.header",
        "`[auth.a]` writes `X-User` as well",
    ),
    row(
        service!("request-id = \"Proxy-Authorization\"\n"),
        "service.s.request-id.header",
        "no field for an id",
    ),
    near(service!("field-names = \"drops\"\n"), "service.s.field-names", "not a word", "\"drop\""),
];

#[test]
fn mistakes_in_fields_of_clients_are_named() {
    check_rows(ROWS);
}
