//! Removes the parts of a document that `steelyard check` would reject, with the reason as a note.
//!
//! The crate returns only configurations that Steelyard's own parser accepts.

use std::collections::{BTreeMap, BTreeSet};

use model::config::{ConfigFinding, check_text};

use crate::document::{Document, EntryPosition, ItemPosition, LineContent, TomlValue};
use crate::document_size::WRITTEN_MAX;
use crate::notes::ConversionNotes;
use crate::rule_fallback::{RuleFallback, is_refusal};
use crate::source::SourcePlace;

/// The limit of removal rounds. A removal may invalidate other entries.
const ROUNDS: usize = 64;

/// The limit of bytes that all rounds check together, but for the first ones.
const CHECKED_BYTES: usize = 2 * WRITTEN_MAX;
/// The rounds that are always made.
const LEAST_ROUNDS: usize = 4;

const CLOSED: &str =
    "; so that none of its requests take a broader rule, what it may have meant is refused";

/// The valid text. `None` if no service, group or pool is left, or if errors remain.
pub fn validate(document: &mut Document, notes: &mut ConversionNotes) -> Option<String> {
    if document.dropped > 0 {
        let reason = document.refusal();
        notes.left_out(SourcePlace::NONE, "the whole file", &reason, "split the file");
        return None;
    }
    // Why the last text is refused.
    let mut refusal = String::new();
    let mut checked_bytes = 0;
    for round in 0..ROUNDS {
        let page = document.render(notes.file());
        if page.text.len() > WRITTEN_MAX {
            let bytes = page.text.len();
            let reason =
                format!("what is written of it has {bytes} bytes, more than {WRITTEN_MAX}");
            notes.left_out(SourcePlace::NONE, "the whole file", &reason, "split the file");
            return None;
        }
        checked_bytes += page.text.len();
        if round >= LEAST_ROUNDS && checked_bytes > CHECKED_BYTES {
            break;
        }
        let findings = match check_text(&page.text, "converted") {
            Err(findings) => findings,
            Ok(warnings) => {
                let is_former = |one: &ConfigFinding| one.message.contains("` is called `");
                debug_assert!(!warnings.iter().any(is_former), "former names: {warnings:#?}");
                let of_use = |path: &str| {
                    path.starts_with("service.")
                        || path.starts_with("vrrp.")
                        || path.starts_with("pool.")
                };
                return document
                    .tables
                    .iter()
                    .any(|table| of_use(&table.path))
                    .then_some(page.text);
            }
        };
        refusal.clear();
        refusal.extend(findings.errors().next().map(|finding| finding.message.clone()));
        let mut out = RemovedItems::default();
        for finding in findings.errors() {
            let at = (finding.line as usize).saturating_sub(1);
            let slot = document.line_content(&page, at);
            out.mark_removed(document, slot, finding, notes);
        }
        if out.is_empty() {
            break;
        }
        out.remove_marked(document);
    }
    let reason = format!("what was written of it is refused: {refusal}");
    let instead = "split the file, or report it: this may be a mistake of the converter";
    notes.left_out(SourcePlace::NONE, "the whole file", &reason, instead);
    None
}

/// The service or the pool that contains a table, or the table itself.
fn owning_table(document: &Document, at: usize) -> usize {
    let path = &document.tables[at].path;
    let end = path.match_indices('.').nth(1).map_or(path.len(), |(end, _)| end);
    let owner =
        document.tables.iter().position(|table| !table.repeated && table.path == path[..end]);
    owner.unwrap_or(at)
}

#[derive(Default)]
struct RemovedItems {
    tables: BTreeSet<usize>,
    entries: BTreeSet<EntryPosition>,
    items: BTreeSet<ItemPosition>,
    fallbacks: BTreeMap<usize, RuleFallback>,
}

impl RemovedItems {
    fn is_empty(&self) -> bool {
        self.tables.is_empty()
            && self.entries.is_empty()
            && self.items.is_empty()
            && self.fallbacks.is_empty()
    }

    fn mark_removed(
        &mut self,
        document: &Document,
        slot: LineContent,
        finding: &ConfigFinding,
        notes: &mut ConversionNotes,
    ) {
        let (at, source, new) = match slot {
            LineContent::Fixed => return,
            LineContent::Table(at) => {
                let new = match RuleFallback::for_table(&document.tables[at]) {
                    Some(fallback) => self.fallbacks.insert(at, fallback).is_none(),
                    // What refuses and cannot be written takes its service along: nothing may be open that was closed.
                    None if is_refusal(&document.tables[at]) => {
                        self.tables.insert(owning_table(document, at))
                    }
                    None if document.tables[at].entries.iter().any(|entry| entry.essential) => {
                        self.tables.insert(owning_table(document, at))
                    }
                    None => self.tables.insert(at),
                };
                (at, document.tables[at].source, new)
            }
            LineContent::Entry(position) => {
                let at = position.table;
                let table = &document.tables[at];
                let entry = &table.entries[position.entry];
                let new = if let Some(fallback) =
                    RuleFallback::for_entry(table, position.entry, &finding.key)
                {
                    self.fallbacks.insert(at, fallback).is_none()
                } else if entry.essential {
                    // Without a required key, the service or pool that owns the table is removed.
                    self.tables.insert(owning_table(document, at))
                } else if table.atomic {
                    self.tables.insert(at)
                } else {
                    self.entries.insert(position)
                };
                (at, entry.source, new)
            }
            LineContent::Item(position) => {
                let EntryPosition { table: at, entry } = position.list;
                let TomlValue::List(items) = &document.tables[at].entries[entry].value else {
                    return;
                };
                (at, items[position.item].source, self.items.insert(position))
            }
        };
        if !new {
            return;
        }
        let table = &document.tables[at];
        let source = if source.line() > 0 { source } else { table.source };
        let mut reason = finding.message.clone();
        if let Some(found) = &finding.found {
            reason.push_str(&format!(" (found {found})"));
        }
        if self.fallbacks.get(&at).is_some_and(|fallback| fallback.closes(table)) {
            reason.push_str(CLOSED);
        }
        let what = if source.line() == table.source.line() {
            table.directive.clone()
        } else {
            finding.key.clone()
        };
        let instead = finding.expected.clone().unwrap_or_default();
        notes.left_out(source.whole(), &what, &reason, &instead);
    }

