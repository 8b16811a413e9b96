//! Client information in requests to servers: `option forwardfor`, or header fields that rules set.

use crate::document::TomlTable;
use crate::notes::ConversionNotes;
use crate::source::SourcePlace;
use crate::value::{self, KeyValue};

use super::hidden_inputs::changes_client;
use super::lex::ConfigLine;
use super::settings::ProxySettings;

/// Why servers are not told who the client is.
pub const OTHER_CLIENT: &str = "`set-src` gives requests another address, which is not known here; what clients send under this name is removed";

/// Writes the table of a frontend with these backends. What clients send passes, as in HAProxy, and the field of the
/// client's address is added behind what rules change.
pub fn write(
    service: &mut TomlTable,
    settings: &ProxySettings,
    backends: &[&ProxySettings],
    notes: &mut ConversionNotes,
) {
    let mut pairs =
        vec![KeyValue::new("x-forwarded", value::quote("pass")), KeyValue::new("via", "false")];
    let all = backends.iter().copied().chain([settings]);
    let mut options: Vec<&ConfigLine> =
        all.filter_map(|one| one.options.get("forwardfor")).collect();
    if !is_common(settings, backends) {
        // Rules of the backends add it.
        options.clear();
    }
    let changes = |one: &&ProxySettings| one.rules.iter().any(changes_client);
    if backends.iter().copied().chain([settings]).any(|one| changes(&one)) {
        for line in options.drain(..) {
            notes.left_out(
                line.source.whole(),
                &line.text(),
                OTHER_CLIENT,
                "`trust` of the proxies whose X-Forwarded-For is believed",
            );
        }
    }
    if let Some(first) = options.first() {
        pairs.push(KeyValue::new("client-field", client_field(first, notes)));
    }
    for other in options.iter().skip(1).filter(|other| other.all_words() != options[0].all_words())
    {
        let reason = "a service has one such field for all of its pools";
        notes.left_out(other.source.whole(), &other.text(), reason, "services of their own");
    }
    service.set("forwarded", value::table(&pairs), SourcePlace::NONE);
    let sources: Vec<SourcePlace> = options.iter().map(|line| line.source).collect();
    service.add_sources("forwarded", &sources);
}

/// Whether all requests of a frontend get the field: by its own option, or by those of all of its backends.
pub fn is_common(settings: &ProxySettings, backends: &[&ProxySettings]) -> bool {
    let has = |one: &ProxySettings| one.options.contains_key("forwardfor");
    has(settings) || backends.iter().all(|one| has(one))
}

/// `option forwardfor` with its keywords.
fn client_field(line: &ConfigLine, notes: &mut ConversionNotes) -> String {
    let mut name = "X-Forwarded-For".to_owned();
    let mut mode = "add";
    let mut except = Vec::new();
    let mut words = line.keywords(2);
    while let Some(word) = words.keyword() {
        match word {
            "except" => except.push(value::quote(words.value())),
            "header" => words.value().clone_into(&mut name),
            "if-none" => mode = "if-absent",
            other => {
                let reason = format!("`{other}` is not known here");
                notes.left_out(words.source(), &line.text(), &reason, "`forwarded.client-field`");
                continue;
            }
        }
        words.mark_converted();
    }
    let mut pairs =
        vec![KeyValue::new("name", value::quote(&name)), KeyValue::new("mode", value::quote(mode))];
    if !except.is_empty() {
        pairs.push(KeyValue::new("except", value::list(except)));
    }
    value::table(&pairs)
}
