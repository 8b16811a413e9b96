//! The Prometheus endpoint: follows `metrics.listen` of the active configuration and answers `GET /metrics`.
//!
//! A port that is taken (by the predecessor, say) is logged once and retried each second: it is no reason not to serve.
//! Nothing can be changed through it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::from_fn;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use model::circuit_breaker::breaker_clock_ms;
use tokio::net::TcpListener;

use super::gzip::{gzip, takes_gzip};
use super::{CONTENT_TYPE, ScrapeInput, encode_metrics};
use crate::observability::report::report_sources::ReportSources;
use crate::util::admin_listeners::api_counters::ListenerKind;
use crate::util::admin_listeners::connection_guard::{
    ConnectionLimits, GuardedListener, HEAD_TIMEOUT,
};
use crate::util::admin_listeners::connection_slots::{
    ConnectionSlot, ConnectionSlots, track_request,
};

/// A scraper connects, sends a request and leaves; slower clients are closed.
const CONNECTION_LIMITS: ConnectionLimits = ConnectionLimits {
    connections: 16,
    head_timeout: HEAD_TIMEOUT,
    idle_timeout: Duration::from_secs(10),
    max_lifetime: Duration::from_secs(30),
};
/// The delay between two attempts to open a port. A port that another process releases is opened within a second.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Serves as configured until the daemon stops.
pub async fn run(vitals: Arc<ReportSources>) {
    let mut snapshots = vitals.control.watch();
    loop {
        let wanted = snapshots
            .borrow_and_update()
            .config
            .global
            .metrics
            .as_ref()
            .map(|metrics| metrics.listen);
        let changed = async {
            loop {
                if snapshots.changed().await.is_err() {
                    return false;
                }
                let now = snapshots
                    .borrow_and_update()
                    .config
                    .global
                    .metrics
                    .as_ref()
                    .map(|metrics| metrics.listen);
                if now != wanted {
                    return true;
                }
            }
        };
        let serve = async {
            match wanted {
                Some(address) => serve(address, &vitals).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            goes_on = changed => if !goes_on { return },
            () = serve => {}
            () = vitals.admin.wait_closed() => return,
        }
        if let Some(address) = wanted {
            vitals.admin.remove(address);
        }
    }
}

/// Ends only when the listener fails.
async fn serve(address: SocketAddr, vitals: &Arc<ReportSources>) {
    let listener = open(address, vitals).await;
    let routes = Router::new().route("/metrics", get(scrape)).with_state(Arc::clone(vitals));
    let service = routes
        .layer(from_fn(track_request))
        .into_make_service_with_connect_info::<ConnectionSlot>();
    let counts = Arc::clone(&vitals.api_counters);
    let places = ConnectionSlots::new(CONNECTION_LIMITS.connections, ListenerKind::Metrics, counts);
    // This future ends only when the listening socket fails; the caller reopens the socket.
    let _ = axum::serve(GuardedListener::new(listener, CONNECTION_LIMITS, places), service).await;
}

async fn open(address: SocketAddr, vitals: &ReportSources) -> TcpListener {
    let mut told = false;
    loop {
        let error: io::Error = match vitals.admin.listen(address).await {
            Ok(listener) => {
                vitals.control.events().info(
                    "metrics-listening",
                    format!("metrics are served on http://{address}/metrics"),
                );
                return listener;
            }
            Err(error) => error,
        };
        if !told {
            told = true;
            let text = format!(
                "metrics.listen: cannot listen on {address}: {error}; trying again each second (ss -ltnp 'sport = :{}' \
                 names the process)",
                address.port()
            );
            vitals.control.events().error("metrics-listen", text);
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

async fn scrape(State(vitals): State<Arc<ReportSources>>, headers: HeaderMap) -> Response {
    let mut answer = render_scrape(&vitals, &headers);
    answer.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
    answer
}

/// One scrape, for this endpoint and for the local API.
pub fn render_scrape(vitals: &ReportSources, headers: &HeaderMap) -> Response {
    let snapshot = vitals.control.state();
    let facts = vitals.collect(&snapshot);
    let now = breaker_clock_ms(facts.open_counts.now);
    let scrape = ScrapeInput { snapshot: Arc::clone(&snapshot.snapshot), facts, now };
    let Ok(text) = encode_metrics(scrape) else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let accepted = headers.get_all(header::ACCEPT_ENCODING).iter();
    let takes = accepted.filter_map(|value| value.to_str().ok()).any(takes_gzip);
    let varies = [(header::CONTENT_TYPE, CONTENT_TYPE), (header::VARY, "accept-encoding")];
    if takes && let Ok(small) = gzip(text.as_bytes()) {
        return (varies, [(header::CONTENT_ENCODING, "gzip")], small).into_response();
    }
    (varies, text).into_response()
}
