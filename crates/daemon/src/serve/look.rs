//! Routes that only look. None of them takes a lock that a worker waits for.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use api::types::report::INTERVAL_MS_MAX;
use api::types::{
    Capacity, ConfigKeys, ConfigQuery, Generation, Generations, History, HistoryQuery, Me,
    NameExplained, NameQuery, RefusedQuery, RefusedRequests, Report, ReportQuery, RequestAsked,
    RequestExplained, ServersExplained, SlowExplained, SlowQuery, Status, UsersExplained,
    UsersQuery,
};
use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{ConnectInfo, Path, Query, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};

use super::context::Context;
use super::peer::{By, Peer};
use super::precondition::tagged;
use super::refusal::Refusal;
use crate::local_time::offset_seconds;
use crate::machine;
use crate::report;
use crate::report::vitals::unix_ms;

type Held = State<Arc<Context>>;

pub(super) async fn status(State(context): Held) -> Json<Status> {
    let vitals = &context.vitals;
    let picture = vitals.control.picture();
    let facts = vitals.facts(&picture);
    Json(report::status::status(
        &picture,
        &facts,
        |server| vitals.board.read(server.id),
        SystemTime::now(),
    ))
}

pub(super) async fn explain_server(
    State(context): Held,
    Path((pool, name)): Path<(String, String)>,
) -> Result<Json<ServersExplained>, Refusal> {
    let vitals = &context.vitals;
    let picture = vitals.control.picture();
    let (board, weighed) = (&vitals.board, &vitals.weighed);
    let (kept, which) = (vitals.kept.read(), (pool.as_str(), name.as_str()));
    report::explain::explain(&picture, board, weighed, &kept, which, SystemTime::now())
        .map(Json)
        .ok_or_else(|| {
            let near: Vec<String> = picture
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
            Refusal::new(404, "no-server", format!("there is no server '{pool}/{name}'{hint}"))
        })
}

pub(super) async fn explain_request(
    State(context): Held,
    asked: Result<Json<RequestAsked>, JsonRejection>,
) -> Result<Json<RequestExplained>, Refusal> {
    let Json(asked) = asked?;
    let vitals = &context.vitals;
    let picture = vitals.control.picture();
    let now = (vitals.open)().now;
    let unix_seconds = i64::try_from(unix_ms(SystemTime::now()) / 1000).unwrap_or(0);
    report::request::explain(&picture, &asked, now, unix_seconds + offset_seconds(unix_seconds))
        .map(Json)
        .map_err(|why| Refusal::new(400, "request", why))
}

pub(super) async fn explain_slow(
    State(context): Held,
    query: Result<Query<SlowQuery>, QueryRejection>,
) -> Result<Json<SlowExplained>, Refusal> {
    let Query(query) = query?;
    let vitals = &context.vitals;
    let (picture, now) = (vitals.control.picture(), (vitals.open)().now);
    vitals.slow.take(&picture.snapshot, now.0);
    let view = std::sync::Arc::clone(&vitals.packets.borrow());
    let now_ns = crate::packets::facts::nanos();
    let watching = report::insight::Watching { insight: &vitals.insight, view: &view, now: now_ns };
    let unix = unix_ms(SystemTime::now());
    report::slow::explain(&picture, &vitals.slow, &watching, &query, now, unix)
        .map(Json)
        .map_err(|(status, kind, why)| Refusal::new(status, kind, why))
}

pub(super) async fn refused(
    State(context): Held,
    query: Result<Query<RefusedQuery>, QueryRejection>,
) -> Result<Json<RefusedRequests>, Refusal> {
    let Query(query) = query?;
    let (service, now) = (query.service.as_deref(), unix_ms(SystemTime::now()));
    let services = &context.vitals.control.picture().snapshot.services;
    if let Some(name) = service
        && !services.values().any(|view| view.config.name == *name)
    {
        let why = format!("there is no service '{name}'");
        return Err(Refusal::new(404, "no-service", why));
    }
    Ok(Json(context.vitals.refused.look(|kept| report::refused::report(kept, service, now))))
}

pub(super) async fn explain_users(
    State(context): Held,
    query: Result<Query<UsersQuery>, QueryRejection>,
) -> Result<Json<UsersExplained>, Refusal> {
    let Query(query) = query?;
    let vitals = &context.vitals;
    let (picture, now) = (vitals.control.picture(), unix_ms(SystemTime::now()));
    vitals.users.look(&picture.snapshot, vitals.control.events(), now / 1000);
    vitals
        .users
        .explain(&picture.snapshot, query.service.as_deref(), now)
        .map(Json)
        .map_err(|why| Refusal::new(404, "no-service", why))
}

