//! HAProxy's error files as error pages of a service.
//!
//! A page of a backend answers for failures of servers, a page of a frontend for refusals. A service has one page for
//! each status. Files are named and not opened.

use std::collections::BTreeMap;

use crate::document::TomlTable;
use crate::notes::{ConversionNotes, UnsupportedReason};
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::lex::ConfigLine;
use super::section::HaproxySection;
use super::settings::ProxySettings;

/// The `http-errors` sections by their names.
#[derive(Debug, Default)]
pub struct ErrorFileSets<'s>(BTreeMap<&'s str, &'s HaproxySection>);

/// A page for one status.
#[derive(Clone, Debug)]
struct StatusPage {
    status: u16,
    keys: Vec<KeyValue>,
    source: SourcePlace,
    text: String,
}

/// The pages of a proxy by their status.
type PagesByStatus = BTreeMap<u16, StatusPage>;

impl<'s> ErrorFileSets<'s> {
    pub fn add(&mut self, section: &'s HaproxySection, notes: &mut ConversionNotes) {
        if let Some(earlier) = self.0.insert(&section.name, section) {
            earlier.note_replaced(notes);
        }
    }

    /// Reports sections and lines that no proxy uses.
    pub fn note_unused(&self, notes: &mut ConversionNotes) {
        for section in self.0.values() {
            let reason = "no proxy that is written refers to it";
            if section.lines.iter().any(ConfigLine::is_settled) {
                notes.converted(section.source.whole());
            } else {
                notes.not_needed(section.source.whole(), &section.text, reason);
            }
            for line in section.lines.iter().filter(|line| !line.is_settled()) {
                notes.not_needed(line.source.whole(), &line.text(), reason);
            }
        }
    }
}

/// Writes the pages of a service. `backends`: the backends that its frontend leads to, also those without servers.
pub fn write(
    service: &mut TomlTable,
    own: &ProxySettings,
    backends: &[&ProxySettings],
    sets: &ErrorFileSets<'_>,
    notes: &mut ConversionNotes,
) {
    let own = read(&own.error_pages, sets, notes);
    let backends: Vec<PagesByStatus> =
        backends.iter().map(|one| read(&one.error_pages, sets, notes)).collect();
    let mut chosen = PagesByStatus::new();
    // What is refused before a backend is chosen is the frontend's, and what fails at servers is the backend's.
    let refusals = std::iter::once(&own).chain(&backends).flat_map(|pages| pages.range(..500));
    let failures = backends.iter().chain([&own]).flat_map(|pages| pages.range(500..));
    for (status, page) in refusals.chain(failures) {
        let taken = chosen.entry(*status).or_insert_with(|| page.clone());
        if taken.keys == page.keys {
            notes.converted(page.source);
        } else {
            let reason = "a service has one page for each status, and this status has another";
            notes.left_out(page.source, &page.text, reason, "a service of its own");
        }
    }
    let has_502 = chosen.contains_key(&502);
    for page in chosen.values() {
        let has_page =
            |pages: &PagesByStatus| [pages, &own].iter().any(|one| one.contains_key(&page.status));
        if !backends.iter().all(has_page) {
            let reason = "a service has one page for each status, so it also answers where other backends fail";
            notes.changed(page.source, &page.text, reason, "a service of its own");
        }
        let mut status = page.status.to_string();
        if page.status == 503 && !has_502 {
            let reason = "a server that cannot be reached is 502 here, so the page is also for 502";
            notes.changed(page.source, &page.text, reason, "");
            status = value::list(["502".to_owned(), status]);
        }
        let mut keys = vec![KeyValue::new("status", status)];
        keys.extend(page.keys.iter().cloned());
        service.push_item("error-page", value::table(&keys), page.source);
    }
}

/// The pages of one proxy. A later line replaces an earlier one of the same status.
fn read(
    lines: &[ConfigLine],
    sets: &ErrorFileSets<'_>,
    notes: &mut ConversionNotes,
) -> PagesByStatus {
    let mut pages = PagesByStatus::new();
    for line in lines {
        let read = match line.word(0) {
            "errorfiles" => read_set(line, sets, &mut pages, notes),
            _ => read_page(line).map(|page| add(page, &mut pages, notes)),
        };
        if let Err(why) = read {
            notes.left_out_because(line.source.whole(), &line.text(), &why);
        }
    }
    pages
}

