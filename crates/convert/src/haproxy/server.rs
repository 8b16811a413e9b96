//! `server` lines: an address and its options.

use crate::duration;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::bind::{FileBases, tls_version};
use super::health_check::CheckTimes;
use super::lex::{ConfigLine, KeywordReader};
use super::passive_check::PassiveCheck;
use super::server_keywords;
use super::server_tls::{NameAgreement, ServerTls, fixed_sni};

/// The settings of a server's agent check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentCheckSettings {
    /// `agent-check` is written. The other keywords have no effect without it.
    pub is_on: bool,
    /// Empty if no port is set.
    pub port: String,
    /// What is sent to the agent first.
    pub send: String,
    /// The agent is at another address than the server.
    pub has_address: bool,
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

/// The name of a section or an address family that a keyword names.
#[derive(Clone, Debug)]
pub struct NamedChoice {
    pub name: String,
    pub source: SourcePlace,
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
    pub tls: ServerTls,
    /// Whether HTTP/2 is spoken: `prefer` or `only`.
    pub http2: Option<&'static str>,
    /// Connections begin with a PROXY protocol header of this version.
    pub header: Option<&'static str>,
    pub agent: AgentCheckSettings,
    pub passive: PassiveCheck,
    /// In milliseconds.
    pub slow_start: Option<u64>,
    /// The section that `resolvers` names.
    pub resolvers: Option<NamedChoice>,
    /// The address family that `resolve-prefer` names.
    pub family: Option<NamedChoice>,
    /// A keyword makes it a server that cannot be spoken to. It is reported.
    pub is_refused: bool,
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
        tls: bases.server_tls.clone(),
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
    out.finish(line, notes);
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
    let name = line.word(1).to_owned();
    let mut out = HaproxyServer { is_template: true, name, ..HaproxyServer::default() };
    out.source = line.source;
    out.tls = bases.server_tls.clone();
    defaults.iter().for_each(|before| out.read_keywords(before, 1, bases, notes));
    out.read_keywords(line, 4, bases, notes);
    out.finish(line, notes);
    out
}

