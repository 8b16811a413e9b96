//! The settings of one proxy. Inherited lines of `defaults` come first, and later lines replace earlier ones.

use std::collections::{BTreeMap, HashSet};

use crate::duration::{self, TimeSetting};
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;

use super::directives;
use super::lex::ConfigLine;
use super::section::{HaproxySection, SectionKind};

/// A line with `server` or `server-template`.
#[derive(Clone, Debug)]
pub struct ServerLine {
    pub line: ConfigLine,
    /// The lines of `default-server` before it.
    pub defaults: Vec<ConfigLine>,
}

impl ServerLine {
    /// The `resolvers` sections that the server refers to.
    pub fn resolvers(&self) -> impl Iterator<Item = &str> {
        let lines = self.defaults.iter().chain([&self.line]);
        let pairs = lines.flat_map(|line| line.all_words().windows(2));
        pairs.filter(|pair| pair[0] == "resolvers").map(|pair| pair[1].as_str())
    }
}

/// The backend of requests that no rule takes: a `default_backend`, or the `listen` section itself.
pub struct DefaultBackend {
    pub name: String,
    pub source: SourcePlace,
}

/// Settings of a frontend, a backend or both.
#[derive(Clone, Debug, Default)]
pub struct ProxySettings {
    pub http: bool,
    /// Set if the mode is neither http nor tcp.
    pub unsupported_mode: Option<ConfigLine>,
    pub disabled: Option<ConfigLine>,
    /// Timeouts by name.
    pub timeouts: BTreeMap<String, TimeSetting>,
    /// Enabled options, by name.
    pub options: BTreeMap<String, ConfigLine>,
    /// `maxconn`, `retries`, `balance`, `cookie`, `source`, `default_backend`, `monitor-uri`, `stick-table`, …
    pub single: BTreeMap<&'static str, ConfigLine>,
    pub binds: Vec<ConfigLine>,
    pub acls: Vec<ConfigLine>,
    /// `http-request`, `tcp-request`, `redirect`, `http-response`, `block` and the like, in file order.
    pub rules: Vec<ConfigLine>,
    pub use_backends: Vec<ConfigLine>,
    pub servers: Vec<ServerLine>,
    pub sticks: Vec<ConfigLine>,
    /// `monitor fail`: when the answer to `monitor-uri` says that nothing can be served.
    pub monitor_failures: Vec<ConfigLine>,
    pub checks: Vec<ConfigLine>,
    /// Lines with pages for errors.
    pub error_pages: Vec<ConfigLine>,
    /// `stats`, each of which switches the page with statistics on.
    pub statistics: Vec<ConfigLine>,
    /// `http-send-name-header`.
    pub server_name_field: Option<ConfigLine>,
}

/// Directives of which only the last one applies.
const SINGLE: [&str; 12] = [
    "maxconn",
    "retries",
    "balance",
    "cookie",
    "source",
    "default_backend",
    "monitor-uri",
    "stick-table",
    "backlog",
    "hash-balance-factor",
    "appsession",
    "retry-on",
];

/// Directives whose words stand in rules of their own.
const RULES: [&str; 8] = [
    "use-server",
    "http-request",
    "tcp-request",
    "redirect",
    "http-response",
    "http-after-response",
    "tcp-response",
    "block",
];

/// Directives with pages for errors.
const ERROR_PAGES: [&str; 6] =
    ["errorfile", "errorfiles", "errorloc", "errorloc302", "errorloc303", "http-error"];

/// Options that are converted. Other options are reported.
const OPTIONS: [&str; 13] = [
    "forwardfor",
    "http-restrict-req-hdr-names",
    "httpchk",
    "tcp-check",
    "ssl-hello-chk",
    "redis-check",
    "mysql-check",
    "pgsql-check",
    "smtpchk",
    "ldap-check",
    "allbackups",
    "httplog",
    "tcplog",
];

/// The reason in the note about a line that a later line replaces.
const REPLACED: &str = "a later line takes its place";
/// Reports a line that a later line replaces.
fn note_replaced(replaced: Option<ConfigLine>, by: &ConfigLine, notes: &mut ConversionNotes) {
    if let Some(old) = replaced.filter(|old| old.source != by.source) {
        notes.not_needed(old.source, &old.text(), REPLACED);
    }
}

impl ProxySettings {
    /// Reads a proxy's lines.
    pub fn read(section: &HaproxySection, notes: &mut ConversionNotes) -> ProxySettings {
        let mut out = ProxySettings::default();
        let mut defaults: Vec<ConfigLine> = Vec::new();
        let overridden: HashSet<(&str, &str)> =
            section.lines.iter().map(|line| (line.word(0), line.word(1))).collect();
        for line in section.defaults.iter() {
            // The proxy's own line replaces this one, so the inherited line needs no note.
            let own = (line.word(0), line.word(1));
            if overridden.contains(&own) && line.word(0) == "timeout" {
                notes.not_needed(line.source, &line.text(), REPLACED);
                continue;
            }
            out.line(line, &mut defaults, notes);
        }
        for line in &section.lines {
            out.line(line, &mut defaults, notes);
        }
        out
    }

