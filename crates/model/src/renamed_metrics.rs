//! The metrics that had other names before: for the scrape, which has them for one minor version more, and their page.

/// A metric without the suffix of its type (`_total`, `_bucket`), and the name that it had before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenamedMetric {
    pub name: &'static str,
    pub former_name: &'static str,
    /// A label that was renamed with it.
    pub label: Option<RenamedLabel>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenamedLabel {
    pub name: &'static str,
    pub former_name: &'static str,
}

impl RenamedMetric {
    const fn new(name: &'static str, former_name: &'static str) -> RenamedMetric {
        RenamedMetric { name, former_name, label: None }
    }

    const fn with_label(self, name: &'static str, former_name: &'static str) -> RenamedMetric {
        RenamedMetric { label: Some(RenamedLabel { name, former_name }), ..self }
    }
}

/// By name.
pub const RENAMED_METRICS: [RenamedMetric; 52] = [
    RenamedMetric::new("steelyard_access_log_entries", "steelyard_access_log_lines")
        .with_label("result", "fate"),
    RenamedMetric::new("steelyard_affinity_assignments", "steelyard_affinity_put"),
    RenamedMetric::new("steelyard_affinity_entries", "steelyard_affinity_held"),
    RenamedMetric::new("steelyard_affinity_hits", "steelyard_affinity_found"),
    RenamedMetric::new("steelyard_agent_problems", "steelyard_agent_trouble"),
    RenamedMetric::new("steelyard_buffered_bytes", "steelyard_held_bytes"),
    RenamedMetric::new("steelyard_dns_connections", "steelyard_names_connections")
        .with_label("result", "what"),
    RenamedMetric::new("steelyard_dns_connections_open", "steelyard_names_connections_open"),
    RenamedMetric::new("steelyard_dns_listening", "steelyard_names_listening"),
    RenamedMetric::new("steelyard_dns_name_candidates_up", "steelyard_names_up"),
    RenamedMetric::new("steelyard_dns_name_first_choices", "steelyard_names_given"),
    RenamedMetric::new("steelyard_dns_name_responses", "steelyard_names_answers"),
    RenamedMetric::new("steelyard_dns_queries", "steelyard_names_queries"),
    RenamedMetric::new("steelyard_dns_query_outcomes", "steelyard_names_fates")
        .with_label("outcome", "fate"),
    RenamedMetric::new("steelyard_dns_rate_limit_evictions", "steelyard_names_rate_crowded"),
    RenamedMetric::new(
        "steelyard_flow_samples_connections",
        "steelyard_packet_insight_connections",
    ),
    RenamedMetric::new("steelyard_flow_samples_dropped", "steelyard_packet_insight_dropped"),
    RenamedMetric::new(
        "steelyard_flow_samples_handshake_seconds",
        "steelyard_packet_insight_handshake_seconds",
    ),
    RenamedMetric::new(
        "steelyard_flow_samples_handshakes_unfinished",
        "steelyard_packet_insight_unfinished",
    ),
    RenamedMetric::new("steelyard_flow_samples_missed", "steelyard_packet_insight_missed")
        .with_label("reason", "why"),
    RenamedMetric::new("steelyard_flow_samples_one_in", "steelyard_packet_insight_sample"),
    RenamedMetric::new("steelyard_flow_samples_refused", "steelyard_packet_insight_refused"),
    RenamedMetric::new("steelyard_flow_samples_repairs", "steelyard_packet_insight_repairs"),
    RenamedMetric::new("steelyard_flow_samples_resets", "steelyard_packet_insight_resets"),
    RenamedMetric::new("steelyard_flow_samples_small_windows", "steelyard_packet_insight_windows"),
    RenamedMetric::new(
        "steelyard_flow_samples_stalled_seconds",
        "steelyard_packet_insight_time_seconds",
    ),
    RenamedMetric::new("steelyard_flow_samples_watched", "steelyard_packet_insight_watched"),
    RenamedMetric::new("steelyard_link_up", "steelyard_link_alive"),
    RenamedMetric::new("steelyard_pool_retry_backoffs", "steelyard_pool_backed_off"),
    RenamedMetric::new("steelyard_replication_unsent", "steelyard_replication_untold")
        .with_label("reason", "why"),
    RenamedMetric::new("steelyard_rule_response_bytes", "steelyard_rule_answer_bytes"),
    RenamedMetric::new("steelyard_server_outlier_failures", "steelyard_server_judged_bad"),
    RenamedMetric::new("steelyard_server_outlier_successes", "steelyard_server_judged_good"),
    RenamedMetric::new("steelyard_server_outlier_truncations", "steelyard_server_judged_cut"),
    RenamedMetric::new("steelyard_server_responses", "steelyard_server_answers"),
    RenamedMetric::new("steelyard_server_responses_repaired", "steelyard_server_mended_answers")
        .with_label("kind", "what"),
    RenamedMetric::new(
        "steelyard_service_auth_cache_evictions",
        "steelyard_service_auth_answers_evicted",
    ),
    RenamedMetric::new("steelyard_service_auth_requests", "steelyard_service_auth_questions"),
    RenamedMetric::new("steelyard_service_responses", "steelyard_service_answers"),
    RenamedMetric::new("steelyard_slo_aborted_late", "steelyard_users_left_late"),
    RenamedMetric::new("steelyard_slo_alarm", "steelyard_users_alarm")
        .with_label("objective", "promise"),
    RenamedMetric::new("steelyard_slo_budget_remaining_ratio", "steelyard_users_budget_left_ratio")
        .with_label("objective", "promise"),
    RenamedMetric::new("steelyard_slo_burn_rate", "steelyard_users_burn_ratio")
        .with_label("objective", "promise"),
    RenamedMetric::new("steelyard_slo_good_ratio", "steelyard_users_kept_ratio")
        .with_label("objective", "promise"),
    RenamedMetric::new("steelyard_slo_network_operations", "steelyard_users_network_operations")
        .with_label("outcome", "end"),
    RenamedMetric::new("steelyard_slo_network_tcp_errors", "steelyard_users_network_tcp_errors"),
    RenamedMetric::new("steelyard_slo_operations", "steelyard_users_operations")
        .with_label("outcome", "end"),
    RenamedMetric::new("steelyard_slo_target_ratio", "steelyard_users_promised_ratio")
        .with_label("objective", "promise"),
    RenamedMetric::new("steelyard_slo_tcp_errors", "steelyard_users_tcp_errors"),
    RenamedMetric::new("steelyard_source_ports_free", "steelyard_source_ports_left"),
    RenamedMetric::new("steelyard_source_ports_time_wait", "steelyard_source_ports_resting"),
    RenamedMetric::new("steelyard_vrrp_fenced", "steelyard_vrrp_gate_shut"),
];
