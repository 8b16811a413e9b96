//! Edits of a response: those whose condition the response meets are made one after the other.

use std::borrow::Cow;
use std::sync::Arc;

use model::rules::edits::{CompiledEdit, EditTable};
use model::rules::response_rewrite::{FilledResponse, ResponseRewrite};
use model::rules::value::NamedValues;
use wire::http1::Header;

/// An edit that fits the request and changes its response, by its position among the service's edits.
pub struct AppliedEdit {
    pub table: Arc<EditTable>,
    pub at: usize,
    /// Its variables, filled for this request.
    pub filled: FilledResponse,
}

/// The changes for one response head.
#[derive(Default)]
pub struct ResponseHeadEdits<'c> {
    /// Names of fields that are left out.
    pub removed: Cow<'c, [String]>,
    /// A cookie that is left out.
    pub removed_cookie: Option<&'c str>,
    pub added_lines: Vec<u8>,
}

impl AppliedEdit {
    fn edit(&self) -> Option<&CompiledEdit> {
        self.table.edits().get(self.at)
    }

    /// What it changes.
    pub fn rewrite(&self) -> Option<&ResponseRewrite> {
        self.edit().map(|edit| &edit.response_rewrite)
    }
}

/// Makes the edits for a head with this status and these fields, on what was worked out before.
pub fn make_edits(
    edits: &[AppliedEdit],
    status: u16,
    headers: &[Header<'_>],
    worked: &mut ResponseHeadEdits<'_>,
) {
    for applied in edits {
        let Some(edit) = applied.edit() else { continue };
        let has = |fields: &NamedValues| has_field(fields, headers, worked);
        if !edit.response_condition.fits(status, &has) {
            continue;
        }
        let rewrite = &edit.response_rewrite;
        for name in &rewrite.removed_headers {
            drop_lines(&mut worked.added_lines, name);
            if !worked.removed.contains(name) {
                worked.removed.to_mut().push(name.clone());
            }
        }
        worked.added_lines.extend_from_slice(&rewrite.added_lines);
        applied.filled.write_lines(status, false, &mut worked.added_lines);
    }
}

/// Appends the lines of an answer of the balancer itself. A field that an edit replaces stands once.
pub fn write_own_lines(edits: &[AppliedEdit], status: u16, out: &mut Vec<u8>) {
    for applied in edits {
        let Some(edit) = applied.edit() else { continue };
        let has = |fields: &NamedValues| lines(out).any(|line| is_line_of(fields, line));
        if !edit.response_condition.fits(status, &has) {
            continue;
        }
        let mut own = Vec::new();
        applied.filled.write_lines(status, true, &mut own);
        for name in &edit.response_rewrite.removed_headers {
            if lines(&own).any(|line| is_named(line, name)) {
                drop_lines(out, name);
            }
        }
        out.extend_from_slice(&own);
    }
}

/// Whether the response has one of these fields, as it is changed so far.
fn has_field(fields: &NamedValues, headers: &[Header<'_>], worked: &ResponseHeadEdits<'_>) -> bool {
    let stays = |header: &&Header<'_>| {
        !worked.removed.iter().any(|name| header.name.eq_ignore_ascii_case(name))
    };
    let mut own = headers.iter().filter(stays);
    own.any(|header| fields.matches_field(header.name.as_bytes(), header.value))
        || lines(&worked.added_lines).any(|line| is_line_of(fields, line))
}

/// Field lines with their ends.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n')
}

fn is_line_of(fields: &NamedValues, line: &[u8]) -> bool {
    let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
    let (name, value) = line.split_at(colon);
    fields.matches_field(name, value.get(1..).unwrap_or_default().trim_ascii())
}

fn is_named(line: &[u8], name: &str) -> bool {
    let own = line.split(|byte| *byte == b':').next().unwrap_or_default();
    own.eq_ignore_ascii_case(name.as_bytes())
}

/// Removes the lines of a field.
pub fn drop_lines(bytes: &mut Vec<u8>, name: &str) {
    if lines(bytes).any(|line| is_named(line, name)) {
        *bytes = lines(bytes).filter(|line| !is_named(line, name)).collect::<Vec<_>>().concat();
    }
}
