//! Live counters of services and servers.
//!
//! Each worker adds to a slot of its own (plain load and store, no locked instruction); readers sum the slots.
//! Only what every worker must see at once (work in flight at a server) is shared. It derives no rates.

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

/// Rules of HTTP grammar that can be counted separately; `wire` has fewer.
pub const DEFECTS: usize = 64;

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

            /// Adds what `other` has counted so far: for readers that sum slots into a total of their own.
            pub fn add_all(&self, other: &Self) {
                $(self.$field.add(other.$field.get());)*
            }
        }
    };
}

counters! {
    /// What one worker counted of a service.
    ServiceCounters {
        /// Client connections accepted.
        accepted = "accepted";
        /// Of those, ended for whatever reason.
        closed = "closed";
        /// Of those accepted, refused at once because of a limit (also in the causes).
        refused = "refused";
        /// Requests whose head was read, or `tcp` connections given to a server.
        requests = "requests";
        /// Ended with a server's whole answer, or `tcp` connections closed in order.
        answered = "answered";
        /// Ended with an answer of ours.
        answered_by_us = "answered-by-us";
        /// Ended without a whole answer.
        aborted = "aborted";
        /// Requests that began while still in progress elsewhere in the count: upgrades now tunnels.
        upgraded = "upgraded";
        /// Answers 1xx passed on.
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
        /// Attempts after the first, on another or the same server.
        retried = "retried";
        /// Replays on a fresh connection because a shelved one was stale.
        replayed = "replayed";
        /// Access log lines that were dropped.
        log_dropped = "log-lines-dropped";
        /// Idle keep-alive connections closed at their limit.
        idle_closed = "idle-closed";
        /// Connections closed for newcomers whose clients had sent nothing.
        evicted_silent = "evicted-silent";
        /// Likewise: with a handshake or a head that had stalled.
        evicted_stalled = "evicted-stalled";
        /// Likewise: without a request.
        evicted_idle = "evicted-idle";
        /// Accept calls that failed for want of a descriptor.
        accept_no_descriptor = "accept-no-descriptor";
        /// Accept calls that failed otherwise (the peer was gone already).
        accept_failed = "accept-failed";
        /// Handshakes with clients that were finished.
        tls_handshakes = "tls-handshakes";
        /// Of those, sessions that were resumed.
        tls_resumed = "tls-resumed";
        /// Handshakes that failed (also in the causes, but for clients that left without a word).
        tls_failed = "tls-failed";
        /// Requests with a cookie of ours that was made without a secret: understood, and replaced.
        sticky_unkeyed = "sticky-unkeyed";
        /// Headers of the PROXY protocol that clients' connections began with.
        proxy_headers = "proxy-headers";
        /// Answers of which a compressed form was begun.
        compressed = "compressed";
        /// Bytes of these as they came.
        compress_in = "compress-bytes-in";
        /// Bytes of these as they went.
        compress_out = "compress-bytes-out";
        /// Answers left as they are where compressing is on: coded already.
        compress_coded = "compress-skipped-coded";
        /// Likewise: `no-transform`, or a digest of their bytes.
        compress_kept = "compress-skipped-kept";
        /// Likewise: of another media type.
        compress_type = "compress-skipped-type";
        /// Likewise: too small.
        compress_small = "compress-skipped-small";
        /// Likewise: for clients of HTTP/1.0.
        compress_old = "compress-skipped-old";
        /// Likewise: for clients that do not take it.
        compress_client = "compress-skipped-client";
        /// Likewise: the worker was busy.
        compress_busy = "compress-skipped-busy";
        /// Likewise: too many were being compressed.
        compress_full = "compress-skipped-full";
        /// Requests whose body was read whole before a server was chosen, or as far as it may be.
        buffered_requests = "buffered-requests";
        /// Answers whose server was free before their client had all of it.
        buffered_answers = "buffered-answers";
        /// Bodies of requests longer than what is kept.
        buffer_beyond = "buffer-beyond";
        /// Bodies that were not kept, or not further: the service's memory for them was used up.
        buffer_full = "buffer-full";
        /// Trailers that were dropped: not allowed there, or reserved to us.
        trailers_dropped = "trailers-dropped";
        /// Client connections in HTTP/2.
        http2_connections = "http2-connections";
        /// Of those, ended in order for their age.
        http2_aged = "http2-aged";
        /// Streams refused beyond the limit of their connection; their clients may send them again.
        http2_refused = "http2-refused-streams";
        /// Connections ended for requests taken back.
        http2_resets = "http2-resets";
        /// Connections ended for frames that carry nothing.
        http2_control_frames = "http2-control-frames";
        /// Connections ended for windows that cut answers into tiny pieces.
        http2_tiny_frames = "http2-tiny-frames";
        /// Connections ended for requests that break HTTP/2's rules.
        http2_malformed = "http2-malformed";
        /// Client connections in HTTP/3.
        http3_connections = "http3-connections";
        /// Of those, ended in order for their age.
        http3_aged = "http3-aged";
        /// Connections ended for requests taken back.
        http3_resets = "http3-resets";
        /// Clients of HTTP/3 that had to prove their address first.
        http3_proven = "http3-address-proofs";
        /// Connections in HTTP/3 whose client has moved to another address or port, which is validated.
        http3_moved = "http3-moved";
        /// Packets of QUIC that came where their connection is not, and were handed on.
        quic_forwarded = "quic-forwarded";
        /// Packets of QUIC that could not be handed on, or not be sent.
        quic_lost = "quic-lost";
        /// Packets of QUIC that were not sent: their address is not validated, and has three times as much already.
        quic_withheld = "quic-withheld";
        /// Packets that a process of another user wanted to hand to us.
        quic_refused = "quic-refused";
    }
}

