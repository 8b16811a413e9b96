//! The checks of a TCP request before it reaches a route: rate, Host, Origin, token or certificate, role. Also sets the
//! headers that restrict a response to its page.
//!
//! Each question is answered elsewhere; here is their order. A request over the unix socket does not come this way.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use api::types::Role;
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use model::config::RemoteApiConfig;

use super::content_security_policy;
use super::context::ApiContext;
use super::origin_check::{is_own_host, is_same_origin};
use super::peer::{ApiIdentity, ApiPeer, CredentialKind};
use super::problem::ApiProblem;
use super::quota::{FAILURE_COST, Quota};
use super::tls_listener::ClientCertificateNames;
use super::token_file::TokenFile;
use super::tokens;
use crate::util::admin_listeners::api_counters::RefusalReason;

/// Authentication and authorization of the requests of one listener.
pub(super) struct ApiAuthenticator {
    context: Arc<ApiContext>,
    remote: RemoteApiConfig,
    started_at: Instant,
    keyring: Mutex<TokenFile>,
    quota: Mutex<Quota>,
}

impl ApiAuthenticator {
    pub(super) fn new(context: Arc<ApiContext>, remote: RemoteApiConfig) -> ApiAuthenticator {
        let keyring = Mutex::default();
        let quota = Mutex::default();
        ApiAuthenticator { context, remote, started_at: Instant::now(), keyring, quota }
    }

    /// Returns the authenticated peer if its role allows the request.
    fn authorize(
        &self,
        request: &Request,
        address: IpAddr,
        papers: ClientCertificateNames,
    ) -> Result<ApiPeer, (RefusalReason, ApiProblem)> {
        let now = self.started_at.elapsed();
        let stranger = ApiPeer::Remote { address, papers: papers.clone(), known: None };
        if !lock(&self.quota).admit(address, now) {
            let refusal = ApiProblem::new(429, "rate", "too many requests from this address")
                .with_hint("wait a few seconds; every wrong token counts as many requests");
            return Err((RefusalReason::Rate, refusal));
        }
        let headers = request.headers();
        let host = text(headers, "host").unwrap_or_default();
        if !is_own_host(host, &self.remote.hosts) {
            let detail = format!("'{}' is not a name of this listener", sanitize_text(host));
            let refusal = ApiProblem::new(421, "host", detail)
                .with_hint("ask for its address, or put the name into global.control.hosts");
            return Err((RefusalReason::Host, refusal));
        }
        let Some(path) = request.extensions().get::<MatchedPath>() else {
            // No route matched, so there is nothing to protect: anybody may get the 404.
            return Ok(stranger);
        };
        let route = api::table::find(method(request), path.as_str());
        let page = api::page::FILES.iter().any(|file| file.path == path.as_str());
        if page {
            return Ok(stranger);
        }
        let secure = self.remote.certificate.is_some();
        let origin = text(headers, "origin");
        let site = text(headers, "sec-fetch-site");
        let whole = headers.get(header::ORIGIN).is_none() || origin.is_some();
        if !whole || !is_same_origin(origin, site, host, secure) {
            let refusal = ApiProblem::new(403, "origin", "another page may not use this API");
            return Err((RefusalReason::Origin, refusal));
        }
        let peer = self.peer(headers, address, &papers)?;
        // A route that has no entry in the table requires the highest role.
        let needed = route.map_or(Role::Configure, |route| route.role);
        match &peer {
            ApiPeer::Remote { known: None, .. } if !Role::View.may(needed) => Err((
                RefusalReason::Token,
                unknown_token_problem(format!(
                    "this needs a token with the role {}",
                    needed.name()
                )),
            )),
            peer if !peer.role().may(needed) => {
                let has = peer.role().name();
                let needed = needed.name();
                let by = peer.credential_kind().map_or("token", CredentialKind::name);
                let detail = format!("the {by}'s role is {has}, this needs {needed}");
                Err((RefusalReason::Role, ApiProblem::new(403, "role", detail)))
            }
            _ => Ok(peer),
        }
    }

    /// Who showed which token, or else which certificate.
    fn peer(
        &self,
        headers: &HeaderMap,
        address: IpAddr,
        papers: &ClientCertificateNames,
    ) -> Result<ApiPeer, (RefusalReason, ApiProblem)> {
        let is = |known| ApiPeer::Remote { address, papers: papers.clone(), known };
        let Some(credentials) = headers.get(header::AUTHORIZATION) else {
            return match papers.names() {
                Some(claims) => self.identify_by_certificate(claims).map(|known| is(Some(known))),
                None if self.remote.listen.ip().is_loopback() => Ok(is(None)),
                None => Err((
                    RefusalReason::Token,
                    unknown_token_problem("this listener wants a token".to_owned()),
                )),
            };
        };
        let shown = credentials.to_str().ok().and_then(bearer).unwrap_or_default();
        let file: Option<PathBuf> = self.remote.tokens.clone();
        let events = self.context.report_sources.control.events();
        let mut keyring = lock(&self.keyring);
        match tokens::find_token(keyring.refresh(file.as_deref(), events), shown) {
            Some(token) => {
                let name = token.name.clone();
                let role = token.role;
                Ok(is(Some(ApiIdentity { name, role, by: CredentialKind::Token })))
            }
            None => {
                lock(&self.quota).charge(address, self.started_at.elapsed(), FAILURE_COST);
                Err((
                    RefusalReason::Token,
                    ApiProblem::new(401, "token", "this token is not known here").with_hint(
                        "send one that is in the file global.control.tokens; \
                         `steelyard token ROLE NAME --into FILE` adds one",
                    ),
                ))
            }
        }
    }
}

