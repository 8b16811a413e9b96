//! Requests with an idempotency key: what was carried out once is answered again, and not carried out again.
//!
//! The key is that of draft-ietf-httpapi-idempotency-key-header. What is remembered, and for how long, is `memory`'s;
//! it is forgotten with the process, where `If-Match` still protects a change.

pub mod cache;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use api::routes::{CONFIG_BYTES_MAX, IDEMPOTENCY_KEY, REPLAYED};
use aws_lc_rs::digest::{Context as Digest, SHA256};
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::peer::ApiPeer;
use super::problem::ApiProblem;
use cache::{CachedResponse, IdempotencyCache, IdempotencyKey, KeyLookup, RequestFingerprint};

/// Characters of a key.
/// The limit of Stripe's API.
const KEY: usize = 255;
/// Header fields that are part of a request's fingerprint, besides its path and body.
const FIELDS: [header::HeaderName; 2] = [header::CONTENT_TYPE, header::IF_MATCH];
/// Header fields of a response that are stored and replayed.
const ANSWERED: [header::HeaderName; 2] = [header::CONTENT_TYPE, header::ETAG];

/// Completed requests by idempotency key, shared by all listeners.
#[derive(Debug)]
pub struct IdempotencyStore {
    cache: Mutex<IdempotencyCache>,
    started_at: Instant,
}

impl Default for IdempotencyStore {
    fn default() -> IdempotencyStore {
        IdempotencyStore { cache: Mutex::default(), started_at: Instant::now() }
    }
}

impl IdempotencyStore {
    fn with_cache<T>(&self, action: impl FnOnce(&mut IdempotencyCache) -> T) -> T {
        action(&mut self.cache.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Lets a request through, once.
pub(super) async fn run_once(
    State(once): State<Arc<IdempotencyStore>>,
    ConnectInfo(peer): ConnectInfo<ApiPeer>,
    request: Request,
    next: Next,
) -> Response {
    let harmless = [Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method());
    // A request without a route is rejected for that reason, even if its key was used before.
    let path = request.extensions().get::<MatchedPath>();
    let route = path.and_then(|path| api::table::find(request.method().as_str(), path.as_str()));
    let key = match key(request.headers()) {
        Ok(Some(key)) if !harmless && route.is_some() => {
            IdempotencyKey { client: peer.identity(), key }
        }
        Ok(_) => return next.run(request).await,
        Err(refusal) => return refusal.into_response(),
    };
    let (parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, CONFIG_BYTES_MAX).await else {
        return ApiProblem::new(413, "body", "the body is too large, or did not come whole")
            .into_response();
    };
    let print = request_fingerprint(
        &parts.method,
        parts.uri.path_and_query().map_or("", |path_and_query| path_and_query.as_str()),
        &parts.headers,
        &body,
    );
    let now = once.started_at.elapsed();
    match once.with_cache(|memory| memory.begin_request(&key, print, now)) {
        KeyLookup::New => {}
        KeyLookup::Cached(answer) => return replay_response(&answer),
        KeyLookup::InProgress => return request_in_progress().into_response(),
        KeyLookup::KeyReused => return key_reused().into_response(),
        KeyLookup::Full => return too_many_keys().into_response(),
    }
    // The request runs as its own task: it completes, and its response is stored, even if the client disconnects
    // meanwhile.
    let task = tokio::spawn(async move {
        let guard = CompletionGuard { store: once, key, response: None };
        let request = Request::from_parts(parts, Body::from(body));
        let answer = next.run(request).await;
        guard.store_response(answer).await
    });
    task.await.unwrap_or_else(|_| {
        ApiProblem::new(500, "idempotency", "carrying it out failed; look at the status")
            .into_response()
    })
}

fn request_in_progress() -> ApiProblem {
    let detail = "a request with this key is being carried out";
    ApiProblem::new(409, "idempotency-under-way", detail)
        .with_hint("ask again with the same key for its answer")
}

fn key_reused() -> ApiProblem {
    ApiProblem::new(422, "idempotency-key", "this key was used for another request")
        .with_hint("take a new key for each thing that you want done")
}

fn too_many_keys() -> ApiProblem {
    ApiProblem::new(503, "idempotency-full", "too many requests with keys are under way")
}

/// Reports to the store how a request ended, also if its task is dropped.
struct CompletionGuard {
    store: Arc<IdempotencyStore>,
    key: IdempotencyKey,
    response: Option<CachedResponse>,
}

impl CompletionGuard {
    /// Stores the response and returns it.
    async fn store_response(mut self, answer: Response) -> Response {
        let (parts, body) = answer.into_parts();
        let Ok(body) = to_bytes(body, usize::MAX).await else {
            return ApiProblem::new(500, "idempotency", "the answer did not come whole")
                .into_response();
        };
        // A 503 means that nothing was changed, so the client may retry the same request.
        let tried = parts.status != StatusCode::SERVICE_UNAVAILABLE;
        let fields = ANSWERED.into_iter().filter_map(|name| {
            let value = parts.headers.get(&name)?.clone();
            Some((name, value))
        });
        let fields = fields.collect();
        self.response = tried.then(|| CachedResponse {
            status: parts.status.as_u16(),
            fields,
            body: body.clone(),
        });
        Response::from_parts(parts, Body::from(body))
    }
}

impl Drop for CompletionGuard {
    fn drop(&mut self) {
        let answer = self.response.take();
        let now = self.store.started_at.elapsed();
        self.store.with_cache(|memory| memory.finish_request(&self.key, answer, now));
    }
}

fn replay_response(answer: &CachedResponse) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut replayed = (status, answer.body.clone()).into_response();
    let headers = replayed.headers_mut();
    headers.remove(header::CONTENT_TYPE);
    for (name, value) in &answer.fields {
        headers.insert(name, value.clone());
    }
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    replayed
}

/// The key, with or without the quotes of a string (RFC 8941 §3.3.3).
fn key(headers: &HeaderMap) -> Result<Option<String>, ApiProblem> {
    let mut all = headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(first) = all.next() else { return Ok(None) };
    let text = first.to_str().unwrap_or_default().trim();
    let quoted = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let key = quoted.unwrap_or(text);
    let fits = (1..=KEY).contains(&key.len())
        && key.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
    if !fits || all.next().is_some() {
        let detail =
            format!("the idempotency key has 1-{KEY} characters that can be seen, and comes once");
        return Err(ApiProblem::new(400, "idempotency-key", detail));
    }
    Ok(Some(key.to_owned()))
}

/// A digest of the parts that distinguish one request from another.
fn request_fingerprint(
    method: &Method,
    path: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> RequestFingerprint {
    let mut digest = Digest::new(&SHA256);
    let mut part = |bytes: &[u8]| {
        digest.update(&(bytes.len() as u64).to_be_bytes());
        digest.update(bytes);
    };
    part(method.as_str().as_bytes());
    part(path.as_bytes());
    for name in FIELDS {
        part(headers.get(name).map_or(&[][..], |value| value.as_bytes()));
    }
    part(body);
    let mut print = [0; 32];
    let done = digest.finish();
    for (to, from) in print.iter_mut().zip(done.as_ref()) {
        *to = *from;
    }
    print
}