pub(super) async fn explain_name(
    State(context): Held,
    query: Result<Query<NameQuery>, QueryRejection>,
) -> Result<Json<NameExplained>, Refusal> {
    let Query(query) = query?;
    report::names::explain(&context.vitals.names, &query)
        .map(Json)
        .map_err(|why| Refusal::new(400, "name", why))
}

pub(super) async fn report(
    State(context): Held,
    query: Result<Query<ReportQuery>, QueryRejection>,
) -> Result<Json<Report>, Refusal> {
    let Query(query) = query?;
    let vitals = &context.vitals;
    let before = match query.interval_ms {
        Some(wait) if wait > INTERVAL_MS_MAX => {
            let detail = format!("interval-ms is {wait}, at most {INTERVAL_MS_MAX} is possible");
            return Err(Refusal::new(400, "query", detail));
        }
        Some(wait) => {
            let sample = Arc::new(vitals.sample(&vitals.control.picture()));
            tokio::time::sleep(Duration::from_millis(wait)).await;
            Some(sample)
        }
        None => vitals.samples.older(),
    };
    let picture = vitals.control.picture();
    let now = Arc::new(vitals.sample(&picture));
    let before = before.unwrap_or_else(|| Arc::clone(&now));
    let facts = vitals.facts(&picture);
    Ok(Json(report::report(&picture.snapshot, &before, &now, &facts, SystemTime::now())))
}

pub(super) async fn capacity(State(context): Held) -> Json<Capacity> {
    let vitals = &context.vitals;
    let picture = vitals.control.picture();
    let now = Arc::new(vitals.sample(&picture));
    let before = vitals.samples.older().unwrap_or_else(|| Arc::clone(&now));
    let facts = vitals.facts(&picture);
    let passed = report::report(&picture.snapshot, &before, &now, &facts, SystemTime::now());
    let here = machine::machine(facts.descriptors.limit);
    Json(report::capacity::capacity(&picture.config, &passed, here, machine::spent()))
}

pub(super) async fn metrics(State(context): Held, headers: HeaderMap) -> Response {
    crate::metrics::listen::answer(&context.vitals, &headers)
}

pub(super) async fn config(
    State(context): Held,
    query: Result<Query<ConfigQuery>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Query(query) = query?;
    let picture = context.vitals.control.picture();
    let kind = [(header::CONTENT_TYPE, api::routes::TOML)];
    if let Some(number) = query.generation {
        let text = context.vitals.control.generation_text(number).await?;
        let text = text.ok_or_else(|| {
            let detail =
                format!("generation {number} is not kept; `steelyard generations` lists them");
            Refusal::new(404, "no-generation", detail)
        })?;
        return Ok(tagged(number, (kind, text)));
    }
    let text = match query.written {
        true => picture.text.to_string(),
        false => model::config::explain(&picture.checked),
    };
    // Whoever changes it names the generation that they began with.
    Ok(tagged(picture.generation, (kind, text)))
}

pub(super) async fn keys() -> Json<ConfigKeys> {
    Json(ConfigKeys { tables: model::config::reference::keys() })
}

pub(super) async fn me(ConnectInfo(peer): ConnectInfo<Peer>) -> Json<Me> {
    Json(Me {
        who: peer.to_string(),
        role: peer.role(),
        token: peer.by() == Some(By::Token),
        certificate: peer.by() == Some(By::Certificate),
    })
}

pub(super) async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, api::routes::JSON)], api::page::OPENAPI).into_response()
}

pub(super) async fn history(
    State(context): Held,
    query: Result<Query<HistoryQuery>, QueryRejection>,
) -> Result<Json<History>, Refusal> {
    let Query(query) = query?;
    let now = unix_ms(SystemTime::now());
    let until = query.until_unix_ms.unwrap_or(now).min(now);
    if query.since_unix_ms >= until {
        let detail = "the time between since-unix-ms and until-unix-ms is empty, or is to come";
        return Err(Refusal::new(400, "query", detail));
    }
    let found = context.annals.between(query.since_unix_ms, until).await;
    found.map(Json).map_err(|error| {
        Refusal::new(500, "history", format!("the history cannot be read: {error}"))
    })
}

pub(super) async fn generations(State(context): Held) -> Result<Json<Generations>, Refusal> {
    let control = &context.vitals.control;
    let kept = control.generations().await?;
    let current = control.picture().generation;
    let generations = kept.into_iter().rev().map(|kept| Generation {
        generation: kept.number,
        when_unix_ms: unix_ms(kept.at),
        who: kept.origin.to_string(),
        from: kept.repeats.map_or(kept.file, |number| format!("rollback to {number}")),
        digest: kept.digest,
        current: kept.number == current,
    });
    Ok(Json(Generations { generations: generations.collect() }))
}
