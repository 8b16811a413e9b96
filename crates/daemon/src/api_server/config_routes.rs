//! Routes for the configuration as a whole and for its objects: read as written, put, patched, removed.
//!
//! They check nothing: the control does, as it checks the file.

use std::sync::Arc;

use api::types::{ChangeQuery, ObjectQuery};
use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection, StringRejection};
use axum::extract::{ConnectInfo, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use model::config::patch::object_edit::{ObjectEdit, ObjectPut};
use model::config::patch::{ConfigObject, read_object};
use serde_json::Value;

use super::apply_response::{NAMELESS, changed_response, full_config_text};
use super::context::ApiContext;
use super::path_parameters::ObjectPath;
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

/// One object as written.
pub(super) async fn get_object<P: ObjectPath>(
    State(context): SharedContext,
    Path(path): Path<P>,
) -> Result<Response, ApiProblem> {
    let snapshot = context.report_sources.control.state();
    let found = read_object(&snapshot.text, &path.object()).map_err(ApplyError::from)?;
    Ok(with_etag(snapshot.generation, Json(found)))
}

/// A patch of one object.
pub(super) async fn patch_object<P: ObjectPath>(
    state: SharedContext,
    peer: ConnectInfo<ApiPeer>,
    Path(path): Path<P>,
    headers: HeaderMap,
    query: ChangeQueryResult,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiProblem> {
    patch(state, peer, headers, query, body, path.object()).await
}

/// One object anew, or a new one.
pub(super) async fn put_object<P: ObjectPath>(
    State(context): SharedContext,
    ConnectInfo(peer): ConnectInfo<ApiPeer>,
    Path(path): Path<P>,
    headers: HeaderMap,
    query: Result<Query<ObjectQuery>, QueryRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiProblem> {
    let Query(ObjectQuery { save, before }) = query?;
    let value = read_json(&headers, &body?, &[api::routes::JSON])?;
    let must_be_new = headers.get_all(header::IF_NONE_MATCH).iter().any(|tag| tag == "*");
    let edit = ObjectEdit::Put(ObjectPut { value, before, must_be_new });
    change_object(&context, &peer, &headers, path.object(), edit, save).await
}

/// One object less.
pub(super) async fn delete_object<P: ObjectPath>(
    State(context): SharedContext,
    ConnectInfo(peer): ConnectInfo<ApiPeer>,
    Path(path): Path<P>,
    headers: HeaderMap,
    query: ChangeQueryResult,
) -> Result<Response, ApiProblem> {
    let Query(query) = query?;
    let object = path.object();
    change_object(&context, &peer, &headers, object, ObjectEdit::Remove, query.save).await
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
    let patch = read_json(&headers, &body?, &[api::routes::MERGE_PATCH, api::routes::JSON])?;
    change_object(&context, &peer, &headers, object, ObjectEdit::Merge(patch), query.save).await
}

/// A body of one of these media types; the first is named where it is another.
fn read_json(headers: &HeaderMap, body: &Bytes, types: &[&str]) -> Result<Value, ApiProblem> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
    // A media type is the same in any case (RFC 9110 §8.3.1).
    if !types.iter().any(|known| known.eq_ignore_ascii_case(kind)) {
        let expected = types.first().copied().unwrap_or_default();
        let detail = format!("the content type is '{kind}', expected {expected}");
        return Err(ApiProblem::new(415, "body", detail));
    }
    serde_json::from_slice(body)
        .map_err(|error| ApiProblem::new(400, "body", format!("the body is not JSON: {error}")))
}

async fn change_object(
    context: &ApiContext,
    peer: &ApiPeer,
    headers: &HeaderMap,
    object: ConfigObject,
    edit: ObjectEdit,
    save: Option<bool>,
) -> Result<Response, ApiProblem> {
    let control = &context.report_sources.control;
    let expect =
        IfMatch::from_headers(headers, control.state().generation)?.expected_generation(false)?;
    let origin = peer.change_origin(ChangeTrigger::Api);
    let order = ConfigPatch { object, edit, origin, expect, save };
    let done = control.patch(order).await.map_err(precondition_problem)?;
    let status = if done.created { StatusCode::CREATED } else { StatusCode::OK };
    let mut answer = changed_response(done);
    *answer.status_mut() = status;
    Ok(answer)
}
