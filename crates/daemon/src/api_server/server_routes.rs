//! Routes for server commands, the audit log, and undo.
//!
//! The control actor decides whether a command can be carried out.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use api::types::{
    Audit, AuditQuery, Lease, LeaseRenewal, Role, ServerAction, ServerActionRequest, ServerChange,
    ServerChanged, TakeoverQuery, TakeoverResult, TakeoverVerb, UndoQuery, UndoResult,
};
use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{ConnectInfo, Path, Query, State};
use model::config::ServerWeight;

use super::context::ApiContext;
use super::path_parameters::ServerPath;
use super::peer::ApiPeer;
use super::problem::ApiProblem;
use crate::planes::vrrp::command::TakeoverAction;
use crate::state::server_state::wanted_state;
use crate::state::{
    ChangeTrigger, OperatorCommand, ServerCommandRequest, ServerFacts, StateSnapshot,
};

type SharedContext = State<Arc<ApiContext>>;

pub(super) async fn command_server(
    State(context): SharedContext,
    ConnectInfo(peer): ConnectInfo<ApiPeer>,
    Path(ServerPath { pool, name }): Path<ServerPath>,
    body: Result<Json<ServerActionRequest>, JsonRejection>,
) -> Result<Json<ServerChanged>, ApiProblem> {
    let Json(order) = body?;
    if !peer.role().may(required_role(&order)) {
        let detail = format!(
            "the role is {}; adding, removing and saving servers needs {}",
            peer.role().name(),
            Role::Configure.name()
        );
        return Err(ApiProblem::new(403, "role", detail));
    }
    let control = &context.report_sources.control;
    let before = control.state();
    let adds = matches!(order.action, ServerAction::Add { .. });
    let names: Vec<String> = match before.config.pools.get(&pool) {
        Some(pool) if name == "*" && !adds => {
            pool.servers.iter().map(|server| server.name.clone()).collect()
        }
        _ => vec![name],
    };
    let mut answer = ServerChanged { record: order.part_of, ..ServerChanged::default() };
    for name in names {
        let old = before.server(&pool, &name);
        let command = parse_command(&order.action, old)?;
        let removed = command == OperatorCommand::Remove;
        let origin = peer.change_origin(ChangeTrigger::Api);
        let order = ServerCommandRequest {
            pool: pool.clone(),
            name,
            command,
            save: order.save,
            part_of: answer.record,
            origin,
        };
        let done = control.run_server_command(order).await?;
        answer.record = answer.record.or(Some(done.audit_id));
        answer.saved = done.saved.or(answer.saved);
        for unkept in done.unsaved {
            if !answer.unsaved.contains(&unkept) {
                answer.unsaved.push(unkept);
            }
        }
        answer.servers.push(changed_response(&control.state(), old, &done.facts, removed));
    }
    Ok(Json(answer))
}

pub(super) async fn undo_change(
    State(context): SharedContext,
    ConnectInfo(peer): ConnectInfo<ApiPeer>,
    query: Result<Query<UndoQuery>, QueryRejection>,
) -> Result<Json<UndoResult>, ApiProblem> {
    let Query(query) = query?;
    let control = &context.report_sources.control;
    let done = control.undo(query.id, peer.change_origin(ChangeTrigger::Api)).await?;
    let since = done.undone.iter().map(|order| order.undoes.at_unix_ms).min();
    let mut recorded = control.read_audit(since.unwrap_or(u64::MAX)).await?.records;
    let records = done.undone.into_iter().map(|order| {
        let place = recorded.iter().position(|record| record.id == order.id);
        place.map_or(order.undoes, |place| recorded.swap_remove(place))
    });
    let records = records.collect();
    Ok(Json(UndoResult { records, failed: done.failed.map(|error| error.to_string()) }))
}

