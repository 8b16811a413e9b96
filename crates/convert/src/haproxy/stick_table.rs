//! Sticky sessions: cookies and stick tables of a backend become the service's `sticky`.

use crate::document::{SourcedValue, TomlTable};
use crate::duration;
use crate::notes::ConversionNotes;
use crate::value::{self, KeyValue};

use super::cookie;
use super::lex::ConfigLine;
use super::pools::BackendPools;
use super::settings::ProxySettings;

/// Writes the stickiness of the first backend that has it.
pub fn write(
    service: &mut TomlTable,
    settings: &ProxySettings,
    used: &[String],
    pools: &BackendPools,
    notes: &mut ConversionNotes,
) {
    let backends = used.iter().filter_map(|name| pools.settings(name));
    let found: Vec<Option<SourcedValue>> =
        backends.map(|backend| backend_stickiness(backend, settings.http, notes)).collect();
    let Some(first) = found.iter().flatten().next() else { return };
    let different =
        found.iter().any(|one| one.as_ref().map(|one| &one.value) != Some(&first.value));
    if different {
        let reason = "a service keeps clients for all of its pools alike, and its backends differ";
        notes.changed(
            first.source,
            "cookie, stick",
            reason,
            "services of their own, or the same in all backends",
        );
    }
    for other in found.iter().flatten().skip(1) {
        if other.value == first.value {
            notes.converted(other.source);
        } else {
            let reason = "clients are kept as the first of the service's backends says";
            notes.changed(other.source, "cookie, stick", reason, "a service of its own");
        }
    }
    service.set("sticky", first.value.clone(), first.source);
}

fn backend_stickiness(
    backend: &ProxySettings,
    http: bool,
    notes: &mut ConversionNotes,
) -> Option<SourcedValue> {
    let cookie = backend.single.get("cookie").filter(|_| http);
    if let Some(line) = cookie.filter(|line| !cookie::names_servers(line, backend)) {
        let reason = "no server has a `cookie`, so that HAProxy keeps no client by it";
        notes.not_needed(line.source.whole(), &line.text(), reason);
        return None;
    }
    let own =
        cookie.map(|line| SourcedValue { value: cookie::sticky(line, notes), source: line.source });
    let learned = backend.single.get("appsession").filter(|_| http);
    let learned = || {
        let line = learned?;
        Some(SourcedValue { value: learned_cookie(line.word(1), "1h"), source: line.source })
    };
    own.or_else(learned).or_else(|| stick_table(backend, http, notes))
}

fn learned_cookie(name: &str, time: &str) -> String {
    value::table(&[
        KeyValue::new("by", value::quote("cookie")),
        KeyValue::new("name", value::quote(name)),
        KeyValue::new("cookie", value::quote("learn")),
        KeyValue::new("expire", value::quote(time)),
    ])
}

/// Converts `stick-table` with its `stick` lines.
fn stick_table(
    backend: &ProxySettings,
    http: bool,
    notes: &mut ConversionNotes,
) -> Option<SourcedValue> {
    let line = backend.sticks.first()?;
    let kept = backend.single.get("stick-table");
    let word = |name: &str| kept?.value_of(name);
    let time = word("expire")
        .and_then(|text| duration::parse_duration(text, 1))
        .unwrap_or(3_600_000)
        .max(1_000);
    let mut pairs = vec![KeyValue::new("expire", duration::format_duration(time))];
    // The configuration's range for `entries`.
    let size = word("size").and_then(count).map(|size| size.clamp(64, 16_777_216));
    pairs.extend(size.map(|size| KeyValue::new("entries", size.to_string())));
    let fetch = line
        .rest(1)
        .iter()
        .find(|one| one.contains('(') || one.starts_with("src"))
        .map_or("", String::as_str);
    let argument =
        fetch.split_once('(').map_or("", |(_, rest)| rest.split(')').next().unwrap_or_default());
    let (by, name) = match fetch.split('(').next().unwrap_or_default() {
        "src" => ("address", None),
        "req.cook" | "cook" | "res.cook" if http => ("cookie", Some(argument)),
        "req.hdr" | "hdr" if http => ("header", Some(argument)),
        "urlp" | "url_param" if http => ("query", Some(argument)),
        "path" if http => ("path", None),
        _ => {
            notes.left_out(
                line.source,
                &line.text(),
                "clients are not told apart so",
                "`sticky` by address, cookie, header, path or query",
            );
            return None;
        }
    };
    pairs.insert(0, KeyValue::new("by", value::quote(by)));
    pairs.extend(name.map(|name| KeyValue::new("name", value::quote(name))));
    if by == "cookie" {
        pairs.push(KeyValue::new("cookie", value::quote("learn")));
    }
    if let Some(kept) = kept {
        note_table_keywords(kept, notes);
    }
    for more in &backend.sticks {
        match more.word(1) {
            "on" | "match" | "store-request" | "store-response" if is_same_key(more, fetch) => {
                more.mark_converted();
            }
            _ => notes.left_out(
                more.source,
                &more.text(),
                "a client is kept by one thing",
                "`sticky` in the service",
            ),
        }
    }
    Some(SourcedValue { value: value::table(&pairs), source: line.source })
}

/// Whether a `stick` line uses the same key: an address, or a field of this name in a request or its response.
fn is_same_key(line: &ConfigLine, fetch: &str) -> bool {
    let argument = fetch.split_once('(').map(|(_, argument)| argument);
    line.rest(2).iter().any(|word| match (argument, word.split_once('(')) {
        (Some(wanted), Some((_, found))) => wanted == found,
        _ => word == fetch,
    })
}

/// Keywords of `stick-table`.
fn note_table_keywords(line: &ConfigLine, notes: &mut ConversionNotes) {
    let mut words = line.keywords(1);
    while let Some(word) = words.keyword() {
        match word {
            "type" | "size" | "expire" => {
                words.value();
                words.mark_converted();
            }
            "len" => {
                words.value();
                words.mark_converted();
            }
            "nopurge" => {
                let reason =
                    "a table that is full forgets the client that was not seen for longest";
                notes.changed(words.source(), &line.text(), reason, "`sticky.entries`");
            }
            other => {
                words.value();
                let reason = format!("tables have no `{other}`");
                notes.left_out(words.source(), &line.text(), &reason, "");
            }
        }
    }
    notes.converted(line.source);
}

fn count(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match &text[digits.len()..] {
        "" => 1,
        "k" | "K" => 1_024,
        "m" | "M" => 1_048_576,
        "g" | "G" => 1_073_741_824,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(scale)
}
