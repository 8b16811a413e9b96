//! Describes the changes of a rule to a request and its response.

use crate::config::schema::{
    DefaultValue, KeySchema, TableSchema, TableShorthand, TextFormat, ValueKind,
};
use crate::config::value::ConfigValue;

/// Elements of each list in one file.
const MAX_ENTRIES: usize = 100_000;

pub static TABLE: TableSchema = TableSchema {
    description: "a rewrite",
    exclusive_groups: &[&["path"], &["strip", "prefix"]],
    keys: &[
        KeySchema::new(
            "path",
            ValueKind::Text { form: TextFormat::Template, unset: None },
            DefaultValue::Absent,
            "The new path; the query stays. As in `redirect.to`.",
        ),
        KeySchema::new(
            "strip",
            ValueKind::Text { form: TextFormat::RequestPath, unset: None },
            DefaultValue::Absent,
            "Taken off the beginning of the path. Letter case counts as in the service's `path-case`.",
        ),
        KeySchema::new(
            "prefix",
            ValueKind::Text { form: TextFormat::RequestPath, unset: None },
            DefaultValue::Absent,
            "Put before the path.",
        ),
        HOST,
        SET,
        ADD,
        REMOVE,
        ANSWER_SET,
        ANSWER_REMOVE,
        RESPONSE_ADD,
        pairs_key(
            "location",
            &LOCATION,
            "Beginnings of Location and Refresh in answers, and what is put in their place; the first that fits.",
        ),
        pairs_key(
            "cookie-domain",
            &COOKIE_ATTRIBUTE,
            "Domains of cookies that the server sets, and those that the client gets; the first that fits.",
        ),
        pairs_key(
            "cookie-path",
            &COOKIE_ATTRIBUTE,
            "Beginnings of the paths of cookies that the server sets, and what is put in their place; the first that fits.",
        ),
    ],
};

/// The part of a rewrite that changes fields.
pub static FIELDS_TABLE: TableSchema = TableSchema {
    description: "changed fields",
    exclusive_groups: &[],
    keys: &[HOST, SET, ADD, REMOVE, ANSWER_SET, ANSWER_REMOVE, RESPONSE_ADD],
};

const HOST: KeySchema = KeySchema::new(
    "host",
    ValueKind::Text { form: TextFormat::HostTemplate, unset: None },
    DefaultValue::Absent,
    "The Host that the server gets. It may have the variables of `set`; when it comes out empty, the client's Host stays.",
);

const SET: KeySchema = templates_key(
    "set",
    "Fields of the request that are put in the place of those of the same name. Values may have variables: \
     `{client}`, `{client-port}`, `{client-chain}` (what came as X-Forwarded-For, and the client's address), `{scheme}`, \
     `{host}` (with its port), `{host-name}`, `{port}` (that the client reached), `{sni}` and `{header.NAME}`; `{{` is a \
     brace. A field whose variables leave it empty is not sent.",
);

const ADD: KeySchema =
    templates_key("add", "Fields that are added to the request, with variables as in `set`.");

const REMOVE: KeySchema = names_key("remove", "Names of fields that are taken out of the request.");

const ANSWER_SET: KeySchema = fields_key(
    "response-set",
    "Fields of the answer that are put in the place of those of the same name.",
)
.formerly(&["answer-set"]);

const ANSWER_REMOVE: KeySchema = names_key(
    "response-remove",
    "Names of fields that are taken out of the answer, and of interim ones before it.",
)
.formerly(&["answer-remove"]);

const RESPONSE_ADD: KeySchema = KeySchema::new(
    "response-add",
    ValueKind::List { table: &ADDED_FIELD, short: TableShorthand::Key("field"), most: MAX_ENTRIES },
    DefaultValue::Absent,
    "Fields that are added to the answer, beside those of the server. Short form: the field.",
);

static ADDED_FIELD: TableSchema = TableSchema {
    description: "an added field",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "field",
            ValueKind::Text { form: TextFormat::FieldTemplate, unset: None },
            DefaultValue::Required,
            "The field, with variables as in `set`.",
        ),
        KeySchema::new(
            "statuses",
            ValueKind::Status,
            DefaultValue::Derived("every status"),
            "Statuses of the answers that get it.",
        ),
        KeySchema::new(
            "own",
            ValueKind::Flag,
            DefaultValue::Literal(ConfigValue::Flag(false)),
            "Answers of the balancer itself get it too: errors, refusals, and those of the rule.",
        ),
    ],
};

static LOCATION: TableSchema = TableSchema {
    description: "a rewritten location",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "from",
            ValueKind::Text { form: TextFormat::VisibleText, unset: None },
            DefaultValue::Required,
            "A beginning: a URL with its host, or a path.",
        ),
        KeySchema::new(
            "to",
            ValueKind::Text { form: TextFormat::LocationTarget, unset: None },
            DefaultValue::Required,
            "What is put in its place, with variables as in `set`.",
        ),
    ],
};

static COOKIE_ATTRIBUTE: TableSchema = TableSchema {
    description: "a rewritten attribute",
    exclusive_groups: &[],
    keys: &[
        KeySchema::new(
            "from",
            ValueKind::Text { form: TextFormat::CookieAttribute, unset: None },
            DefaultValue::Required,
            "The whole domain, or the beginning of a path; `\"*\"` fits any.",
        ),
        KeySchema::new(
            "to",
            ValueKind::Text { form: TextFormat::CookieAttribute, unset: None },
            DefaultValue::Required,
            "What is put in its place; `\"\"` drops the attribute.",
        ),
    ],
};

const fn pairs_key(
    name: &'static str,
    table: &'static TableSchema,
    doc: &'static str,
) -> KeySchema {
    let kind = ValueKind::List { table, short: TableShorthand::None, most: MAX_ENTRIES };
    KeySchema::new(name, kind, DefaultValue::Absent, doc)
}

const fn templates_key(name: &'static str, doc: &'static str) -> KeySchema {
    let kind = ValueKind::Lines { form: TextFormat::FieldTemplate, most: 32 };
    KeySchema::new(name, kind, DefaultValue::Literal(ConfigValue::Texts(Vec::new())), doc)
}

const fn fields_key(name: &'static str, doc: &'static str) -> KeySchema {
    let kind = ValueKind::Lines { form: TextFormat::Field, most: 32 };
    KeySchema::new(name, kind, DefaultValue::Literal(ConfigValue::Texts(Vec::new())), doc)
}

const fn names_key(name: &'static str, doc: &'static str) -> KeySchema {
    let kind = ValueKind::Lines { form: TextFormat::FieldName, most: 32 };
    KeySchema::new(name, kind, DefaultValue::Literal(ConfigValue::Texts(Vec::new())), doc)
}
