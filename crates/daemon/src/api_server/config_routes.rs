//! Routes for the configuration as a whole and for its objects: read as written, replaced, patched.
//!
//! They check nothing: the control does, as it checks the file.

use std::sync::Arc;

use api::types::ChangeQuery;
use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection, StringRejection};
use axum::extract::{ConnectInfo, Path, Query, State};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use model::config::patch::{ConfigObject, read_object};
use serde_json::Value;

use super::apply_response::{NAMELESS, changed_response, full_config_text};
use super::context::ApiContext;
use super::path_parameters::{RulePath, ServerPath};
use super::peer::ApiPeer;
use super::precondition::{IfMatch, precondition_problem, with_etag};
use super::problem::ApiProblem;
use crate::state::{ApplyError, ChangeTrigger, ConfigChange, ConfigPatch};

type SharedContext = State<Arc<ApiContext>>;
type ChangeQueryResult = Result<Query<ChangeQuery>, QueryRejection>;

/// The whole configuration anew.
pub(super) async fn put_config(
    State(context): SharedContext,
    ConnectInfo(peer): ConnectInfo<ApiPeer>,
    headers: HeaderMap,
    query: ChangeQueryResult,
    body: Result<String, StringRejection>,
) -> Result<Response, ApiProblem> {
    let Query(query) = query?;
    let text = full_config_text(body?, &context.report_sources.control)?;
    let control = &context.report_sources.control;
    let expect =
        IfMatch::from_headers(&headers, control.state().generation)?.expected_generation(true)?;
    let file = query.file.unwrap_or_else(|| NAMELESS.into());
    let origin = peer.change_origin(ChangeTrigger::Api);
    let change = ConfigChange { expect, save: query.save, ..ConfigChange::new(text, file, origin) };
    Ok(changed_response(control.apply(change).await.map_err(precondition_problem)?))
}

/// A patch of the whole.
pub(super) async fn patch_config(
    state: SharedContext,
    peer: ConnectInfo<ApiPeer>,
    headers: HeaderMap,
    query: ChangeQueryResult,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiProblem> {
    patch(state, peer, headers, query, body, ConfigObject::Root).await
}

pub(super) async fn get_service(
    state: SharedContext,
    Path(name): Path<String>,
) -> Result<Response, ApiProblem> {
    get(&state, &ConfigObject::Service(name))
}

pub(super) async fn patch_service(
    state: SharedContext,
    peer: ConnectInfo<ApiPeer>,
    Path(name): Path<String>,
    headers: HeaderMap,
    query: ChangeQueryResult,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiProblem> {
    patch(state, peer, headers, query, body, ConfigObject::Service(name)).await
}

pub(super) async fn get_rule(
    state: SharedContext,
    Path(RulePath { service, name }): Path<RulePath>,
) -> Result<Response, ApiProblem> {
    get(&state, &ConfigObject::Rule { service, name })
}

pub(super) async fn patch_rule(
    state: SharedContext,
    peer: ConnectInfo<ApiPeer>,
    Path(RulePath { service, name }): Path<RulePath>,
    headers: HeaderMap,
    query: ChangeQueryResult,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiProblem> {
    patch(state, peer, headers, query, body, ConfigObject::Rule { service, name }).await
}

pub(super) async fn get_pool(
    state: SharedContext,
    Path(name): Path<String>,
) -> Result<Response, ApiProblem> {
    get(&state, &ConfigObject::Pool(name))
}

pub(super) async fn patch_pool(
    state: SharedContext,
    peer: ConnectInfo<ApiPeer>,
    Path(name): Path<String>,
    headers: HeaderMap,
    query: ChangeQueryResult,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiProblem> {
    patch(state, peer, headers, query, body, ConfigObject::Pool(name)).await
}

pub(super) async fn get_server(
    state: SharedContext,
    Path(ServerPath { pool, name }): Path<ServerPath>,
) -> Result<Response, ApiProblem> {
    get(&state, &ConfigObject::Server { pool, name })
}

pub(super) async fn patch_server(
    state: SharedContext,
    peer: ConnectInfo<ApiPeer>,
    Path(ServerPath { pool, name }): Path<ServerPath>,
    headers: HeaderMap,
    query: ChangeQueryResult,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiProblem> {
    patch(state, peer, headers, query, body, ConfigObject::Server { pool, name }).await
}

fn get(context: &ApiContext, object: &ConfigObject) -> Result<Response, ApiProblem> {
    let snapshot = context.report_sources.control.state();
    let found = read_object(&snapshot.text, object).map_err(ApplyError::from)?;
    Ok(with_etag(snapshot.generation, Json(found)))
}

async fn patch(
    State(context): SharedContext,
    ConnectInfo(peer): ConnectInfo<ApiPeer>,
    headers: HeaderMap,
    query: ChangeQueryResult,
    body: Result<Bytes, BytesRejection>,
    object: ConfigObject,
) -> Result<Response, ApiProblem> {
    let Query(query) = query?;
    let body = body?;
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
    // A media type is the same in any case (RFC 9110 §8.3.1).
    let known = [api::routes::MERGE_PATCH, api::routes::JSON];
    if !known.iter().any(|known| known.eq_ignore_ascii_case(kind)) {
        let detail = format!("a patch is {}, found '{kind}'", api::routes::MERGE_PATCH);
        return Err(ApiProblem::new(415, "body", detail));
    }
    let patch: Value = serde_json::from_slice(&body)
        .map_err(|error| ApiProblem::new(400, "body", format!("the patch is not JSON: {error}")))?;
    let control = &context.report_sources.control;
    let expect =
        IfMatch::from_headers(&headers, control.state().generation)?.expected_generation(false)?;
    let order = ConfigPatch {
        object,
        patch,
        origin: peer.change_origin(ChangeTrigger::Api),
        expect,
        save: query.save,
    };
    Ok(changed_response(control.patch(order).await.map_err(precondition_problem)?))
}
