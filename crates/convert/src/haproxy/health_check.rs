//! Health checks of a backend as a `probe` table.

use crate::condition::escape_regex;
use crate::duration;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::lex::ConfigLine;
use super::settings::ProxySettings;
use super::tcp_talk::{TcpTalk, without_comments};

/// HAProxy's own `inter`, in milliseconds.
pub const INTERVAL: u64 = 2_000;

/// The keys of a health check, without its times.
#[derive(Clone, Debug, Default)]
pub struct CheckSettings {
    /// The keys, with their values in TOML syntax.
    pub keys: Vec<KeyValue>,
    /// The source of most keys.
    pub source: SourcePlace,
    pub timeout: Option<u64>,
    /// The source of `timeout`.
    pub time_source: Vec<SourcePlace>,
}

/// The health check of servers with `check`.
pub fn health_check(settings: &ProxySettings, notes: &mut ConversionNotes) -> CheckSettings {
    let mut out = CheckSettings {
        timeout: settings.time("check").map(|time| time.ms),
        time_source: settings.time("check").map(|time| time.source).into_iter().collect(),
        ..CheckSettings::default()
    };
    let on = |name: &str| settings.options.get(name);
    let yes = || "true".to_owned();
    if let Some(line) = on("httpchk") {
        out.source = line.source;
        out.http(settings, line.rest(2), notes);
    } else if let Some((name, key)) = [
        ("redis-check", "redis"),
        ("mysql-check", "mysql"),
        ("pgsql-check", "postgres"),
        ("smtpchk", "smtp"),
        ("ldap-check", "ldap"),
        ("ssl-hello-chk", "tls"),
    ]
    .into_iter()
    .find(|(name, _)| on(name).is_some())
    {
        let line = on(name).map_or_else(Default::default, Clone::clone);
        out.source = line.source;
        let value =
            if key == "tls" { value::table(&[KeyValue::new("verify", "false")]) } else { yes() };
        out.keys.push(KeyValue { key, value });
        if key == "smtp" && line.len() > 2 {
            let reason = "the check greets with a name of its own";
            notes.changed(line.source, &line.text(), reason, "");
        }
        let user = line.value_of("user");
        out.keys.extend(
            user.filter(|_| matches!(key, "mysql" | "postgres"))
                .map(|user| KeyValue::new("user", value::quote(user))),
        );
    } else {
        out.keys.push(KeyValue::new("tcp", yes()));
        out.source = on("tcp-check").map_or(SourcePlace::NONE, |line| line.source);
        out.tcp(settings, notes);
    }
    out
}

impl CheckSettings {
    fn http(&mut self, settings: &ProxySettings, words: &[String], notes: &mut ConversionNotes) {
        let (mut method, mut uri) = match words {
            [] => ("OPTIONS".to_owned(), "/".to_owned()),
            [uri] => ("OPTIONS".to_owned(), uri.clone()),
            [method, uri, ..] => (method.clone(), uri.clone()),
        };
        let mut fields = fields_after_version(words);
        let mut connects = 0;
        for line in &settings.checks {
            connects += usize::from(line.word(1) == "connect");
            match line.word(1) {
                _ if connects > 1 => {
                    let reason = "a check is one request on one connection: the first one counts";
                    notes.left_out(line.source, &line.text(), reason, "`probe = { http = … }`");
                }
                "send" => {
                    let request = CheckRequest { method: &mut method, uri: &mut uri };
                    request.read(line, &mut fields, notes);
                }
                "expect" => {
                    self.expect(&without_comments(line.rest(2)), line.source, &line.text(), notes);
                    notes.converted(line.source);
                }
                "disable-on-404" => notes.left_out(
                    line.source,
                    &line.text(),
                    "404 is a failure or a success",
                    "`probe.status`",
                ),
                "connect" => {
                    notes.converted(line.source);
                    self.connect(line, notes);
                }
                _ => notes.left_out(
                    line.source,
                    &line.text(),
                    "a check is one request",
                    "`probe = { http = … }`",
                ),
            }
        }
        let has = |key: &str| self.keys.iter().any(|one| one.key == key);
        if has("expect") && !has("status") {
            // Where a text is looked for, the status does not count.
            self.keys.push(KeyValue::new("status", value::list([value::quote("100-599")])));
        }
        self.keys.push(KeyValue::new("http", value::quote(&uri)));
        if method != "GET" {
            self.keys.push(KeyValue::new("method", value::quote(&method)));
        }
        let host = fields.iter().position(|field| field.to_ascii_lowercase().starts_with("host:"));
        if let Some(at) = host {
            let host = fields.remove(at);
            self.keys.push(KeyValue::new("host", value::quote(host[5..].trim())));
        }
        fields.retain(|field| field.contains(':'));
        if !fields.is_empty() {
            self.keys.push(KeyValue::new("headers", value::quote_all(&fields)));
        }
    }

