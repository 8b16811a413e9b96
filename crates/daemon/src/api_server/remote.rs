//! The API and its page over TCP: follows `global.control.listen` of the active configuration.
//!
//! A port that is taken is logged once and retried each second, and so is a certificate that cannot be read: the unix
//! socket serves meanwhile.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use l7::tls::authorities::roots;
use l7::tls::key_purpose::CertificateUse;
use l7::tls::policy;
use model::config::{RemoteApiConfig, TlsPolicy, TlsVersion};
use rustls::ServerConfig;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::sign::SingleCertAndKey;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::authentication::{ApiAuthenticator, authorize_request};
use super::context::ApiContext;
use super::malformed_request;
use super::peer::{self, RequestConnection};
use super::router::build_router;
use super::tls_listener::TlsListener;
use crate::tls::cert_files::{read_file, read_pair};
use crate::util::admin_listeners::admin_sockets::AdminSockets;
use crate::util::admin_listeners::api_counters::ListenerKind;
use crate::util::admin_listeners::connection_guard::{
    ConnectionLimits, GuardedListener, HEAD_TIMEOUT,
};
use crate::util::admin_listeners::connection_slots::ConnectionSlots;
use crate::util::event::EventLog;
use crate::util::file_stamps::certificate_stamps;

/// Limits of the TCP listener, which serves browsers and programs. Event streams count as long as they are open.
const CONNECTION_LIMITS: ConnectionLimits = ConnectionLimits {
    connections: 128,
    head_timeout: HEAD_TIMEOUT,
    idle_timeout: Duration::from_secs(60),
    max_lifetime: Duration::from_secs(3_600),
};
/// Between two attempts to open a port or to read a certificate, and between two looks at its file.
/// A repaired port or certificate is in use within a second.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Serves as configured until the daemon stops.
pub async fn run(context: Arc<ApiContext>) {
    let mut snapshots = context.report_sources.control.watch();
    loop {
        let wanted = snapshots.borrow_and_update().config.global.control.remote.clone();
        let changed = async {
            while snapshots.changed().await.is_ok() {
                if snapshots.borrow_and_update().config.global.control.remote != wanted {
                    return true;
                }
            }
            false
        };
        let serve = async {
            match &wanted {
                Some(remote) => serve(remote, &context).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            goes_on = changed => if !goes_on { return },
            () = serve => {}
            () = context.report_sources.admin.wait_closed() => return,
        }
        if let Some(remote) = &wanted {
            context.report_sources.admin.remove(remote.listen);
        }
    }
}

/// Ends only when the listener fails.
async fn serve(remote: &RemoteApiConfig, context: &Arc<ApiContext>) {
    let events = context.report_sources.control.events();
    let shown = match &remote.certificate {
        None => None,
        Some(file) => {
            Some(watch::channel(wait_certificate(&TlsFiles::new(remote, file), events).await))
        }
    };
    let (show, shown) = shown.unzip();
    let listener = open(remote, &context.report_sources.admin, events).await;
    let gate = Arc::new(ApiAuthenticator::new(Arc::clone(context), remote.clone()));
    let router = page_router(build_router(Arc::clone(context)))
        .layer(from_fn_with_state(gate, authorize_request));
    let counts = Arc::clone(&context.report_sources.api_counters);
    let router = router.layer(from_fn_with_state(Arc::clone(&counts), malformed_request::refuse));
    let service = router
        .layer(from_fn(peer::attach_peer))
        .into_make_service_with_connect_info::<RequestConnection>();
    let places = ConnectionSlots::new(CONNECTION_LIMITS.connections, ListenerKind::Api, counts);
    let door = GuardedListener::new(TlsListener::new(listener, shown), CONNECTION_LIMITS, places);
    let renew = async {
        match (&remote.certificate, show) {
            (Some(file), Some(show)) => {
                reload_certificate(&TlsFiles::new(remote, file), &show, events).await
            }
            _ => std::future::pending().await,
        }
    };
    tokio::select! {
        // This future ends only when the listening socket fails; the caller reopens the socket.
        _ = async { axum::serve(door, service).await } => {}
        () = renew => {}
    }
}

fn page_router(mut router: Router) -> Router {
    for file in &api::page::FILES {
        router =
            router.route(
                file.path,
                get(move || async move {
                    ([(axum::http::header::CONTENT_TYPE, file.kind)], file.bytes)
                }),
            );
    }
    router
}

async fn open(remote: &RemoteApiConfig, admin: &AdminSockets, events: &EventLog) -> TcpListener {
    let address = remote.listen;
    let mut logged = false;
    loop {
        let error = match admin.listen(address).await {
            Ok(listener) => {
                let scheme = if remote.certificate.is_some() { "https" } else { "http" };
                let text = format!("the API and its page are served on {scheme}://{address}/");
                events.info("api-listening", text);
                return listener;
            }
            Err(error) => error,
        };
        if !logged {
            logged = true;
            let text = format!(
                "global.control.listen: cannot listen on {address}: {error}; trying again each second (ss -ltnp \
                 'sport = :{}' names the process)",
                address.port()
            );
            events.error("api-listen", text);
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

/// The files that the TLS configuration is read from.
struct TlsFiles<'r> {
    certificate: &'r Path,
    authorities: Option<&'r Path>,
}

impl<'r> TlsFiles<'r> {
    fn new(remote: &'r RemoteApiConfig, certificate: &'r Path) -> TlsFiles<'r> {
        TlsFiles { certificate, authorities: remote.client_authorities.as_deref() }
    }

    fn paths(&self) -> Vec<PathBuf> {
        [Some(self.certificate), self.authorities]
            .into_iter()
            .flatten()
            .map(PathBuf::from)
            .collect()
    }
}

/// The certificate, as soon as it can be read.
async fn wait_certificate(files: &TlsFiles<'_>, events: &EventLog) -> Arc<ServerConfig> {
    let mut last_reason = String::new();
    loop {
        match read_tls_config(files) {
            Ok(config) => return config,
            Err(why) if why != last_reason => {
                events.error("api-certificate", why.clone());
                last_reason = why;
            }
            Err(_) => {}
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

/// Loads a certificate that was replaced on disk, once two reads in a row agree. A certificate that does not load is
/// logged, and the previous one stays in use.
async fn reload_certificate(
    files: &TlsFiles<'_>,
    show: &watch::Sender<Arc<ServerConfig>>,
    events: &EventLog,
) {
    let paths = files.paths();
    let mut loaded = certificate_stamps(&paths);
    let mut before = loaded.clone();
    loop {
        tokio::time::sleep(RETRY_INTERVAL).await;
        let now = certificate_stamps(&paths);
        let settled = now == before;
        before = now;
        if !settled || before == loaded {
            continue;
        }
        loaded.clone_from(&before);
        match read_tls_config(files) {
            Ok(config) => {
                show.send_replace(config);
                let text = format!("{} is shown now", files.certificate.display());
                events.info("api-certificate", text);
            }
            Err(why) => {
                let text = format!("{why}; what was there before still holds");
                events.error("api-certificate", text);
            }
        }
    }
}

/// Why the TLS files of a listener cannot be used; `None` if they can, or if the listener has no TLS.
pub fn tls_error(remote: &RemoteApiConfig) -> Option<String> {
    let file = remote.certificate.as_ref()?;
    read_tls_config(&TlsFiles::new(remote, file)).err()
}

/// Why clients will refuse the certificate that is shown, where it can be read.
pub fn certificate_warning(remote: &RemoteApiConfig) -> Option<String> {
    let file = remote.certificate.as_ref()?;
    let pair = read_pair(file).ok()?;
    crate::tls::cert_files::chain_warning(file, &pair.identity, CertificateUse::Server)
}

fn read_tls_config(files: &TlsFiles<'_>) -> Result<Arc<ServerConfig>, String> {
    let of = |key: &str, why: &dyn std::fmt::Display| format!("global.control.{key}: {why}");
    let pair = read_pair(files.certificate).map_err(|error| of("certificate", &error))?;
    let provider = policy::provider(TlsPolicy::Intermediate);
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(policy::versions(TlsVersion::Tls12))
        .map_err(|error| of("certificate", &error))?;
    let builder = match files.authorities {
        None => builder.with_no_client_auth(),
        Some(file) => {
            let key = "client-authorities";
            let text = read_file(file).map_err(|error| of(key, &error))?;
            let roots = Arc::new(roots(&text).map_err(|error| of(key, &error))?);
            // Who shows none may have a token.
            let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider)
                .allow_unauthenticated()
                .build();
            builder.with_client_cert_verifier(verifier.map_err(|error| of(key, &error))?)
        }
    };
    let key = SingleCertAndKey::from(pair.identity.certified());
    let mut config = builder.with_cert_resolver(Arc::new(key));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // A resumed session would bring its client's certificate along without a look at it.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}
