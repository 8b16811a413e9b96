//! The API and its page over TCP: follows `global.control.listen` of the configuration in force.
//!
//! A port that is taken is told once and tried again each second, and so is a certificate that cannot be read: the
//! unix socket serves meanwhile. What may be asked there is the gate's to say.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use l7::tls::authorities::roots;
use l7::tls::policy;
use l7::tls::purpose::UsedAs;
use model::config::{Remote, TlsPolicy, TlsVersion};
use rustls::ServerConfig;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::sign::SingleCertAndKey;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::context::Context;
use super::counts::Listener;
use super::door::Door;
use super::gate::{Gate, enter};
use super::guard::{Guarded, HEAD, Terms};
use super::malformed;
use super::peer::{self, Entry};
use super::places::Places;
use super::ports::AdminSockets;
use super::router::router;
use crate::event::Events;
use crate::tls::files::{marks, pair, read as read_file};

/// Browsers and programs, so many connections at a time. A stream ends with its connection and is opened anew.
const TERMS: Terms = Terms {
    connections: 128,
    head: HEAD,
    silence: Duration::from_secs(60),
    life: Duration::from_secs(3_600),
};
/// Between two attempts to open a port or to read a certificate, and between two looks at its file.
const AGAIN: Duration = Duration::from_secs(1);

/// Serves as configured until the daemon is gone.
pub async fn run(context: Arc<Context>) {
    let mut pictures = context.vitals.control.watch();
    loop {
        let wanted = pictures.borrow_and_update().config.global.control.remote.clone();
        let changed = async {
            while pictures.changed().await.is_ok() {
                if pictures.borrow_and_update().config.global.control.remote != wanted {
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
            () = context.vitals.admin.closed() => return,
        }
        if let Some(remote) = &wanted {
            context.vitals.admin.forget(remote.listen);
        }
    }
}

/// Ends only when the listener fails.
async fn serve(remote: &Remote, context: &Arc<Context>) {
    let events = context.vitals.control.events();
    let shown = match &remote.certificate {
        None => None,
        Some(file) => Some(watch::channel(first(&Files::of(remote, file), events).await)),
    };
    let (show, shown) = shown.unzip();
    let listener = open(remote, &context.vitals.admin, events).await;
    let gate = Arc::new(Gate::new(Arc::clone(context), remote.clone()));
    let router = with_page(router(Arc::clone(context))).layer(from_fn_with_state(gate, enter));
    let counts = Arc::clone(&context.vitals.served);
    let router = router.layer(from_fn_with_state(Arc::clone(&counts), malformed::refuse));
    let service = router.layer(from_fn(peer::enter)).into_make_service_with_connect_info::<Entry>();
    let places = Places::new(TERMS.connections, Listener::Api, counts);
    let door = Guarded::new(Door::new(listener, shown), TERMS, places);
    let renew = async {
        match (&remote.certificate, show) {
            (Some(file), Some(show)) => renew(&Files::of(remote, file), &show, events).await,
            _ => std::future::pending().await,
        }
    };
    tokio::select! {
        // It ends with an error of the listener only; the caller opens it again.
        _ = async { axum::serve(door, service).await } => {}
        () = renew => {}
    }
}

fn with_page(mut router: Router) -> Router {
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

async fn open(remote: &Remote, admin: &AdminSockets, events: &Events) -> TcpListener {
    let address = remote.listen;
    let mut told = false;
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
        if !told {
            told = true;
            let text = format!(
                "global.control.listen: cannot listen on {address}: {error}; trying again each second (ss -ltnp \
                 'sport = :{}' names the process)",
                address.port()
            );
            events.error("api-listen", text);
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// What TLS is made of.
struct Files<'r> {
    certificate: &'r Path,
    authorities: Option<&'r Path>,
}

impl<'r> Files<'r> {
    fn of(remote: &'r Remote, certificate: &'r Path) -> Files<'r> {
        Files { certificate, authorities: remote.client_authorities.as_deref() }
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
async fn first(files: &Files<'_>, events: &Events) -> Arc<ServerConfig> {
    let mut told = String::new();
    loop {
        match read(files) {
            Ok(config) => return config,
            Err(why) if why != told => {
                events.error("api-certificate", why.clone());
                told = why;
            }
            Err(_) => {}
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Shows a certificate that was written anew, once two looks in a row agree; one that is no good is told of and the
/// one before stays.
async fn renew(files: &Files<'_>, show: &watch::Sender<Arc<ServerConfig>>, events: &Events) {
    let paths = files.paths();
    let mut taken = marks(&paths);
    let mut before = taken.clone();
    loop {
        tokio::time::sleep(AGAIN).await;
        let now = marks(&paths);
        let settled = now == before;
        before = now;
        if !settled || before == taken {
            continue;
        }
        taken.clone_from(&before);
        match read(files) {
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

/// What is wrong with the files that it would speak TLS with; `None`: nothing, or it speaks none.
pub fn trouble(remote: &Remote) -> Option<String> {
    let file = remote.certificate.as_ref()?;
    read(&Files::of(remote, file)).err()
}

/// Why clients will refuse the certificate that is shown, where it can be read.
pub fn doubt(remote: &Remote) -> Option<String> {
    let file = remote.certificate.as_ref()?;
    let found = pair(file).ok()?;
    crate::tls::files::doubt(file, &found.identity, UsedAs::Server)
}

fn read(files: &Files<'_>) -> Result<Arc<ServerConfig>, String> {
    let of = |key: &str, why: &dyn std::fmt::Display| format!("global.control.{key}: {why}");
    let found = pair(files.certificate).map_err(|error| of("certificate", &error))?;
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
    let key = SingleCertAndKey::from(found.identity.certified());
    let mut config = builder.with_cert_resolver(Arc::new(key));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // A resumed session would bring its client's certificate along without a look at it.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}
