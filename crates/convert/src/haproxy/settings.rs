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
    pub checks: Vec<ConfigLine>,
    /// Lines with pages for errors.
    pub error_pages: Vec<ConfigLine>,
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
const RULES: [&str; 7] = [
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
const OPTIONS: [&str; 12] = [
    "forwardfor",
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
/// Settings that apply only in HTTP mode, by their first or second word.
const OF_REQUESTS: [&str; 10] = [
    "http-request",
    "http-keep-alive",
    "forwardfor",
    "httpchk",
    "cookie",
    "appsession",
    "monitor-uri",
    "compression algo",
    "compression type",
    "retry-on",
];
/// Settings of health checks.
const OF_CHECKS: [&str; 9] = [
    "check",
    "httpchk",
    "tcp-check",
    "ssl-hello-chk",
    "redis-check",
    "mysql-check",
    "pgsql-check",
    "smtpchk",
    "ldap-check",
];
/// Settings of a frontend. They have no effect without listeners.
const OF_CLIENTS: [&str; 8] = [
    "maxconn",
    "client",
    "http-request",
    "http-keep-alive",
    "tunnel",
    "default_backend",
    "backlog",
    "monitor-uri",
];
/// Settings of a backend. They have no effect without servers.
const OF_SERVERS: [&str; 19] = [
    "cookie",
    "appsession",
    "retry-on",
    "connect",
    "server",
    "queue",
    "check",
    "balance",
    "retries",
    "source",
    "hash-balance-factor",
    "tcp-check",
    "ssl-hello-chk",
    "redis-check",
    "mysql-check",
    "pgsql-check",
    "smtpchk",
    "ldap-check",
    "allbackups",
];

/// Reports a line that a later line replaces.
fn note_replaced(replaced: Option<ConfigLine>, by: &ConfigLine, notes: &mut ConversionNotes) {
    if let Some(old) = replaced.filter(|old| old.source != by.source) {
        notes.not_needed(old.source, &old.text(), REPLACED);
    }
}

impl ProxySettings {
    /// Reports settings without effect on this proxy, after all proxies are written. `is_reached`: a listener leads to
    /// this proxy.
    pub fn note_unused(&self, kind: SectionKind, is_reached: bool, notes: &mut ConversionNotes) {
        let serves = kind != SectionKind::Frontend && !self.servers.is_empty();
        let listens = kind != SectionKind::Backend && !self.binds.is_empty();
        for line in self.use_backends.iter().filter(|line| !listens && !line.is_settled()) {
            let reason = "what listens nowhere leads to no backend";
            notes.left_out(line.source, &line.text(), reason, "a rule of the service");
        }
        for line in self.rules.iter().filter(|line| !is_reached && !line.is_settled()) {
            notes.not_needed(line.source, &line.text(), "no listener leads to this backend");
        }
        let single = self.single.iter().map(|(name, line)| (*name, line.source, line.text()));
        let options =
            self.options.iter().map(|(name, line)| (name.as_str(), line.source, line.text()));
        let times = self
            .timeouts
            .iter()
            .map(|(name, time)| (name.as_str(), time.source, format!("timeout {name}")));
        let all: Vec<(&str, SourcePlace, String)> = single.chain(options).chain(times).collect();
        for (name, source, text) in all {
            if notes.ledger.is_settled(source) {
                continue;
            }
            if !self.http && OF_REQUESTS.contains(&name) {
                notes.not_needed(source, &text, "this proxy forwards bytes and sees no requests");
            } else if !self.checks_servers() && OF_CHECKS.contains(&name) {
                notes.not_needed(source, &text, "no server of it is checked");
            } else if !self.http && name == "server" && !is_reached {
                notes.not_needed(source, &text, "no listener leads to this backend");
            } else if !self.http && name == "server" && serves {
                let reason = "connections of a service have one time, which its first backend says";
                notes.left_out(source, &text, reason, "a service of its own");
            } else if name == "hash-balance-factor" || name == "allbackups" {
                notes.not_needed(source, &text, "nothing here is chosen by hashes or has backups");
            } else if !serves && !listens {
                notes.not_needed(source, &text, "this proxy has neither listeners nor servers");
            } else if !serves && OF_SERVERS.contains(&name) {
                notes.not_needed(source, &text, "this proxy has no servers");
            } else if OF_CLIENTS.contains(&name) && !listens {
                notes.not_needed(source, &text, "this proxy has no listeners");
            }
        }
        let table = self.single.get("stick-table").filter(|line| !line.is_settled());
        if let Some(line) = table {
            let reason = "counters of clients are not tables of their own";
            let instead = "a rule with `limit = { rate = …, by = \"address\" }`";
            notes.left_out(line.source, &line.text(), reason, instead);
        }
        for line in self.sticks.iter().filter(|line| !line.is_settled()) {
            let reason = "no service here keeps clients by it";
            notes.left_out(line.source, &line.text(), reason, "`sticky` of the service");
        }
        for line in self.checks.iter().filter(|line| !line.is_settled()) {
            notes.not_needed(line.source, &line.text(), "no server of it is checked so");
        }
        for line in self.error_pages.iter().filter(|line| !line.is_settled()) {
            notes.not_needed(line.source, &line.text(), "no service here sends it");
        }
        for line in self.acls.iter().filter(|line| !line.is_settled()) {
            notes.not_needed(line.source, &line.text(), "nothing refers to this criterion");
        }
    }

    /// Whether any server of this proxy has health checks.
    fn checks_servers(&self) -> bool {
        let all = self.servers.iter().flat_map(|one| one.defaults.iter().chain([&one.line]));
        all.into_iter().any(|line| line.has_word("check"))
    }

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
                let replaced = self.disabled.replace(line.clone());
                note_replaced(replaced, line, notes);
            }
            "enabled" => {
                let replaced = self.disabled.take();
                note_replaced(replaced, line, notes);
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
                let removed = self.options.remove(line.word(2));
                note_replaced(removed, line, notes);
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
            "compression" if matches!(first, "algo" | "algo-res") => {
                let replaced = self.single.insert("compression algo", line.clone());
                note_replaced(replaced, line, notes);
            }
            "compression" if matches!(first, "type" | "type-res") => {
                let replaced = self.single.insert("compression type", line.clone());
                note_replaced(replaced, line, notes);
            }
            _ if ERROR_PAGES.contains(&word) => self.error_pages.push(line.clone()),
            "stick" => self.sticks.push(line.clone()),
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
