//! TLS towards a client: admission of handshakes, the handshake timeout, and the record of a failed handshake.

use std::net::SocketAddr;
use std::task::Poll;
use std::time::Duration;

use model::admission::AdmissionPhase;
use model::cause::Cause;
use model::config::ForwardingMode;
use model::monotonic_time::MonotonicTime;
use model::snapshot::ServiceView;

use crate::accounting::ExchangeRecord;
use crate::accounting::logged_request::LoggedRequest;
use crate::conn::stream::ProxyStream;
use crate::exchange::local_reply::{self, LocalReply};
use crate::rt::{DeadlineError, NetDriver, Readiness};
use crate::servers::worker_state::LocalService;
use crate::tls::certificate_resolver::ACME_TLS_ALPN;
use crate::tls::downstream::DownstreamTls;
use crate::tls::handshake_cause::{self, HandshakeCause};
use crate::tls::session::TlsSession;
use crate::tls::verified_client::identify_client;
use crate::worker::Worker;
use crate::worker::admission::OpenConnection;

/// How long a client may take to read the alert about its rejection.
/// A round trip; the client is rejected either way and must not hold a descriptor.
const ALERT_TIMEOUT: Duration = Duration::from_secs(1);

/// The first byte of a handshake record (RFC 8446 §5.1).
const HANDSHAKE: u8 = 22;

/// A failed handshake.
struct FailedHandshake {
    cause: Cause,
    detail: Option<&'static str>,
    /// The client sent plaintext HTTP.
    plain: bool,
}

/// Performs the TLS handshake if the service uses TLS. `None`: the connection has ended, and its record is closed.
pub async fn accept_tls<N: NetDriver>(
    worker: &Worker<N>,
    client: ProxyStream<N>,
    peer: SocketAddr,
    service: &LocalService<N>,
    open: &OpenConnection,
) -> Option<ProxyStream<N>> {
    let view = service.view.borrow().clone();
    if view.config.tls.is_none() {
        return Some(client);
    }
    // Boxed, so that the rest of the connection does not reserve memory for this.
    match Box::pin(handshake(worker, &client, peer, &view, service, open)).await {
        Ok(HandshakeOutcome::Ready) => Some(client),
        // An ACME authority has seen the challenge certificate.
        Ok(HandshakeOutcome::ChallengeAnswered) => {
            client.finish(worker.rt.now() + ALERT_TIMEOUT).await;
            None
        }
        Ok(HandshakeOutcome::ClientLeft) => {
            view.stats.slots[worker.index].counters.tls_failed.add(1);
            None
        }
        Err(failed) => {
            view.stats.slots[worker.index].counters.tls_failed.add(1);
            Box::pin(refuse_handshake(worker, client, peer, &view, failed)).await;
            None
        }
    }
}

/// The result of a handshake that did not fail.
enum HandshakeOutcome {
    /// The client may send requests.
    Ready,
    /// The client left without sending anything.
    ClientLeft,
    /// An ACME authority has validated a name (TLS-ALPN-01, RFC 8737) and sends nothing more.
    ChallengeAnswered,
}

async fn handshake<N: NetDriver>(
    worker: &Worker<N>,
    client: &ProxyStream<N>,
    peer: SocketAddr,
    view: &ServiceView,
    service: &LocalService<N>,
    open: &OpenConnection,
) -> Result<HandshakeOutcome, FailedHandshake> {
    let failed = |cause, detail| FailedHandshake { cause, detail, plain: false };
    // If TLS is configured but not available, the connection is closed: it never falls back to plaintext.
    let tls = view.tls.as_ref().and_then(|material| material.downcast::<DownstreamTls>());
    let tls = tls.ok_or(failed(Cause::Internal, None))?;
    let until = (worker.rt.now() + tls.handshake).min(service.cut_at.get());
    let late = || {
        let cut = worker.rt.now() >= service.cut_at.get();
        failed(if cut { Cause::DrainCut } else { Cause::TlsHandshakeTimeout }, None)
    };
    if !wait_first_byte(client, open, until).await {
        return if open.is_evicted() { Ok(HandshakeOutcome::ClientLeft) } else { Err(late()) };
    }
    worker
        .admission
        .check_handshake(&worker.rt, view, Some(peer.ip()))
        .map_err(|cause| failed(cause, None))?;
    open.set_phase(AdmissionPhase::Handshake, worker.rt.now());
    let session = TlsSession::server(&tls.config).map_err(|_| failed(Cause::Internal, None))?;
    client.start_tls(session, worker.tls_scratch.clone(), worker.gauges.clone());
    let over = client.handshake(until, || open.is_evicted()).await;
    open.set_phase(AdmissionPhase::Fresh, worker.rt.now());
    let seen = |session: &TlsSession| HandshakeReport {
        established: session.established(),
        resumed: session.resumed(),
        failure: session.failure().map(handshake_cause::client_cause),
        first_byte: session.first_byte(),
        challenge: session.common().alpn_protocol() == Some(ACME_TLS_ALPN),
    };
    let Some(seen) = client.with_session(seen) else { return Ok(HandshakeOutcome::ClientLeft) };
    if over.is_err() {
        return if open.is_evicted() { Ok(HandshakeOutcome::ClientLeft) } else { Err(late()) };
    }
    match seen {
        HandshakeReport { first_byte: None, .. } => Ok(HandshakeOutcome::ClientLeft),
        HandshakeReport { established: true, failure: None, resumed, challenge: proof, .. } => {
            let counters = &view.stats.slots[worker.index].counters;
            counters.tls_handshakes.add(1);
            counters.tls_resumed.add(u64::from(resumed));
            if let Some(group) = client.tls_group() {
                view.stats.slots[worker.index].key_exchange_groups.record_group(group);
            }
            if proof {
                return Ok(HandshakeOutcome::ChallengeAnswered);
            }
            remember_client(client, tls, resumed).map_err(|error| {
                let HandshakeCause { cause, detail } = handshake_cause::client_cause(&error);
                failed(cause, Some(detail))
            })?;
            Ok(HandshakeOutcome::Ready)
        }
        report => Err(handshake_failure(&report, view)),
    }
}

