//! What became of the blocks that define variables, at the end of a conversion.

use std::collections::{BTreeMap, BTreeSet};

use crate::note_kind::NoteKind;
use crate::notes::ConversionNotes;

use super::defined::DefinedVariables;
use super::tree::Directive;
use super::variables::variable_names;

/// Where a variable is named, the most important place first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum VariableUse {
    Other,
    /// `Upgrade` and `Connection` to servers.
    Upgrade,
    Cache,
    Log,
}

/// Reports each block. `block`: the directives of `http` or `stream`.
pub fn note_blocks(
    block: &[Directive],
    variables: &DefinedVariables<'_>,
    notes: &mut ConversionNotes,
) {
    let mut uses = BTreeMap::new();
    collect(block, &mut uses);
    let of_blocks: BTreeMap<&str, Vec<&str>> = variables
        .blocks()
        .map(|(name, block)| {
            let entries = block.inner().iter().map(|entry| entry.peek(0));
            (name, entries.chain([block.peek(0)]).flat_map(variable_names).collect())
        })
        .collect();
    // A variable that another one refers to is used as that one is.
    let mut open: Vec<&str> = of_blocks.keys().copied().collect();
    while let Some(name) = open.pop() {
        let Some(kind) = uses.get(name).copied() else { continue };
        for source in of_blocks.get(name).into_iter().flatten() {
            if uses.get(source).is_none_or(|known| kind < *known) {
                uses.insert(source, kind);
                open.push(source);
            }
        }
    }
    let mut all: Vec<_> = variables.blocks().collect();
    all.sort_by_key(|(_, block)| block.source);
    for (name, block) in all {
        if variables.is_used(name) {
            block.mark_converted();
            block.inner().iter().for_each(Directive::mark_converted);
            continue;
        }
        if block.is_settled() {
            continue;
        }
        note_block(block, uses.get(name).copied(), notes);
    }
}

fn note_block(block: &Directive, used: Option<VariableUse>, notes: &mut ConversionNotes) {
    let source = block.source;
    let text = block.text();
    match used {
        // Who a client is is never passed over in silence.
        None if block.name == "geo" => {
            notes.changed(source, &text, "nothing refers to it, so that it has no effect", "");
            settle_entries(block, notes);
        }
        None => notes.not_needed(source, &text, "nothing refers to it"),
        Some(VariableUse::Upgrade) => {
            notes.not_needed(source, &text, "upgrades are passed on without being told");
        }
        Some(VariableUse::Cache) => {
            notes.not_needed(
                source,
                &text,
                "only a cache refers to it, and answers are not cached",
            );
        }
        Some(VariableUse::Log) => {
            let reason = "only the access log refers to it, which has a form of its own";
            notes.changed(source, &text, reason, "`[global] access-log`");
            settle_entries(block, notes);
        }
        Some(VariableUse::Other) => {
            let reason = "what refers to it is not carried over";
            notes.left_out(
                source,
                &text,
                reason,
                "the keys of a rule's `when`; `split` for shares",
            );
        }
    }
}

fn settle_entries(block: &Directive, notes: &ConversionNotes) {
    for entry in block.inner() {
        notes.ledger.settle(entry.source.whole(), NoteKind::Changed);
    }
}

/// The variables that directives name, blocks that define them apart.
fn collect<'t>(level: &'t [Directive], uses: &mut BTreeMap<&'t str, VariableUse>) {
    for directive in level {
        let kind = match directive.name.as_str() {
            "map" | "geo" | "split_clients" => continue,
            "access_log" | "log_format" => VariableUse::Log,
            "proxy_cache_bypass" | "proxy_no_cache" | "proxy_cache_key" | "expires" => {
                VariableUse::Cache
            }
            "proxy_set_header"
                if ["connection", "upgrade"]
                    .contains(&directive.peek(0).to_ascii_lowercase().as_str()) =>
            {
                VariableUse::Upgrade
            }
            _ => VariableUse::Other,
        };
        let names: BTreeSet<&str> =
            directive.peek_all().iter().flat_map(|word| variable_names(word)).collect();
        for name in names {
            let known = uses.entry(name).or_insert(kind);
            *known = kind.min(*known);
        }
        collect(directive.inner(), uses);
    }
}
