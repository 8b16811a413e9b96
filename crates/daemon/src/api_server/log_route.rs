//! The route of the access log's newest lines. Names that are not in the configuration are refused, so that nobody waits
//! for lines that cannot come.

use std::sync::Arc;
use std::time::SystemTime;

use api::types::{LogPage, LogQuery, LogScope};
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use model::config::AccessLogTarget;

use super::context::ApiContext;
use super::problem::ApiProblem;
use crate::observability::report::log::{LogFilter, build_page};
use crate::state::StateSnapshot;
use crate::util::wall_clock::unix_ms;

pub(super) async fn get_log(
    State(context): State<Arc<ApiContext>>,
    query: Result<Query<LogQuery>, QueryRejection>,
) -> Result<Json<LogPage>, ApiProblem> {
    let Query(query) = query?;
    let snapshot = context.report_sources.control.state();
    check_names(&snapshot, &query)?;
    let filter = LogFilter::read(&query)
        .map_err(|error| ApiProblem::new(400, "query", error.to_string()))?;
    let log = &snapshot.config.global.access_log;
    let scope = match (&log.target, log.all, log.sample) {
        (AccessLogTarget::Off, _, _) => LogScope::Off,
        (_, true, _) => LogScope::All,
        (_, false, Some(_)) => LogScope::Sample,
        (_, false, None) => LogScope::Errors,
    };
    let found = context.report_sources.access.recent_lines(query.after);
    let now = unix_ms(SystemTime::now());
    // A megabyte of lines takes milliseconds, in which this thread has other work.
    let page = tokio::task::spawn_blocking(move || build_page(&found, &filter, &query, scope, now));
    page.await.map(Json).map_err(|_| ApiProblem::new(500, "log", "the lines could not be read"))
}

fn check_names(snapshot: &StateSnapshot, query: &LogQuery) -> Result<(), ApiProblem> {
    if let Some(name) = &query.service {
        let services: Vec<&str> = snapshot.config.services.keys().map(String::as_str).collect();
        if !services.contains(&name.as_str()) {
            return Err(unknown("no-service", "service", name, &services));
        }
    }
    let Some(wanted) = &query.server else { return Ok(()) };
    let servers: Vec<String> = snapshot
        .servers
        .values()
        .map(|facts| format!("{}/{}", facts.pool_name, facts.config.name))
        .collect();
    let fits = |server: &String| match wanted.strip_suffix('*') {
        Some(before) => server.starts_with(before),
        None => server == wanted,
    };
    if servers.iter().any(fits) {
        return Ok(());
    }
    let mut known: Vec<&str> = servers.iter().map(String::as_str).collect();
    known.sort_unstable();
    Err(unknown("no-server", "server", wanted, &known))
}

/// Names that are listed; a configuration may have thousands.
const LISTED: usize = 20;

fn unknown(kind: &str, what: &str, name: &str, known: &[&str]) -> ApiProblem {
    let mut there = known.iter().take(LISTED).copied().collect::<Vec<_>>().join(", ");
    if known.len() > LISTED {
        there.push_str(&format!(" and {} more", known.len() - LISTED));
    }
    ApiProblem::new(404, kind, format!("there is no {what} '{name}'; there are: {there}"))
}
