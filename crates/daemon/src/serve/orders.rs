//! Routes for orders about servers, their record, and taking them back.
//!
//! Whether an order can be carried out is the control's to say.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use api::types::{
    Audit, AuditQuery, AuditRecord, Lease, LeaseOrder, Role, ServerAction, ServerChange,
    ServerChanged, ServerOrder, Taken, TakeoverOrder, TakeoverQuery, UndoQuery,
};
use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{ConnectInfo, Path, Query, State};
use model::config::Weight;

use super::context::Context;
use super::peer::Peer;
use super::refusal::Refusal;
use crate::control::{Operate, Picture, ServerFacts, ServerWord, Way};
use crate::reconcile::server::wanted;
use crate::vrrp::order::Move;

type Held = State<Arc<Context>>;

pub(super) async fn server(
    State(context): Held,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Path((pool, name)): Path<(String, String)>,
    body: Result<Json<ServerOrder>, JsonRejection>,
) -> Result<Json<ServerChanged>, Refusal> {
    let Json(order) = body?;
    if !peer.role().may(needed(&order)) {
        let detail = format!(
            "the role is {}; adding, removing and saving servers needs {}",
            peer.role().name(),
            Role::Configure.name()
        );
        return Err(Refusal::new(403, "role", detail));
    }
    let control = &context.vitals.control;
    let before = control.picture();
    let adds = matches!(order.action, ServerAction::Add { .. });
    let names: Vec<String> = match before.config.pools.get(&pool) {
        Some(pool) if name == "*" && !adds => {
            pool.servers.iter().map(|server| server.name.clone()).collect()
        }
        _ => vec![name],
    };
    let mut answer = ServerChanged::default();
    for name in names {
        let old = before.server(&pool, &name);
        let word = word(&order.action, old)?;
        let removed = word == ServerWord::Remove;
        let origin = peer.origin(Way::Api);
        let order = Operate { pool: pool.clone(), name, word, save: order.save, origin };
        let done = control.operate(order).await?;
        answer.saved = done.saved.or(answer.saved);
        for unkept in done.unkept {
            if !answer.unkept.contains(&unkept) {
                answer.unkept.push(unkept);
            }
        }
        answer.servers.push(changed(&control.picture(), old, &done.facts, removed));
    }
    Ok(Json(answer))
}

pub(super) async fn undo(
    State(context): Held,
    ConnectInfo(peer): ConnectInfo<Peer>,
    query: Result<Query<UndoQuery>, QueryRejection>,
) -> Result<Json<AuditRecord>, Refusal> {
    let Query(query) = query?;
    let control = &context.vitals.control;
    let done = control.undo(query.id, peer.origin(Way::Api)).await?;
    let kept = control.audit(done.undoes.at_unix_ms).await?;
    let found = kept.records.into_iter().rev().find(|record| record.id == done.id);
    Ok(Json(found.unwrap_or(done.undoes)))
}

pub(super) async fn takeover(
    State(context): Held,
    query: Result<Query<TakeoverQuery>, QueryRejection>,
) -> Result<Json<Taken>, Refusal> {
    let Query(query) = query?;
    let how = match query.order.unwrap_or_default() {
        TakeoverOrder::Take => Move::Take,
        TakeoverOrder::Give => Move::Give { force: query.force.unwrap_or(false) },
        TakeoverOrder::Release => Move::Release,
    };
    Ok(Json(Taken { groups: context.vrrp.move_(how, query.group).await? }))
}

pub(super) async fn lease(
    State(context): Held,
    Path(name): Path<String>,
    body: Result<Json<LeaseOrder>, JsonRejection>,
) -> Result<Json<Lease>, Refusal> {
    let Json(order) = body?;
    let length = context.lessor.ask(&name, &order)?;
    Ok(Json(Lease { lease_ms: u64::try_from(length.as_millis()).unwrap_or(u64::MAX) }))
}

pub(super) async fn audit(
    State(context): Held,
    query: Result<Query<AuditQuery>, QueryRejection>,
) -> Result<Json<Audit>, Refusal> {
    let Query(query) = query?;
    let kept = context.vitals.control.audit(query.since_unix_ms.unwrap_or(0)).await?;
    let (unreadable, failures) = (kept.unreadable, kept.failures);
    Ok(Json(Audit { records: kept.records, unreadable, failures }))
}

/// What reaches the file, or names where clients' requests go, is configuring.
fn needed(order: &ServerOrder) -> Role {
    let lasting = order.save == Some(true)
        || matches!(order.action, ServerAction::Add { .. } | ServerAction::Remove);
    if lasting { Role::Configure } else { Role::Operate }
}

fn word(action: &ServerAction, old: Option<&Arc<ServerFacts>>) -> Result<ServerWord, Refusal> {
    Ok(match action {
        ServerAction::Drain => ServerWord::Drain,
        ServerAction::Enable => ServerWord::Enable,
        ServerAction::Disable => ServerWord::Disable,
        ServerAction::Cut => ServerWord::Cut,
        ServerAction::Remove => ServerWord::Remove,
        ServerAction::Quiesce { limit_ms } => ServerWord::Quiesce(Duration::from_millis(*limit_ms)),
        ServerAction::Maintain { from_unix_ms, until_unix_ms, reason } => ServerWord::Maintain {
            from: from_unix_ms.map(moment).transpose()?,
            until: until_unix_ms.map(moment).transpose()?,
            reason: reason.clone(),
        },
        ServerAction::Weight { weight: Some(weight) } => ServerWord::Weight(share(*weight)?),
        // A server that does not exist is refused by the control, whatever its weight.
        ServerAction::Weight { weight: None } => {
            ServerWord::Weight(old.map_or(Weight::ONE, |facts| facts.config.weight))
        }
        ServerAction::Add { address, weight } => {
            ServerWord::Add { address: address.clone(), weight: weight.map(share).transpose()? }
        }
    })
}

fn moment(unix_ms: u64) -> Result<SystemTime, Refusal> {
    let at = UNIX_EPOCH.checked_add(Duration::from_millis(unix_ms));
    at.ok_or_else(|| Refusal::new(400, "time", format!("{unix_ms} is no moment")))
}

fn share(weight: u16) -> Result<Weight, Refusal> {
    Weight::new(weight).ok_or_else(|| {
        Refusal::new(400, "weight", format!("weight {weight}: expected 0-{}", Weight::MAX))
    })
}

fn changed(
    now: &Picture,
    old: Option<&Arc<ServerFacts>>,
    new: &ServerFacts,
    removed: bool,
) -> ServerChange {
    let same = old.is_some_and(|old| {
        (old.state, old.weight, &old.hand) == (new.state, new.weight, &new.hand)
    });
    let view = now
        .snapshot
        .pools
        .get(&new.pool)
        .and_then(|pool| pool.servers.iter().find(|view| view.id == new.id));
    ServerChange {
        pool: new.pool_name.clone(),
        server: new.config.name.clone(),
        changed: !same || removed,
        admin: wanted(new),
        state: new.state,
        weight: new.weight.get(),
        in_flight: view.map_or(0, |view| view.live.in_flight.get()),
        removed,
    }
}
