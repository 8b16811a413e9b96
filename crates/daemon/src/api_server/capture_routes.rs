//! Routes for captures: what there is, and taking one by hand. Files are read where they lie, by who may.

use std::sync::Arc;

use api::types::{Capture, CaptureAction, CaptureActionQuery, CaptureRule, Captures};
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{ConnectInfo, Path, Query, State};

use super::context::ApiContext;
use super::peer::ApiPeer;
use super::problem::ApiProblem;
use crate::observability::capture::files::CaptureListing;

pub(super) async fn list_captures(State(context): State<Arc<ApiContext>>) -> Json<Captures> {
    let vitals = Arc::clone(&context.report_sources);
    let now = (vitals.read_open_counts)().now.0;
    // The disk may take its time.
    let stored = tokio::task::spawn_blocking(move || vitals.captures.stored()).await;
    let captures = &context.report_sources.captures;
    let counts = captures.counts();
    let rules = captures.rule_statuses(now).into_iter().map(|status| CaptureRule {
        name: status.rule,
        recording: status.capturing,
        pause_remaining_ms: status.cooldown_ns / 1_000_000,
    });
    let CaptureListing { captures: stored, refused } = stored.unwrap_or_default();
    let stored = stored.into_iter().map(|stored_capture| Capture {
        name: stored_capture.name,
        rule: stored_capture.rule,
        at_unix_ms: stored_capture.at_unix_ms,
        file: stored_capture.file.display().to_string(),
        bytes: stored_capture.bytes,
        reason: stored_capture.about,
    });
    Json(Captures {
        rules: rules.collect(),
        captures: stored.collect(),
        problem: captures.last_error().or(refused),
        packets_recorded: counts.buffered,
        packets_evicted: counts.evicted,
        packets_dropped: counts.dropped,
        written: counts.written,
        failed: counts.failed,
    })
}

pub(super) async fn start_capture(
    State(context): State<Arc<ApiContext>>,
    ConnectInfo(peer): ConnectInfo<ApiPeer>,
    Path(name): Path<String>,
    query: Result<Query<CaptureActionQuery>, QueryRejection>,
) -> Result<Json<Captures>, ApiProblem> {
    let Query(CaptureActionQuery { action }) = query?;
    let vitals = &context.report_sources;
    if let Some(why) = vitals.captures.last_error() {
        return Err(ApiProblem::new(409, "capture", why));
    }
    let snapshot = vitals.control.state();
    if !snapshot.config.captures.contains_key(&name) {
        let known: Vec<&str> = snapshot.config.captures.keys().map(String::as_str).collect();
        let hint = match known[..] {
            [] => "there is no table `[capture.NAME]`".to_owned(),
            _ => format!("there are {}", known.join(", ")),
        };
        return Err(ApiProblem::new(
            404,
            "no-capture",
            format!("there is no capture '{name}'; {hint}"),
        ));
    }
    let now = (vitals.read_open_counts)().now.0;
    let done = match action {
        CaptureAction::Start => vitals.captures.start(&name, &peer.to_string(), now),
        CaptureAction::Stop => vitals.captures.stop(&name),
    };
    if !done {
        let text = match action {
            CaptureAction::Start => "packets are not kept yet: try again",
            CaptureAction::Stop => "nothing is taken by it now",
        };
        return Err(ApiProblem::new(409, "capture", format!("{name}: {text}")));
    }
    Ok(list_captures(State(context)).await)
}