    fn line(
        &mut self,
        line: &ConfigLine,
        defaults: &mut Vec<ConfigLine>,
        notes: &mut ConversionNotes,
    ) {
        let word = line.word(0);
        let first = line.word(1);
        match word {
            "mode" => {
                line.mark_converted();
                self.http = first == "http";
                self.unsupported_mode = (!matches!(first, "http" | "tcp")).then(|| line.clone());
            }
            "disabled" => {
                note_replaced(self.disabled.replace(line.clone()), line, notes);
            }
            "enabled" => {
                note_replaced(self.disabled.take(), line, notes);
                notes.not_needed(line.source, &line.text(), "it is the default");
            }
            "timeout" | "clitimeout" | "srvtimeout" | "contimeout" => self.timeout(line, notes),
            "option" if OPTIONS.contains(&first) => {
                let replaced = self.options.insert(first.to_owned(), line.clone());
                note_replaced(replaced, line, notes);
                if first == "httplog" || first == "tcplog" {
                    directives::note_directive(word, line, notes);
                }
            }
            "no" if line.word(1) == "option" => {
                line.mark_converted();
                note_replaced(self.options.remove(line.word(2)), line, notes);
            }
            "bind" => self.binds.push(line.clone()),
            "acl" => self.acls.push(line.clone()),
            "use_backend" => self.use_backends.push(line.clone()),
            "server" | "server-template" => {
                self.servers.push(ServerLine { line: line.clone(), defaults: defaults.clone() })
            }
            "default-server" => {
                notes.converted(line.source);
                defaults.push(line.clone());
            }
            "compression" if matches!(first, "algo" | "algo-res" | "type" | "type-res") => {
                let is_type = first.starts_with("type");
                let key = if is_type { "compression type" } else { "compression algo" };
                let replaced = self.single.insert(key, line.clone());
                note_replaced(replaced, line, notes);
            }
            _ if ERROR_PAGES.contains(&word) => self.error_pages.push(line.clone()),
            "stats" | "http-send-name-header" => {
                match word {
                    "stats" => self.statistics.push(line.clone()),
                    _ => self.server_name_field = Some(line.clone()),
                }
                directives::note_directive(word, line, notes);
            }
            "stick" => self.sticks.push(line.clone()),
            "monitor" if first == "fail" => self.monitor_failures.push(line.clone()),
            "http-check" | "tcp-check" => self.checks.push(line.clone()),
            _ if RULES.contains(&word) => self.rules.push(line.clone()),
            _ => match SINGLE.iter().find(|single| **single == word) {
                Some(single) => {
                    let replaced = self.single.insert(single, line.clone());
                    note_replaced(replaced, line, notes);
                }
                None => directives::note_directive(word, line, notes),
            },
        }
    }

    fn timeout(&mut self, line: &ConfigLine, notes: &mut ConversionNotes) {
        let (name, value) = match line.word(0) {
            "timeout" => (line.word(1), line.word(2)),
            "clitimeout" => ("client", line.word(1)),
            "srvtimeout" => ("server", line.word(1)),
            _ => ("connect", line.word(1)),
        };
        match (name, duration::parse_duration(value, 1)) {
            (
                "connect" | "client" | "server" | "http-request" | "http-keep-alive" | "queue"
                | "tunnel" | "check",
                Some(ms),
            ) => {
                let time = TimeSetting { ms, source: line.source };
                let replaced = self.timeouts.insert(name.to_owned(), time);
                if let Some(old) = replaced.filter(|old| old.source != line.source) {
                    notes.not_needed(old.source, &line.text(), REPLACED);
                }
            }
            ("client-fin" | "server-fin" | "tarpit" | "client-hs", Some(_)) => {
                let reason =
                    "connections that are being closed, and handshakes, have limits of their own";
                notes.changed(
                    line.source,
                    &line.text(),
                    reason,
                    "`tls.handshake`, `timeout.tunnel`",
                );
            }
            (_, Some(_)) => notes.left_out(line.source, &line.text(), "there is no such time", ""),
            (_, None) => {
                notes.left_out(line.source, &line.text(), "not a time", "a number with its unit")
            }
        }
    }

    /// A timeout by its name.
    pub fn time(&self, name: &str) -> Option<TimeSetting> {
        self.timeouts.get(name).copied()
    }

    /// The first of these timeouts that is written, at most `longest`. That is also the value where none is written, or
    /// where it is 0: HAProxy waits without an end then.
    pub fn time_or(&self, names: &[&str], longest: u64) -> TimeSetting {
        let written = names.iter().find_map(|name| self.time(name));
        let otherwise = TimeSetting { ms: longest, source: SourcePlace::NONE };
        let TimeSetting { ms, source } = written.unwrap_or(otherwise);
        TimeSetting { ms: if ms == 0 { longest } else { ms.min(longest) }, source }
    }

    /// The backend of requests that no rule of this section takes.
    pub fn default_backend(&self, section: &HaproxySection) -> Option<DefaultBackend> {
        let named = self.single.get("default_backend");
        let own = (section.kind == SectionKind::Listen && !self.servers.is_empty())
            .then(|| DefaultBackend { name: section.name.clone(), source: section.source });
        named
            .map(|line| DefaultBackend { name: line.word(1).to_owned(), source: line.source })
            .or(own)
    }

    /// Whether requests are logged.
    pub fn logs_requests(&self) -> bool {
        self.options.contains_key("httplog") || self.options.contains_key("tcplog")
    }
}