counters! {
    /// What one worker counted of a server.
    ServerCounters {
        /// Connections tried.
        connects = "connects";
        /// Connections that failed to establish.
        connect_failed = "connect-failed";
        /// Requests or `tcp` connections sent.
        requests = "requests";
        /// Answered whole.
        answered = "answered";
        /// Requests sent on a shelved connection.
        reused = "reused";
        /// Shelved connections that the server closed before we did.
        stale = "stale";
        /// Shelved connections that we closed: at their limit or too many.
        retired = "retired";
        /// Load reports in answers that were not understood, or out of range and clamped.
        load_refused = "load-reports-refused";
        /// Answers that said their length several times, and were taken by its pool's leave.
        mended_lengths = "mended-repeated-lengths";
        /// Answers with lines that end with LF alone, taken likewise.
        mended_line_ends = "mended-bare-lf";
        /// Answers with blanks before a colon, taken likewise.
        mended_colons = "mended-spaces-before-colon";
        /// Final answers 2xx.
        status_2xx = "status-2xx";
        /// Final answers 3xx.
        status_3xx = "status-3xx";
        /// Final answers 4xx.
        status_4xx = "status-4xx";
        /// Final answers 5xx.
        status_5xx = "status-5xx";
        /// Handshakes with it that were finished.
        tls_handshakes = "tls-handshakes";
        /// Of those, sessions that were resumed.
        tls_resumed = "tls-resumed";
        /// Answers that speak for it, where its pool ejects servers.
        judged_good = "judged-good";
        /// Answers and failures that speak against it.
        judged_bad = "judged-bad";
        /// Of those, answers that were cut in the middle.
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
    /// What one worker counted of a rule.
    RuleCounters {
        /// Requests or connections that it took.
        hits = "hits";
        /// Of those, refused because of its rate limit.
        limited = "limited";
        /// It fitted, and was passed over because no server of its pool may take work.
        passed_over = "passed-over";
        /// Copies sent to its mirror.
        mirrored = "mirrored";
        /// Copies that were not sent: too many under way, a body that did not come with its head, no server.
        mirror_dropped = "mirror-dropped";
        /// Bytes of answers to what it took.
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
    /// From the request's last byte sent to the answer's first.
    pub first_byte: Histogram,
    /// From the answer's first byte to its last sent.
    pub transfer: Histogram,
    /// From the request's first byte to the answer's last sent.
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
    /// Refused requests by the rule of grammar they broke; `wire` names the indices.
    pub defects: [Count; DEFECTS],
    pub phases: ExchangePhaseHistograms,
    /// Times before the answer.
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

/// A service's counters over all workers; outlives every snapshot.
#[derive(Debug)]
pub struct ServiceStats {
    /// Client connections open now.
    pub open_connections: SharedGauge,
    /// Exchanges (or `tcp` connections) under way now.
    pub in_flight: SharedGauge,
    /// Whose those connections are.
    pub client_connections: ClientConnectionCounts,
    /// Bytes of bodies kept now.
    pub buffered_bytes: SharedByteGauge,
    /// An exchange that takes so many nanoseconds or more is slow; control work moves it.
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

/// A server's counters over all workers; outlives every snapshot.
#[derive(Debug)]
pub struct ServerStats {
    /// Exchanges (or `tcp` connections) under way now: what least-request compares.
    pub in_flight: SharedGauge,
    /// Connections open now, shelved ones included: what the cap limits.
    pub connections: SharedGauge,
    /// How long it takes to answer; kept only while its pool's policy asks for it.
    pub latency: LatencyEwma,
    /// How often its connections were ordered to be cut: an attempt that began under another number ends.
    pub abort_generation: SharedGauge,
    /// Failures since the last good answer, over all workers, where its pool ejects servers.
    pub consecutive_failures: SharedGauge,
    /// What the server says of its own load.
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
