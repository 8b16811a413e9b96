//! Takes out of a document what `steelyard check` would refuse, with the judge's own reason as a note.
//!
//! Nothing leaves this crate that the configuration's own reader does not take.

use std::collections::BTreeSet;

use model::config::{Finding, load};

use crate::document::{Document, Slot, Value};
use crate::notes::Notes;

/// Rounds of taking out: what one takes away, others may have needed.
const ROUNDS: usize = 64;

/// The text that passes, or `None` when nothing of use is left.
pub fn fit(mut document: Document, notes: &mut Notes) -> Option<String> {
    if document.refused > 0 {
        let reason =
            format!("{} objects and rules are more than one conversion carries", document.refused);
        notes.left(0, "the rest of the file", &reason, "split the file");
    }
    for _ in 0..ROUNDS {
        let (text, slots) = document.render(notes.file());
        let Err(findings) = load(&text, "converted") else {
            let of_use = |path: &str| {
                path.starts_with("service.")
                    || path.starts_with("vrrp.")
                    || path.starts_with("pool.")
            };
            return document.tables.iter().any(|table| of_use(&table.path)).then_some(text);
        };
        let mut out = Out::default();
        for finding in findings.errors() {
            let at = (finding.line as usize).saturating_sub(1);
            let slot = slots.get(at).copied().unwrap_or(Slot::Nothing);
            out.mark(&document, slot, finding, notes);
        }
        if out.is_empty() {
            break;
        }
        out.carry_out(&mut document);
    }
    notes.left(
        0,
        "the whole file",
        "what was written of it contradicts itself",
        "report the file: this is a mistake of the converter",
    );
    None
}

/// The service or the pool that a table is a part of; the table itself where it is none.
fn owner(document: &Document, at: usize) -> usize {
    let path = &document.tables[at].path;
    let end = path.match_indices('.').nth(1).map_or(path.len(), |(end, _)| end);
    let owner = document.tables.iter().position(|table| !table.many && table.path == path[..end]);
    owner.unwrap_or(at)
}

/// What goes.
#[derive(Default)]
struct Out {
    tables: BTreeSet<usize>,
    entries: BTreeSet<(usize, usize)>,
    items: BTreeSet<(usize, usize, usize)>,
}

impl Out {
    fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.entries.is_empty() && self.items.is_empty()
    }

    fn mark(&mut self, document: &Document, slot: Slot, finding: &Finding, notes: &mut Notes) {
        let (at, line, new) = match slot {
            Slot::Nothing => return,
            Slot::Table(at) => (at, document.tables[at].line, self.tables.insert(at)),
            Slot::Entry(at, which) => {
                let (table, entry) = (&document.tables[at], &document.tables[at].entries[which]);
                let new = if entry.essential {
                    // Below a service it is the service that may not stand without it.
                    self.tables.insert(owner(document, at))
                } else if table.whole {
                    self.tables.insert(at)
                } else {
                    self.entries.insert((at, which))
                };
                (at, entry.line, new)
            }
            Slot::Item(at, which, item) => {
                let Value::List(items) = &document.tables[at].entries[which].value else { return };
                (at, items[item].1, self.items.insert((at, which, item)))
            }
        };
        if !new {
            return;
        }
        let table = &document.tables[at];
        let line = if line > 0 { line } else { table.line };
        let mut reason = finding.message.clone();
        if let Some(found) = &finding.found {
            reason.push_str(&format!(" (found {found})"));
        }
        let what = if line == table.line { table.directive.clone() } else { finding.key.clone() };
        let instead = finding.expected.clone().unwrap_or_default();
        notes.left(line, &what, &reason, &instead);
    }

    fn carry_out(&self, document: &mut Document) {
        // A table takes what stands below it along.
        let gone: Vec<String> = self
            .tables
            .iter()
            .map(|at| &document.tables[*at])
            .filter(|table| !table.many)
            .map(|table| format!("{}.", table.path))
            .collect();
        for (at, which, item) in self.items.iter().rev() {
            if let Value::List(items) = &mut document.tables[*at].entries[*which].value {
                items.remove(*item);
            }
        }
        let empty = |value: &Value| matches!(value, Value::List(items) if items.is_empty());
        for (at, which) in self.entries.iter().rev() {
            document.tables[*at].entries.remove(*which);
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
    use crate::document::Table;
    use crate::value;

    fn document(forward: &str, rule: &str) -> Document {
        let mut document = Document::default();
        let mut service = Table::new("service.a", 1, "frontend a");
        service.set("listen", value::text("127.0.0.1:80"), 2);
        service.set("forward", value::text(forward), 3);
        service.set("pool", value::text("b"), 4);
        document.push(service);
        let mut one = Table::one_of("service.a.rule", 5, "use_backend b if x");
        one.set("when", rule, 5);
        one.set("pool", value::text("b"), 5);
        document.push(one);
        let mut pool = Table::new("pool.b", 6, "backend b");
        pool.item("servers", value::text("10.0.0.1:80"), 7);
        pool.item("servers", value::text("nonsense"), 8);
        document.push(pool);
        document
    }

    #[test]
    fn what_is_refused_goes_and_is_told_with_its_line() {
        let mut notes = Notes::new("x.cfg");
        let text = fit(document("http", "{ path = \"no slash\" }"), &mut notes).unwrap();
        assert!(load(&text, "x").is_ok());
        assert!(text.contains("\"10.0.0.1:80\", # line 7") && !text.contains("nonsense"), "{text}");
        assert!(
            !text.contains("rule"),
            "a rule without its condition would take everything: {text}"
        );
        let (list, left, _) = notes.finish();
        assert_eq!((left, list[0].line, list[1].line), (2, 5, 8), "{list:?}");
    }

    #[test]
    fn a_service_that_may_not_stand_takes_its_rules_along() {
        let mut notes = Notes::new("x.cfg");
        let text = fit(document("nonsense", "{ path = \"/a\" }"), &mut notes).unwrap();
        assert!(!text.contains("service"), "{text}");
    }
}
