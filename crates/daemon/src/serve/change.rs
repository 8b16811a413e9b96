//! Routes that change something: each gives an order to `Control` and tells what came of it.
//!
//! They check no configuration and know no rule: the control does.

use std::sync::Arc;
use std::time::Duration;

use api::types::{ApplyQuery, PlanChange, RollbackQuery, StopQuery, Stopping};
use axum::Json;
use axum::extract::rejection::{QueryRejection, StringRejection};
use axum::extract::{ConnectInfo, Query, State};
use axum::response::Response;
use model::config::tree::tree;

use super::applied::{NAMELESS, done, whole};
use super::context::{Asked, Context};
use super::peer::Peer;
use super::refusal::Refusal;
use super::touched::{at, changes, keys, objects, parts, pools, touched};
use crate::control::{Change, Way};

type Held = State<Arc<Context>>;

pub(super) async fn plan(
    State(context): Held,
    query: Result<Query<ApplyQuery>, QueryRejection>,
    body: Result<String, StringRejection>,
) -> Result<Json<PlanChange>, Refusal> {
    let (Query(query), text) = (query?, whole(body?, &context.vitals.control)?);
    let file = query.file.unwrap_or_else(|| NAMELESS.into());
    let control = &context.vitals.control;
    let picture = control.picture();
    let trees = (tree(&picture.text).unwrap_or_default(), tree(&text).unwrap_or_default());
    let planned = control.plan(text, file).await??;
    let wanted = query.if_generation.filter(|wanted| *wanted != planned.generation);
    if let Some(wanted) = wanted {
        let detail = format!("generation {} is in force, not {wanted}", planned.generation);
        return Err(Refusal::new(409, "generation-moved", detail));
    }
    Ok(Json(PlanChange {
        generation: planned.generation,
        changed: !planned.diff.is_empty(),
        global: keys(&planned.diff.global, trees.0.get("global"), trees.1.get("global")),
        services: changes(
            &planned.diff.services,
            |name| at(&trees.0, "service", name),
            |name| at(&trees.1, "service", name),
        ),
        pools: pools(&planned.diff, &trees.0, &trees.1),
        parts: parts(&planned.diff, &trees.0, &trees.1),
        objects: objects(&planned.diff, &trees.0, &trees.1),
        effects: [planned.listeners, touched(&picture, &planned.diff)].concat(),
        needs_restart: planned.needs_restart,
        warnings: planned.warnings,
    }))
}

pub(super) async fn apply(
    State(context): Held,
    ConnectInfo(peer): ConnectInfo<Peer>,
    query: Result<Query<ApplyQuery>, QueryRejection>,
    body: Result<String, StringRejection>,
) -> Result<Response, Refusal> {
    let (Query(query), text) = (query?, whole(body?, &context.vitals.control)?);
    let file = query.file.unwrap_or_else(|| NAMELESS.into());
    let (expect, save) = (query.if_generation, query.save);
    let change = Change { expect, save, ..Change::new(text, file, peer.origin(Way::Api)) };
    Ok(done(context.vitals.control.apply(change).await?))
}

pub(super) async fn rollback(
    State(context): Held,
    ConnectInfo(peer): ConnectInfo<Peer>,
    query: Result<Query<RollbackQuery>, QueryRejection>,
) -> Result<Response, Refusal> {
    let Query(query) = query?;
    let origin = peer.origin(Way::Rollback);
    let (to, save) = (query.generation, query.save);
    Ok(done(context.vitals.control.rollback(to, save, origin).await?))
}

pub(super) async fn stop(
    State(context): Held,
    query: Result<Query<StopQuery>, QueryRejection>,
) -> Result<Json<Stopping>, Refusal> {
    let Query(query) = query?;
    let picture = context.vitals.control.picture();
    let services = picture.snapshot.services.values();
    let (connections, in_flight) = services.fold((0, 0), |(open, under_way), view| {
        (open + u64::from(view.live.open.get()), under_way + u64::from(view.live.in_flight.get()))
    });
    let limit = query.limit_ms.map(Duration::from_millis);
    (context.stop)(Asked { limit, detach: query.detach });
    let limit_ms = limit.unwrap_or(picture.config.global.drain).as_millis();
    Ok(Json(Stopping {
        limit_ms: u64::try_from(limit_ms).unwrap_or(u64::MAX),
        connections,
        in_flight,
    }))
}