    fn expect(
        &mut self,
        words: &[String],
        source: SourcePlace,
        text: &str,
        notes: &mut ConversionNotes,
    ) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let key = match words.first() {
            Some(&("status" | "rstatus")) => "status",
            _ => "expect",
        };
        if self.keys.iter().any(|one| one.key == key) {
            let reason = "a check looks at one status and one text; the first one counts";
            return notes.left_out(source, text, reason, "an expression with both");
        }
        match words[..] {
            ["status", list] => {
                let parts: Vec<String> = list
                    .split(',')
                    .map(
                        |part| {
                            if part.contains('-') { value::quote(part) } else { part.to_owned() }
                        },
                    )
                    .collect();
                self.keys.push(KeyValue::new("status", value::list(parts)));
            }
            ["rstatus", expression] => match statuses(expression) {
                Some(list) => self.keys.push(KeyValue::new("status", list)),
                None => notes.left_out(
                    source,
                    text,
                    "statuses are written as numbers and ranges",
                    "`probe.status`",
                ),
            },
            ["string", ..] => self
                .keys
                .push(KeyValue::new("expect", value::quote(&escape_regex(&words[1..].join(" "))))),
            ["rstring", ..] => {
                self.keys.push(KeyValue::new("expect", value::quote(&words[1..].join(" "))))
            }
            _ => notes.left_out(
                source,
                text,
                "an answer is not judged so",
                "`probe.status` and `probe.expect`",
            ),
        }
    }

    fn tcp(&mut self, settings: &ProxySettings, notes: &mut ConversionNotes) {
        let mut connected = false;
        let mut talk = TcpTalk::default();
        for line in &settings.checks {
            if line.word(1) == "connect" && !connected && talk.is_empty() {
                connected = true;
                notes.converted(line.source);
                self.connect(line, notes);
            } else if let Err(why) = talk.add(line) {
                notes.left_out_because(line.source, &line.text(), &why);
            }
        }
        self.keys.extend(talk.into_keys(notes));
    }

    /// Parses `tcp-check connect` and its options.
    fn connect(&mut self, line: &ConfigLine, notes: &mut ConversionNotes) {
        let mut tls = None;
        let mut words = line.keywords(2);
        while let Some(word) = words.keyword() {
            match word {
                "port" => self.keys.push(KeyValue::new("port", words.value().to_owned())),
                "ssl" => tls = tls.or(Some(String::new())),
                "sni" => tls = Some(words.value().to_owned()),
                "comment" => {
                    words.value();
                }
                "default" => {}
                other => {
                    let reason = format!("a check does not connect with `{other}`");
                    let instead = "`probe.port` and `probe.tls`";
                    notes.left_out(words.source(), &line.text(), &reason, instead);
                    continue;
                }
            }
            words.mark_converted();
        }
        if let Some(name) = tls {
            let mut pairs = vec![KeyValue::new("verify", "false")];
            if !name.is_empty() {
                pairs.insert(0, KeyValue::new("name", value::quote(&name)));
            }
            self.keys.push(KeyValue::new("tls", value::table(&pairs)));
            let reason = "the certificate that the check gets is not verified";
            notes.changed(line.source, &line.text(), reason, "`probe.tls.ca`");
        }
    }

    /// The whole `probe` table, with the times of its servers.
    pub fn to_toml(&self, times: &CheckTimes) -> String {
        value::table(&self.pairs(times))
    }

    /// The `probe` table of a server in a pool with `common`. What only the pool's has is written as its default, since a
    /// server inherits each key. `tls`: the TLS of its connections, if the probe has it.
    pub fn to_override(
        &self,
        times: &CheckTimes,
        common: &CheckTimes,
        tls: Option<String>,
    ) -> String {
        let mut pairs = self.pairs(times);
        let inherited = self.pairs(common);
        let defaults = [
            KeyValue::new("rise", "2"),
            KeyValue::new("fall", "3"),
            KeyValue::new("port", "\"server\""),
            KeyValue::new("on-down", "\"keep\""),
            KeyValue::new("tls", tls.unwrap_or_else(|| value::quote("off"))),
        ];
        for default in defaults {
            let has = |pairs: &[KeyValue]| pairs.iter().any(|one| one.key == default.key);
            if has(&inherited) && !has(&pairs) {
                pairs.push(default);
            }
        }
        value::table(&pairs)
    }

    fn pairs(&self, times: &CheckTimes) -> Vec<KeyValue> {
        let mut pairs = self.keys.clone();
        // The time between two is also HAProxy's own `timeout check` and `fastinter`.
        let every = times.interval.unwrap_or(INTERVAL);
        pairs.push(KeyValue::new("interval", duration::format_duration(every)));
        let timeout = self.timeout.unwrap_or(every).min(every);
        pairs.push(KeyValue::new("timeout", duration::format_duration(timeout)));
        let fast_interval = times.fast_interval.unwrap_or(every).min(every);
        pairs.push(KeyValue::new("fast-interval", duration::format_duration(fast_interval)));
        pairs.extend(times.rise.clone().map(|rise| KeyValue::new("rise", rise)));
        pairs.extend(times.fall.clone().map(|fall| KeyValue::new("fall", fall)));
        let has = |key: &str| self.keys.iter().any(|one| one.key == key);
        pairs.extend(
            times.port.clone().filter(|_| !has("port")).map(|port| KeyValue::new("port", port)),
        );
        if times.close_sessions {
            pairs.push(KeyValue::new("on-down", value::quote("cut")));
        }
        pairs
            .extend(times.tls.clone().filter(|_| !has("tls")).map(|tls| KeyValue::new("tls", tls)));
        pairs
    }
}

