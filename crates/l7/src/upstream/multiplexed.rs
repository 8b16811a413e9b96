//! A multiplexed connection to a server: joins one that another task is establishing, or establishes one.
//!
//! The protocol is negotiated with the server (ALPN). A connection with HTTP/1.1 carries one request at a time.

use std::rc::Rc;

use model::cause::Cause;
use model::config::ServerHttp2Mode;

use super::connect::{self, ConnectPlan};
use crate::conn::http2::connection_pool::Http2ConnectOptions;
use crate::conn::upstream_connection::{ConnectFailure, UpstreamConnection};
use crate::rt::NetDriver;
use crate::worker::Worker;

/// A connection for one request.
pub struct EstablishedUpstream<N: NetDriver> {
    pub connection: UpstreamConnection<N>,
    /// The connection had been used before.
    pub reused: bool,
}

/// Connects, or joins a connection. `join`: the connection of another task may be used.
///
/// # Errors
/// Why no connection was made.
pub async fn connect_multiplexed<N: NetDriver>(
    worker: &Rc<Worker<N>>,
    way: ConnectPlan<'_, N>,
    join: bool,
) -> Result<EstablishedUpstream<N>, ConnectFailure> {
    if way.speak == ServerHttp2Mode::Off {
        let connection = connect::connect(worker, way).await?;
        return Ok(EstablishedUpstream { connection, reused: false });
    }
    let server = way.server;
    let view = way.view;
    let speak = way.speak;
    let mux = &server.http2_pool;
    let http2 = &view.config.http2;
    while join && mux.may_wait(http2.streams) {
        mux.wait(&worker.rt, way.deadline.earliest_until(way.until)).await;
        if let Some(connection) = mux.open(&worker.rt, false) {
            return Ok(EstablishedUpstream { connection, reused: true });
        }
        let now = worker.rt.now();
        let late = (now >= way.until).then_some(Cause::ConnectTimeout);
        if let Some(cause) = way.deadline.expired_cause(now).or(late) {
            let reason = "no connection was made in time".to_owned();
            return Err(ConnectFailure::new(cause, reason));
        }
    }
    let _coming = mux.begin_connecting(&worker.rt);
    let upstream = connect::connect(worker, way).await?;
    let to = upstream.address.clone();
    let agreed = upstream.stream.negotiated_http2().unwrap_or(true);
    mux.set_plain(!agreed);
    if !agreed {
        return match speak {
            ServerHttp2Mode::Only => Err(ConnectFailure::new(
                Cause::ServerTls,
                format!("TLS with {to}: HTTP/2 was not taken up"),
            )),
            _ => Ok(EstablishedUpstream { connection: upstream, reused: false }),
        };
    }
    let limit = &view.config.limit;
    let terms = Http2ConnectOptions {
        http2,
        head_bytes: limit.header_bytes,
        head_fields: limit.header_count,
        idle: view.config.timeout.idle,
        stats: server.view.borrow().stats.clone(),
        worker: worker.index,
    };
    mux.add(&worker.rt, upstream, terms);
    mux.open(&worker.rt, false)
        .map(|connection| EstablishedUpstream { connection, reused: false })
        .ok_or_else(|| {
            let reason = format!("HTTP/2 with {to}: no stream could be opened");
            ConnectFailure::new(Cause::Internal, reason)
        })
}
