//! Outcomes as users met them, and the error budget that is left. Bounded: outcomes, errors and alarms are closed
//! lists, and the service limits how many networks are shown apart.

use std::fmt::Error;
use std::sync::Arc;

use api::types::ObjectiveStatus;
use model::slo::outcome::TcpError;
use model::slo::outcome_counts::SloOutcomeCounts;
use model::snapshot::ServiceView;
use prometheus_client::encoding::DescriptorEncoder;

use super::family::{LabelledCounter, counters, gauges};
use crate::observability::slo::summary::{ServiceSlo, SloSummary};

/// The label of all networks that are not counted separately.
const OTHER: &str = "other";

type OutcomeCounterFn = fn(&SloOutcomeCounts) -> u64;

type OutcomeCounterRow = LabelledCounter<OutcomeCounterFn>;

const ENDS: [OutcomeCounterRow; 5] = [
    OutcomeCounterRow::new("fast", SloOutcomeCounts::fast),
    OutcomeCounterRow::new("slow", SloOutcomeCounts::slow),
    OutcomeCounterRow::new("failed", SloOutcomeCounts::failed),
    OutcomeCounterRow::new("aborted", SloOutcomeCounts::client_aborted),
    OutcomeCounterRow::new("declined", SloOutcomeCounts::declined),
];

/// What is known of a service's users.
struct ServiceSloRow<'a> {
    service: &'a str,
    slo: &'a ServiceSlo,
}

pub(super) fn encode(
    services: &[&ServiceView],
    shown: &Arc<SloSummary>,
    to: &mut DescriptorEncoder,
) -> Result<(), Error> {
    let known = services.iter().filter_map(|view| Some((view, view.slo.as_ref()?.totals())));
    let totals: Vec<(&str, SloOutcomeCounts)> =
        known.map(|(view, tally)| (view.config.name.as_str(), tally)).collect();
    let rows = totals.iter().flat_map(|(service, tally)| {
        ENDS.iter()
            .map(move |end| ([("service", *service), ("outcome", end.value)], (end.counter)(tally)))
    });
    let help = "Operations of users by outcome; fast, slow and failed ones count for the SLO.";
    counters(to, "steelyard_slo_operations", None, help, rows)?;
    let rows = totals
        .iter()
        .map(|(service, tally)| ([("service", *service)], tally.client_aborted_late()));
    let help = "Operations that clients aborted after the SLO's threshold of fast.";
    counters(to, "steelyard_slo_aborted_late", None, help, rows)?;
    let rows = totals.iter().flat_map(|(service, tally)| {
        TcpError::ALL
            .iter()
            .map(move |kind| ([("service", *service), ("kind", kind.name())], tally.error(*kind)))
    });
    let help = "TCP errors that ended operations of users, by kind.";
    counters(to, "steelyard_slo_tcp_errors", None, help, rows)?;
    let mine: Vec<ServiceSloRow<'_>> = services
        .iter()
        .filter_map(|view| {
            let slo = shown.find_service(view.id)?;
            Some(ServiceSloRow { service: view.config.name.as_str(), slo })
        })
        .collect();
    networks(&mine, to)?;
    encode_objectives(&mine, to)
}

fn networks(services: &[ServiceSloRow<'_>], to: &mut DescriptorEncoder) -> Result<(), Error> {
    let each = || {
        services.iter().flat_map(|ServiceSloRow { service, slo: shown }| {
            let known = shown.networks.iter().map(|it| (it.network.as_str(), &it.counts));
            let all = known.chain([(OTHER, &shown.others)]);
            all.map(|(network, tally)| (*service, network, tally))
        })
    };
    let rows = each().flat_map(|(service, network, tally)| {
        ENDS.iter().map(move |end| {
            let labels = [("service", service), ("network", network), ("outcome", end.value)];
            (labels, (end.counter)(tally))
        })
    });
    let help =
        "Operations of users by client network and outcome; networks beyond the limit are `other`.";
    counters(
        to,
        "steelyard_slo_network_operations",
        None,
        help,
        rows.filter(|(_, count)| *count > 0),
    )?;
    let rows = each().flat_map(|(service, network, tally)| {
        TcpError::ALL.iter().map(move |kind| {
            let labels = [("service", service), ("network", network), ("kind", kind.name())];
            (labels, tally.error(*kind))
        })
    });
    let help = "TCP errors that ended operations, by client network and kind; kinds without any are left out.";
    counters(
        to,
        "steelyard_slo_network_tcp_errors",
        None,
        help,
        rows.filter(|(_, count)| *count > 0),
    )
}

fn encode_objectives(
    services: &[ServiceSloRow<'_>],
    to: &mut DescriptorEncoder,
) -> Result<(), Error> {
    let each = || {
        let all = services.iter().flat_map(|ServiceSloRow { service, slo }| {
            slo.objectives.iter().map(|promise| (*service, promise))
        });
        all.map(|(service, it)| ([("service", service), ("objective", it.kind.as_str())], it))
    };
    let mut ratio = |name: &str, help: &str, of: fn(&ObjectiveStatus) -> Option<f64>| {
        let rows = each().filter_map(|(labels, promise)| Some((labels, of(promise)? / 100.0)));
        gauges(to, name, None, help, rows)
    };
    let help = "Target share of good operations (SLO).";
    ratio("steelyard_slo_target_ratio", help, |it| Some(it.target_percent))?;
    let help = "Share of good operations in the window (SLI).";
    ratio("steelyard_slo_good_ratio", help, |it| it.good_percent)?;
    let help = "Share of the error budget that is left; below 0 it is overspent.";
    ratio("steelyard_slo_budget_remaining_ratio", help, |it| Some(it.budget_remaining_percent))?;
    let rows = each().flat_map(|([service, what], promise)| {
        let spans = promise.alarms.iter().flat_map(|alarm| [&alarm.short, &alarm.long]);
        spans.filter_map(move |span| {
            let seconds = ("span_seconds", seconds(span.span_ms));
            Some(([service, what, seconds], span.burn_rate?))
        })
    });
    let help = "Burn rate of the error budget over the span that ends now; 1 spends the budget exactly in its window.";
    gauges(to, "steelyard_slo_burn_rate", None, help, rows)?;
    let rows = each().flat_map(|([service, what], promise)| {
        promise.alarms.iter().map(move |alarm| {
            let stands = f64::from(u8::from(alarm.since_unix_ms.is_some()));
            ([service, what, ("alarm", alarm.name.as_str())], stands)
        })
    });
    let help = "1 while the error budget burns too quickly over both spans of the alarm, else 0.";
    gauges(to, "steelyard_slo_alarm", None, help, rows)
}

/// The spans of alarms, which are few.
fn seconds(span_ms: u64) -> &'static str {
    match span_ms {
        300_000 => "300",
        1_800_000 => "1800",
        3_600_000 => "3600",
        21_600_000 => "21600",
        _ => "other",
    }
}