    fn remove_marked(&self, document: &mut Document) {
        for (at, fallback) in &self.fallbacks {
            fallback.apply(&mut document.tables[*at]);
        }
        // Removing a table also removes its subtables.
        let gone: Vec<String> = self
            .tables
            .iter()
            .map(|at| &document.tables[*at])
            .filter(|table| !table.repeated)
            .map(|table| format!("{}.", table.path))
            .collect();
        for ItemPosition { list, item } in self.items.iter().rev() {
            let entry = &mut document.tables[list.table].entries[list.entry];
            if let TomlValue::List(items) = &mut entry.value {
                items.remove(*item);
            }
        }
        let empty = |value: &TomlValue| matches!(value, TomlValue::List(items) if items.is_empty());
        for EntryPosition { table, entry } in self.entries.iter().rev() {
            document.tables[*table].entries.remove(*entry);
        }
        for table in &mut document.tables {
            table.entries.retain(|entry| !empty(&entry.value));
        }
        let mut at = 0;
        document.tables.retain(|table| {
            let stays = !self.tables.contains(&at)
                && !table.entries.is_empty()
                && !gone.iter().any(|prefix| table.path.starts_with(prefix));
            at += 1;
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::TomlTable;
    use crate::notes::FinishedNotes;
    use crate::value;

    fn at(line: u32) -> SourcePlace {
        SourcePlace::at_line(line)
    }

    fn document(forward: &str, rule: &str) -> Document {
        let mut document = Document::default();
        let mut service = TomlTable::new("service.a", at(1), "frontend a");
        service.set("listen", value::quote("127.0.0.1:80"), at(2));
        service.set("forward", value::quote(forward), at(3));
        service.set("pool", value::quote("b"), at(4));
        document.push(service);
        let mut one = TomlTable::one_of("service.a.rule", at(5), "use_backend b if x");
        one.set("when", rule, at(5));
        one.set("pool", value::quote("b"), at(5));
        document.push(one);
        let mut pool = TomlTable::new("pool.b", at(6), "backend b");
        pool.push_item("servers", value::quote("10.0.0.1:80"), at(7));
        pool.push_item("servers", value::quote("nonsense"), at(8));
        document.push(pool);
        document
    }

    #[test]
    fn what_is_refused_goes_and_is_reported_with_its_line() {
        let mut notes = ConversionNotes::new("x.cfg");
        let text = validate(&mut document("http", "{ path = \"no slash\" }"), &mut notes).unwrap();
        assert!(check_text(&text, "x").is_ok());
        assert!(text.contains("\"10.0.0.1:80\", # line 7") && !text.contains("nonsense"), "{text}");
        assert!(text.contains("deny = true"), "what the rule meant would go elsewhere: {text}");
        assert!(!text.contains("no slash"), "{text}");
        let FinishedNotes { list, left_out: left, .. } = notes.finish();
        assert_eq!((left, list[0].line, list[1].line), (2, 5, 8), "{list:?}");
    }

    #[test]
    fn a_rule_that_is_refused_lets_nothing_to_a_broader_one() {
        for (when, refusal) in [
            (
                "{ host = \"a.example\", path = \"no slash\" }",
                "when = { host = \"a.example\" } # line 5\ndeny = true",
            ),
            (
                "{ not = { client = \"x\" }, method = \"GET\" }",
                "when = { method = \"GET\" } # line 5\ndeny = true",
            ),
            ("{ any = [{ path = \"/a\" }, { path-regex = \"(\" }] }", "]]\ndeny = true"),
        ] {
            let mut notes = ConversionNotes::new("x.cfg");
            let text = validate(&mut document("http", when), &mut notes).unwrap();
            assert!(check_text(&text, "x").is_ok() && text.contains(refusal), "{when}: {text}");
        }
    }

    #[test]
    fn a_service_that_may_not_stand_takes_its_rules_along() {
        let mut notes = ConversionNotes::new("x.cfg");
        let text = validate(&mut document("nonsense", "{ path = \"/a\" }"), &mut notes).unwrap();
        assert!(!text.contains("service"), "{text}");
    }
}
