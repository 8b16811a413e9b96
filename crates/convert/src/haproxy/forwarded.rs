//! Client information in requests to servers: `option forwardfor`, or header fields that rules set.

use crate::document::TomlTable;
use crate::notes::ConversionNotes;
use crate::source::Source;
use crate::value;

use super::lex::ConfigLine;
use super::settings::ProxySettings;

/// Writes the `forwarded` table of a frontend that uses these backends.
pub fn write(
    service: &mut TomlTable,
    settings: &ProxySettings,
    backends: &[&ProxySettings],
    notes: &mut ConversionNotes,
) {
    let all: Vec<&ProxySettings> = backends.iter().copied().chain([settings]).collect();
    let mode = ("x-forwarded", value::quote(mode(&all)));
    service.set("forwarded", value::table(&[mode, ("via", "false".to_owned())]), Source::NONE);
    let options: Vec<&ConfigLine> =
        all.iter().filter_map(|one| one.options.get("forwardfor")).collect();
    let sources: Vec<Source> = options.iter().map(|line| line.source).collect();
    service.add_sources("forwarded", &sources);
    options.into_iter().for_each(|line| note_keywords(line, notes));
}

fn mode(all: &[&ProxySettings]) -> &'static str {
    let steps = || all.iter().flat_map(|one| &one.rules);
    let written = |line: &ConfigLine, action: &str, field: &str| {
        line.word(1) == action && line.word(2).eq_ignore_ascii_case(field)
    };
    let appends = |line: &ConfigLine| {
        written(line, "add-header", "x-forwarded-for")
            || written(line, "set-header", "x-forwarded-proto")
            || written(line, "add-header", "x-forwarded-proto")
    };
    if steps().any(|line| written(line, "set-header", "x-forwarded-for")) {
        "replace"
    } else if all.iter().any(|one| one.options.contains_key("forwardfor")) || steps().any(appends) {
        "append"
    } else {
        "keep"
    }
}

/// Keywords of `option forwardfor`.
fn note_keywords(line: &ConfigLine, notes: &mut ConversionNotes) {
    let mut words = line.keywords(2);
    while let Some(word) = words.keyword() {
        let reason = match word {
            "except" | "header" => {
                words.value();
                format!(
                    "the field has no `{word}`: it is X-Forwarded-For, and every client is in it"
                )
            }
            "if-none" => "what a client says of itself is never taken for the truth".to_owned(),
            other => format!("`{other}` is not known here"),
        };
        notes.left_out(words.source(), &line.text(), &reason, "`forwarded` of the service");
    }
}