impl HaproxyServer {
    /// Settles what depends on several keywords.
    fn finish(&mut self, line: &ConfigLine, notes: &mut ConversionNotes) {
        if self.tls.settle_name() == NameAgreement::Contrary {
            self.is_refused = true;
            let reason = "the name that is asked for (`sni`) is verified too, and `verifyhost` names another one: the server gets no requests";
            notes.left_out(line.source, &line.text(), reason, "`tls.name` of the pool");
        }
        if self.tls.verifies_no_name() {
            let reason = "a certificate must also be for the server's own name or address, which HAProxy does not verify";
            notes.changed(line.source, &line.text(), reason, "`tls.name` of the pool");
        }
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        self.tls.remove_own_name(host);
        self.times.tls = self.tls.probe_value(self.times.port.is_none());
        if !self.agent.is_on {
            self.agent = AgentCheckSettings::default();
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

    /// Reads the keywords of a line from this position on.
    fn read_keywords(
        &mut self,
        line: &ConfigLine,
        from: usize,
        bases: &FileBases,
        notes: &mut ConversionNotes,
    ) {
        let mut words = line.keywords(from);
        let text = line.text();
        while let Some(word) = words.keyword() {
            let carried = self.read_tls_keyword(word, &mut words, bases)
                || self.read_keyword(word, &mut words)
                || self.read_check_keyword(word, &mut words);
            match word {
                _ if carried => words.mark_converted(),
                "cookie" => {
                    // It is accounted for with those of the other servers.
                    let value = words.value().to_owned();
                    let cookie = ServerCookie { value, source: words.source(), text: line.text() };
                    if let Some(before) = self.cookie.replace(cookie) {
                        let reason = "a later `cookie` takes its place";
                        notes.not_needed(before.source, &before.text, reason);
                    }
                }
                // These are accounted for with the address of the server.
                "resolvers" => {
                    let before = self.resolvers.replace(NamedChoice::read(&mut words));
                    NamedChoice::note_replaced(before, &text, notes);
                }
                "resolve-prefer" => {
                    let before = self.family.replace(NamedChoice::read(&mut words));
                    NamedChoice::note_replaced(before, &text, notes);
                }
                "sni" => {
                    let reason = "the name that is asked for is the server's own";
                    let instead = "`tls = { name = … }`";
                    match fixed_sni(words.value()) {
                        Some(name) => {
                            self.tls.asked_name = Some(name.to_owned());
                            words.mark_converted();
                        }
                        None => notes.changed(words.source(), &text, reason, instead),
                    }
                }
                "send-proxy-v2-ssl" | "send-proxy-v2-ssl-cn" => {
                    self.header = Some("v2");
                    server_keywords::note_keyword("proxy-v2-options", words.source(), &text, notes);
                }
                "crt" => self.read_certificate(&mut words, &text, bases, notes),
                "proto" | "alpn" => self.read_protocol(word, &mut words, &text, notes),
                _ => {
                    if server_keywords::has_value(word) {
                        self.passive.read(word, words.value());
                    }
                    self.is_refused |= server_keywords::leads_elsewhere(word);
                    server_keywords::note_keyword(word, words.source(), &text, notes);
                }
            }
        }
    }

    /// A certificate of ours. Without it the server would take us for somebody else.
    fn read_certificate(
        &mut self,
        words: &mut KeywordReader<'_>,
        text: &str,
        bases: &FileBases,
        notes: &mut ConversionNotes,
    ) {
        match bases.certificate(words.value()) {
            Ok(file) => {
                self.tls.set("certificate", &file);
                words.mark_converted();
            }
            Err(reason) => {
                self.is_refused = true;
                let reason = format!("{reason}: the server gets no requests");
                notes.left_out(words.source(), text, &reason, "`tls.certificate` of the pool");
            }
        }
    }

    /// The protocol of connections, as `proto h2` or by ALPN.
    fn read_protocol(
        &mut self,
        word: &str,
        words: &mut KeywordReader<'_>,
        text: &str,
        notes: &mut ConversionNotes,
    ) {
        let value = words.value();
        self.http2 = match (word, value) {
            ("proto" | "alpn", "h2") => Some("only"),
            ("alpn", list) if list.split(',').any(|one| one == "h2") => Some("prefer"),
            ("alpn", _) | ("proto", "h1" | "none") => None,
            _ => {
                self.is_refused = true;
                let reason = format!("`{value}` is not spoken: the server gets no requests");
                return notes.left_out(words.source(), text, &reason, "HTTP at the server");
            }
        };
        words.mark_converted();
    }

    /// Reads a TLS keyword. Returns false if the keyword is not carried over as it is.
    fn read_tls_keyword(
        &mut self,
        word: &str,
        words: &mut KeywordReader<'_>,
        bases: &FileBases,
    ) -> bool {
        match word {
            "ssl" => self.tls.is_on = true,
            "no-ssl" => self.tls.is_on = false,
            "verify" => {
                let verify = if words.value() == "none" { "off" } else { "on" };
                self.tls.set("verify", verify);
            }
            "ca-file" => self.tls.set("ca", &bases.authority(words.value())),
            "crl-file" => self.tls.set("crl", &bases.authority(words.value())),
            "verifyhost" => self.tls.verified_name = Some(words.value().to_owned()),
            "ssl-min-ver" => {
                if let Some(version) = tls_version(words.value()) {
                    self.tls.set("minimum", version);
                }
            }
            "force-tlsv13" | "no-tlsv12" => self.tls.set("minimum", "1.3"),
            "check-ssl" => self.tls.checks = Some(true),
            "no-check-ssl" => self.tls.checks = Some(false),
            "check-sni" => self.tls.check_name = Some(words.value().to_owned()),
            _ => return false,
        }
        true
    }

    /// Reads a keyword of requests. Returns false if the keyword is not carried over as it is.
    fn read_keyword(&mut self, word: &str, words: &mut KeywordReader<'_>) -> bool {
        let mut next = || words.value();
        match word {
            "weight" => self.set("weight", next()),
            "maxconn" => self.set("connections", connection_limit(next())),
            "backup" => self.backup = true,
            "no-backup" => self.backup = false,
            "disabled" => self.set("state", value::quote("disabled")),
            "enabled" => self.keys.retain(|known| known.key != "state"),
            "slowstart" => {
                self.slow_start = duration::parse_duration(next(), 1).filter(|ms| *ms > 0);
            }
            "send-proxy" => self.header = Some("v1"),
            "send-proxy-v2" => self.header = Some("v2"),
            "no-send-proxy"
            | "no-send-proxy-v2"
            | "no-send-proxy-v2-ssl"
            | "no-send-proxy-v2-ssl-cn" => self.header = None,
            _ => return false,
        }
        true
    }

    /// Reads a keyword of health checks. Returns false if the keyword is not carried over as it is.
    fn read_check_keyword(&mut self, word: &str, words: &mut KeywordReader<'_>) -> bool {
        let mut next = || words.value();
        let time = |text: &str| duration::parse_duration(text, 1);
        match word {
            "check" => self.checked = true,
            "no-check" => self.checked = false,
            "inter" => self.times.interval = time(next()),
            "fastinter" => self.times.fast_interval = time(next()),
            "rise" => self.times.rise = Some(next().to_owned()),
            "fall" => self.times.fall = Some(next().to_owned()),
            "port" => self.times.port = Some(next().to_owned()),
            "on-marked-down" => self.times.close_sessions = next() == "shutdown-sessions",
            "agent-check" => self.agent.is_on = true,
            "no-agent-check" => self.agent.is_on = false,
            "agent-port" => next().clone_into(&mut self.agent.port),
            "agent-send" => next().clone_into(&mut self.agent.send),
            "agent-inter" => self.agent.interval = time(next()),
            "agent-addr" => {
                next();
                self.agent.has_address = true;
            }
            _ => return false,
        }
        true
    }
}

impl NamedChoice {
    fn read(words: &mut KeywordReader<'_>) -> NamedChoice {
        let name = words.value().to_owned();
        NamedChoice { name, source: words.source() }
    }

    fn note_replaced(before: Option<NamedChoice>, text: &str, notes: &mut ConversionNotes) {
        if let Some(before) = before {
            notes.not_needed(before.source, text, "a later one takes its place");
        }
    }
}

/// A `maxconn` of 0 means no limit.
fn connection_limit(maxconn: &str) -> String {
    if maxconn == "0" { value::quote("off") } else { maxconn.to_owned() }
}
