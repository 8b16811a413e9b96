//! `server` lines: an address and its options.

use crate::duration;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::bind::{FileBases, tls_version};
use super::health_check::CheckTimes;
use super::lex::{ConfigLine, KeywordReader};

/// Keywords with a value that are not carried over.
const VALUED: [&str; 30] = [
    "id",
    "resolvers",
    "init-addr",
    "resolve-prefer",
    "downinter",
    "maxqueue",
    "pool-max-conn",
    "pool-purge-delay",
    "minconn",
    "error-limit",
    "observe",
    "on-error",
    "pool-low-conn",
    "log-proto",
    "ciphers",
    "ciphersuites",
    "ssl-max-ver",
    "hash-key",
    "check-alpn",
    "check-proto",
    "resolve-opts",
    "proxy-v2-options",
    "track",
    "redir",
    "source",
    "addr",
    "usesrc",
    "shard",
    "ws",
    "socks4",
];
/// Keywords without a value that have no effect here.
const ALONE: [&str; 12] = [
    "no-ssl-reuse",
    "no-sslv3",
    "no-tlsv10",
    "no-tlsv11",
    "no-tls-tickets",
    "stick",
    "non-stick",
    "enabled",
    "no-backup",
    "force-tlsv12",
    "no-verifyhost",
    "tfo",
];

/// The settings of a server's agent check.
#[derive(Clone, Debug, Default)]
pub struct AgentCheckSettings {
    /// Empty if no port is set.
    pub port: String,
    /// In milliseconds.
    pub interval: Option<u64>,
}

/// The `cookie` of a server line.
#[derive(Clone, Debug)]
pub struct ServerCookie {
    pub value: String,
    pub source: SourcePlace,
    /// The line, for notes.
    pub text: String,
}

#[derive(Clone, Debug, Default)]
pub struct HaproxyServer {
    /// The server's name in HAProxy.
    pub name: String,
    /// The address or name, without port; or `unix:` and a path.
    pub host: String,
    pub port: Option<u16>,
    pub keys: Vec<KeyValue>,
    pub checked: bool,
    pub times: CheckTimes,
    /// The keys of the pool's `tls` table, if the server uses TLS.
    pub tls: Option<Vec<KeyValue>>,
    pub http2: bool,
    /// Connections begin with a PROXY protocol header of this version.
    pub header: Option<&'static str>,
    pub agent: Option<AgentCheckSettings>,
    pub slow_start: Option<u64>,
    pub backup: bool,
    pub cookie: Option<ServerCookie>,
    /// The server stands for all addresses of a DNS name, as `servers-from` of the pool.
    pub is_template: bool,
    pub source: SourcePlace,
}

/// Reads a `server` line, after the lines of `default-server` before it. `None` if the address cannot be converted.
pub fn read(
    line: &ConfigLine,
    defaults: &[ConfigLine],
    bases: &FileBases,
    notes: &mut ConversionNotes,
) -> Option<HaproxyServer> {
    let mut out = HaproxyServer {
        name: line.word(1).to_owned(),
        source: line.source,
        ..HaproxyServer::default()
    };
    if let Err(reason) = out.read_address(line.word(2), bases) {
        notes.left_out(line.source, &line.text(), reason, "an address or a name, and a port");
        return None;
    }
    if out.is_unix() && !bases.root.is_empty() {
        let reason = format!("HAProxy reaches it below its `chroot`, that is at {}", out.host);
        notes.changed(line.source, &line.text(), &reason, "");
    }
    defaults.iter().for_each(|before| out.read_keywords(before, 1, bases, notes));
    out.read_keywords(line, 3, bases, notes);
    out.enable_verification();
    if out.is_unix() && out.times.port.take().is_some() {
        let reason = "the health check goes to the socket itself, which has no port";
        notes.changed(line.source, &line.text(), reason, "");
    }
    Some(out)
}

/// Reads a `server-template` line, whose keywords apply to all servers of a DNS name.
pub fn read_template(
    line: &ConfigLine,
    defaults: &[ConfigLine],
    bases: &FileBases,
    notes: &mut ConversionNotes,
) -> HaproxyServer {
    let mut out =
        HaproxyServer { is_template: true, source: line.source, ..HaproxyServer::default() };
    defaults.iter().for_each(|before| out.read_keywords(before, 1, bases, notes));
    out.read_keywords(line, 4, bases, notes);
    out.enable_verification();
    for KeyValue { key, .. } in &out.keys {
        let reason = format!("servers of a name have no `{key}` of their own");
        notes.left_out(line.source, &line.text(), &reason, "servers by their addresses");
    }
    out
}

