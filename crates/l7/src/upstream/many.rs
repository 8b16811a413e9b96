//! A connection to a server that may carry many requests: joined while somebody makes one, or made.
//!
//! What is spoken is agreed on with the server; where that is HTTP/1.1 the connection is for one request at a time.

use std::rc::Rc;

use model::cause::Cause;
use model::config::Speak;

use super::connect::{self, Way};
use crate::connected::Upstream;
use crate::http2::mux::Terms;
use crate::rt::Net;
use crate::worker::Worker;

/// Connects, or joins; says whether the connection had served before. `join`: another's connection will do.
///
/// # Errors
/// The cause, and the reason for people.
pub async fn connect<N: Net>(
    worker: &Rc<Worker<N>>,
    way: Way<'_, N>,
    join: bool,
) -> Result<(Upstream<N>, bool), (Cause, String)> {
    if way.speak == Speak::Off {
        return Ok((connect::connect(worker, way).await?, false));
    }
    let (server, view, speak) = (way.server, way.view, way.speak);
    let (mux, http2) = (&server.mux, &view.config.http2);
    while join && mux.may_wait(http2.streams) {
        mux.wait(&worker.rt, way.patience.until(way.until)).await;
        if let Some(strand) = mux.open(&worker.rt, false) {
            return Ok((strand, true));
        }
        let now = worker.rt.now();
        let late = (now >= way.until).then_some(Cause::ConnectTimeout);
        if let Some(cause) = way.patience.over(now).or(late) {
            return Err((cause, "no connection was made in time".to_owned()));
        }
    }
    let _coming = mux.coming(&worker.rt);
    let upstream = connect::connect(worker, way).await?;
    let to = upstream.to;
    let agreed = upstream.stream.agreed_on_http2().unwrap_or(true);
    mux.learned(!agreed);
    if !agreed {
        return match speak {
            Speak::Only => {
                Err((Cause::ServerTls, format!("TLS with {to}: HTTP/2 was not taken up")))
            }
            _ => Ok((upstream, false)),
        };
    }
    let limit = &view.config.limit;
    let terms = Terms {
        http2,
        head: (limit.header_bytes, limit.header_count),
        idle: view.config.timeout.idle,
        live: (server.view.borrow().live.clone(), worker.index),
    };
    let failed = |text: String| (Cause::Internal, format!("HTTP/2 with {to}: {text}"));
    mux.add(&worker.rt, upstream, terms).await.map_err(|error| failed(error.to_string()))?;
    let strand = mux.open(&worker.rt, false);
    strand
        .map(|strand| (strand, false))
        .ok_or_else(|| failed("no stream could be opened".to_owned()))
}
