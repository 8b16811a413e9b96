//! Live counters of services and servers.
//!
//! Each worker adds to its own slot (plain load and store, no locked instruction); readers sum the slots. Only values
//! that every worker must see at once (exchanges in flight at a server) are shared. It derives no rates.

pub mod histogram;
pub mod latency_ewma;
mod request_phases;
pub mod ring;

use std::sync::atomic::AtomicU64;

use crate::admission::ClientConnectionCounts;
use crate::cause::Cause;
pub use crate::counter::Count;
use crate::load_report;
pub use crate::shared_gauge::{SharedByteGauge, SharedGauge};
use crate::time_attribution::slow_exchanges::DEFAULT_SLOW_THRESHOLD;
pub use histogram::{Histogram, HistogramSum};
pub use latency_ewma::LatencyEwma;
pub use request_phases::RequestPhaseHistograms;

/// Bounds the counters of grammar rules; `wire` has fewer rules.
pub const DEFECTS: usize = 80;

macro_rules! counters {
    ($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $field:ident = $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        pub struct $name { $($(#[$fdoc])* pub $field: Count,)* }

        impl $name {
            /// Names in the order of `values`; as in metrics and the API.
            pub const NAMES: &'static [&'static str] = &[$($text,)*];

            /// All values, in the order of `NAMES`.
            pub fn values(&self) -> Vec<u64> {
                vec![$(self.$field.get(),)*]
            }

            /// Adds the counts of `other`: for readers that sum slots into their own total.
            pub fn add_all(&self, other: &Self) {
                $(self.$field.add(other.$field.get());)*
            }
        }
    };
}

counters! {
    /// One worker's counters of a service.
    ServiceCounters {
        accepted = "accepted";
        /// Of those, ended for whatever reason.
        closed = "closed";
        /// Of those accepted, refused at once because of a limit (also in the causes).
        refused = "refused";
        /// Requests whose head was read, or `tcp` connections given to a server.
        requests = "requests";
        /// Ended with a server's complete response, or `tcp` connections closed in order.
        answered = "answered";
        /// Ended with a local reply.
        answered_by_us = "answered-by-us";
        /// Ended without a complete response.
        aborted = "aborted";
        /// Requests that became tunnels by an upgrade, whose exchanges go on.
        upgraded = "upgraded";
        informational = "informational";
        /// Final answers 2xx from servers.
        status_2xx = "status-2xx";
        /// Final answers 3xx from servers.
        status_3xx = "status-3xx";
        /// Final answers 4xx from servers.
        status_4xx = "status-4xx";
        /// Final answers 5xx from servers.
        status_5xx = "status-5xx";
        /// Bytes received from clients.
        client_in = "client-bytes-in";
        /// Bytes sent to clients.
        client_out = "client-bytes-out";
        /// Of those sent or received, bytes moved by splice(2).
        spliced = "spliced-bytes";
        /// Retries, on another or the same server.
        retried = "retried";
        /// Replays on a fresh connection because a pooled idle one was stale.
        replayed = "replayed";
        /// Access log lines that were dropped.
        log_dropped = "log-lines-dropped";
        /// Idle keep-alive connections closed at their limit.
        idle_closed = "idle-closed";
        /// Connections closed for newcomers whose clients had sent nothing.
        evicted_silent = "evicted-silent";
        /// The same, with a stalled handshake or head.
        evicted_stalled = "evicted-stalled";
        /// The same, without a request.
        evicted_idle = "evicted-idle";
        /// Failed accept calls: no descriptor was free.
        accept_no_descriptor = "accept-no-descriptor";
        /// Failed accept calls: other errors (the peer was gone already).
        accept_failed = "accept-failed";
        /// Completed TLS handshakes with clients.
        tls_handshakes = "tls-handshakes";
        /// Of those, resumed sessions.
        tls_resumed = "tls-resumed";
        /// Failed handshakes (also in the causes, except for clients that left without a byte).
        tls_failed = "tls-failed";
        /// Requests with an affinity cookie that was made without a secret: accepted, and replaced.
        sticky_unkeyed = "sticky-unkeyed";
        /// PROXY protocol headers of client connections.
        proxy_headers = "proxy-headers";
        /// Responses that were compressed, at least in part.
        compressed = "compressed";
        /// Their bytes before compression.
        compress_in = "compress-bytes-in";
        /// Their bytes after compression.
        compress_out = "compress-bytes-out";
        /// Uncompressed responses of services with compression: content-encoded already.
        compress_coded = "compress-skipped-coded";
        /// The same: `no-transform`, or a digest of their bytes.
        compress_kept = "compress-skipped-kept";
        /// The same: another media type.
        compress_type = "compress-skipped-type";
        compress_small = "compress-skipped-small";
        /// The same: for clients of HTTP/1.0.
        compress_old = "compress-skipped-old";
        /// The same: for clients that do not accept the coding.
        compress_client = "compress-skipped-client";
        /// The same: the worker was busy.
        compress_busy = "compress-skipped-busy";
        /// The same: too many were being compressed.
        compress_full = "compress-skipped-full";
        /// Requests whose body was read completely, or up to the limit, before a server was chosen.
        buffered_requests = "buffered-requests";
        /// Responses whose server was free before their client had all of it.
        buffered_answers = "buffered-answers";
        /// Request bodies longer than the buffer limit.
        buffer_beyond = "buffer-beyond";
        /// Bodies that were not buffered, or not further: the service's memory for them was used up.
        buffer_full = "buffer-full";
        /// Trailers that were dropped: not allowed there, or reserved to the balancer.
        trailers_dropped = "trailers-dropped";
        /// Fields of requests that were dropped for unusual characters in their names.
        fields_dropped = "fields-dropped";
        /// Client connections in HTTP/2.
        http2_connections = "http2-connections";
        /// Of those, closed gracefully for their age.
        http2_aged = "http2-aged";
        /// Streams refused beyond the limit of their connection; their clients may send them again.
        http2_refused = "http2-refused-streams";
        /// Connections closed for a flood of stream resets.
        http2_resets = "http2-resets";
        /// Connections closed for a flood of frames without content.
        http2_control_frames = "http2-control-frames";
        /// Connections closed for windows that split responses into tiny pieces.
        http2_tiny_frames = "http2-tiny-frames";
        /// Connections closed for requests that break HTTP/2's rules.
        http2_malformed = "http2-malformed";
        /// Client connections in HTTP/3.
        http3_connections = "http3-connections";
        /// Of those, closed gracefully for their age.
        http3_aged = "http3-aged";
        /// Connections closed for a flood of stream resets.
        http3_resets = "http3-resets";
        /// Clients of HTTP/3 that had to validate their address first.
        http3_proven = "http3-address-proofs";
        /// HTTP/3 connections whose client moved to another address or port, which is validated.
        http3_moved = "http3-moved";
        /// QUIC packets that reached another worker or process than their connection's, and were forwarded.
        quic_forwarded = "quic-forwarded";
        /// QUIC packets that could not be forwarded or sent.
        quic_lost = "quic-lost";
        /// QUIC packets that were not sent: the address is not validated, and got three times its bytes already (RFC
        /// 9000 §8.1).
        quic_withheld = "quic-withheld";
        /// Packets that a process of another user tried to forward to this one.
        quic_refused = "quic-refused";
    }
}

counters! {
    /// One worker's counters of a server.
    ServerCounters {
        connects = "connects";
        /// Connections that failed to establish.
        connect_failed = "connect-failed";
        /// Requests or `tcp` connections sent.
        requests = "requests";
        answered = "answered";
        /// Requests sent on a pooled idle connection.
        reused = "reused";
        /// Idle connections that the server closed first.
        stale = "stale";
        /// Idle connections that the balancer closed: at their limit or too many.
        retired = "retired";
        /// Load reports in responses that could not be parsed, or were out of range and clamped.
        load_refused = "load-reports-refused";
        /// Responses with several Content-Length values, which the pool's settings accept.
        mended_lengths = "mended-repeated-lengths";
        /// Responses with lines that end with LF alone, which the pool's settings accept.
        mended_line_ends = "mended-bare-lf";
        /// Responses with blanks before a colon, which the pool's settings accept.
        mended_colons = "mended-spaces-before-colon";
        status_2xx = "status-2xx";
        status_3xx = "status-3xx";
        status_4xx = "status-4xx";
        status_5xx = "status-5xx";
        /// Completed TLS handshakes with the server.
        tls_handshakes = "tls-handshakes";
        /// Of those, resumed sessions.
        tls_resumed = "tls-resumed";
        /// Successes for outlier detection, if the pool has it.
        judged_good = "judged-good";
        /// Failures for outlier detection.
        judged_bad = "judged-bad";
        /// Of those, truncated responses.
        judged_cut = "judged-cut";
        /// Bytes received from the server.
        bytes_in = "bytes-in";
        /// Bytes sent to the server.
        bytes_out = "bytes-out";
    }
}

pub mod key_exchange_groups;
pub mod pool;

counters! {
    /// One worker's counters of a rule.
    RuleCounters {
        /// Requests or connections that matched.
        hits = "hits";
        /// Of those, rejected by its rate limit.
        limited = "limited";
        /// Matches that were skipped because no server of the pool may take work.
        passed_over = "passed-over";
        /// Copies sent to its mirror.
        mirrored = "mirrored";
        /// Copies that were not sent: too many under way, a body that did not come with its head, no server.
        mirror_dropped = "mirror-dropped";
        /// Bytes of responses to matched requests.
        bytes = "bytes";
    }
}

/// The phases of an exchange that have histograms.
#[derive(Debug, Default)]
pub struct ExchangePhaseHistograms {
    /// Waiting for a server below its cap.
    pub queue: Histogram,
    /// Connecting; 0 is not recorded for reused connections.
    pub connect: Histogram,
    /// From the request's last byte sent to the response's first.
    pub first_byte: Histogram,
    /// From the response's first byte to its last sent.
    pub transfer: Histogram,
    /// From the request's first byte to the response's last sent.
    pub total: Histogram,
}

impl ExchangePhaseHistograms {
    /// Names in the order of `all`.
    pub const NAMES: [&'static str; 5] = ["queue", "connect", "first-byte", "transfer", "total"];

    /// All, in the order of `NAMES`.
    pub fn all(&self) -> [&Histogram; 5] {
        [&self.queue, &self.connect, &self.first_byte, &self.transfer, &self.total]
    }
}

/// One worker's slot of a service.
#[derive(Debug)]
pub struct ServiceWorkerStats {
    pub counters: ServiceCounters,
    /// Ends by cause, by discriminant.
    pub causes: [Count; Cause::COUNT],
    /// Refused requests by the rule of grammar that they broke; `wire` names the indices.
    pub defects: [Count; DEFECTS],
    pub phases: ExchangePhaseHistograms,
    /// Times before the response.
    pub request_phases: RequestPhaseHistograms,
    pub key_exchange_groups: key_exchange_groups::KeyExchangeGroups,
}

impl Default for ServiceWorkerStats {
    fn default() -> Self {
        ServiceWorkerStats {
            counters: ServiceCounters::default(),
            causes: std::array::from_fn(|_| Count::default()),
            defects: std::array::from_fn(|_| Count::default()),
            phases: ExchangePhaseHistograms::default(),
            request_phases: RequestPhaseHistograms::default(),
            key_exchange_groups: key_exchange_groups::KeyExchangeGroups::default(),
        }
    }
}

/// One worker's slot of a server.
#[derive(Debug)]
pub struct ServerWorkerStats {
    pub counters: ServerCounters,
    /// Ends by cause, by discriminant.
    pub causes: [Count; Cause::COUNT],
    pub phases: ExchangePhaseHistograms,
    pub key_exchange_groups: key_exchange_groups::KeyExchangeGroups,
}

impl Default for ServerWorkerStats {
    fn default() -> Self {
        ServerWorkerStats {
            counters: ServerCounters::default(),
            causes: std::array::from_fn(|_| Count::default()),
            phases: ExchangePhaseHistograms::default(),
            key_exchange_groups: key_exchange_groups::KeyExchangeGroups::default(),
        }
    }
}

/// A service's counters over all workers; they outlive every snapshot.
#[derive(Debug)]
pub struct ServiceStats {
    /// Client connections open now.
    pub open_connections: SharedGauge,
    /// Exchanges (or `tcp` connections) under way now.
    pub in_flight: SharedGauge,
    /// Open connections by client.
    pub client_connections: ClientConnectionCounts,
    /// Bytes of bodies that are buffered now.
    pub buffered_bytes: SharedByteGauge,
    /// An exchange that takes this many nanoseconds or more is slow; updated by control work.
    pub slow_threshold_ns: AtomicU64,
    /// One slot a worker.
    pub slots: Box<[ServiceWorkerStats]>,
}

impl ServiceStats {
    /// With a slot for each of `workers`.
    pub fn new(workers: usize) -> Self {
        ServiceStats {
            open_connections: SharedGauge::default(),
            in_flight: SharedGauge::default(),
            client_connections: ClientConnectionCounts::default(),
            buffered_bytes: SharedByteGauge::default(),
            slow_threshold_ns: AtomicU64::new(DEFAULT_SLOW_THRESHOLD),
            slots: (0..workers).map(|_| ServiceWorkerStats::default()).collect(),
        }
    }
}

/// A server's counters over all workers; they outlive every snapshot.
#[derive(Debug)]
pub struct ServerStats {
    /// Exchanges (or `tcp` connections) in flight now: what least-request compares.
    pub in_flight: SharedGauge,
    /// Connections open now, idle ones included: limited by the cap.
    pub connections: SharedGauge,
    /// Response times; recorded only if the pool's policy uses them.
    pub latency: LatencyEwma,
    /// Counts orders to close the server's connections: an attempt that began under another number ends.
    pub abort_generation: SharedGauge,
    /// Failures since the last good response, over all workers, if the pool has outlier detection.
    pub consecutive_failures: SharedGauge,
    /// The server's latest load report.
    pub load: load_report::LoadCell,
    /// One slot a worker.
    pub slots: Box<[ServerWorkerStats]>,
}

impl ServerStats {
    /// With a slot for each of `workers`.
    pub fn new(workers: usize) -> Self {
        ServerStats {
            in_flight: SharedGauge::default(),
            connections: SharedGauge::default(),
            latency: LatencyEwma::default(),
            abort_generation: SharedGauge::default(),
            consecutive_failures: SharedGauge::default(),
            load: load_report::LoadCell::default(),
            slots: (0..workers).map(|_| ServerWorkerStats::default()).collect(),
        }
    }
}