impl HaproxyServer {
    /// Enables the verification of server certificates, unless a keyword sets it.
    fn enable_verification(&mut self) {
        let verified = |keys: &Vec<KeyValue>| keys.iter().any(|one| one.key == "verify");
        if let Some(keys) = self.tls.as_mut().filter(|keys| !verified(keys)) {
            keys.insert(0, KeyValue::new("verify", value::quote("on")));
        }
    }

    /// Whether it is a Unix socket.
    pub fn is_unix(&self) -> bool {
        self.host.starts_with("unix:")
    }

    /// The `address` of the server; `port` applies if it has none.
    pub fn address(&self, port: u16) -> String {
        match self.is_unix() {
            true => self.host.clone(),
            false => format!("{}:{}", self.host, self.port.unwrap_or(port)),
        }
    }

    fn read_address(&mut self, text: &str, bases: &FileBases) -> Result<(), &'static str> {
        if let Some(socket) = bases.unix_socket(text) {
            self.host = socket?;
            return Ok(());
        }
        let text = text
            .trim_start_matches("ipv4@")
            .trim_start_matches("ipv6@")
            .trim_start_matches("tcp4@");
        if text.contains('@') {
            return Err("only TCP servers and Unix sockets are spoken to");
        }
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, rest)) => (host, rest.strip_prefix(':').unwrap_or("")),
            None if text.matches(':').count() > 1 && text.parse::<std::net::Ipv6Addr>().is_ok() => {
                (text, "")
            }
            None => text.rsplit_once(':').unwrap_or((text, "")),
        };
        self.host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        if port.starts_with(['+', '-']) {
            return Err("a port cannot be counted from the client's");
        }
        self.port = port.parse().ok().filter(|port| *port > 0);
        if self.port.is_none() && !port.is_empty() {
            Err("the port is not a number")
        } else {
            Ok(())
        }
    }

    fn set(&mut self, key: &'static str, value: impl Into<String>) {
        self.keys.retain(|known| known.key != key);
        self.keys.push(KeyValue::new(key, value));
    }

    fn tls(&mut self, key: &'static str, value: &str) {
        let keys = self.tls.get_or_insert_default();
        keys.retain(|known| known.key != key);
        keys.push(KeyValue::new(key, value::quote(value)));
    }

    /// Reads the keywords of a line from this position on.
    fn read_keywords(
        &mut self,
        line: &ConfigLine,
        from: usize,
        bases: &FileBases,
        notes: &mut ConversionNotes,
    ) {
        let mut words = line.keywords(from);
        // Settings that apply only if the line has `ssl`.
        let mut waiting: Vec<KeyValue> = Vec::new();
        let mut ssl = self.tls.is_some();
        while let Some(word) = words.keyword() {
            let carried = self.read_tls_keyword(word, &mut words, bases, &mut waiting, &mut ssl)
                || self.read_keyword(word, &mut words);
            if carried {
                words.mark_converted();
            } else if word == "cookie" {
                // It is accounted for with those of the other servers.
                let value = words.value().to_owned();
                let cookie = ServerCookie { value, source: words.source(), text: line.text() };
                if let Some(before) = self.cookie.replace(cookie) {
                    let reason = "a later `cookie` takes its place";
                    notes.not_needed(before.source, &before.text, reason);
                }
            } else if word == "sni" {
                let reason = "the name that is asked for is the server's own";
                let instead = "`tls = { name = … }`";
                match fixed_sni(words.value()) {
                    Some(name) => {
                        waiting.push(KeyValue::new("name", name.to_owned()));
                        words.mark_converted();
                    }
                    None => notes.changed(words.source(), &line.text(), reason, instead),
                }
            } else {
                if VALUED.contains(&word) {
                    words.value();
                }
                note_keyword(word, words.source(), line, notes);
            }
        }
        if ssl {
            self.tls.get_or_insert_default();
            for KeyValue { key, value } in waiting {
                self.tls(key, &value);
            }
        }
    }

    /// Reads a TLS keyword. Returns false if the keyword is not carried over as it is.
    fn read_tls_keyword(
        &mut self,
        word: &str,
        words: &mut KeywordReader<'_>,
        bases: &FileBases,
        waiting: &mut Vec<KeyValue>,
        ssl: &mut bool,
    ) -> bool {
        match word {
            "ssl" => *ssl = true,
            "verify" => {
                let verify = if words.value() == "none" { "off" } else { "on" };
                waiting.push(KeyValue::new("verify", verify.to_owned()));
            }
            "ca-file" => waiting.push(KeyValue::new("ca", bases.authority(words.value()))),
            "crl-file" => waiting.push(KeyValue::new("crl", bases.authority(words.value()))),
            "verifyhost" => waiting.push(KeyValue::new("name", words.value().to_owned())),
            "ssl-min-ver" => waiting.extend(
                tls_version(words.value())
                    .map(|version| KeyValue::new("minimum", version.to_owned())),
            ),
            "crt" => waiting.push(KeyValue::new("certificate", bases.certificate(words.value()))),
            _ => return false,
        }
        true
    }

    /// Reads any other keyword. Returns false if the keyword is not carried over as it is.
    fn read_keyword(&mut self, word: &str, words: &mut KeywordReader<'_>) -> bool {
        let mut next = || words.value();
        match word {
            "weight" => self.set("weight", next()),
            "maxconn" => self.set("connections", connection_limit(next())),
            "backup" => self.backup = true,
            "disabled" => self.set("state", value::quote("disabled")),
            "check" => self.checked = true,
            "no-check" => self.checked = false,
            "inter" => self.times.interval = duration::parse_duration(next(), 1),
            "fastinter" => self.times.fast_interval = duration::parse_duration(next(), 1),
            "rise" => self.times.rise = Some(next().to_owned()),
            "fall" => self.times.fall = Some(next().to_owned()),
            "port" => self.times.port = Some(next().to_owned()),
            "check-ssl" => self.times.tls = true,
            "on-marked-down" => self.times.close_sessions = next() == "shutdown-sessions",
            "slowstart" => self.slow_start = duration::parse_duration(next(), 1),
            "proto" | "alpn" => self.http2 = next() == "h2",
            "agent-check" => drop(self.agent.get_or_insert_default()),
            "agent-port" => next().clone_into(&mut self.agent.get_or_insert_default().port),
            "agent-inter" => {
                self.agent.get_or_insert_default().interval = duration::parse_duration(next(), 1)
            }
            "send-proxy" => self.header = Some("v1"),
            two if two.starts_with("send-proxy-v2") => self.header = Some("v2"),
            "no-send-proxy" | "no-send-proxy-v2" => self.header = None,
            _ => return false,
        }
        true
    }
}

