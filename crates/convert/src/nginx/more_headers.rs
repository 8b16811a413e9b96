//! `more_set_headers` and its relatives of the headers-more module.
//!
//! A level adds to what the levels around it say, and later lines come first.

use crate::header_field::check_field;
use crate::notes::ConversionNotes;
use crate::value::{self, KeyValue};

use super::field_place::FieldPlace;
use super::scope::DirectiveScope;
use super::tree::Directive;

/// A field that is set, or removed where it has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoreField {
    pub name: String,
    pub value: Option<String>,
}

pub const READ: [&str; 4] = [
    "more_set_headers",
    "more_clear_headers",
    "more_set_input_headers",
    "more_clear_input_headers",
];

/// The fields of a line, in the order of their words. `None`: it has options or patterns.
fn words(line: &Directive) -> Option<Vec<MoreField>> {
    let clears = line.name.starts_with("more_clear");
    let words = line.peek_all();
    if words.iter().any(|word| word.starts_with('-') || word.ends_with('*') || word.is_empty()) {
        return None;
    }
    let field = |word: &String| {
        let (name, value) = word.split_once(':').unwrap_or((word, ""));
        let value = Some(value.trim()).filter(|value| !value.is_empty() && !clears);
        MoreField { name: name.trim().to_owned(), value: value.map(str::to_owned) }
    };
    Some(words.iter().map(field).collect())
}

/// The last field of each name, of the lines of all levels.
fn fields(scope: &DirectiveScope<'_>, names: [&str; 2]) -> Vec<MoreField> {
    let mut out: Vec<MoreField> = Vec::new();
    for field in scope.every(&names).into_iter().filter_map(words).flatten() {
        out.retain(|known| !known.name.eq_ignore_ascii_case(&field.name));
        out.push(field);
    }
    out
}

const OF_ANSWERS: [&str; 2] = ["more_set_headers", "more_clear_headers"];
const OF_REQUESTS: [&str; 2] = ["more_set_input_headers", "more_clear_input_headers"];

fn note_lines(scope: &DirectiveScope<'_>, names: [&str; 2], notes: &mut ConversionNotes) {
    for line in scope.every(&names) {
        line.args();
        match words(line) {
            Some(_) => line.mark_converted(),
            None => {
                let reason = "fields are changed by their whole names, in all answers";
                notes.left_out(line.source, &line.text(), reason, "`rewrite` in a rule");
            }
        }
    }
}

/// The entries of `response-add`.
pub fn added_fields(
    scope: &DirectiveScope<'_>,
    place: FieldPlace<'_>,
    notes: &mut ConversionNotes,
) -> Vec<String> {
    note_lines(scope, OF_ANSWERS, notes);
    let mut out = Vec::new();
    for MoreField { name, value } in fields(scope, OF_ANSWERS) {
        let Some(value) = value else { continue };
        let source = scope.get("more_set_headers").map(|one| one.source).unwrap_or_default();
        let field = place.value(&value).map(|value| format!("{name}: {value}"));
        match field {
            Ok(field) if check_field(&field).is_ok() => out.push(value::table(&[
                KeyValue::new("field", value::quote(&field)),
                KeyValue::new("own", "true"),
            ])),
            Ok(_) => notes.left_out(source, &name, "it is a field that is not changed", ""),
            Err(variable) => {
                let reason = format!("`{variable}` has no counterpart in a field's value");
                notes.left_out(source, &name, &reason, "`rewrite.response-add`");
            }
        }
    }
    out
}

/// The fields of servers that are replaced or removed.
pub fn replaced_fields(scope: &DirectiveScope<'_>) -> Vec<String> {
    let names = fields(scope, OF_ANSWERS).into_iter().map(|field| field.name);
    names.filter(|name| check_field(&format!("{name}:")).is_ok()).collect()
}

/// The fields of requests. One whose value is not known is removed, so that servers do not believe the client's.
pub fn request_fields(
    scope: &DirectiveScope<'_>,
    place: FieldPlace<'_>,
    notes: &mut ConversionNotes,
) -> Vec<MoreField> {
    note_lines(scope, OF_REQUESTS, notes);
    let mut out = Vec::new();
    for MoreField { name, value } in fields(scope, OF_REQUESTS) {
        let source = scope.get("more_set_input_headers").map(|one| one.source).unwrap_or_default();
        if check_field(&format!("{name}:")).is_err() {
            notes.left_out(source, &name, "it is a field that is not changed", "");
            continue;
        }
        let value = value.and_then(|value| {
            let known = place.value(&value);
            if let Err(variable) = &known {
                let reason = format!(
                    "`{variable}` has no counterpart; what clients send under its name is removed"
                );
                notes.left_out(source, &name, &reason, "`rewrite.set`");
            }
            known.ok()
        });
        out.push(MoreField { name, value });
    }
    out
}
