//! The `cookie` line of a backend as the service's `sticky`, and the values of `cookie` of its servers.

use model::config::is_cookie_value;

use crate::duration;
use crate::names::UniqueNames;
use crate::notes::ConversionNotes;
use crate::value::{self, KeyValue};

use super::lex::ConfigLine;
use super::server::HaproxyServer;
use super::settings::{ProxySettings, ServerLine};

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
        // The cookie's name may be any of these words.
        let has = |word: &str| line.rest(2).iter().any(|one| one == word);
        if has("prefix") {
            CookieLineMode::Prefix
        } else if has("insert") {
            CookieLineMode::Insert
        } else if has("rewrite") {
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

    /// Whether clients carry the values of servers.
    fn names_servers(self) -> bool {
        matches!(self, CookieLineMode::Prefix | CookieLineMode::Passive)
    }
}

/// Whether a server has a value that the cookie carries. HAProxy makes values itself with `dynamic`, and a template has
/// those of its servers' names.
pub fn names_servers(line: &ConfigLine, backend: &ProxySettings) -> bool {
    let has = |one: &ServerLine| {
        let lines = one.defaults.iter().chain([&one.line]);
        lines.into_iter().any(|line| line.all_words().iter().skip(1).any(|word| word == "cookie"))
    };
    backend.servers.iter().any(has) || line.rest(2).iter().any(|word| word == "dynamic")
}

/// The options of a `cookie` line.
#[derive(Debug, Default)]
struct CookieOptions {
    http_only: bool,
    secure: bool,
    hide: bool,
    no_cache: bool,
    domain: Option<String>,
    /// In milliseconds.
    time: Option<u64>,
    same_site: Option<&'static str>,
}

/// The `sticky` of a `cookie` line.
pub fn sticky(line: &ConfigLine, notes: &mut ConversionNotes) -> String {
    let mode = CookieLineMode::of(line);
    let options = CookieOptions::read(line, mode, notes);
    let mut pairs = vec![
        KeyValue::new("by", value::quote("cookie")),
        KeyValue::new("name", value::quote(line.word(1))),
        KeyValue::new("cookie", value::quote(mode.name())),
    ];
    let time = options.time.map(|ms| KeyValue::new("expire", duration::format_duration(ms)));
    pairs.extend(time);
    if mode == CookieLineMode::Insert {
        // HAProxy adds no attribute that is not written.
        pairs.push(KeyValue::new("http-only", options.http_only.to_string()));
        pairs.push(KeyValue::new("secure", options.secure.to_string()));
        let same_site = options.same_site.unwrap_or("omit");
        pairs.push(KeyValue::new("same-site", value::quote(same_site)));
    }
    let domain = options.domain.map(|domain| KeyValue::new("domain", value::quote(&domain)));
    pairs.extend(domain);
    for (set, key) in [(options.hide, "hide"), (options.no_cache, "no-cache")] {
        if set {
            pairs.push(KeyValue::new(key, "true"));
        }
    }
    if mode.names_servers() {
        notes.converted(line.source);
    } else {
        let reason = "its values are ours: clients are shared out anew once";
        notes.changed(line.source, &line.text(), reason, "");
    }
    value::table(&pairs)
}

impl CookieOptions {
    fn read(line: &ConfigLine, mode: CookieLineMode, notes: &mut ConversionNotes) -> CookieOptions {
        let inserts = mode == CookieLineMode::Insert;
        let mut out = CookieOptions::default();
        let mut words = line.keywords(2);
        while let Some(word) = words.keyword() {
            let given = matches!(word, "domain" | "maxidle" | "maxlife" | "attr")
                .then(|| words.value().to_owned())
                .unwrap_or_default();
            let failed = match word {
                "insert" | "rewrite" | "prefix" => None,
                "httponly" | "secure" | "indirect" | "domain" | "maxidle" | "attr" if inserts => {
                    out.attribute(word, &given).err()
                }
                "nocache" if mode != CookieLineMode::Passive => {
                    out.no_cache = true;
                    None
                }
                other => Some(format!("the cookie has no `{other}`")),
            };
            match failed {
                None => words.mark_converted(),
                Some(reason) => {
                    notes.left_out(words.source(), &line.text(), &reason, "`sticky`");
                }
            }
        }
        if out.same_site == Some("none") && !out.secure {
            out.same_site = None;
            let reason = "browsers take `SameSite=None` only with `secure`";
            notes.left_out(line.source, &line.text(), reason, "`sticky.same-site`");
        }
        out
    }