/// Adds a page, unless its file is the empty device: HAProxy then closes without an answer.
fn add(page: StatusPage, pages: &mut PagesByStatus, notes: &mut ConversionNotes) {
    if page.keys.iter().any(|one| one.key == "file" && one.value == "\"/dev/null\"") {
        if page.status == 408 {
            let reason = "a client that sends nothing gets no answer either; one that sends a part of a request \
                          gets 408";
            return notes.changed(page.source, &page.text, reason, "");
        }
        let reason =
            "a connection is not closed without an answer; clients get a text with the cause";
        return notes.left_out(page.source, &page.text, reason, "`error-page` with a `body`");
    }
    let replaced = pages.insert(page.status, page.clone());
    if let Some(old) = replaced.filter(|old| old.source != page.source) {
        notes.not_needed(old.source, &old.text, "a later line takes its place");
    }
}

/// The pages of a set, or those of the statuses behind its name.
fn read_set(
    line: &ConfigLine,
    sets: &ErrorFileSets<'_>,
    pages: &mut PagesByStatus,
    notes: &mut ConversionNotes,
) -> Result<(), UnsupportedReason> {
    let Some(set) = sets.0.get(line.word(1)) else {
        let reason =
            "there is no section `http-errors` of this name; clients get a text with the cause";
        return Err(UnsupportedReason::new(reason, "`error-page` in the service"));
    };
    let wanted = line.rest(2);
    for inner in &set.lines {
        let page = match inner.word(0) {
            "errorfile" => read_page(inner),
            _ => Err(UnsupportedReason::new("only files stand in such a section", "`errorfile`")),
        };
        match page {
            Ok(page) if wanted.is_empty() || wanted.contains(&page.status.to_string()) => {
                add(page, pages, notes);
            }
            Ok(_) => {}
            Err(why) => notes.left_out_because(inner.source.whole(), &inner.text(), &why),
        }
    }
    line.mark_converted();
    Ok(())
}

fn read_page(line: &ConfigLine) -> Result<StatusPage, UnsupportedReason> {
    let redirect = |status: &str| {
        let location = value::quote(&format!("Location: {}", line.word(2)));
        vec![KeyValue::new("as", status.to_owned()), KeyValue::new("headers", location)]
    };
    let mut at = 1;
    let keys = match line.word(0) {
        "errorfile" => http_file(line.word(2)),
        "errorloc303" => redirect("303"),
        "errorloc" | "errorloc302" => redirect("302"),
        _ => {
            at = 2;
            page_of_words(line.rest(3))?
        }
    };
    let status = line.word(at).parse().ok().filter(|status| (400..=599).contains(status));
    let Some(status) = status else {
        let reason = "a page is for a status of an error; the answer stays as it is";
        return Err(UnsupportedReason::new(reason, "a rule with `answer`"));
    };
    Ok(StatusPage { status, keys, source: line.source, text: line.text() })
}

/// A file with a status line and fields before the page.
fn http_file(path: &str) -> Vec<KeyValue> {
    vec![KeyValue::new("file", value::quote(path)), KeyValue::new("format", value::quote("http"))]
}

/// The page that the words behind a status describe.
fn page_of_words(words: &[String]) -> Result<Vec<KeyValue>, UnsupportedReason> {
    let mut keys = Vec::new();
    let mut fields = Vec::new();
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let mut next = || words.next().unwrap_or_default();
        match word {
            "content-type" => keys.push(KeyValue::new("type", value::quote(next()))),
            "errorfile" => keys.extend(http_file(next())),
            "file" => keys.push(KeyValue::new("file", value::quote(next()))),
            "string" => keys.push(KeyValue::new("body", value::quote(next()))),
            "lf-string" => {
                let text = fixed_text(next(), "a page has no variables")?;
                keys.push(KeyValue::new("body", value::quote(&text)));
            }
            "hdr" => {
                let name = next();
                let text = fixed_text(next(), "the fields of a page have no variables")?;
                fields.push(format!("{name}: {text}"));
            }
            _ => {
                let reason = format!("a page has no `{word}`; clients get a text with the cause");
                return Err(UnsupportedReason::new(reason, "`file` or `body` of an `error-page`"));
            }
        }
    }
    if !fields.is_empty() {
        keys.push(KeyValue::new("headers", value::quote_all(&fields)));
    }
    if keys.is_empty() {
        keys.push(KeyValue::new("body", value::quote("")));
    }
    Ok(keys)
}

/// A text of HAProxy's log format that has no variable.
pub fn fixed_text(text: &str, reason: &str) -> Result<String, UnsupportedReason> {
    let fixed = text.replace("%%", "");
    if fixed.contains('%') {
        let reason = format!("{reason}; clients get a text with the cause");
        return Err(UnsupportedReason::new(reason, "a text without variables"));
    }
    Ok(text.replace("%%", "%"))
}
