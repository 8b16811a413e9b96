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
use model::config::patch::{Object, read};
use serde_json::Value;

use super::applied::{NAMELESS, done, whole};
use super::context::Context;
use super::peer::Peer;
use super::precondition::{Wanted, failed, tagged};
use super::refusal::Refusal;
use crate::control::{ApplyError, Change, Patch, Way};

type Held = State<Arc<Context>>;
type Asked = Result<Query<ChangeQuery>, QueryRejection>;

/// The whole configuration anew.
pub(super) async fn put(
    State(context): Held,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    query: Asked,
    body: Result<String, StringRejection>,
) -> Result<Response, Refusal> {
    let (Query(query), text) = (query?, whole(body?, &context.vitals.control)?);
    let control = &context.vitals.control;
    let expect = Wanted::of(&headers, control.picture().generation)?.expected(true)?;
    let file = query.file.unwrap_or_else(|| NAMELESS.into());
    let origin = peer.origin(Way::Api);
    let change = Change { expect, save: query.save, ..Change::new(text, file, origin) };
    Ok(done(control.apply(change).await.map_err(failed)?))
}

/// A patch of the whole.
pub(super) async fn patch_whole(
    state: Held,
    peer: ConnectInfo<Peer>,
    headers: HeaderMap,
    query: Asked,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    patch(state, peer, headers, query, body, Object::Whole).await
}

/// Reads a service.
pub(super) async fn service(state: Held, Path(name): Path<String>) -> Result<Response, Refusal> {
    get(&state, &Object::Service(name))
}

/// Patches a service.
pub(super) async fn patch_service(
    state: Held,
    peer: ConnectInfo<Peer>,
    Path(name): Path<String>,
    headers: HeaderMap,
    query: Asked,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    patch(state, peer, headers, query, body, Object::Service(name)).await
}

/// Reads a rule.
pub(super) async fn rule(
    state: Held,
    Path((service, name)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    get(&state, &Object::Rule { service, name })
}

/// Patches a rule.
pub(super) async fn patch_rule(
    state: Held,
    peer: ConnectInfo<Peer>,
    Path((service, name)): Path<(String, String)>,
    headers: HeaderMap,
    query: Asked,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    patch(state, peer, headers, query, body, Object::Rule { service, name }).await
}

/// Reads a pool.
pub(super) async fn pool(state: Held, Path(name): Path<String>) -> Result<Response, Refusal> {
    get(&state, &Object::Pool(name))
}

/// Patches a pool.
pub(super) async fn patch_pool(
    state: Held,
    peer: ConnectInfo<Peer>,
    Path(name): Path<String>,
    headers: HeaderMap,
    query: Asked,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    patch(state, peer, headers, query, body, Object::Pool(name)).await
}

/// Reads a server.
pub(super) async fn server(
    state: Held,
    Path((pool, name)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    get(&state, &Object::Server { pool, name })
}

/// Patches a server.
pub(super) async fn patch_server(
    state: Held,
    peer: ConnectInfo<Peer>,
    Path((pool, name)): Path<(String, String)>,
    headers: HeaderMap,
    query: Asked,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    patch(state, peer, headers, query, body, Object::Server { pool, name }).await
}

fn get(context: &Context, object: &Object) -> Result<Response, Refusal> {
    let picture = context.vitals.control.picture();
    let found = read(&picture.text, object).map_err(ApplyError::from)?;
    Ok(tagged(picture.generation, Json(found)))
}

async fn patch(
    State(context): Held,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    query: Asked,
    body: Result<Bytes, BytesRejection>,
    object: Object,
) -> Result<Response, Refusal> {
    let (Query(query), body) = (query?, body?);
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
    // A media type is the same in any case (RFC 9110 §8.3.1).
    let known = [api::routes::MERGE_PATCH, api::routes::JSON];
    if !known.iter().any(|known| known.eq_ignore_ascii_case(kind)) {
        let detail = format!("a patch is {}, found '{kind}'", api::routes::MERGE_PATCH);
        return Err(Refusal::new(415, "body", detail));
    }
    let patch: Value = serde_json::from_slice(&body)
        .map_err(|error| Refusal::new(400, "body", format!("the patch is not JSON: {error}")))?;
    let control = &context.vitals.control;
    let expect = Wanted::of(&headers, control.picture().generation)?.expected(false)?;
    let order = Patch { object, patch, origin: peer.origin(Way::Api), expect, save: query.save };
    Ok(done(control.patch(order).await.map_err(failed)?))
}
