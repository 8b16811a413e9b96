//! Sections beside global, defaults and proxies: what becomes of each of their lines, with its consequence.
//!
//! Sections that other lines refer to are read elsewhere: `http-errors`, `resolvers` and `crt-store`.

use crate::note_kind::NoteKind;
use crate::notes::ConversionNotes;

use super::lex::ConfigLine;
use super::section::HaproxySection;

/// The outcome of lines of a section.
struct SideLine {
    section: &'static str,
    /// The first words of the lines. The first row of a section is for the line that begins it.
    words: &'static [&'static str],
    outcome: NoteKind,
    reason: &'static str,
    instead: &'static str,
}

const fn row(
    section: &'static str,
    words: &'static [&'static str],
    outcome: NoteKind,
    reason: &'static str,
    instead: &'static str,
) -> SideLine {
    SideLine { section, words, outcome, reason, instead }
}

use NoteKind::{Changed, LeftOut, NotNeeded};

const ROWS: &[SideLine] = &[
    row(
        "userlist",
        &["userlist"],
        LeftOut,
        "passwords are not asked for: what only these users may see is refused to everybody",
        "authenticate at the servers, or `tls.client`",
    ),
    row(
        "userlist",
        &["user"],
        LeftOut,
        "nobody can log in under this name",
        "authenticate at the servers, or `tls.client`",
    ),
    row(
        "userlist",
        &["group"],
        LeftOut,
        "rules that ask for this group refuse everybody",
        "authenticate at the servers, or `tls.client`",
    ),
    row(
        "peers",
        &["peers"],
        LeftOut,
        "tables of clients stay on one machine: after a failover clients may reach another server",
        "our own cookies need no table: `sticky = { by = \"cookie\", … }`",
    ),
    row(
        "peers",
        &["peer", "server"],
        LeftOut,
        "no table is sent to this machine",
        "`sticky = { by = \"cookie\", … }`",
    ),
    row(
        "peers",
        &["bind", "default-bind", "default-server"],
        LeftOut,
        "other machines neither connect here for tables of clients nor are connected to",
        "",
    ),
    row(
        "peers",
        &["table"],
        LeftOut,
        "clients are not counted in a table that rules ask",
        "a rule with `limit = { rate = …, by = \"address\" }`",
    ),
    row("peers", &["log"], Changed, LOGGED, LOG_INSTEAD),
    row(
        "peers",
        &["shards", "disabled", "disable", "enabled", "enable"],
        NotNeeded,
        "no table is sent, so that there is nothing to share out or to switch off",
        "",
    ),
    row(
        "cache",
        &["cache"],
        LeftOut,
        "answers are not cached: servers get every request",
        "a cache behind or before the balancer",
    ),
    row(
        "cache",
        &["total-max-size", "max-object-size", "max-age", "max-secondary-entries", "process-vary"],
        NotNeeded,
        "it limits what is cached, and nothing is",
        "",
    ),
    row("cache", &["early-hints"], LeftOut, "no early hints are sent", "send 103 from the servers"),
    row(
        "mailers",
        &["mailers"],
        LeftOut,
        "no mail is sent when servers change",
        "`[[global.hook]]`",
    ),
    row(
        "mailers",
        &["mailer"],
        LeftOut,
        "nothing is sent to this mail server",
        "`[[global.hook]]`",
    ),
    row("mailers", &["timeout"], NotNeeded, "no mail is sent that could take so long", ""),
    row(
        "program",
        &["program"],
        LeftOut,
        "the balancer starts no other program",
        "a unit of the service manager",
    ),
    row(
        "program",
        &["command"],
        LeftOut,
        "this program is not started",
        "a unit of the service manager",
    ),
    row(
        "program",
        &["user", "group", "option", "no"],
        NotNeeded,
        "it says how the program is started, and it is not",
        "",
    ),
    row(
        "ring",
        &["ring"],
        LeftOut,
        "log lines are not kept in memory; they go to standard error",
        LOG_INSTEAD,
    ),
    row(
        "ring",
        &["server"],
        LeftOut,
        "log lines are not sent to this server",
        "let the journal, or what reads standard error, send them",
    ),
    row("ring", &["format"], Changed, LOGGED, LOG_INSTEAD),
    row(
        "ring",
        &["description", "maxlen", "size", "backing-file", "timeout"],
        NotNeeded,
        "no log lines are kept for later",
        "",
    ),
    row(
        "fcgi-app",
        &["fcgi-app"],
        LeftOut,
        "FastCGI is not spoken: servers that are spoken to so are left out",
        "a web server before them that speaks FastCGI",
    ),
    row(
        "fcgi-app",
        &["acl", "docroot", "index", "path-info", "set-param", "pass-header"],
        LeftOut,
        "no script gets it",
        "a web server before them that speaks FastCGI",
    ),
    row(
        "fcgi-app",
        &["option", "no", "log-stderr"],
        NotNeeded,
        "it concerns connections of FastCGI, and there are none",
        "",
    ),
    row(
        "log-forward",
        &["log-forward"],
        LeftOut,
        "log lines of other machines are not taken in",
        "a syslog daemon",
    ),
    row(
        "log-forward",
        &["bind", "dgram-bind"],
        LeftOut,
        "nothing listens for log lines here",
        "a syslog daemon",
    ),
    row("log-forward", &["log"], LeftOut, "log lines are not sent on to it", "a syslog daemon"),
    row(
        "log-forward",
        &["maxconn", "backlog", "timeout", "option", "no"],
        NotNeeded,
        "it concerns a listener for log lines, and there is none",
        "",
    ),
    row("log-profile", &["log-profile", "log-tag", "on"], Changed, LOGGED, LOG_INSTEAD),
    row(
        "traces",
        &["traces", "trace"],
        NotNeeded,
        "it is for those who look for faults in HAProxy's own code",
        "",
    ),
    row(
        "acme",
        &["acme"],
        LeftOut,
        "certificates are not ordered by it: listeners that have no other are not opened",
        "`tls.acme` of the service",
    ),
    row("acme", &["directory"], LeftOut, NOT_ORDERED, "`tls.acme.directory` of the service"),
    row("acme", &["contact"], LeftOut, NOT_ORDERED, "`tls.acme.contact` of the service"),
    row("acme", &["challenge"], LeftOut, NOT_ORDERED, "`tls.acme.challenge` of the service"),
    row(
        "acme",
        &[
            "account-key",
            "keytype",
            "bits",
            "curves",
            "map",
            "reuse-key",
            "profile",
            "acme-vars",
            "provider-name",
            "challenge-ready",
            "dns-delay",
            "dns-timeout",
            "eab-key-id",
            "eab-mac-key",
            "eab-mac-alg",
        ],
        LeftOut,
        NOT_ORDERED,
        "",
    ),
    row(
        "healthcheck",
        &["healthcheck", "type", "http-check", "tcp-check"],
        LeftOut,
        "a check apart from its backend is not read: servers that name it are checked as their backend says",
        "`probe` of the pool",
    ),
];

