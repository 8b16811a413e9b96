//! Changes of the path: `rewrite`, `uri`, `handle_path` and the `rewrite` of a proxy.

use crate::notes::ConversionNotes;
use crate::statement::ConfigStatement;
use crate::value;

use super::order::RouteStep;
use super::path_state::PathState;
use super::placeholder::{TemplateUse, template};
use super::route_state::RouteState;

/// Whether a directive changes requests or answers and lets them go on. `uri strip_prefix` does it to some requests only.
pub fn is_edit(step: &RouteStep<'_>) -> bool {
    match step.kind() {
        "uri" => step.word(0) != "strip_prefix",
        "header" | "request_header" | "rewrite" | "try_files" | "method" | "request_body" => true,
        _ => false,
    }
}

/// `rewrite`, `uri`, `try_files` and `method`. What cannot be written is answered with 502: servers would get another
/// path than they expect.
pub fn rewrite(step: &RouteStep<'_>, state: &mut RouteState, notes: &mut ConversionNotes) {
    let statement = step.statement;
    match (step.kind(), step.word(0)) {
        ("rewrite", to) => replace(statement, to, state, notes),
        ("try_files", _) => {
            statement.leave_out("files are not served: 404", "a web server as a pool", notes);
            state.closed = Some(404);
        }
        _ => close(statement, state, notes),
    }
}

/// Closes what stands behind a change of the path that cannot be written.
pub fn close(statement: &ConfigStatement, state: &mut RouteState, notes: &mut ConversionNotes) {
    let reason = "the change cannot be written: what stands behind it answers 502";
    statement.leave_out(reason, "`rewrite` of a rule", notes);
    state.closed = Some(502);
}

fn replace(
    statement: &ConfigStatement,
    to: &str,
    state: &mut RouteState,
    notes: &mut ConversionNotes,
) {
    let path = template(to, TemplateUse::Path).ok();
    let good = path.filter(|path| path.starts_with(['/', '{']) && !path.contains(['?', '#']));
    let known = state.path == PathState::Original;
    match good {
        Some(path) if !path.contains('{') => {
            statement.settle_converted(notes);
            state.edits.remove_key("strip");
            state.edits.set_key("path", value::quote(&path));
            state.path = PathState::Fixed(path);
        }
        Some(path) if known && path.starts_with('/') => {
            statement.settle_converted(notes);
            // The query stays by itself.
            let path = path.strip_suffix("{query}").unwrap_or(&path).to_owned();
            state.edits.set_key("path", value::quote(&path));
            state.path = PathState::Changed;
        }
        _ => close(statement, state, notes),
    }
}

/// `rewrite` and `method` in the block of a proxy.
pub fn rewrite_proxied(step: &RouteStep<'_>, state: &mut RouteState, notes: &mut ConversionNotes) {
    for option in step.statement.inner() {
        match option.name.as_str() {
            "rewrite" => replace(option, option.word(0), state, notes),
            "method" => close(option, state, notes),
            _ => {}
        }
    }
}
