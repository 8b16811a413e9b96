//! TLS towards a client: who may begin a handshake, how long it may take, and the account of one that fails.
//!
//! What follows the handshake is the service's method and none of its business.

use std::net::SocketAddr;
use std::task::Poll;
use std::time::Duration;

use model::admission::Phase;
use model::cause::Cause;
use model::config::Forward;
use model::moment::Moment;
use model::snapshot::ServiceView;
use rustls::pki_types::UnixTime;

use crate::account::Record;
use crate::admission::OpenConnection;
use crate::local::LocalService;
use crate::proof;
use crate::refuse::{self, Answer};
use crate::rt::{Expired, Net, Readiness};
use crate::said::Said;
use crate::stream::Stream;
use crate::tls::judged::JudgedClient;
use crate::tls::names::PROOF;
use crate::tls::server::ServerTls;
use crate::tls::session::Session;
use crate::tls::trouble;
use crate::worker::Worker;

/// How long a client may take to read the alert that says why it is refused.
const ALERT: Duration = Duration::from_secs(1);

/// The first byte of a handshake (RFC 8446 §5.1).
const HANDSHAKE: u8 = 22;

/// A handshake that came to nothing.
struct Failed {
    cause: Cause,
    detail: Option<&'static str>,
    /// Its client spoke HTTP.
    plain: bool,
}

/// Shakes hands where the service speaks TLS; `None`: the connection is over, and its account closed.
pub async fn open<N: Net>(
    worker: &Worker<N>,
    client: Stream<N>,
    peer: SocketAddr,
    service: &LocalService<N>,
    open: &OpenConnection,
) -> Option<Stream<N>> {
    let view = service.view.borrow().clone();
    if view.config.tls.is_none() {
        return Some(client);
    }
    // Boxed so that what follows keeps no room for it.
    match Box::pin(shake(worker, (&client, peer), &view, service, open)).await {
        Ok(Shaken::Ready) => Some(client),
        // An authority has seen what it came for.
        Ok(Shaken::Proven) => {
            client.finish(worker.rt.now() + ALERT).await;
            None
        }
        Ok(Shaken::Left) => {
            view.live.slots[worker.index].counters.tls_failed.add(1);
            None
        }
        Err(failed) => {
            view.live.slots[worker.index].counters.tls_failed.add(1);
            Box::pin(refuse(worker, client, peer, &view, failed)).await;
            None
        }
    }
}

/// What a handshake without failure came to.
enum Shaken {
    /// The client goes on.
    Ready,
    /// It left without a word.
    Left,
    /// It came to see whether a name is ours, and says nothing more.
    Proven,
}

