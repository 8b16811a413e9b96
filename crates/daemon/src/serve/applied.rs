//! What a change did, as it is answered: what was touched, in sentences, and the generation as the tag; and what is no
//! change to carry out.
//!
//! It carries nothing out.

use std::fmt::Display;

use api::types::Applied;
use axum::Json;
use axum::response::Response;
use model::config::Diff;

use super::precondition::tagged;
use super::refusal::Refusal;
use crate::control::Control;

/// How a text that came without a file's name is called in messages.
pub(super) const NAMELESS: &str = "(api)";

/// The text of a whole configuration as it was sent. One that says nothing where something is in force is refused:
/// nobody has to mean it.
pub(super) fn whole(text: String, control: &Control) -> Result<String, Refusal> {
    if !control.is_emptied_by(&text) {
        return Ok(text);
    }
    let detail = "the configuration that was sent is empty: it would end every service";
    Err(Refusal::new(400, "empty", detail)
        .advise("send `[global]` alone to serve nothing; nothing has changed"))
}

/// The answer to a change, with the generation as its tag.
pub(super) fn done(change: crate::control::Applied) -> Response {
    let answer: Applied = applied(change);
    tagged(answer.generation, Json(answer))
}

fn applied(done: crate::control::Applied) -> Applied {
    Applied {
        generation: done.generation,
        changed: !done.diff.is_empty(),
        confirmed: done.confirmed,
        effects: effects(&done.diff),
        needs_restart: done.needs_restart,
        warnings: done.warnings,
        saved: done.saved,
        unkept: done.unkept,
    }
}

/// One sentence an object that was touched.
fn effects(diff: &Diff) -> Vec<String> {
    let mut out: Vec<String> =
        diff.global.iter().map(|key| format!("global {key} changed")).collect();
    say(&mut out, "service", &diff.services, |keys| list(keys));
    say(&mut out, "pool", &diff.pools, |change| {
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
    say(&mut out, "zone", &diff.zones, |keys| list(keys));
    say(&mut out, "name", &diff.names, |keys| list(keys));
    out
}

fn say<C>(
    out: &mut Vec<String>,
    what: &str,
    of: &model::config::Changes<C>,
    how: impl Fn(&C) -> String,
) {
    out.extend(of.added.iter().map(|name| format!("{what} {name} added")));
    out.extend(of.removed.iter().map(|name| format!("{what} {name} removed")));
    out.extend(
        of.changed.iter().map(|(name, change)| format!("{what} {name} changed: {}", how(change))),
    );
}

fn list(keys: &[impl Display]) -> String {
    keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
