//! Routes that change something: each sends a command to the control actor and returns its result.
//!
//! They check no configuration and know no rule: the control actor does.

use std::sync::Arc;
use std::time::Duration;

use api::types::{ApplyQuery, PlanChange, RollbackQuery, StopQuery, Stopping};
use axum::Json;
use axum::extract::rejection::{QueryRejection, StringRejection};
use axum::extract::{ConnectInfo, Query, State};
use axum::response::Response;
use model::config::toml_tree::parse_tree;

use super::apply_response::{NAMELESS, changed_response, full_config_text};
use super::change_impact::{
    changed_keys, changed_objects, changed_pools, changed_tables, describe_impact, object_at,
    other_changes,
};
use super::context::{ApiContext, StopRequest};
use super::peer::ApiPeer;
use super::problem::ApiProblem;
use crate::control::config_overlay::apply_overlay;
use crate::state::{ChangeTrigger, ConfigChange};
use crate::util::atomic_file;

/// As much as is taken at a start.
const CONFIG_FILE_BYTES: u64 = api::routes::CONFIG_BYTES_MAX as u64;

type SharedContext = State<Arc<ApiContext>>;

pub(super) async fn plan(
    State(context): SharedContext,
    query: Result<Query<ApplyQuery>, QueryRejection>,
    body: Result<String, StringRejection>,
) -> Result<Json<PlanChange>, ApiProblem> {
    let Query(query) = query?;
    let text = full_config_text(body?, &context.report_sources.control)?;
    let file = query.file.unwrap_or_else(|| NAMELESS.into());
    let control = &context.report_sources.control;
    let snapshot = control.state();
    let trees =
        (parse_tree(&snapshot.text).unwrap_or_default(), parse_tree(&text).unwrap_or_default());
    let planned = control.plan(text, file).await??;
    let wanted = query.if_generation.filter(|wanted| *wanted != planned.generation);
    if let Some(wanted) = wanted {
        let detail = format!("generation {} is active, not {wanted}", planned.generation);
        return Err(ApiProblem::new(409, "generation-moved", detail));
    }
    Ok(Json(PlanChange {
        generation: planned.generation,
        changed: !planned.diff.is_empty(),
        global: changed_keys(&planned.diff.global, trees.0.get("global"), trees.1.get("global")),
        services: changed_objects(
            &planned.diff.services,
            |name| object_at(&trees.0, "service", name),
            |name| object_at(&trees.1, "service", name),
        ),
        pools: changed_pools(&planned.diff, &trees.0, &trees.1),
        parts: changed_tables(&planned.diff, &trees.0, &trees.1),
        objects: other_changes(&planned.diff, &trees.0, &trees.1),
        effects: [planned.listeners, describe_impact(&snapshot, &planned.diff)].concat(),
        needs_restart: planned.needs_restart,
        warnings: planned.warnings,
    }))
}

pub(super) async fn apply(
    State(context): SharedContext,
    ConnectInfo(peer): ConnectInfo<ApiPeer>,
    query: Result<Query<ApplyQuery>, QueryRejection>,
    body: Result<String, StringRejection>,
) -> Result<Response, ApiProblem> {
    let Query(query) = query?;
    let text = full_config_text(body?, &context.report_sources.control)?;
    let file = query.file.unwrap_or_else(|| NAMELESS.into());
    let expect = query.if_generation;
    let save = query.save;
    let change = ConfigChange {
        expect,
        save,
        ..ConfigChange::new(text, file, peer.change_origin(ChangeTrigger::Api))
    };
    Ok(changed_response(context.report_sources.control.apply(change).await?))
}

/// As SIGHUP: the file, with what was changed over it where the configuration keeps an overlay.
pub(super) async fn reload(
    State(context): SharedContext,
    ConnectInfo(peer): ConnectInfo<ApiPeer>,
) -> Result<Response, ApiProblem> {
    let control = &context.report_sources.control;
    let Some(path) = &context.config_file else {
        let detail = "this daemon's configuration came without a file";
        return Err(ApiProblem::new(409, "no-file", detail).with_hint("use apply"));
    };
    let file = path.display().to_string();
    let unread = |why: String| ApiProblem::new(409, "file", format!("{why}; nothing has changed"));
    let own = match atomic_file::read(path, CONFIG_FILE_BYTES) {
        Ok(Some(own)) => own,
        Ok(None) => return Err(unread(format!("{file} is not there"))),
        Err(error) => return Err(unread(format!("cannot read {file}: {error}"))),
    };
    let text = full_config_text(apply_overlay(&own, &file, control.events()), control)?;
    let origin = peer.change_origin(ChangeTrigger::Reload);
    let change = ConfigChange { base: Some(own.into()), ..ConfigChange::new(text, file, origin) };
    Ok(changed_response(control.apply(change).await?))
}

pub(super) async fn rollback(
    State(context): SharedContext,
    ConnectInfo(peer): ConnectInfo<ApiPeer>,
    query: Result<Query<RollbackQuery>, QueryRejection>,
) -> Result<Response, ApiProblem> {
    let Query(query) = query?;
    let origin = peer.change_origin(ChangeTrigger::Rollback);
    let to = query.generation;
    let save = query.save;
    Ok(changed_response(context.report_sources.control.rollback(to, save, origin).await?))
}

pub(super) async fn stop(
    State(context): SharedContext,
    query: Result<Query<StopQuery>, QueryRejection>,
) -> Result<Json<Stopping>, ApiProblem> {
    let Query(query) = query?;
    let snapshot = context.report_sources.control.state();
    let services = snapshot.snapshot.services.values();
    let (connections, in_flight) = services.fold((0, 0), |(open, under_way), view| {
        (
            open + u64::from(view.stats.open_connections.get()),
            under_way + u64::from(view.stats.in_flight.get()),
        )
    });
    let limit = query.limit_ms.map(Duration::from_millis);
    (context.stop)(StopRequest { limit, detach: query.detach });
    let limit_ms = limit.unwrap_or(snapshot.config.global.drain).as_millis();
    Ok(Json(Stopping {
        limit_ms: u64::try_from(limit_ms).unwrap_or(u64::MAX),
        connections,
        in_flight,
    }))
}
