//! The `cookie` line of a backend as the service's `sticky`, and the values of `cookie` of its servers.

use std::collections::HashSet;

use crate::duration;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::lex::ConfigLine;
use super::settings::ProxySettings;

/// The `cookie` of a server line.
#[derive(Clone, Debug)]
pub struct ServerCookie {
    pub value: String,
    pub source: SourcePlace,
}

/// What the clients of a backend carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CookieLineMode {
    Insert,
    Rewrite,
    Prefix,
    Passive,
}

impl CookieLineMode {
    fn of(line: &ConfigLine) -> CookieLineMode {
        if line.has_word("prefix") {
            CookieLineMode::Prefix
        } else if line.has_word("insert") {
            CookieLineMode::Insert
        } else if line.has_word("rewrite") {
            CookieLineMode::Rewrite
        } else {
            CookieLineMode::Passive
        }
    }

    /// The value of `sticky.cookie`.
    fn name(self) -> &'static str {
        match self {
            CookieLineMode::Insert => "insert",
            CookieLineMode::Rewrite => "rewrite",
            CookieLineMode::Prefix => "prefix",
            CookieLineMode::Passive => "passive",
        }
    }
}

/// The `sticky` of a `cookie` line.
pub fn sticky(line: &ConfigLine, notes: &mut ConversionNotes) -> String {
    let mode = CookieLineMode::of(line);
    let mut pairs = vec![
        KeyValue::new("by", value::quote("cookie")),
        KeyValue::new("name", value::quote(line.word(1))),
    ];
    pairs.push(KeyValue::new("cookie", value::quote(mode.name())));
    if mode == CookieLineMode::Insert {
        // HAProxy adds no attribute that is not written.
        for (word, key) in [("httponly", "http-only"), ("secure", "secure")] {
            pairs.push(KeyValue::new(key, line.has_word(word).to_string()));
        }
    }
    let mut same_site = "omit";
    let mut words = line.keywords(2);
    while let Some(word) = words.keyword() {
        let inserts = mode == CookieLineMode::Insert;
        match word {
            "insert" | "rewrite" | "prefix" => words.mark_converted(),
            "httponly" | "secure" if inserts => words.mark_converted(),
            "indirect" if inserts => {
                pairs.push(KeyValue::new("hide", "true"));
                words.mark_converted();
            }
            "nocache" if mode != CookieLineMode::Passive => {
                pairs.push(KeyValue::new("no-cache", "true"));
                words.mark_converted();
            }
            "domain" if inserts && !pairs.iter().any(|one| one.key == "domain") => {
                let domain = words.value().trim_start_matches('.');
                pairs.push(KeyValue::new("domain", value::quote(domain)));
                words.mark_converted();
            }
            "maxidle" if inserts => {
                let time = duration::parse_duration(words.value(), 1_000);
                pairs.extend(time.map(|ms| KeyValue::new("time", duration::format_duration(ms))));
                words.mark_converted();
            }
            "attr" if inserts => match same_site_of(words.value()) {
                Some(found) => {
                    same_site = found;
                    words.mark_converted();
                }
                None => {
                    let reason = "the cookie gets no such attribute";
                    notes.left_out(words.source(), &line.text(), reason, "`sticky.same-site`");
                }
            },
            other => {
                if matches!(other, "domain" | "maxlife" | "attr" | "maxidle") {
                    words.value();
                }
                let reason = format!("the cookie has no `{other}`");
                notes.left_out(words.source(), &line.text(), &reason, "");
            }
        }
    }
    if mode == CookieLineMode::Insert {
        pairs.push(KeyValue::new("same-site", value::quote(same_site)));
    }
    if matches!(mode, CookieLineMode::Insert | CookieLineMode::Rewrite) {
        let reason = "its values are ours: clients are shared out anew once";
        notes.changed(line.source, &line.text(), reason, "");
    }
    value::table(&pairs)
}

/// The value of `same-site` for an attribute `SameSite=…`.
fn same_site_of(attribute: &str) -> Option<&'static str> {
    let (name, value) = attribute.split_once('=')?;
    let known = ["lax", "strict", "none"];
    let value = known.into_iter().find(|known| known.eq_ignore_ascii_case(value.trim()));
    value.filter(|_| name.trim().eq_ignore_ascii_case("samesite"))
}

/// The values of the servers that clients carry. Each is taken once.
#[derive(Debug)]
pub struct CookieValues {
    carried: bool,
    taken: HashSet<String>,
}

impl CookieValues {
    pub fn new(settings: &ProxySettings) -> CookieValues {
        let line = settings.single.get("cookie").filter(|_| settings.http);
        let carried = line
            .map(CookieLineMode::of)
            .is_some_and(|mode| matches!(mode, CookieLineMode::Prefix | CookieLineMode::Passive));
        CookieValues { carried, taken: HashSet::new() }
    }

    /// The server's key for its value, with a note where it has none.
    pub fn key(
        &mut self,
        cookie: &ServerCookie,
        line: &ConfigLine,
        notes: &mut ConversionNotes,
    ) -> Option<KeyValue> {
        let ServerCookie { value, source } = cookie;
        if !self.carried {
            note_own_values(*source, line, notes);
            return None;
        }
        if !is_cookie_value(value) {
            let reason = "cookies do not name a server by these characters";
            notes.left_out(*source, &line.text(), reason, "`cookie-value` of the server");
            return None;
        }
        if !self.taken.insert(value.clone()) {
            let reason = "another server of the pool has this value, and clients with it go there";
            notes.left_out(*source, &line.text(), reason, "`cookie-value` of the server");
            return None;
        }
        notes.converted(*source);
        Some(KeyValue::new("cookie-value", value::quote(value)))
    }

    /// Notes what becomes of a value for all servers of a name.
    pub fn note_template(
        &self,
        cookie: &ServerCookie,
        line: &ConfigLine,
        notes: &mut ConversionNotes,
    ) {
        if !self.carried {
            return note_own_values(cookie.source, line, notes);
        }
        let reason = "servers of a name have no `cookie` of their own";
        notes.left_out(cookie.source, &line.text(), reason, "servers by their addresses");
    }
}

fn note_own_values(source: SourcePlace, line: &ConfigLine, notes: &mut ConversionNotes) {
    let reason = "the values of the balancer's cookies are its own";
    notes.not_needed(source, &line.text(), reason);
}

/// Whether a server's `cookie-value` may be this.
fn is_cookie_value(value: &str) -> bool {
    (1..=64).contains(&value.len())
        && value.bytes().all(|byte| byte.is_ascii_graphic() && !b"~;,\"\\".contains(&byte))
}