async fn shake<N: Net>(
    worker: &Worker<N>,
    (client, peer): (&Stream<N>, SocketAddr),
    view: &ServiceView,
    service: &LocalService<N>,
    open: &OpenConnection,
) -> Result<Shaken, Failed> {
    let failed = |cause, detail| Failed { cause, detail, plain: false };
    // A service that is to speak TLS and cannot says nothing rather than speak plainly.
    let tls = view.tls.as_ref().and_then(|material| material.get::<ServerTls>());
    let tls = tls.ok_or(failed(Cause::Internal, None))?;
    let until = (worker.rt.now() + tls.handshake).min(service.cut_at.get());
    let late = || {
        let cut = worker.rt.now() >= service.cut_at.get();
        failed(if cut { Cause::DrainCut } else { Cause::TlsHandshakeTimeout }, None)
    };
    if !spoke(client, open, until).await {
        return if open.is_given_up() { Ok(Shaken::Left) } else { Err(late()) };
    }
    worker
        .admission
        .may_shake(&worker.rt, view, Some(peer.ip()))
        .map_err(|cause| failed(cause, None))?;
    open.set(Phase::Handshake, worker.rt.now());
    let session = Session::server(&tls.config).map_err(|_| failed(Cause::Internal, None))?;
    client.seal(session, worker.sealed.clone(), worker.census.clone());
    let over = client.shake(until, || open.is_given_up()).await;
    open.set(Phase::Fresh, worker.rt.now());
    let seen = |session: &Session| Seen {
        established: session.established(),
        resumed: session.resumed(),
        trouble: session.failure().map(trouble::of_client),
        first: session.first_byte(),
        proof: session.common().alpn_protocol() == Some(PROOF),
    };
    let Some(seen) = client.with_session(seen) else { return Ok(Shaken::Left) };
    if over.is_err() {
        return if open.is_given_up() { Ok(Shaken::Left) } else { Err(late()) };
    }
    match seen {
        Seen { first: None, .. } => Ok(Shaken::Left),
        Seen { established: true, trouble: None, resumed, proof, .. } => {
            let counters = &view.live.slots[worker.index].counters;
            counters.tls_handshakes.add(1);
            counters.tls_resumed.add(u64::from(resumed));
            if let Some(group) = client.tls_group() {
                view.live.slots[worker.index].groups.add(group);
            }
            if proof {
                return Ok(Shaken::Proven);
            }
            meet(client, tls, resumed).map_err(|error| {
                let (cause, detail) = trouble::of_client(&error);
                failed(cause, Some(detail))
            })?;
            Ok(Shaken::Ready)
        }
        Seen { first: Some(first), .. } if first != HANDSHAKE => Err(Failed {
            plain: first.is_ascii_uppercase() && view.config.forward == Forward::Http,
            ..failed(
                if first.is_ascii_uppercase() { Cause::PlainOnTls } else { Cause::TlsHandshake },
                Some("not-tls"),
            )
        }),
        Seen { trouble: Some((cause, detail)), .. } => Err(failed(cause, Some(detail))),
        Seen { trouble: None, .. } => Err(failed(Cause::TlsHandshake, Some("client-left"))),
    }
}

/// Waits for the first byte, with which the handshake begins: a client that says nothing takes the place of none. False: none
/// came in time, or the connection is given up.
async fn spoke<N: Net>(client: &Stream<N>, open: &OpenConnection, until: Moment) -> bool {
    let waited = client.until(|rt| match open.is_given_up() {
        true => Poll::Ready(Err(Expired)),
        false => rt.poll_ready(client.source(), Readiness::READ, until),
    });
    waited.await.is_ok()
}

/// Remembers what a client has proven. One that resumes a session is judged by what is in force now.
fn meet<N: Net>(client: &Stream<N>, tls: &ServerTls, resumed: bool) -> Result<(), rustls::Error> {
    let (Some(told), Some(clients)) = (&tls.told, &tls.clients) else { return Ok(()) };
    let known = client.with_session(|session| {
        let chain = session.common().peer_certificates();
        if resumed {
            clients.recheck(session.seen().name.as_deref(), chain, UnixTime::now())?;
        }
        Ok::<_, rustls::Error>((proof::lines(chain, told), JudgedClient::new(chain, clients)))
    });
    if let Some(known) = known {
        let (lines, judged) = known?;
        client.identify(lines, judged);
    }
    Ok(())
}

/// What a handshake came to.
struct Seen {
    established: bool,
    resumed: bool,
    trouble: Option<(Cause, &'static str)>,
    first: Option<u8>,
    proof: bool,
}

async fn refuse<N: Net>(
    worker: &Worker<N>,
    mut client: Stream<N>,
    peer: SocketAddr,
    view: &ServiceView,
    failed: Failed,
) {
    let Failed { cause, detail, plain } = failed;
    view.live.slots[worker.index].counters.requests.add(1);
    let now = worker.rt.look();
    let mut record = Record::begin(now, now);
    record.cause = Some(cause);
    record.defect = detail;
    if plain {
        client.unseal();
        let answer = Answer { status: cause.status(), cause, keep: false, head_only: false };
        refuse::answer(worker, &client, view, &answer, &mut record).await;
    } else {
        client.finish(worker.rt.now() + ALERT).await;
    }
    worker.close(view, None, &mut record, &Said::nothing(peer, view.config.forward));
    if matches!(cause, Cause::TlsHandshakeLimit | Cause::ClientLimit) {
        // Whoever waits for what it says next would hold as much as it was refused.
        return;
    }
    refuse::linger(worker, client).await;
}