/// Why a handshake failed after its first byte.
fn handshake_failure(report: &HandshakeReport, view: &ServiceView) -> FailedHandshake {
    let failed = |cause, detail| FailedHandshake { cause, detail: Some(detail), plain: false };
    match (report.first_byte, report.failure) {
        (Some(first), _) if first != HANDSHAKE => {
            let is_text = first.is_ascii_uppercase();
            let cause = if is_text { Cause::PlainOnTls } else { Cause::TlsHandshake };
            FailedHandshake {
                plain: is_text && view.config.forward == ForwardingMode::Http,
                ..failed(cause, "not-tls")
            }
        }
        (_, Some(HandshakeCause { cause, detail })) => failed(cause, detail),
        (_, None) => failed(Cause::TlsHandshake, "client-left"),
    }
}

/// Waits for the first byte of the handshake, so that a silent client takes no handshake slot. False: no byte arrived
/// in time, or the connection is evicted.
async fn wait_first_byte<N: NetDriver>(
    client: &ProxyStream<N>,
    open: &OpenConnection,
    until: MonotonicTime,
) -> bool {
    let waited = client.poll_until(|rt| match open.is_evicted() {
        true => Poll::Ready(Err(DeadlineError)),
        false => rt.poll_ready(client.source(), Readiness::READ, until),
    });
    waited.await.is_ok()
}

/// Stores the client's certificate. For a resumed session it is verified by the active settings.
fn remember_client<N: NetDriver>(
    client: &ProxyStream<N>,
    tls: &DownstreamTls,
    resumed: bool,
) -> Result<(), rustls::Error> {
    let (Some(told), Some(clients)) = (&tls.certificate_headers, &tls.client_verifier) else {
        return Ok(());
    };
    let known = client.with_session(|session| {
        let chain = session.common().peer_certificates();
        let name = session.observation().name.as_deref();
        identify_client(clients, told, name, chain, resumed)
    });
    if let Some(known) = known {
        client.identify(known?);
    }
    Ok(())
}

/// The state of a session after the handshake.
struct HandshakeReport {
    established: bool,
    resumed: bool,
    failure: Option<HandshakeCause>,
    first_byte: Option<u8>,
    challenge: bool,
}

async fn refuse_handshake<N: NetDriver>(
    worker: &Worker<N>,
    mut client: ProxyStream<N>,
    peer: SocketAddr,
    view: &ServiceView,
    failed: FailedHandshake,
) {
    let FailedHandshake { cause, detail, plain } = failed;
    view.stats.slots[worker.index].counters.requests.add(1);
    let now = worker.rt.update_now();
    let mut record = ExchangeRecord::begin(now, now);
    record.cause = Some(cause);
    record.defect = detail;
    if plain {
        client.stop_tls();
        let answer =
            LocalReply { status: cause.status(), cause, keep_alive: false, head_only: false };
        local_reply::send_reply(worker, &client, view, &answer, b"", &mut record).await;
    } else {
        client.finish(worker.rt.now() + ALERT_TIMEOUT).await;
    }
    worker.close(view, None, &mut record, &LoggedRequest::unreadable(peer, view.config.forward));
    if matches!(cause, Cause::TlsHandshakeLimit | Cause::ClientLimit) {
        // Waiting for such a client would use as many resources as the limit refused to it.
        return;
    }
    local_reply::linger(worker, client).await;
}
