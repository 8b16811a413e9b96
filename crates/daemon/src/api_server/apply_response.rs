//! What a change did, as it is answered: what was touched, in sentences, and the generation as the tag; and what is no
//! change to carry out.
//!
//! It carries nothing out.

use std::fmt::Display;

use api::types::Applied;
use axum::Json;
use axum::response::Response;
use model::config::ConfigDiff;

use super::precondition::with_etag;
use super::problem::ApiProblem;
use crate::state::ControlHandle;

/// The file name in messages about a text that was sent without one.
pub(super) const NAMELESS: &str = "(api)";

/// The text of a whole configuration as it was sent. An empty text is rejected while a configuration is active, because
/// an empty body is almost always a mistake.
pub(super) fn full_config_text(
    text: String,
    control: &ControlHandle,
) -> Result<String, ApiProblem> {
    if !control.would_remove_everything(&text) {
        return Ok(text);
    }
    let detail = "the configuration that was sent is empty: it would end every service";
    Err(ApiProblem::new(400, "empty", detail)
        .with_hint("send `[global]` alone to serve nothing; nothing has changed"))
}

/// The answer to a change, with the generation as its tag.
pub(super) fn changed_response(change: crate::state::ApplyOutcome) -> Response {
    let answer: Applied = applied(change);
    with_etag(answer.generation, Json(answer))
}

fn applied(done: crate::state::ApplyOutcome) -> Applied {
    Applied {
        generation: done.generation,
        changed: !done.diff.is_empty(),
        restored_generation: done.repeats,
        confirmed: done.confirmed,
        effects: effects(&done.diff),
        needs_restart: done.needs_restart,
        warnings: done.warnings,
        saved: done.saved,
        unsaved: done.unsaved,
    }
}

/// One sentence an object that was touched.
fn effects(diff: &ConfigDiff) -> Vec<String> {
    let mut out: Vec<String> =
        diff.global.iter().map(|key| format!("global {key} changed")).collect();
    describe_effect(&mut out, "service", &diff.services, |keys| list(keys));
    describe_effect(&mut out, "pool", &diff.pools, |change| {
        let servers = &change.servers;
        let mut parts: Vec<String> = change.keys.iter().map(ToString::to_string).collect();
        parts.extend(servers.added.iter().map(|name| format!("server {name} added")));
        parts.extend(servers.removed.iter().map(|name| format!("server {name} removed")));
        parts.extend(
            servers.changed.iter().map(|(name, keys)| format!("server {name}: {}", list(keys))),
        );
        parts.join(", ")
    });
    out.extend(diff.name_server.iter().map(|key| format!("names {key} changed")));
    describe_effect(&mut out, "zone", &diff.zones, |keys| list(keys));
    describe_effect(&mut out, "name", &diff.names, |keys| list(keys));
    out
}

fn describe_effect<C>(
    out: &mut Vec<String>,
    action: &str,
    of: &model::config::ObjectChanges<C>,
    how: impl Fn(&C) -> String,
) {
    out.extend(of.added.iter().map(|name| format!("{action} {name} added")));
    out.extend(of.removed.iter().map(|name| format!("{action} {name} removed")));
    out.extend(
        of.changed.iter().map(|(name, change)| format!("{action} {name} changed: {}", how(change))),
    );
}

fn list(keys: &[impl Display]) -> String {
    keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
