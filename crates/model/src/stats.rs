//! Live counters of services and servers.
//!
//! Each worker adds to its own slot (plain load and store, no locked instruction); readers sum the slots. Only values
//! that every worker must see at once (exchanges in flight at a server) are shared. It derives no rates.

mod exchange_phases;
pub mod histogram;
pub mod latency_ewma;
mod request_phases;
pub mod ring;
mod worker_slots;

use std::sync::atomic::AtomicU64;

use crate::admission::ClientConnectionCounts;
use crate::cause::Cause;
pub use crate::counter::Count;
use crate::load_report;
pub use crate::shared_gauge::{SharedByteGauge, SharedGauge};
use crate::slow_threshold::DEFAULT_SLOW_THRESHOLD;
pub use exchange_phases::ExchangePhaseHistograms;
pub use histogram::{Histogram, HistogramSum};
pub use latency_ewma::LatencyEwma;
pub use request_phases::RequestPhaseHistograms;
pub use worker_slots::WorkerSlots;

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
        /// Client connections that ended, for any reason.
        closed = "closed";
        /// Accepted connections that were rejected at once because of a limit (also in the causes).
        refused = "refused";
        /// Requests whose head was read, or `tcp` connections given to a server.
        requests = "requests";
        /// Ended with a server's complete response, or `tcp` connections closed in order.
        answered = "answered";
        /// Ended with a local reply.
        answered_by_us = "answered-by-us";
        /// Ended without a complete response.
        aborted = "aborted";
        /// Requests that became tunnels by an upgrade, whose exchanges continue.
        upgraded = "upgraded";
        informational = "informational";
        /// Final responses 2xx from servers.
        status_2xx = "status-2xx";
        /// Final responses 3xx from servers.
        status_3xx = "status-3xx";
        /// Final responses 4xx from servers.
        status_4xx = "status-4xx";
        /// Final responses 5xx from servers.
        status_5xx = "status-5xx";
        /// Of those, complete ones: each of the others has a cause.
        complete_5xx = "complete-5xx";
        /// Bytes received from clients.
        client_in = "client-bytes-in";
        /// Bytes sent to clients.
        client_out = "client-bytes-out";
        /// Bytes sent or received by splice(2).
        spliced = "spliced-bytes";
        /// Retries, on another or the same server.
        retried = "retried";
        /// Replays on a fresh connection because a pooled idle one was stale.
        replayed = "replayed";
        /// Access log lines that were dropped.
        log_dropped = "log-lines-dropped";
        /// Idle keep-alive connections closed at their limit.
        idle_closed = "idle-closed";
        /// Connections closed for newcomers because their clients had sent nothing.
        evicted_silent = "evicted-silent";
        /// Connections closed for newcomers because of a stalled handshake or head.
        evicted_stalled = "evicted-stalled";
        /// Connections closed for newcomers while they carried no request.
        evicted_idle = "evicted-idle";
        /// Failed accept calls: no descriptor was free.
        accept_no_descriptor = "accept-no-descriptor";
        /// Failed accept calls: other errors (the peer had already closed).
        accept_failed = "accept-failed";
        /// Completed TLS handshakes with clients.
        tls_handshakes = "tls-handshakes";
        /// Completed TLS handshakes that resumed a session.
        tls_resumed = "tls-resumed";
        /// Failed handshakes (also in the causes, except for clients that left without a byte).
        tls_failed = "tls-failed";
        /// Requests with an affinity cookie that was created without a secret: accepted, and replaced.
        sticky_unkeyed = "sticky-unkeyed";
        /// PROXY protocol headers of client connections.
        proxy_headers = "proxy-headers";
        /// Responses that were compressed, at least in part.
        compressed = "compressed";
        /// Bytes of compressed responses before compression.
        compress_in = "compress-bytes-in";
        /// Bytes of compressed responses after compression.
        compress_out = "compress-bytes-out";
        /// Responses not compressed because they have a content coding.
        compress_coded = "compress-skipped-coded";
        /// Responses not compressed because of `no-transform`, or a digest of their bytes.
        compress_kept = "compress-skipped-kept";
        /// Responses not compressed because of their media type.
        compress_type = "compress-skipped-type";
        compress_small = "compress-skipped-small";
        /// Responses not compressed because their client uses HTTP/1.0.
        compress_old = "compress-skipped-old";
        /// Responses not compressed because the client does not accept the coding.
        compress_client = "compress-skipped-client";
        /// Responses not compressed because the worker was busy.
        compress_busy = "compress-skipped-busy";
        /// Responses not compressed because too many were being compressed.
        compress_full = "compress-skipped-full";
        /// Requests whose body was read completely, or up to the limit, before a server was chosen.
        buffered_requests = "buffered-requests";
        /// Responses whose server had finished before their client had read all of it.
        buffered_answers = "buffered-answers";
        /// Request bodies longer than the buffer limit.
        buffer_beyond = "buffer-beyond";
        /// Bodies that were not buffered, or only in part, because the service's buffer memory was used up.
        buffer_full = "buffer-full";
        /// Trailers that were dropped: not allowed there, or reserved to the balancer.
        trailers_dropped = "trailers-dropped";
        /// Fields of requests that were dropped for unusual characters in their names.
        fields_dropped = "fields-dropped";
        /// Requests whose client a trusted proxy named.
        clients_named = "clients-named";
        /// Requests of trusted proxies whose field was absent, unreadable or too long.
        clients_unnamed = "clients-unnamed";
        /// Edits that were made although they fit some readings of the request and not others.
        edits_ambiguous = "edits-ambiguous";
        /// Requests whose client was let in after it had proven who it is.
        auth_admitted = "auth-admitted";
        /// Those of them for whom an earlier proof was enough.
        auth_cached = "auth-cached";
        /// Questions to servers of `[auth]`, by what came of them: the last two had no usable answer.
        question_passed = "auth-question-passed";
        question_refused = "auth-question-refused";
        question_failed = "auth-question-failed";
        question_allowed = "auth-question-allowed";
        question_bodies_dropped = "auth-question-bodies-dropped";
        answers_evicted = "auth-answers-evicted";
        /// Requests without a token, where one was needed.
        token_absent = "token-absent";
        /// Requests whose token was malformed.
        token_malformed = "token-malformed";
        /// Requests whose token had an algorithm that is not accepted.
        token_algorithm = "token-algorithm";
        /// Requests whose token was signed with an unknown key.
        token_unknown_key = "token-unknown-key";
        /// Requests whose token had a wrong signature.
        token_signature = "token-signature";
        /// Requests whose token had expired.
        token_expired = "token-expired";
        /// Requests whose token was not valid yet.
        token_not_yet_valid = "token-not-yet-valid";
        /// Requests whose token was of another issuer.
        token_issuer = "token-issuer";
        /// Requests whose token was for another audience.
        token_audience = "token-audience";
        /// Requests whose token lacked a claim.
        token_claim = "token-claim";
        /// Client connections in HTTP/2.
        http2_connections = "http2-connections";
        /// HTTP/2 connections closed gracefully for their age.
        http2_aged = "http2-aged";
        /// Streams refused beyond the limit of their connection; their clients may retry them.
        http2_refused = "http2-refused-streams";
        /// Connections closed for a flood of stream resets.
        http2_resets = "http2-resets";
        /// Connections closed for a flood of frames without content.
        http2_control_frames = "http2-control-frames";
        /// Connections closed for windows that split responses into tiny pieces.
        http2_tiny_frames = "http2-tiny-frames";
        /// Connections closed for requests that violate HTTP/2's rules.
        http2_malformed = "http2-malformed";
        /// Client connections in HTTP/3.
        http3_connections = "http3-connections";
        /// HTTP/3 connections closed gracefully for their age.
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
        /// QUIC packets that were not sent, because the address is not validated and was already sent three times the
        /// bytes received (RFC 9000 §8.1).
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
        /// Idle connections that the balancer closed, at their timeout or because there were too many.
        retired = "retired";
        /// Load reports in responses that could not be parsed, or were outside the range and clamped.
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
        /// Complete responses 5xx: each of the others has a cause.
        complete_5xx = "complete-5xx";
        /// Completed TLS handshakes with the server.
        tls_handshakes = "tls-handshakes";
        /// Completed TLS handshakes that resumed a session.
        tls_resumed = "tls-resumed";
        /// Successes for outlier detection, if the pool uses it.
        judged_good = "judged-good";
        /// Failures for outlier detection.
        judged_bad = "judged-bad";
        /// Truncated responses among the failures.
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
        /// Matches that its rate limit rejected.
        limited = "limited";
        /// Matches that were skipped because no server of the pool may get work.
        passed_over = "passed-over";
        /// Copies sent to its mirror.
        mirrored = "mirrored";
        /// Copies that were not sent: too many in progress, a body that did not arrive with its head, or no server.
        mirror_dropped = "mirror-dropped";
        /// Bytes of responses to matched requests.
        bytes = "bytes";
    }
}

