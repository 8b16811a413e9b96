//! Routes for captures: what there is, and taking one by hand. Files are read where they lie, by who may.

use std::sync::Arc;

use api::types::{Capture, CaptureAction, CaptureOrder, CaptureRule, Captures};
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{ConnectInfo, Path, Query, State};

use super::context::Context;
use super::peer::Peer;
use super::refusal::Refusal;
use crate::capture::files::Listed;

pub(super) async fn list(State(context): State<Arc<Context>>) -> Json<Captures> {
    let vitals = Arc::clone(&context.vitals);
    let now = (vitals.open)().now.0;
    // The disk may take its time.
    let stored = tokio::task::spawn_blocking(move || vitals.captures.stored()).await;
    let captures = &context.vitals.captures;
    let counts = captures.counts();
    let rules = captures.standing(now).into_iter().map(|one| CaptureRule {
        name: one.rule,
        taking: one.taking,
        waits_ms: one.waits / 1_000_000,
    });
    let Listed { captures: stored, refused } = stored.unwrap_or_default();
    let stored = stored.into_iter().map(|one| Capture {
        name: one.name,
        rule: one.rule,
        at_unix_ms: one.at_unix_ms,
        file: one.file.display().to_string(),
        bytes: one.bytes,
        about: one.about,
    });
    Json(Captures {
        rules: rules.collect(),
        captures: stored.collect(),
        trouble: captures.trouble().or(refused),
        packets_kept: counts.kept,
        packets_evicted: counts.evicted,
        packets_dropped: counts.dropped,
        made: counts.made,
        failed: counts.failed,
    })
}

pub(super) async fn order(
    State(context): State<Arc<Context>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Path(name): Path<String>,
    query: Result<Query<CaptureOrder>, QueryRejection>,
) -> Result<Json<Captures>, Refusal> {
    let Query(CaptureOrder { action }) = query?;
    let vitals = &context.vitals;
    if let Some(why) = vitals.captures.trouble() {
        return Err(Refusal::new(409, "capture", why));
    }
    let picture = vitals.control.picture();
    if !picture.config.captures.contains_key(&name) {
        let known: Vec<&str> = picture.config.captures.keys().map(String::as_str).collect();
        let hint = match known[..] {
            [] => "there is no table `[capture.NAME]`".to_owned(),
            _ => format!("there are {}", known.join(", ")),
        };
        return Err(Refusal::new(
            404,
            "no-capture",
            format!("there is no capture '{name}'; {hint}"),
        ));
    }
    let now = (vitals.open)().now.0;
    let done = match action {
        CaptureAction::Start => vitals.captures.start(&name, &peer.to_string(), now),
        CaptureAction::Stop => vitals.captures.stop(&name),
    };
    if !done {
        let text = match action {
            CaptureAction::Start => "packets are not kept yet: try again",
            CaptureAction::Stop => "nothing is taken by it now",
        };
        return Err(Refusal::new(409, "capture", format!("{name}: {text}")));
    }
    Ok(list(State(context)).await)
}
