//! Labels that had other names before, of metrics that kept theirs: for the scrape, which has both for one minor version
//! more, and their page.

/// A metric without the suffix of its type (`_total`), and a label of it with the name that it had before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetricLabel {
    pub metric: &'static str,
    pub former_name: &'static str,
    pub name: &'static str,
}

impl MetricLabel {
    const fn new(
        metric: &'static str,
        former_name: &'static str,
        name: &'static str,
    ) -> MetricLabel {
        MetricLabel { metric, former_name, name }
    }
}

/// By metric.
pub const RENAMED_LABELS: [MetricLabel; 20] = [
    MetricLabel::new("steelyard_acme_orders", "end", "result"),
    MetricLabel::new("steelyard_api_refused", "why", "reason"),
    MetricLabel::new("steelyard_bundle_dropped", "why", "reason"),
    MetricLabel::new("steelyard_capture_packets", "what", "result"),
    MetricLabel::new("steelyard_events", "what", "kind"),
    MetricLabel::new("steelyard_headroom_exhaustion_seconds", "of", "subject"),
    MetricLabel::new("steelyard_headroom_used_ratios", "of", "subject"),
    MetricLabel::new("steelyard_heartbeat", "what", "kind"),
    MetricLabel::new("steelyard_heartbeat_path_beats", "what", "kind"),
    MetricLabel::new("steelyard_heartbeat_path_refused", "why", "reason"),
    MetricLabel::new("steelyard_heartbeat_target_asked", "what", "result"),
    MetricLabel::new("steelyard_refused_requests_lost", "why", "reason"),
    MetricLabel::new("steelyard_replication", "what", "kind"),
    MetricLabel::new("steelyard_replication_refused", "why", "reason"),
    MetricLabel::new("steelyard_replication_rejected", "why", "reason"),
    MetricLabel::new("steelyard_service_ended", "end", "outcome"),
    MetricLabel::new("steelyard_service_tls_handshakes", "end", "result"),
    MetricLabel::new("steelyard_vrrp", "what", "kind"),
    MetricLabel::new("steelyard_vrrp_dropped", "why", "reason"),
    MetricLabel::new("steelyard_witness_asked", "what", "result"),
];
