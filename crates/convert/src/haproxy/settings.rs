//! The settings of one proxy. Inherited lines of `defaults` come first, and later lines replace earlier ones.

use std::collections::{BTreeMap, HashSet};

use crate::duration;
use crate::notes::ConversionNotes;

use super::directives;
use super::lex::ConfigLine;
use super::section::HaproxySection;

/// Settings of a frontend, a backend or both.
#[derive(Clone, Debug, Default)]
pub struct ProxySettings {
    pub http: bool,
    /// Set if the mode is neither http nor tcp.
    pub unsupported_mode: Option<ConfigLine>,
    pub disabled: bool,
    /// Times in milliseconds, by their name.
    pub timeouts: BTreeMap<String, (u64, u32)>,
    /// Switched on, by name.
    pub options: BTreeMap<String, ConfigLine>,
    /// `maxconn`, `retries`, `balance`, `cookie`, `source`, `default_backend`, `monitor-uri`, `stick-table`, …
    pub single: BTreeMap<&'static str, ConfigLine>,
    pub binds: Vec<ConfigLine>,
    pub acls: Vec<ConfigLine>,
    /// `http-request`, `tcp-request`, `redirect`, `http-response`, `block`, in their order.
    pub rules: Vec<ConfigLine>,
    pub use_backends: Vec<ConfigLine>,
    /// `server` and `server-template` lines, each with the preceding `default-server` options.
    pub servers: Vec<(ConfigLine, Vec<String>)>,
    pub sticks: Vec<ConfigLine>,
    pub checks: Vec<ConfigLine>,
}

/// Directives of which the last one counts.
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

impl ProxySettings {
    /// Reads a proxy's lines.
    pub fn read(section: &HaproxySection, notes: &mut ConversionNotes) -> ProxySettings {
        let mut out = ProxySettings::default();
        let mut defaults: Vec<String> = Vec::new();
        let overridden: HashSet<(&str, &str)> =
            section.lines.iter().map(|line| (line.word(0), line.word(1))).collect();
        for line in section.defaults.iter() {
            // The proxy's own line replaces this one, so the inherited line needs no note.
            let own = (line.word(0), line.word(1));
            if overridden.contains(&own) && line.word(0) == "timeout" {
                continue;
            }
            out.line(line, &mut defaults, notes);
        }
        for line in &section.lines {
            out.line(line, &mut defaults, notes);
        }
        out
    }

    fn line(&mut self, line: &ConfigLine, defaults: &mut Vec<String>, notes: &mut ConversionNotes) {
        let word = line.word(0);
        let first = line.word(1);
        match word {
            "mode" => {
                self.http = first == "http";
                self.unsupported_mode = (!matches!(first, "http" | "tcp")).then(|| line.clone());
            }
            "disabled" => self.disabled = true,
            "enabled" => self.disabled = false,
            "timeout" | "clitimeout" | "srvtimeout" | "contimeout" => self.timeout(line, notes),
            "option" if OPTIONS.contains(&first) => {
                self.options.insert(first.to_owned(), line.clone());
                if first == "httplog" || first == "tcplog" {
                    directives::note_directive(word, line, notes);
                }
            }
            "no" if line.word(1) == "option" => {
                self.options.remove(line.word(2));
            }
            "bind" => self.binds.push(line.clone()),
            "acl" => self.acls.push(line.clone()),
            "use_backend" => self.use_backends.push(line.clone()),
            "server" | "server-template" => self.servers.push((line.clone(), defaults.clone())),
            "default-server" => defaults.extend(line.rest(1).iter().cloned()),
            "compression" if matches!(first, "algo" | "algo-res") => {
                self.single.insert("compression algo", line.clone());
            }
            "compression" if matches!(first, "type" | "type-res") => {
                self.single.insert("compression type", line.clone());
            }
            "stick" => self.sticks.push(line.clone()),
            "http-check" | "tcp-check" => self.checks.push(line.clone()),
            "http-request" | "tcp-request" | "redirect" | "http-response" | "block" => {
                self.rules.push(line.clone())
            }
            _ => match SINGLE.iter().find(|single| **single == word) {
                Some(single) => {
                    self.single.insert(single, line.clone());
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
                self.timeouts.insert(name.to_owned(), (ms, line.number));
            }
            ("client-fin" | "server-fin" | "tarpit" | "client-hs", Some(_)) => {
                let reason =
                    "connections that are being closed, and handshakes, have limits of their own";
                notes.changed(
                    line.number,
                    &line.text(),
                    reason,
                    "`tls.handshake`, `timeout.tunnel`",
                );
            }
            (_, Some(_)) => notes.left_out(line.number, &line.text(), "there is no such time", ""),
            (_, None) => {
                notes.left_out(line.number, &line.text(), "not a time", "a number with its unit")
            }
        }
    }

    /// A time and its line.
    pub fn time(&self, name: &str) -> Option<(u64, u32)> {
        self.timeouts.get(name).copied()
    }

    /// Whether requests are logged.
    pub fn logs_requests(&self) -> bool {
        self.options.contains_key("httplog") || self.options.contains_key("tcplog")
    }
}
