//! Routes that only look. None of them takes a lock that a worker waits for.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use api::types::report::INTERVAL_MS_MAX;
use api::types::{
    Capacity, ConfigKeys, ConfigQuery, Generation, Generations, History, HistoryQuery, Me,
    NameExplained, NameQuery, RefusedQuery, RefusedRequests, Report, ReportQuery,
    RequestDescription, RequestExplained, ServersExplained, SloExplained, SloQuery, SlowExplained,
    SlowQuery, Status,
};
use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{ConnectInfo, Path, Query, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};

use super::context::ApiContext;
use super::path_parameters::ServerPath;
use super::peer::{ApiPeer, CredentialKind};
use super::precondition::with_etag;
use super::problem::ApiProblem;
use crate::observability::report;
use crate::util::host_capacity;
use crate::util::local_time::offset_seconds;
use crate::util::wall_clock::unix_ms;

type SharedContext = State<Arc<ApiContext>>;

pub(super) async fn status(State(context): SharedContext) -> Json<Status> {
    let vitals = &context.report_sources;
    let snapshot = vitals.control.state();
    let facts = vitals.collect(&snapshot);
    Json(report::status::build_status(
        &snapshot,
        &facts,
        |server| vitals.evidence.latest(server.id),
        SystemTime::now(),
    ))
}

pub(super) async fn explain_server(
    State(context): SharedContext,
    Path(ServerPath { pool, name }): Path<ServerPath>,
) -> Result<Json<ServersExplained>, ApiProblem> {
    let vitals = &context.report_sources;
    let snapshot = vitals.control.state();
    let board = &vitals.evidence;
    let weighed = &vitals.balancing_decisions;
    let draining = vitals.draining_clients.read();
    let now = SystemTime::now();
    report::explain::explain_weights(&snapshot, board, weighed, &draining, &pool, &name, now)
        .map(Json)
        .ok_or_else(|| {
            let near: Vec<String> = snapshot
                .servers
                .values()
                .map(|facts| format!("{}/{}", facts.pool_name, facts.config.name))
                .filter(|known| known.split('/').any(|part| part == pool || part == name))
                .collect();
            let hint = if near.is_empty() {
                String::new()
            } else {
                format!("; there are {}", near.join(", "))
            };
            ApiProblem::new(404, "no-server", format!("there is no server '{pool}/{name}'{hint}"))
        })
}

pub(super) async fn explain_request(
    State(context): SharedContext,
    request: Result<Json<RequestDescription>, JsonRejection>,
) -> Result<Json<RequestExplained>, ApiProblem> {
    let Json(request) = request?;
    let vitals = &context.report_sources;
    let snapshot = vitals.control.state();
    let now = (vitals.read_open_counts)().now;
    let unix_seconds = i64::try_from(unix_ms(SystemTime::now()) / 1000).unwrap_or(0);
    report::request::explain_request(
        &snapshot,
        &request,
        now,
        unix_seconds + offset_seconds(unix_seconds),
    )
    .map(Json)
    .map_err(|why| ApiProblem::new(400, "request", why))
}

pub(super) async fn explain_slow(
    State(context): SharedContext,
    query: Result<Query<SlowQuery>, QueryRejection>,
) -> Result<Json<SlowExplained>, ApiProblem> {
    let Query(query) = query?;
    let vitals = &context.report_sources;
    let snapshot = vitals.control.state();
    let now = (vitals.read_open_counts)().now;
    vitals.slow_exchanges.drain_rings(&snapshot.snapshot, now.0);
    let view = std::sync::Arc::clone(&vitals.packets.borrow());
    let now_ns = crate::planes::packets::host_facts::clock_nanos();
    let watching = report::flow_samples::FlowSampleQuery {
        samples: &vitals.flow_samples,
        view: &view,
        now: now_ns,
    };
    let unix = unix_ms(SystemTime::now());
    report::slow::explain_slow(&snapshot, &vitals.slow_exchanges, &watching, &query, now, unix)
        .map(Json)
        .map_err(|it| ApiProblem::new(it.status, it.kind, it.detail))
}

pub(super) async fn refused_requests(
    State(context): SharedContext,
    query: Result<Query<RefusedQuery>, QueryRejection>,
) -> Result<Json<RefusedRequests>, ApiProblem> {
    let Query(query) = query?;
    let service = query.service.as_deref();
    let now = unix_ms(SystemTime::now());
    let services = &context.report_sources.control.state().snapshot.services;
    if let Some(name) = service
        && !services.values().any(|view| view.config.name == *name)
    {
        let why = format!("there is no service '{name}'");
        return Err(ApiProblem::new(404, "no-service", why));
    }
    Ok(Json(
        context
            .report_sources
            .refused
            .with_ring(|ring| report::refused::refused_requests(ring, service, now)),
    ))
}

pub(super) async fn explain_users(
    State(context): SharedContext,
    query: Result<Query<SloQuery>, QueryRejection>,
) -> Result<Json<SloExplained>, ApiProblem> {
    let Query(query) = query?;
    let vitals = &context.report_sources;
    let snapshot = vitals.control.state();
    let now = unix_ms(SystemTime::now());
    vitals.slo.update(&snapshot.snapshot, vitals.control.events(), now / 1000);
    vitals
        .slo
        .explain(&snapshot.snapshot, query.service.as_deref(), now)
        .map(Json)
        .map_err(|why| ApiProblem::new(404, "no-service", why))
}

