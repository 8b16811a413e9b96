//! The access log: what its keys refuse, and that the page lists every variable.

use std::collections::BTreeSet;

use model::config::{AccessLogField, LogVariable};

use super::mistakes::{MistakeRow, check_rows, near, row};
use super::support::{BASE, good, repository};

const FIELDS: &str = "global.access-log.fields";
const SECRETS: &str = "has secrets of clients";

const ROWS: &[MistakeRow] = &[
    near("[global]\naccess-log = { fields = [\"statsu\"] }\n", FIELDS, "", "\"status\""),
    row("[global]\naccess-log = { fields = [\"header.Authorization\"] }\n", FIELDS, SECRETS),
    row("[global]\naccess-log = { fields = [\"header.Proxy_Authorization\"] }\n", FIELDS, SECRETS),
    row("[global]\naccess-log = { fields = [\"header.cookie\"] }\n", FIELDS, SECRETS),
    row("[global]\naccess-log = { fields = [\"header.set-cookie\"] }\n", FIELDS, SECRETS),
    row(
        "[global]\naccess-log = { fields = [\"header.X_Partner-Key\"] }\n\
         [auth.partners]\nkind = \"api-key\"\nfile = \"/a\"\nheader = \"X-Partner-Key\"\n",
        FIELDS,
        "`header.X_Partner-Key` has what clients show `[auth.partners]`",
    ),
    row(
        "[global]\naccess-log = { fields = [\"default\", \"cookie.session\"] }\n\
         [auth.people]\nkind = \"jwt\"\nfile = \"/a\"\nissuer = \"a\"\ncookie = \"session\"\n",
        FIELDS,
        "`cookie.session` has what clients show `[auth.people]`",
    ),
    row(
        "[global]\naccess-log = { fields = [\"user-agent\", \"header.x-device\"] }\n\
         [auth.sso]\nkind = \"request\"\npool = \"web\"\nrequest-headers = [\"User-Agent\", \"X-Device\"]\n",
        FIELDS,
        "`header.x-device` has what clients show `[auth.sso]`",
    ),
    row("[global]\naccess-log = { fields = [\"cookie.a b\"] }\n", FIELDS, ""),
    row("[global]\naccess-log = { fields = [\"host\", \"host\"] }\n", FIELDS, "twice"),
    row("[global]\naccess-log = { fields = [\"header.A\", \"header.a\"] }\n", FIELDS, "twice"),
    row(
        "[global]\naccess-log = { fields = [\"default\", \"status\"] }\n",
        FIELDS,
        "stands in `default` already",
    ),
    row(
        "[global]\naccess-log = { format = \"common\", fields = [\"status\"] }\n",
        FIELDS,
        "a form of their own",
    ),
    row(
        "[global]\naccess-log = { format = \"combined\", fields = [\"status\"] }\n",
        FIELDS,
        "a form of their own",
    ),
    row(
        "[global]\naccess-log = { format = \"cef\", fields = [\"status\"] }\n",
        FIELDS,
        "a form of their own",
    ),
];

const TARGET: &str = "global.access-log.target";
const SHORT: &str = "global.access-log";

const TARGETS: &[MistakeRow] = &[
    row("[global]\naccess-log = \"syslog://logs.example:514\"\n", SHORT, "not a text that fits"),
    row("[global]\naccess-log = \"syslog://192.0.2.9\"\n", SHORT, "not a text that fits"),
    row("[global]\naccess-log = { target = \"syslog+tls://logs.example:6514\" }\n", TARGET, ""),
    row(
        "[global]\naccess-log = { target = \"syslog+tcp://192.0.2.9:601\", tls = { ca = \"/etc/ca.pem\" } }\n",
        "global.access-log.tls",
        "no server over TLS",
    ),
];

#[test]
fn mistakes_in_syslog_servers_are_named() {
    check_rows(TARGETS);
}

const SAMPLE: &str = "global.access-log.sample";

const SAMPLES: &[MistakeRow] = &[
    row("[global]\naccess-log = { sample = \"0%\" }\n", SAMPLE, ""),
    row("[global]\naccess-log = { sample = \"100%\" }\n", SAMPLE, ""),
    row("[global]\naccess-log = { sample = \"1%\", all = true }\n", SAMPLE, "logs every exchange"),
    row(
        "[global]\naccess-log = { sample = \"1%\", format = \"combined\" }\n",
        SAMPLE,
        "no place for a weight",
    ),
    row(
        "[global]\naccess-log = { sample = \"1%\", fields = [\"status\"] }\n",
        SAMPLE,
        "need their weight",
    ),
];

#[test]
fn mistakes_in_samples_are_named() {
    check_rows(SAMPLES);
}

#[test]
fn mistakes_in_fields_of_the_log_are_named() {
    check_rows(ROWS);
}

#[test]
fn fields_keep_their_order_and_their_names() {
    let own = "[global]\naccess-log = { fields = [\"sni\", \"default\", \"host\"] }\n";
    let config = good(&format!("{own}{BASE}")).config;
    let own = "[global]\naccess-log = { fields = [\"status\", \"header.X-A\", \"cookie.b\"] }\n";
    let other = good(&format!("{own}{BASE}")).config;
    let names = |config: &model::config::Config| {
        let fields = &config.global.access_log.fields;
        fields.iter().map(AccessLogField::name).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(names(&config), ["sni", "default", "host"]);
    assert_eq!(names(&other), ["status", "header.X-A", "cookie.b"]);
}

/// The rows of the table, by the names in their first column.
#[test]
fn the_page_lists_each_variable_and_no_other_and_says_whether_it_is_in_default() {
    let page = std::fs::read_to_string(repository("docs/access-log.md")).unwrap();
    let (_, table) = page.split_once("| name | value | in `default` |\n|---|---|---|\n").unwrap();
    let mut listed = BTreeSet::new();
    for line in table.lines().take_while(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        for name in cells[1].split(", ").map(|name| name.trim_matches('`')) {
            let Some(variable) = LogVariable::from_name(name) else {
                assert!(["header.NAME", "cookie.NAME"].contains(&name), "{line}");
                continue;
            };
            assert_eq!(cells[3] != "no", variable.is_default(), "{line}");
            assert!(listed.insert(name.to_owned()), "{name} twice");
        }
    }
    let all: BTreeSet<String> = LogVariable::ALL.iter().map(|it| it.name().to_owned()).collect();
    assert_eq!(listed, all);
}
