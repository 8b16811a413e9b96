//! Routes that change something: each gives an order to `Control` and tells what came of it.
//!
//! They check no configuration and know no rule: the control does.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use api::types::{
    Applied, ApplyQuery, Changed, Changes, KeyChange, PlanChange, PoolChanged, PoolChanges,
    RollbackQuery, StopQuery, Stopping,
};
use axum::Json;
use axum::extract::rejection::{QueryRejection, StringRejection};
use axum::extract::{ConnectInfo, Query, State};
use model::config::Diff;

use super::context::{Asked, Context};
use super::peer::Peer;
use super::refusal::Refusal;
use crate::control::{Change, Way};

type Held = State<Arc<Context>>;
/// How a text that came without a file's name is called in messages.
const NAMELESS: &str = "(api)";

pub(super) async fn plan(
    State(context): Held,
    query: Result<Query<ApplyQuery>, QueryRejection>,
    body: Result<String, StringRejection>,
) -> Result<Json<PlanChange>, Refusal> {
    let (Query(query), text) = (query?, body?);
    let file = query.file.unwrap_or_else(|| NAMELESS.into());
    let planned = context.vitals.control.plan(text, file).await?.map_err(Refusal::invalid)?;
    let wanted = query.if_generation.filter(|wanted| *wanted != planned.generation);
    if let Some(wanted) = wanted {
        let detail = format!("generation {} is in force, not {wanted}", planned.generation);
        return Err(Refusal::new(409, "generation-moved", detail));
    }
    Ok(Json(PlanChange {
        generation: planned.generation,
        changed: !planned.diff.is_empty(),
        global: keys(&planned.diff.global),
        services: changes(&planned.diff.services, |keys_of| keys(keys_of)),
        pools: pools(&planned.diff),
        effects: planned.listeners,
        needs_restart: planned.needs_restart,
        warnings: planned.warnings,
    }))
}

pub(super) async fn apply(
    State(context): Held,
    ConnectInfo(peer): ConnectInfo<Peer>,
    query: Result<Query<ApplyQuery>, QueryRejection>,
    body: Result<String, StringRejection>,
) -> Result<Json<Applied>, Refusal> {
    let (Query(query), text) = (query?, body?);
    let change = Change {
        text,
        file: query.file.unwrap_or_else(|| NAMELESS.into()),
        origin: peer.origin(Way::Api),
        expect: query.if_generation,
    };
    Ok(Json(applied(context.vitals.control.apply(change).await?)))
}

pub(super) async fn rollback(
    State(context): Held,
    ConnectInfo(peer): ConnectInfo<Peer>,
    query: Result<Query<RollbackQuery>, QueryRejection>,
) -> Result<Json<Applied>, Refusal> {
    let Query(query) = query?;
    let origin = peer.origin(Way::Rollback);
    Ok(Json(applied(context.vitals.control.rollback(query.generation, origin).await?)))
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

fn applied(done: crate::control::Applied) -> Applied {
    Applied {
        generation: done.generation,
        changed: !done.diff.is_empty(),
        confirmed: done.confirmed,
        effects: effects(&done.diff),
        needs_restart: done.needs_restart,
        warnings: done.warnings,
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

fn keys(keys: &[impl Display]) -> Vec<KeyChange> {
    keys.iter().map(|key| KeyChange { key: key.to_string(), from: None, to: None }).collect()
}

fn changes<C>(of: &model::config::Changes<C>, keys_of: impl Fn(&C) -> Vec<KeyChange>) -> Changes {
    Changes {
        added: of.added.clone(),
        removed: of.removed.clone(),
        changed: each(&of.changed, keys_of),
    }
}

fn each<C>(changed: &BTreeMap<String, C>, keys_of: impl Fn(&C) -> Vec<KeyChange>) -> Vec<Changed> {
    changed
        .iter()
        .map(|(name, change)| Changed { name: name.clone(), keys: keys_of(change) })
        .collect()
}

fn pools(diff: &Diff) -> PoolChanges {
    let one = |(name, change): (&String, &model::config::PoolChange)| PoolChanged {
        name: name.clone(),
        keys: keys(&change.keys),
        servers: changes(&change.servers, |keys_of| keys(keys_of)),
    };
    PoolChanges {
        added: diff.pools.added.clone(),
        removed: diff.pools.removed.clone(),
        changed: diff.pools.changed.iter().map(one).collect(),
    }
}
