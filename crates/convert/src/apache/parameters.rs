//! Parameters `key=value` of `ProxyPass`, ProxySet and BalancerMember.

use crate::document::SourcedValue;
use crate::duration::format_duration;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::statement::ConfigStatement;
use crate::value::{self, KeyValue};

use super::scope::duration;
use super::sticky_session::StickySession;

/// What parameters say of a pool.
#[derive(Clone, Debug, Default)]
pub struct PoolParameters {
    /// Times in milliseconds.
    pub timeout: Option<u64>,
    pub connect: Option<u64>,
    pub idle: Option<u64>,
    /// Connections to servers end after one request.
    pub is_never_kept: bool,
    pub balance: Option<SourcedValue>,
    pub session: Option<StickySession>,
    pub attempts: Option<usize>,
    pub connections: Option<SourcedValue>,
    pub probe: Option<SourcedValue>,
    /// Some servers are asked only once others have failed: hot standbys, and those of a later set.
    pub has_spares: bool,
    check: Vec<KeyValue>,
}

/// What parameters say of one server, and those that are about its pool.
#[derive(Clone, Debug, Default)]
pub struct MemberParameters {
    pub keys: Vec<KeyValue>,
    pub of_pool: Vec<String>,
}

impl MemberParameters {
    /// Reads the parameters of a BalancerMember.
    pub fn read(
        words: &[String],
        member: &ConfigStatement,
        notes: &mut ConversionNotes,
    ) -> MemberParameters {
        let mut out = MemberParameters::default();
        for word in words {
            let pair = word.split_once('=').unwrap_or((word, ""));
            match (pair.0.to_ascii_lowercase().as_str(), pair.1) {
                ("loadfactor", factor) => out.weight(factor, member, notes),
                ("route", route) => {
                    out.keys.push(KeyValue::new("cookie-value", value::quote(route)));
                }
                ("lbset", set) => match set.parse::<u8>() {
                    Ok(set) if set < 9 => {
                        out.keys.push(KeyValue::new("priority", (set + 1).to_string()));
                    }
                    _ => member.leave_out("sets go from 0 to 8", "`priority`", notes),
                },
                ("status", status) => out.status(status, member, notes),
                _ => out.of_pool.push(word.clone()),
            }
        }
        out
    }

    fn weight(&mut self, factor: &str, member: &ConfigStatement, notes: &mut ConversionNotes) {
        match factor.split_once('.') {
            None => self.keys.push(KeyValue::new("weight", factor)),
            Some(parts) => {
                member.note_changed("weights are whole numbers", "`weight`", notes);
                let whole = if parts.0 == "0" || parts.0.is_empty() { "1" } else { parts.0 };
                self.keys.push(KeyValue::new("weight", whole));
            }
        }
    }

    fn status(&mut self, status: &str, member: &ConfigStatement, notes: &mut ConversionNotes) {
        let mut set = true;
        for letter in status.to_ascii_uppercase().chars() {
            match letter {
                '+' => set = true,
                '-' => set = false,
                'H' | 'R' if set => self.keys.push(KeyValue::new("backup", "true")),
                'D' | 'S' if set => {
                    self.keys.push(KeyValue::new("state", value::quote("disabled")));
                }
                'N' if set => self.keys.push(KeyValue::new("state", value::quote("drain"))),
                _ if set => {
                    member.note_changed("the server begins as its health is", "`state`", notes)
                }
                _ => {}
            }
        }
        let mut known: Vec<&'static str> = Vec::new();
        self.keys.retain(|one| {
            let is_new = !known.contains(&one.key);
            known.push(one.key);
            is_new
        });
    }
}

impl PoolParameters {
    /// Reads the parameters of a `ProxyPass`.
    pub fn read(
        words: &[String],
        from: &ConfigStatement,
        notes: &mut ConversionNotes,
    ) -> PoolParameters {
        let mut out = PoolParameters::default();
        out.extend(words, from, notes);
        out
    }

    /// Adds further parameters; later ones win.
    pub fn extend(
        &mut self,
        words: &[String],
        from: &ConfigStatement,
        notes: &mut ConversionNotes,
    ) {
        let known = self.probe.take();
        for word in words {
            let pair = word.split_once('=').unwrap_or((word, ""));
            let key = pair.0.to_ascii_lowercase();
            if key.starts_with("hc") {
                self.check(&key, pair.1, from, notes);
            } else {
                self.one(&key, pair.1, from, notes);
            }
        }
        let differs =
            |one: &SourcedValue| self.probe.as_ref().is_some_and(|probe| probe.value != one.value);
        if known.as_ref().is_some_and(differs) {
            let reason = "the servers of a pool are checked alike: as the last one of them";
            from.note_changed(reason, "a pool of its own", notes);
        }
        self.probe = self.probe.take().or(known);
    }

