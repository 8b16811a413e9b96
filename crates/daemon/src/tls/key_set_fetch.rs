//! Fetches a JWK Set: one request, one connection, bounded in time and size.

use std::sync::Arc;
use std::time::Duration;

use credentials::jwt::key_set::MAX_SET_BYTES;
use http::header::{ACCEPT, CACHE_CONTROL, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderName, Request, StatusCode};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use model::config::{AuthConfig, Config};

use crate::state::tls_config_error::TlsConfigError;
use crate::stores::key_set::answer::{
    KeySetAnswer, KeySetFetchError, KeySetOutcome, KeySetQuestion, RunningFetch, max_age,
};
use crate::tls::client_config;
use crate::tls::https_request::send_request;

/// From the look-up of the name to the last byte.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);

/// The authorities of an object cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct KeySetCaError(String);

/// Looks at the files of authorities that objects name.
pub fn check_authorities(config: &Config) -> Vec<TlsConfigError> {
    let wrong = |auth: &Arc<AuthConfig>| {
        let why = client_config::verifying_config(Some(auth.ca.as_deref()?)).err()?;
        Some(TlsConfigError::new(format!("auth.{}.ca", auth.name), KeySetCaError(why)))
    };
    config.auths.values().filter_map(wrong).collect()
}

/// Asks the server.
pub fn fetch_key_set(question: KeySetQuestion) -> RunningFetch {
    Box::pin(async {
        match tokio::time::timeout(FETCH_TIMEOUT, request_set(question)).await {
            Ok(outcome) => outcome,
            Err(_) => Err(KeySetFetchError::Timeout(FETCH_TIMEOUT)),
        }
    })
}

async fn request_set(question: KeySetQuestion) -> KeySetOutcome {
    let KeySetQuestion { url, ca, etag } = question;
    // The authorities of a machine are many files.
    let config =
        tokio::task::spawn_blocking(move || client_config::verifying_config(ca.as_deref()));
    let config = config.await.map_err(|error| KeySetFetchError::Tls(error.to_string()))?;
    let config = config.map_err(KeySetFetchError::Tls)?;
    let mut request =
        Request::get(url.to_string()).header(ACCEPT, "application/jwk-set+json, application/json");
    if let Some(etag) = etag {
        request = request.header(IF_NONE_MATCH, etag);
    }
    let request = request.body(Empty::<Bytes>::new());
    let request = request.map_err(|error| KeySetFetchError::Request(error.to_string()))?;
    let answer = send_request(config, request).await;
    let answer = answer.map_err(|error| KeySetFetchError::Request(error.to_string()))?;
    let etag = field(answer.headers(), &ETAG);
    let max_age = field(answer.headers(), &CACHE_CONTROL).as_deref().and_then(max_age);
    match answer.status() {
        StatusCode::OK => {}
        StatusCode::NOT_MODIFIED => return Ok(KeySetAnswer { content: None, etag, max_age }),
        status if status.is_redirection() => {
            return Err(KeySetFetchError::Redirect(status.as_u16()));
        }
        status => return Err(KeySetFetchError::Status(status.as_u16())),
    }
    let limit = usize::try_from(MAX_SET_BYTES).unwrap_or(usize::MAX);
    let body = Limited::new(answer.into_body(), limit).collect().await;
    let body = body.map_err(|_| KeySetFetchError::Body)?.to_bytes();
    let content = String::from_utf8(body.to_vec()).map_err(|_| KeySetFetchError::Text)?;
    Ok(KeySetAnswer { content: Some(content), etag, max_age })
}

/// A field as it came, if it is text.
fn field(fields: &HeaderMap, name: &HeaderName) -> Option<String> {
    fields.get(name)?.to_str().ok().map(str::to_owned)
}