/// Reports a keyword that is not carried over.
fn note_keyword(word: &str, source: SourcePlace, line: &ConfigLine, notes: &mut ConversionNotes) {
    let text = line.text();
    match word {
        "observe" | "on-error" | "error-limit" => {
            let reason = "servers are judged by their answers anyway";
            notes.changed(source, &text, reason, "`eject`");
        }
        "check-send-proxy" => {
            let reason = "a check begins with a header where it goes to the server's own port";
            notes.changed(source, &text, reason, "");
        }
        "minconn" | "maxqueue" => {
            let reason = format!("a server has no `{word}`");
            notes.left_out(source, &text, &reason, "`connections` and `limit.queue`");
        }
        "ciphers" | "ciphersuites" | "ssl-max-ver" | "force-tlsv12" | "no-tls-tickets" => {
            let reason =
                format!("`{word}`: versions, ciphers and tickets are those of the TLS library");
            notes.changed(source, &text, &reason, "`tls.minimum` of the pool");
        }
        "no-verifyhost" => {
            let reason = "the name in a server's certificate is verified where the certificate is";
            notes.changed(source, &text, reason, "`tls.name` of the pool");
        }
        "check-alpn" | "check-proto" | "hash-key" | "stick" | "non-stick" | "tfo" => {
            let reason = format!("`{word}` of a server has no effect here");
            notes.changed(source, &text, &reason, "");
        }
        "no-sslv3" | "no-tlsv10" | "no-tlsv11" => {
            notes.not_needed(source, &text, "these versions of TLS are never spoken");
        }
        "proxy-v2-options" | "track" | "redir" | "source" | "addr" | "usesrc" | "shard" | "ws"
        | "socks4" => {
            let reason = format!("a server has no `{word}`");
            notes.left_out(source, &text, &reason, "");
        }
        known if VALUED.contains(&known) || ALONE.contains(&known) => {
            let reason = format!("`{word}` concerns HAProxy itself, or how it keeps connections");
            notes.not_needed(source, &text, &reason);
        }
        other => {
            let reason = format!("`{other}` of a server is not known");
            notes.left_out(source, &text, &reason, "");
        }
    }
}

/// A `maxconn` of 0 means no limit.
fn connection_limit(maxconn: &str) -> String {
    if maxconn == "0" { value::quote("off") } else { maxconn.to_owned() }
}

/// The server name for SNI, if the expression is a constant.
fn fixed_sni(sni: &str) -> Option<&str> {
    sni.strip_prefix("str(").and_then(|name| name.strip_suffix(')'))
}