    /// Takes an option of an inserted cookie.
    fn attribute(&mut self, word: &str, given: &str) -> Result<(), String> {
        match word {
            "httponly" => self.http_only = true,
            "secure" => self.secure = true,
            "indirect" => self.hide = true,
            "domain" if self.domain.is_some() => {
                return Err("the cookie is sent to one domain".to_owned());
            }
            "domain" => self.domain = Some(given.trim_start_matches('.').to_owned()),
            "maxidle" => {
                let time = duration::parse_duration(given, 1_000);
                self.time = Some(time.ok_or_else(|| format!("`{given}` is not a time"))?);
            }
            _ => {
                let found = same_site_of(given);
                self.same_site =
                    Some(found.ok_or_else(|| "the cookie gets no such attribute".to_owned())?);
            }
        }
        Ok(())
    }
}

/// The value of `same-site` for an attribute `SameSite=…`.
fn same_site_of(attribute: &str) -> Option<&'static str> {
    let (name, value) = attribute.split_once('=')?;
    let known = ["lax", "strict", "none"];
    let value = known.into_iter().find(|known| known.eq_ignore_ascii_case(value.trim()));
    value.filter(|_| name.trim().eq_ignore_ascii_case("samesite"))
}

/// Gives servers the values that clients carry for them, each to one server, with a note for each that has none.
pub fn write_values(
    settings: &ProxySettings,
    servers: &mut [HaproxyServer],
    notes: &mut ConversionNotes,
) {
    let line = settings.single.get("cookie").filter(|_| settings.http);
    let carried = line.map(CookieLineMode::of).is_some_and(CookieLineMode::names_servers);
    if !carried {
        let reason = "the values of the balancer's cookies are its own";
        for cookie in servers.iter().filter_map(|server| server.cookie.as_ref()) {
            notes.not_needed(cookie.source, &cookie.text, reason);
        }
        return;
    }
    let mut names = UniqueNames::default();
    let mut values: Vec<ServerValue> = Vec::new();
    for (at, server) in servers.iter().enumerate() {
        let Some(cookie) = &server.cookie else {
            if !server.is_template {
                let name = names.unique_name(&server.name);
                values.push(ServerValue { at, value: None, name });
                let reason =
                    "a server without `cookie` is carried by its name, and keeps its clients";
                notes.changed(server.source, &format!("server {}", server.name), reason, "");
            }
            continue;
        };
        let mut refuse = |reason: &str| {
            let instead = "`cookie-value` of the server";
            notes.left_out(cookie.source, &cookie.text, reason, instead);
        };
        if server.is_template {
            refuse("servers of a name have no `cookie` of their own");
            continue;
        }
        let taken = values.iter().any(|other| other.value.as_ref() == Some(&cookie.value));
        let fits = is_cookie_value(&cookie.value);
        if !fits {
            refuse("cookies do not name a server by these characters");
        } else if taken {
            refuse("another server of the pool has this value, and clients with it go there");
        }
        let value = (fits && !taken).then(|| cookie.value.clone());
        values.push(ServerValue { at, value, name: names.unique_name(&server.name) });
    }
    // A server without a value counts by its name, which no other value may be.
    while let Some(at) = values.iter().position(|one| is_name_of_another(one, &values)) {
        values[at].value = None;
        if let Some(cookie) = servers[values[at].at].cookie.as_ref() {
            let reason =
                "it is the name of another server of the pool, and clients with it go there";
            let instead = "`cookie-value` of the server";
            notes.left_out(cookie.source, &cookie.text, reason, instead);
        }
    }
    for ServerValue { at, value, .. } in values {
        let server = &mut servers[at];
        if let (Some(value), Some(cookie)) = (value, &server.cookie) {
            notes.converted(cookie.source);
            server.keys.push(KeyValue::new("cookie-value", value::quote(&value)));
        }
    }
}

/// What clients carry for the server of this position.
struct ServerValue {
    at: usize,
    value: Option<String>,
    /// Its name in the pool, which is carried where it has no value.
    name: String,
}

fn is_name_of_another(one: &ServerValue, all: &[ServerValue]) -> bool {
    let unnamed = |other: &&ServerValue| other.at != one.at && other.value.is_none();
    one.value
        .as_ref()
        .is_some_and(|value| all.iter().filter(unnamed).any(|other| other.name == *value))
}
