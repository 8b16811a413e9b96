//! Who keeps a client: cookies and tables of a backend, as the `sticky` of the service before it.

use crate::document::Table;
use crate::notes::Notes;
use crate::{span, value};

use super::lex::Line;
use super::pools::Pools;
use super::settings::Settings;

/// What a backend says of it.
struct Found {
    value: String,
    line: u32,
}

/// Writes that of the first backend which says so.
pub fn write(
    service: &mut Table,
    settings: &Settings,
    used: &[String],
    pools: &Pools,
    notes: &mut Notes,
) {
    let backends = used.iter().filter_map(|name| pools.settings(name));
    let found: Vec<Option<Found>> =
        backends.map(|backend| of(backend, settings.http, notes)).collect();
    let Some(first) = found.iter().flatten().next() else { return };
    let different =
        found.iter().any(|one| one.as_ref().map(|one| &one.value) != Some(&first.value));
    if different {
        let reason = "a service keeps clients for all of its pools alike, and its backends differ";
        notes.changed(
            first.line,
            "cookie, stick",
            reason,
            "services of their own, or the same in all backends",
        );
    }
    service.set("sticky", first.value.clone(), first.line);
}

fn of(backend: &Settings, http: bool, notes: &mut Notes) -> Option<Found> {
    let cookie = backend.single.get("cookie").filter(|_| http);
    let found = cookie.map(|line| (own_cookie(line, notes), line));
    let learned = backend.single.get("appsession").filter(|_| http);
    let found = found.or_else(|| learned.map(|line| (learnt(line.word(1), "1h"), line)));
    let found = found.or_else(|| table(backend, http, notes));
    found.map(|(value, line)| Found { value, line: line.number })
}

fn own_cookie(line: &Line, notes: &mut Notes) -> String {
    let has = |word: &str| line.words.iter().any(|one| one == word);
    let name = ("name", value::text(line.word(1)));
    let by = ("by", value::text("cookie"));
    if has("rewrite") || has("prefix") {
        if has("prefix") {
            let reason = "a cookie is rewritten whole, not prefixed";
            notes.changed(
                line.number,
                &line.text(),
                reason,
                "`cookie = \"insert\"` for a cookie of its own",
            );
        }
        return value::table(&[by, name, ("cookie", value::text("rewrite"))]);
    }
    let mut pairs = vec![by, name, ("cookie", value::text("insert"))];
    let after = |word: &str| {
        let at = line.words.iter().position(|one| one == word)?;
        span::read(line.word(at + 1), 1_000)
    };
    pairs.extend(after("maxidle").map(|ms| ("time", span::written(ms))));
    if has("httponly") {
        pairs.push(("http-only", "true".to_owned()));
    }
    if has("secure") {
        pairs.push(("secure", "true".to_owned()));
    }
    notes.changed(
        line.number,
        &line.text(),
        "its values are ours: clients are shared out anew once",
        "",
    );
    value::table(&pairs)
}

fn learnt(name: &str, time: &str) -> String {
    value::table(&[
        ("by", value::text("cookie")),
        ("name", value::text(name)),
        ("cookie", value::text("learn")),
        ("time", value::text(time)),
    ])
}

/// `stick-table` with its `stick` lines.
fn table<'s>(backend: &'s Settings, http: bool, notes: &mut Notes) -> Option<(String, &'s Line)> {
    let line = backend.sticks.first()?;
    let kept = backend.single.get("stick-table");
    let word = |name: &str| {
        let line = kept?;
        let at = line.words.iter().position(|one| one == name)?;
        Some(line.word(at + 1))
    };
    let time = word("expire").and_then(|text| span::read(text, 1)).unwrap_or(3_600_000).max(1_000);
    let mut pairs = vec![("time", span::written(time))];
    let size = word("size").and_then(count).map(|size| size.clamp(64, 16_777_216));
    pairs.extend(size.map(|size| ("entries", size.to_string())));
    let fetch = line
        .words
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
            notes.left(
                line.number,
                &line.text(),
                "clients are not told apart so",
                "`sticky` by address, cookie, header, path or query",
            );
            return None;
        }
    };
    pairs.insert(0, ("by", value::text(by)));
    pairs.extend(name.map(|name| ("name", value::text(name))));
    if by == "cookie" {
        pairs.push(("cookie", value::text("learn")));
    }
    Some((value::table(&pairs), line))
}

/// `100k`, `1m`.
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