pub(super) async fn explain_name(
    State(context): SharedContext,
    query: Result<Query<NameQuery>, QueryRejection>,
) -> Result<Json<NameExplained>, ApiProblem> {
    let Query(query) = query?;
    report::names::explain(&context.report_sources.names, &query)
        .map(Json)
        .map_err(|why| ApiProblem::new(400, "name", why))
}

pub(super) async fn report(
    State(context): SharedContext,
    query: Result<Query<ReportQuery>, QueryRejection>,
) -> Result<Json<Report>, ApiProblem> {
    let Query(query) = query?;
    let vitals = &context.report_sources;
    let before = match query.interval_ms {
        Some(wait) if wait > INTERVAL_MS_MAX => {
            let detail = format!("interval-ms is {wait}, at most {INTERVAL_MS_MAX} is possible");
            return Err(ApiProblem::new(400, "query", detail));
        }
        Some(wait) => {
            let sample = Arc::new(vitals.take_sample(&vitals.control.state()));
            tokio::time::sleep(Duration::from_millis(wait)).await;
            Some(sample)
        }
        None => vitals.samples.older(),
    };
    let snapshot = vitals.control.state();
    let now = Arc::new(vitals.take_sample(&snapshot));
    let before = before.unwrap_or_else(|| Arc::clone(&now));
    let facts = vitals.collect(&snapshot);
    Ok(Json(report::build_report(&snapshot.snapshot, &before, &now, &facts, SystemTime::now())))
}

pub(super) async fn capacity(State(context): SharedContext) -> Json<Capacity> {
    let vitals = &context.report_sources;
    let snapshot = vitals.control.state();
    let now = Arc::new(vitals.take_sample(&snapshot));
    let before = vitals.samples.older().unwrap_or_else(|| Arc::clone(&now));
    let facts = vitals.collect(&snapshot);
    let passed = report::build_report(&snapshot.snapshot, &before, &now, &facts, SystemTime::now());
    let here = host_capacity::read_host_capacity(facts.descriptors.limit);
    Json(report::capacity::forecast_capacity(
        &snapshot.config,
        &passed,
        here,
        host_capacity::process_cpu_time(),
    ))
}

pub(super) async fn metrics(State(context): SharedContext, headers: HeaderMap) -> Response {
    crate::observability::metrics::listen::render_scrape(&context.report_sources, &headers)
}

pub(super) async fn config(
    State(context): SharedContext,
    query: Result<Query<ConfigQuery>, QueryRejection>,
) -> Result<Response, ApiProblem> {
    let Query(query) = query?;
    let snapshot = context.report_sources.control.state();
    let kind = [(header::CONTENT_TYPE, api::routes::TOML)];
    if let Some(number) = query.generation {
        let text = context.report_sources.control.generation_text(number).await?;
        let text = text.ok_or_else(|| {
            let detail =
                format!("generation {number} is not kept; `steelyard generations` lists them");
            ApiProblem::new(404, "no-generation", detail)
        })?;
        return Ok(with_etag(number, (kind, text)));
    }
    let text = match query.written {
        true => snapshot.text.to_string(),
        false => model::config::explain(&snapshot.checked),
    };
    // A client that changes the configuration sends this generation in `If-Match`.
    Ok(with_etag(snapshot.generation, (kind, text)))
}

pub(super) async fn get_config_keys() -> Json<ConfigKeys> {
    Json(ConfigKeys { tables: model::config::reference::reference_tables() })
}

pub(super) async fn get_identity(ConnectInfo(peer): ConnectInfo<ApiPeer>) -> Json<Me> {
    Json(Me {
        who: peer.to_string(),
        role: peer.role(),
        token: peer.credential_kind() == Some(CredentialKind::Token),
        certificate: peer.credential_kind() == Some(CredentialKind::Certificate),
    })
}

pub(super) async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, api::routes::JSON)], api::page::OPENAPI).into_response()
}

pub(super) async fn history(
    State(context): SharedContext,
    query: Result<Query<HistoryQuery>, QueryRejection>,
) -> Result<Json<History>, ApiProblem> {
    let Query(query) = query?;
    let now = unix_ms(SystemTime::now());
    let until = query.until_unix_ms.unwrap_or(now).min(now);
    if query.since_unix_ms >= until {
        let detail = "the time between since-unix-ms and until-unix-ms is empty, or is to come";
        return Err(ApiProblem::new(400, "query", detail));
    }
    let history = context.history.between(query.since_unix_ms, until).await;
    history.map(Json).map_err(|error| {
        ApiProblem::new(500, "history", format!("the history cannot be read: {error}"))
    })
}

pub(super) async fn generations(
    State(context): SharedContext,
) -> Result<Json<Generations>, ApiProblem> {
    let control = &context.report_sources.control;
    let stored = control.generations().await?;
    let current = control.state().generation;
    let generations = stored.into_iter().rev().map(|stored| Generation {
        generation: stored.number,
        at_unix_ms: unix_ms(stored.at),
        who: stored.origin.to_string(),
        from: stored.repeats.map_or(stored.file, |number| format!("rollback to {number}")),
        digest: stored.digest,
        current: stored.number == current,
    });
    Ok(Json(Generations { generations: generations.collect() }))
}
