//! The facts of one exchange for time attribution, in a form that fits into slots of a ring.
//!
//! Times are nanoseconds. Plain data.

use std::net::IpAddr;

use crate::cause::Cause;
use crate::exchange_failure::ExchangeFailure;

use super::tcp_info::TcpInfoDelta;
use super::wait_times::{WaitReason, WaitTimes};

/// Times of one exchange apart from the relay's waits, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExchangePhases {
    /// From accept(2) to the first handling of the connection; 0 except for a connection's first exchange.
    pub accept: u64,
    /// The client's TLS handshake; 0 except for a connection's first exchange.
    pub tls: u64,
    /// Reading the request's head.
    pub head: u64,
    /// Waiting for a server below its connection limit, over all attempts.
    pub queue: u64,
    /// Connecting, the server's TLS handshake included, in the last attempt.
    pub connect: u64,
    /// From the request's head to its last byte sent.
    pub body_in: u64,
    /// From the request's last byte to the response's first.
    pub first_byte: u64,
    /// From the response's first byte to its last.
    pub body_out: u64,
}

impl ExchangePhases {
    /// Names in the order of `all`.
    pub const NAMES: [&'static str; 8] =
        ["accept", "tls", "head", "queue", "connect", "body-in", "first-byte", "body-out"];

    /// All, in the order of `NAMES`.
    pub fn values(&self) -> [u64; 8] {
        [
            self.accept,
            self.tls,
            self.head,
            self.queue,
            self.connect,
            self.body_in,
            self.first_byte,
            self.body_out,
        ]
    }

    /// From all, in the order of `NAMES`.
    pub fn from_array(all: [u64; 8]) -> ExchangePhases {
        let [accept, tls, head, queue, connect, body_in, first_byte, body_out] = all;
        ExchangePhases { accept, tls, head, queue, connect, body_in, first_byte, body_out }
    }
}

/// Flags of an exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExchangeFlags {
    /// The exchange exceeded its service's threshold of slow exchanges.
    pub slow: bool,
    /// The exchange was sampled regardless of its duration.
    pub sampled: bool,
    /// The connection to the server was reused.
    pub reused: bool,
    /// The client's connection carries several exchanges at once.
    pub client_shared: bool,
    /// The client's connection is one of QUIC: what it sends out of order is not known.
    pub client_quic: bool,
    /// The server's connection carries several exchanges at once.
    pub server_shared: bool,
    /// A `tcp` connection or an upgraded one.
    pub tunnel: bool,
    /// The response, if any, was a local reply.
    pub by_us: bool,
    /// The connection to the server uses TLS.
    pub server_tls: bool,
    /// The server's response had an error status, and the client got an error page with another.
    pub error_replaced: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ExchangeMeasurement {
    /// The id, as in the access log.
    pub id: u64,
    /// End of the exchange, nanoseconds on the workers' clock.
    pub ended_at: u64,
    /// The service's number.
    pub service: u32,
    /// The number of the server of the last attempt.
    pub server: Option<u32>,
    pub client: IpAddr,
    /// The client's port; 0: not recorded.
    pub client_port: u16,
    /// The balancer's port of the connection to the server; 0: not recorded, or no connection.
    pub server_port: u16,
    pub flags: ExchangeFlags,
    pub attempts: u16,
    /// The response's status; 0: none.
    pub status: u16,
    /// The cause of a failure, as the discriminant of [`Cause`].
    pub cause: Option<u8>,
    /// How many exchanges this one represents.
    pub weight: f64,
    /// From the request's first byte to the end; for the first exchange of a connection including accept and handshake.
    pub total: u64,
    pub phases: ExchangePhases,
    /// The waits of the relay by reason.
    pub wait_times: WaitTimes,
    /// Bytes received from the client, sent to the server, received from the server, sent to the client.
    pub bytes: [u64; 4],
    /// Counters of the client's connection, if its socket was read.
    pub client_tcp: Option<TcpInfoDelta>,
    /// Counters of the server's connection, if its socket was read.
    pub server_tcp: Option<TcpInfoDelta>,
    /// What the kernel did with the request after its last byte was handed over.
    pub request_drain: RequestDrain,
    /// The trace context; the exchange's own span is `id`.
    pub trace: Option<ExchangeTrace>,
}

/// A long request that was still in the balancer's send buffer when its last byte had been written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestDrain {
    /// Time with unacknowledged data from then on, microseconds.
    pub busy_us: u64,
    /// The part of it that was limited by the server's receive window.
    pub rwnd_limited_us: u64,
}

/// A place in a trace (W3C Trace Context).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExchangeTrace {
    pub trace: u128,
    /// The parent span; 0: the trace started here.
    pub parent: u64,
    pub sampled: bool,
}

impl ExchangeMeasurement {
    /// An exchange of which only the duration is known.
    pub fn from_total(client: IpAddr, total: u64) -> ExchangeMeasurement {
        ExchangeMeasurement {
            id: 0,
            ended_at: 0,
            service: 0,
            server: None,
            client,
            client_port: 0,
            server_port: 0,
            flags: ExchangeFlags::default(),
            attempts: 1,
            status: 0,
            cause: None,
            weight: 1.0,
            total,
            phases: ExchangePhases::default(),
            wait_times: WaitTimes::default(),
            bytes: [0; 4],
            client_tcp: None,
            server_tcp: None,
            request_drain: RequestDrain::default(),
            trace: None,
        }
    }

    /// The time by which exchanges are ranked. Idle time of a client on an open connection is excluded, because it
    /// delays no one.
    pub fn slowness(&self) -> u64 {
        let idle = self
            .wait_times
            .total(WaitReason::ClientThink)
            .saturating_add(self.wait_times.total(WaitReason::Either));
        self.total.saturating_sub(idle)
    }

    /// The exchange without the time that delays no one.
    pub fn without_idle_time(&self) -> ExchangeMeasurement {
        let mut busy = ExchangeMeasurement { total: self.slowness(), ..self.clone() };
        busy.wait_times.set(WaitReason::ClientThink, 0);
        busy.wait_times.set(WaitReason::Either, 0);
        busy
    }

    /// How it failed; `None`: it did not.
    pub fn failure(&self) -> Option<ExchangeFailure> {
        let status = if self.flags.error_replaced { 500 } else { self.status };
        ExchangeFailure::of_end(self.end_cause(), self.flags.by_us, status)
    }

    pub fn end_cause(&self) -> Option<Cause> {
        self.cause.and_then(|at| Cause::ALL.get(usize::from(at)).copied())
    }
}