pub(super) async fn takeover(
    State(context): SharedContext,
    query: Result<Query<TakeoverQuery>, QueryRejection>,
) -> Result<Json<TakeoverResult>, ApiProblem> {
    let Query(query) = query?;
    let how = match query.order.unwrap_or_default() {
        TakeoverVerb::Take => TakeoverAction::TakeOver,
        TakeoverVerb::Give => TakeoverAction::HandOver { force: query.force.unwrap_or(false) },
        TakeoverVerb::Release => TakeoverAction::Release,
    };
    Ok(Json(TakeoverResult { groups: context.vrrp.change_active(how, query.group).await? }))
}

pub(super) async fn request_lease(
    State(context): SharedContext,
    Path(name): Path<String>,
    body: Result<Json<LeaseRenewal>, JsonRejection>,
) -> Result<Json<Lease>, ApiProblem> {
    let Json(order) = body?;
    let length = context.lease_server.request_lease(&name, &order)?;
    Ok(Json(Lease { lease_ms: u64::try_from(length.as_millis()).unwrap_or(u64::MAX) }))
}

pub(super) async fn get_audit(
    State(context): SharedContext,
    query: Result<Query<AuditQuery>, QueryRejection>,
) -> Result<Json<Audit>, ApiProblem> {
    let Query(query) = query?;
    let audit = context.report_sources.control.read_audit(query.since_unix_ms.unwrap_or(0)).await?;
    let unreadable = audit.unreadable;
    let failures = audit.failures;
    Ok(Json(Audit { records: audit.records, unreadable, failures }))
}

/// Orders that change the file, or where requests are sent, need the role `configure`.
fn required_role(order: &ServerActionRequest) -> Role {
    let lasting = order.save == Some(true)
        || matches!(order.action, ServerAction::Add { .. } | ServerAction::Remove);
    if lasting { Role::Configure } else { Role::Operate }
}

fn parse_command(
    action: &ServerAction,
    old: Option<&Arc<ServerFacts>>,
) -> Result<OperatorCommand, ApiProblem> {
    Ok(match action {
        ServerAction::Drain => OperatorCommand::Drain,
        ServerAction::Enable => OperatorCommand::Enable,
        ServerAction::Disable => OperatorCommand::Disable,
        ServerAction::Cut => OperatorCommand::Cut,
        ServerAction::Remove => OperatorCommand::Remove,
        ServerAction::Quiesce { limit_ms } => {
            OperatorCommand::Quiesce(Duration::from_millis(*limit_ms))
        }
        ServerAction::Maintain { from_unix_ms, until_unix_ms, reason } => {
            OperatorCommand::Maintain {
                from: from_unix_ms.map(moment).transpose()?,
                until: until_unix_ms.map(moment).transpose()?,
                reason: reason.clone(),
            }
        }
        ServerAction::Weight { weight: Some(weight) } => OperatorCommand::Weight(share(*weight)?),
        // Control rejects a server that does not exist, so any weight is accepted here.
        ServerAction::Weight { weight: None } => {
            OperatorCommand::Weight(old.map_or(ServerWeight::ONE, |facts| facts.config.weight))
        }
        ServerAction::Add { address, weight } => OperatorCommand::Add {
            address: address.clone(),
            weight: weight.map(share).transpose()?,
        },
    })
}

fn moment(unix_ms: u64) -> Result<SystemTime, ApiProblem> {
    let at = UNIX_EPOCH.checked_add(Duration::from_millis(unix_ms));
    at.ok_or_else(|| ApiProblem::new(400, "time", format!("{unix_ms} is no moment")))
}

fn share(weight: u16) -> Result<ServerWeight, ApiProblem> {
    ServerWeight::new(weight).ok_or_else(|| {
        ApiProblem::new(400, "weight", format!("weight {weight}: expected 0-{}", ServerWeight::MAX))
    })
}

fn changed_response(
    now: &StateSnapshot,
    old: Option<&Arc<ServerFacts>>,
    new: &ServerFacts,
    removed: bool,
) -> ServerChange {
    let same = old.is_some_and(|old| {
        (old.state, old.weight, &old.overrides) == (new.state, new.weight, &new.overrides)
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
        admin: wanted_state(new),
        state: new.state,
        weight: new.weight.get(),
        in_flight: view.map_or(0, |view| view.stats.in_flight.get()),
        removed,
    }
}