impl ApiAuthenticator {
    /// Identifies a peer by the names in its certificate. The handshake has verified the chain, so only the role is
    /// looked up here.
    fn identify_by_certificate(
        &self,
        claims: &[String],
    ) -> Result<ApiIdentity, (RefusalReason, ApiProblem)> {
        let events = self.context.report_sources.control.events();
        let mut keyring = lock(&self.keyring);
        match tokens::find_certificate(
            keyring.refresh(self.remote.tokens.as_deref(), events),
            claims,
        ) {
            Some(token) => {
                let name = token.name.clone();
                let role = token.role;
                Ok(ApiIdentity { name, role, by: CredentialKind::Certificate })
            }
            None => {
                let names: Vec<String> = claims.iter().map(|claim| sanitize_text(claim)).collect();
                let detail = format!("no role is known for this certificate: {}", names.join(", "));
                let refusal = ApiProblem::new(403, "certificate", detail).with_hint(
                    "`steelyard token ROLE NAME --certificate KIND:NAME` makes the line for it",
                );
                Err((RefusalReason::Certificate, refusal))
            }
        }
    }
}

/// Lets a request through, or answers it.
pub(super) async fn authorize_request(
    State(gate): State<Arc<ApiAuthenticator>>,
    ConnectInfo(from): ConnectInfo<ApiPeer>,
    mut request: Request,
    next: Next,
) -> Response {
    let control = &gate.context.report_sources.control;
    let in_force = control.state().config.global.control.remote.as_ref() == Some(&gate.remote);
    let page = api::page::FILES.iter().any(|file| file.path == request.uri().path());
    let mut answer = match from {
        _ if !in_force => {
            // A connection of an older configuration: its client opens a new one.
            let mut answer =
                ApiProblem::new(503, "moved", "the listener was configured anew").into_response();
            answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            answer
        }
        ApiPeer::Remote { address, papers, .. } => {
            match gate.authorize(&request, address, papers) {
                Ok(peer) => {
                    request.extensions_mut().insert(ConnectInfo(peer));
                    next.run(request).await
                }
                Err((why, refusal)) => {
                    gate.context.report_sources.api_counters.record_refusal(why);
                    refusal_response(why, refusal)
                }
            }
        }
        ApiPeer::Local(_) => {
            ApiProblem::new(403, "peer", "this is not the unix socket").into_response()
        }
    };
    add_security_headers(answer.headers_mut(), page);
    answer
}

fn refusal_response(why: RefusalReason, refusal: ApiProblem) -> Response {
    let mut answer = refusal.into_response();
    let field = match why {
        RefusalReason::Token => (header::WWW_AUTHENTICATE, "Bearer realm=\"steelyard\""),
        RefusalReason::Rate => (header::RETRY_AFTER, "5"),
        _ => return answer,
    };
    answer.headers_mut().insert(field.0, HeaderValue::from_static(field.1));
    answer
}

fn add_security_headers(headers: &mut HeaderMap, page: bool) {
    let cache = if page { "no-cache" } else { "no-store" };
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, cache),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(header::CONTENT_SECURITY_POLICY, content_security_policy::page_policy());
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-opener-policy", HeaderValue::from_static("same-origin"));
}

fn unknown_token_problem(detail: String) -> ApiProblem {
    ApiProblem::new(401, "token", detail)
        .with_hint("send `Authorization: Bearer TOKEN`; `steelyard token` makes one")
}

/// HEAD is a GET whose answer has no body (RFC 9110 §9.3.2).
fn method(request: &Request) -> &str {
    match request.method().as_str() {
        "HEAD" => "GET",
        other => other,
    }
}

/// RFC 6750 §2.1; the scheme's case does not matter (RFC 9110 §11.1).
fn bearer(credentials: &str) -> Option<&str> {
    let (scheme, token) = credentials.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Makes a client's text safe to print in a message.
fn sanitize_text(text: &str) -> String {
    // 80 characters identify the text and fit on one line; a client must not fill the log.
    text.chars().take(80).map(|c| if c.is_ascii_graphic() { c } else { '?' }).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