const LOGGED: &str = "the access log has its own form and goes to standard error";
const NOT_ORDERED: &str = "no certificate is ordered, so that it has no effect";
const LOG_INSTEAD: &str = "`[global] access-log`";

/// Reports each line of a section.
pub fn note_section(section: &HaproxySection, notes: &mut ConversionNotes) {
    note_line(section.header.word(0), &section.header, notes);
    for line in &section.lines {
        note_line(section.header.word(0), line, notes);
    }
}

fn note_line(section: &str, line: &ConfigLine, notes: &mut ConversionNotes) {
    let word = line.word(0);
    // Passwords stay out of the report.
    let text = match (section, word) {
        ("userlist", "user") => format!("user {}", line.word(1)),
        _ => line.text(),
    };
    let source = line.source.whole();
    let row = ROWS.iter().find(|row| row.section == section && row.words.contains(&word));
    match row {
        Some(row) if row.outcome == NotNeeded => notes.not_needed(source, &text, row.reason),
        Some(row) if row.outcome == Changed => {
            notes.changed(source, &text, row.reason, row.instead)
        }
        Some(row) => notes.left_out(source, &text, row.reason, row.instead),
        None => {
            let reason = format!("nothing is known of `{word}` in a section `{section}`");
            notes.left_out(source, &text, &reason, "");
        }
    }
}
