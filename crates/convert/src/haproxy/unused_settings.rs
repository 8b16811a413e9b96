//! Reports what has no effect on a proxy, once all proxies are written.

use crate::notes::ConversionNotes;
use crate::source::SourcePlace;

use super::section::SectionKind;
use super::settings::ProxySettings;

const NOT_CHOSEN: &str =
    "the backends' names are made of requests, which are refused: none comes to this backend";
const NOT_CHOSEN_INSTEAD: &str = "a rule for the backend with these conditions";

/// Settings that apply only in HTTP mode, by their first or second word.
const OF_REQUESTS: [&str; 11] = [
    "http-restrict-req-hdr-names",
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

/// Whether requests come to a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendTraffic {
    /// A frontend leads there by its name.
    Certain,
    /// A frontend makes the backend's name of requests, which are refused.
    Possible,
    None,
}

impl ProxySettings {
    /// Reports settings without effect on this proxy, after all proxies are written. `traffic`: whether a
    /// listener leads to this proxy.
    pub fn note_unused(
        &self,
        kind: SectionKind,
        traffic: BackendTraffic,
        notes: &mut ConversionNotes,
    ) {
        let serves = kind != SectionKind::Frontend && !self.servers.is_empty();
        let listens = kind != SectionKind::Backend && !self.binds.is_empty();
        for line in self.use_backends.iter().filter(|line| !listens && !line.is_settled()) {
            let reason = "what listens nowhere leads to no backend";
            notes.left_out(line.source, &line.text(), reason, "a rule of the service");
        }
        let is_reached = traffic == BackendTraffic::Certain;
        for line in self.rules.iter().filter(|line| !is_reached && !line.is_settled()) {
            let source = line.source;
            let text = line.text();
            match traffic {
                BackendTraffic::Possible => {
                    notes.left_out(source, &text, NOT_CHOSEN, NOT_CHOSEN_INSTEAD)
                }
                _ => notes.not_needed(source, &text, "no listener leads to this backend"),
            }
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
            } else if (!serves || !self.checks_servers()) && OF_CHECKS.contains(&name) {
                notes.not_needed(source, &text, "no server of it is checked");
            } else if !self.http && name == "server" && !is_reached {
                notes.not_needed(source, &text, "no listener leads to this backend");
            } else if !self.http && name == "server" && serves {
                let reason = "connections of a service have one time, which its first backend says";
                notes.left_out(source, &text, reason, "a service of its own");
            } else if serves && name == "http-restrict-req-hdr-names" {
                let reason = "names of fields are restricted where requests come in";
                notes.left_out(source, &text, reason, "`field-names` of the service");
            } else if name == "hash-balance-factor" || name == "allbackups" {
                notes.not_needed(source, &text, "nothing here is chosen by hashes or has backups");
            } else if !serves && !listens {
                notes.not_needed(source, &text, "this proxy has neither listeners nor servers");
            } else if !serves && OF_SERVERS.contains(&name) {
                notes.not_needed(source, &text, "this proxy has no servers");
            } else if OF_CLIENTS.contains(&name) && !listens {
                notes.not_needed(source, &text, "this proxy has no listeners");
            } else if traffic == BackendTraffic::Possible {
                notes.left_out(source, &text, NOT_CHOSEN, NOT_CHOSEN_INSTEAD);
            } else if traffic == BackendTraffic::None && !listens {
                notes.not_needed(source, &text, "no listener leads to this backend");
            }
        }
        self.note_unused_lines(notes);
    }

    /// Reports lines that no other line refers to.
    fn note_unused_lines(&self, notes: &mut ConversionNotes) {
        let table = self.single.get("stick-table").filter(|line| !line.is_settled());
        if let Some(line) = table {
            let reason = "counters of clients are not tables of their own";
            let instead = "a rule with `limit = { rate = …, by = \"address\" }`";
            notes.left_out(line.source, &line.text(), reason, instead);
        }
        for line in self.monitor_failures.iter().filter(|line| !line.is_settled()) {
            notes.not_needed(
                line.source,
                &line.text(),
                "there is no `monitor-uri` that would fail",
            );
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
}