/// What a check asks for.
struct CheckRequest<'c> {
    method: &'c mut String,
    uri: &'c mut String,
}

impl CheckRequest<'_> {
    /// Reads `http-check send`.
    fn read(self, line: &ConfigLine, fields: &mut Vec<String>, notes: &mut ConversionNotes) {
        notes.converted(line.source);
        let mut words = line.keywords(2);
        while let Some(word) = words.keyword() {
            let mut next = || words.value().to_owned();
            match word {
                "meth" => *self.method = next(),
                "uri" => *self.uri = next(),
                "hdr" => {
                    let name = next();
                    let text = next();
                    if text.contains("%[") {
                        let reason = "the fields of a check have no variables";
                        notes.left_out(words.source(), &line.text(), reason, "");
                        continue;
                    }
                    fields.push(format!("{name}: {text}"));
                }
                "comment" => drop(next()),
                "ver" => {
                    next();
                    let reason = "the version is what the server speaks";
                    notes.not_needed(words.source(), &line.text(), reason);
                    continue;
                }
                _ => {
                    let reason = format!("a check has no `{word}`");
                    notes.left_out(words.source(), &line.text(), &reason, "");
                    continue;
                }
            }
            words.mark_converted();
        }
    }
}

/// Header fields after the HTTP version: an old way to send a Host field.
fn fields_after_version(words: &[String]) -> Vec<String> {
    let text = words.get(2..).unwrap_or(&[]).join(" ").replace("\\r\\n", "\r\n");
    text.split("\r\n").skip(1).map(|line| line.replace("\\ ", " ")).collect()
}

/// The health check settings of a server line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckTimes {
    pub interval: Option<u64>,
    pub fast_interval: Option<u64>,
    pub rise: Option<String>,
    pub fall: Option<String>,
    pub port: Option<String>,
    pub close_sessions: bool,
    /// The probe's `tls`. `None`: as connections at the server's own port.
    pub tls: Option<String>,
}

/// Converts `^2`, `[23]..` or `(2|3)[0-9][0-9]`: expressions for whole status classes.
fn statuses(expression: &str) -> Option<String> {
    let body = expression.trim_start_matches('^').trim_end_matches('$');
    let hundreds = body
        .strip_suffix("[0-9][0-9]")
        .or(body.strip_suffix(".."))
        .or(body.strip_suffix("\\d\\d"))
        .unwrap_or(body);
    let digits: String = hundreds.chars().filter(|c| !"()[]|".contains(*c)).collect();
    let good = !digits.is_empty()
        && digits.len() <= 5
        && digits.bytes().all(|b| (b'1'..=b'5').contains(&b));
    let ranges = digits.chars().map(|digit| value::quote(&format!("{digit}00-{digit}99")));
    good.then(|| value::list(ranges))
}
