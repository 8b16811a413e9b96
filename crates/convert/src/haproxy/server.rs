//! `server` lines: an address and its options.

use crate::notes::ConversionNotes;
use crate::{duration, value};

use super::bind::tls_version;
use super::health_check::CheckTimes;
use super::lex::ConfigLine;

/// Options with a value that are reported or ignored.
const VALUED: [&str; 22] = [
    "cookie",
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
];
/// Options without a value that have no effect here.
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

#[derive(Clone, Debug, Default)]
pub struct HaproxyServer {
    /// Its name in HAProxy.
    pub name: String,
    /// Address or name, without port.
    pub host: String,
    pub port: Option<u16>,
    pub keys: Vec<(&'static str, String)>,
    pub checked: bool,
    pub times: CheckTimes,
    /// TLS, with keys of a pool's `tls`.
    pub tls: Option<Vec<(&'static str, String)>>,
    pub http2: bool,
    /// Connections begin with a header of the PROXY protocol, of this version.
    pub header: Option<&'static str>,
    /// The port and the interval of the server's agent check.
    pub agent: Option<(String, Option<u64>)>,
    pub slow_start: Option<u64>,
    pub backup: bool,
    pub line: u32,
}

/// Parses a `server` line after the options of `default-server`. `None` if the address cannot be used.
pub fn read(
    line: &ConfigLine,
    defaults: &[String],
    notes: &mut ConversionNotes,
) -> Option<HaproxyServer> {
    let mut out = HaproxyServer {
        name: line.word(1).to_owned(),
        line: line.number,
        ..HaproxyServer::default()
    };
    if let Err(reason) = out.address(line.word(2)) {
        notes.left_out(line.number, &line.text(), reason, "an address or a name, and a port");
        return None;
    }
    out.read_words(defaults, line, notes);
    out.read_words(line.rest(3), line, notes);
    let verified = |keys: &Vec<(&str, String)>| keys.iter().any(|(key, _)| *key == "verify");
    if let Some(keys) = out.tls.as_mut().filter(|keys| !verified(keys)) {
        keys.insert(0, ("verify", value::quote("on")));
    }
    Some(out)
}

impl HaproxyServer {
    fn address(&mut self, text: &str) -> Result<(), &'static str> {
        let text = text
            .trim_start_matches("ipv4@")
            .trim_start_matches("ipv6@")
            .trim_start_matches("tcp4@");
        if text.starts_with('/') || text.contains('@') {
            return Err("only TCP servers are spoken to");
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
        self.keys.retain(|(known, _)| *known != key);
        self.keys.push((key, value.into()));
    }

    fn tls(&mut self, key: &'static str, value: &str) {
        let keys = self.tls.get_or_insert_default();
        keys.retain(|(known, _)| *known != key);
        keys.push((key, value::quote(value)));
    }

    fn read_words(&mut self, words: &[String], line: &ConfigLine, notes: &mut ConversionNotes) {
        let mut words = words.iter().map(String::as_str);
        // TLS options are collected first, because they only apply if `ssl` is set.
        let mut waiting: Vec<(&'static str, &str)> = Vec::new();
        let mut ssl = self.tls.is_some();
        while let Some(word) = words.next() {
            let mut next = || words.next().unwrap_or_default();
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
                "ssl" => ssl = true,
                "verify" => waiting.push(("verify", if next() == "none" { "off" } else { "on" })),
                "ca-file" => waiting.push(("ca", next())),
                "crl-file" => waiting.push(("crl", next())),
                "verifyhost" => waiting.push(("name", next())),
                "sni" => waiting.extend(fixed_sni(next(), line, notes)),
                "ssl-min-ver" => {
                    waiting.extend(tls_version(next()).map(|version| ("minimum", version)))
                }
                "crt" => waiting.push(("certificate", next())),
                "proto" => self.http2 = next() == "h2",
                "agent-check" => drop(self.agent.get_or_insert_default()),
                "agent-port" => next().clone_into(&mut self.agent.get_or_insert_default().0),
                "agent-inter" => {
                    self.agent.get_or_insert_default().1 = duration::parse_duration(next(), 1)
                }
                valued if VALUED.contains(&valued) => {
                    next();
                    self.note_minor_keyword(word, line, notes);
                }
                alone if ALONE.contains(&alone) => self.note_minor_keyword(alone, line, notes),
                "alpn" => self.http2 = next() == "h2",
                "send-proxy" => self.header = Some("v1"),
                two if two.starts_with("send-proxy-v2") => self.header = Some("v2"),
                "no-send-proxy" | "no-send-proxy-v2" => self.header = None,
                "check-send-proxy" => self.note_minor_keyword(word, line, notes),
                "proxy-v2-options" | "track" | "redir" | "source" | "addr" | "usesrc" | "shard"
                | "ws" | "socks4" => {
                    next();
                    let reason = format!("a server has no `{word}`");
                    notes.left_out(line.number, &line.text(), &reason, "");
                }
                other => notes.left_out(
                    line.number,
                    &line.text(),
                    &format!("`{other}` of a server is not known"),
                    "",
                ),
            }
        }
        if ssl {
            self.tls.get_or_insert_default();
            for (key, value) in waiting {
                self.tls(key, value);
            }
        }
    }

    fn note_minor_keyword(&self, word: &str, line: &ConfigLine, notes: &mut ConversionNotes) {
        match word {
            "observe" | "on-error" | "error-limit" => {
                notes.changed(
                    line.number,
                    &line.text(),
                    "servers are judged by their answers anyway",
                    "`eject`",
                );
            }
            "check-send-proxy" => {
                let reason = "a check begins with a header where it goes to the server's own port";
                notes.changed(line.number, &line.text(), reason, "");
            }
            "minconn" | "maxqueue" => notes.left_out(
                line.number,
                &line.text(),
                &format!("a server has no `{word}`"),
                "`connections` and `limit.queue`",
            ),
            "ciphers" | "ciphersuites" | "ssl-max-ver" | "force-tlsv12" | "no-tls-tickets" => {
                let reason =
                    format!("`{word}`: versions, ciphers and tickets are those of the TLS library");
                notes.changed(line.number, &line.text(), &reason, "`tls.minimum` of the pool");
            }
            "no-verifyhost" => {
                let reason =
                    "the name in a server's certificate is verified where the certificate is";
                notes.changed(line.number, &line.text(), reason, "`tls.name` of the pool");
            }
            "check-alpn" | "check-proto" | "hash-key" | "stick" | "non-stick" | "tfo" => {
                let reason = format!("`{word}` of a server has no effect here");
                notes.changed(line.number, &line.text(), &reason, "");
            }
            // The note about the `cookie` directive already covers the values.
            "cookie" => {}
            _ => {
                let reason =
                    format!("`{word}` concerns HAProxy itself, or how it keeps connections");
                notes.not_needed(line.number, &line.text(), &reason);
            }
        }
    }
}

/// 0 is no limit.
fn connection_limit(maxconn: &str) -> String {
    if maxconn == "0" { value::quote("off") } else { maxconn.to_owned() }
}

/// The SNI for servers, if it is a constant.
fn fixed_sni<'w>(
    sni: &'w str,
    line: &ConfigLine,
    notes: &mut ConversionNotes,
) -> Option<(&'static str, &'w str)> {
    let name = sni.strip_prefix("str(").and_then(|name| name.strip_suffix(')'));
    if name.is_none() {
        let reason = "the name that is asked for is the server's own";
        notes.changed(line.number, &line.text(), reason, "`tls = { name = … }`");
    }
    name.map(|name| ("name", name))
}
