//! Watched connections of the packet plane → what they show, by service. Pure: numbers get names.

use api::types::{HandshakeTimes, Handshakes, PacketExample, PacketSide, SlowPackets, SlowReason};
use l4::abi::Outcome;
use model::flow_samples::advice::{advice_for, blind_spots};
use model::flow_samples::{
    FlowDelta, FlowFilter, FlowReport, FlowSide, FlowSideCounters, HandshakeStall,
    HandshakeSummary, attribute_time,
};
use model::snapshot::ServiceView;
use model::time_attribution::TimeBreakdown;

use super::packets::service_outcomes;
use super::slow_parts::{
    millis, owner_name, percent, seconds, server_label, slow_groups, slow_pools, time_by_owner,
};
use crate::planes::flow_samples::FlowSampleCollector;
use crate::planes::packets::view::PacketPlaneView;
use crate::state::StateSnapshot;

/// The filter of a query.
#[derive(Clone, Copy, Debug)]
pub struct FlowSampleQuery<'a> {
    pub samples: &'a FlowSampleCollector,
    pub view: &'a PacketPlaneView,
    /// Now, nanoseconds on the kernel's clock.
    pub now: u64,
}

/// Samples of a service's connections that match; `None` if none was sampled. The filter's time is an age in
/// nanoseconds.
pub(super) fn service_samples(
    snapshot: &StateSnapshot,
    watching: &FlowSampleQuery<'_>,
    view: &ServiceView,
    filter: &FlowFilter,
    now_unix_ms: u64,
) -> Option<SlowPackets> {
    if !view.config.forward.forwards_packets() {
        return None;
    }
    let since = watching.now.saturating_sub(filter.since);
    let found = watching.samples.query(&FlowFilter { since, ..filter.clone() });
    if found.flows == 0 {
        return None;
    }
    let both = view.config.forward == model::config::ForwardingMode::Nat;
    let unix = |at: u64| now_unix_ms.saturating_sub(watching.now.saturating_sub(at) / 1_000_000);
    let name = |id: Option<u32>| server_label(snapshot, id);
    let example = |change: &FlowDelta| example(change, snapshot, unix(change.at));
    Some(SlowPackets {
        name: view.config.name.clone(),
        forward: view.config.forward.name().to_owned(),
        both_directions: both,
        limitations: blind_spots(view.config.forward)
            .iter()
            .map(|text| (*text).to_owned())
            .collect(),
        sample: watching.view.flow_samples.sample,
        watched: found.flows,
        started: found.begun,
        late: found.joined_late,
        unscaled: found.unscaled,
        handshakes: handshakes(&found),
        client: side(&found.sides[0]),
        server: both.then(|| side(&found.sides[1])),
        balancer_resets: resets(watching.view, &view.config.name),
        seconds: seconds(found.breakdown.total()),
        owners: time_by_owner(&found.breakdown),
        reasons: reasons(&found.breakdown),
        pools: slow_pools(&found.servers, name),
        servers: slow_groups(&found.servers, |id| name(*id)),
        networks: slow_groups(&found.networks, ToString::to_string),
        examples: found.examples.iter().map(example).collect(),
    })
}

/// Segments that this machine answered with a reset.
fn resets(view: &PacketPlaneView, service: &str) -> u64 {
    let (Some(now), Some(flows), Some(index)) =
        (&view.current, view.flows.get(service), view.services.get(service))
    else {
        return 0;
    };
    let outcomes = service_outcomes(&now.counts, *index, flows);
    outcomes.get(&Outcome::ResetSent).map_or(0, l4::counts::PacketCounts::sum)
}

fn handshakes(found: &FlowReport) -> Handshakes {
    let [unanswered, unacknowledged, unfinished] = found.stalled;
    Handshakes {
        done: found.handshakes,
        server_part: times(&found.server_part),
        client_part: times(&found.client_part),
        total: times(&found.whole),
        unanswered,
        unacknowledged,
        unfinished,
        refused: found.refused,
    }
}

fn times(times: &HandshakeSummary) -> Option<HandshakeTimes> {
    (times.count > 0).then(|| HandshakeTimes {
        count: times.count,
        median_ms: millis(times.median),
        p95_ms: millis(times.most),
        max_ms: millis(times.longest),
    })
}

fn side(told: &FlowSideCounters) -> PacketSide {
    PacketSide {
        packets: told.packets,
        lost_behind: told.retransmitted,
        lost_before: told.filled,
        reordered: told.reordered,
        repair_ms: millis(told.loss_recovery_nanos),
        zero_windows: told.zero_window,
        zero_window_ms: millis(told.zero_window_nanos),
        silly_windows: told.silly_window,
        silly_window_ms: millis(told.silly_window_nanos),
        resets: told.resets,
    }
}

fn reasons(bars: &TimeBreakdown) -> Vec<SlowReason> {
    let all = bars.all().iter();
    all.map(|bar| SlowReason {
        owner: owner_name(bar.owner),
        limit: bar.limit.code().to_owned(),
        title: bar.limit.title().to_owned(),
        seconds: seconds(bar.nanos),
        share_percent: percent(bar.nanos, bars.total()),
        advice: advice_for(bar.owner, bar.limit).to_owned(),
    })
    .collect()
}

fn example(change: &FlowDelta, snapshot: &StateSnapshot, seen_unix_ms: u64) -> PacketExample {
    let bars = attribute_time(change);
    let part = |bar: &model::time_attribution::TimeShare| {
        (format!("{}/{}", owner_name(bar.owner), bar.limit.code()), millis(bar.nanos))
    };
    let reset = |side: FlowSide| change.sides[side as usize].resets > 0;
    let notes = [
        (change.refused, "refused"),
        (change.stall == Some(HandshakeStall::Server), "unanswered"),
        (change.stall == Some(HandshakeStall::Client), "unacknowledged"),
        (change.stall == Some(HandshakeStall::Either), "unfinished"),
        (reset(FlowSide::Client), "reset-by-client"),
        (reset(FlowSide::Server), "reset-by-server"),
        (change.joined_late, "late"),
        (!change.scaled, "scale-unknown"),
    ];
    PacketExample {
        seen_unix_ms,
        client: std::net::SocketAddr::new(change.client, change.port).to_string(),
        server: change.server.map(|id| server_label(snapshot, Some(id))),
        total_ms: millis(bars.total()),
        parts_ms: bars.all().iter().map(part).collect(),
        notes: notes.iter().filter(|(is, _)| *is).map(|(_, note)| (*note).to_owned()).collect(),
        from_client: side(&change.sides[0]),
        from_server: change.bidirectional.then(|| side(&change.sides[1])),
    }
}