    fn one(&mut self, key: &str, text: &str, from: &ConfigStatement, notes: &mut ConversionNotes) {
        let time = duration(text);
        match key {
            "timeout" => self.timeout = time.or(self.timeout),
            "connectiontimeout" => self.connect = time.or(self.connect),
            "ttl" => self.idle = time.or(self.idle),
            "disablereuse" => self.is_never_kept = text.eq_ignore_ascii_case("on"),
            "enablereuse" => self.is_never_kept = text.eq_ignore_ascii_case("off"),
            "maxattempts" => self.attempts = text.parse::<usize>().ok().map(|n| n.min(10)),
            "max" => {
                let reason =
                    "the limit is one of the whole process, and not of each of its children";
                from.note_changed(reason, "`connections`", notes);
                self.connections =
                    Some(SourcedValue { value: text.to_owned(), source: from.source });
            }
            "lbmethod" => match text.to_ascii_lowercase().as_str() {
                "byrequests" => self.balance("round-robin", from),
                "bytraffic" => self.balance("least-bandwidth", from),
                "bybusyness" => self.balance("least-request", from),
                _ => from.leave_out("servers do not tell their load so", "`agent`", notes),
            },
            "stickysession" => {
                let cookie = text.split('|').next().unwrap_or(text).to_owned();
                self.session = Some(StickySession { cookie, source: from.source });
                if text.contains('|') {
                    from.note_changed("sessions in paths are not looked at", "`sticky`", notes);
                }
            }
            "upgrade" | "flushpackets" | "flushwait" | "iobuffersize" | "nocanon" | "growth"
            | "nonce" | "receivebuffersize" | "lbpersist" => {}
            "retry" | "acquire" | "keepalive" | "min" | "smax" | "ping" | "redirect"
            | "nofailover" | "forcerecovery" | "failonstatus" | "failontimeout"
            | "stickysessionsep" | "scolonpathdelim" | "addressttl" | "responsefieldsize"
            | "busyportcheck" | "route" | "status" | "loadfactor" | "lbset" => {
                let reason = format!(
                    "`{key}`: servers are put out, kept and asked in the balancer's own way"
                );
                from.note_changed(&reason, "`retries`, `eject`, `probe`, `limit`", notes);
            }
            _ => {
                let reason = format!("the converter does not know the parameter `{key}`");
                from.leave_out(&reason, "", notes);
            }
        }
    }

    fn balance(&mut self, word: &str, from: &ConfigStatement) {
        self.balance = Some(SourcedValue { value: word.to_owned(), source: from.source });
    }

    /// Parameters of active checks.
    fn check(
        &mut self,
        key: &str,
        text: &str,
        from: &ConfigStatement,
        notes: &mut ConversionNotes,
    ) {
        let pair = match (key, text.to_ascii_uppercase().as_str()) {
            ("hcmethod", "TCP") => KeyValue::new("tcp", "true"),
            ("hcmethod", method) if method.starts_with("GET") || method.starts_with("HEAD") => {
                KeyValue::new("method", value::quote(method.trim_end_matches("11")))
            }
            ("hcuri", _) => KeyValue::new("http", value::quote(text)),
            ("hcinterval", _) => match duration(text) {
                Some(ms) => KeyValue::new("interval", format_duration(ms)),
                None => return,
            },
            ("hcpasses", _) => KeyValue::new("rise", text),
            ("hcfails", _) => KeyValue::new("fall", text),
            _ => {
                let reason = format!("`{key}`: probes judge by status");
                return from.leave_out(&reason, "`probe`", notes);
            }
        };
        self.check.retain(|one| one.key != pair.key);
        self.check.push(pair);
        let has = |key: &str| self.check.iter().any(|one| one.key == key);
        if has("tcp") || has("method") {
            let mut pairs = self.check.clone();
            if !has("tcp") && !has("http") {
                pairs.push(KeyValue::new("http", value::quote("/")));
            }
            if !has("interval") {
                pairs.push(KeyValue::new("interval", value::quote("30s")));
            }
            pairs.retain(|one| !has("tcp") || !matches!(one.key, "http" | "method"));
            let source: SourcePlace = from.source;
            self.probe = Some(SourcedValue { value: value::table(&pairs), source });
        }
    }
}