/// One worker's slot of a service.
#[derive(Debug)]
pub struct ServiceWorkerStats {
    pub counters: ServiceCounters,
    /// Ends by cause, by discriminant.
    pub causes: [Count; Cause::COUNT],
    /// Rejected requests by the violated grammar rule; `wire` names the indices.
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
    /// Exchanges (or `tcp` connections) in progress.
    pub in_flight: SharedGauge,
    /// Open connections by client.
    pub client_connections: ClientConnectionCounts,
    /// Bytes of buffered bodies.
    pub buffered_bytes: SharedByteGauge,
    /// An exchange that takes this many nanoseconds or more is slow; updated by the control thread.
    pub slow_threshold_ns: AtomicU64,
    /// One slot per worker.
    pub slots: WorkerSlots<ServiceWorkerStats>,
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
            slots: WorkerSlots::new(workers),
        }
    }
}

/// A server's counters over all workers; they outlive every snapshot.
#[derive(Debug)]
pub struct ServerStats {
    /// Exchanges (or `tcp` connections) in flight, as compared by least-request.
    pub in_flight: SharedGauge,
    /// Open connections, idle ones included: limited by the connection limit.
    pub connections: SharedGauge,
    /// Response times; recorded only if the pool's policy uses them.
    pub latency: LatencyEwma,
    /// Number of the last command to close the server's connections: an attempt that started under another number ends.
    pub abort_generation: SharedGauge,
    /// Failures since the last successful response, over all workers, if the pool uses outlier detection.
    pub consecutive_failures: SharedGauge,
    /// The server's latest load report.
    pub load: load_report::LoadCell,
    /// One slot per worker.
    pub slots: WorkerSlots<ServerWorkerStats>,
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
            slots: WorkerSlots::new(workers),
        }
    }
}
