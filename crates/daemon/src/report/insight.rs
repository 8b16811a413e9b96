//! Watched connections of the packet plane → what they show, by service. Pure: numbers get names.

use std::collections::BTreeMap;

use api::types::{
    HandshakeTimes, Handshakes, PacketExample, PacketSide, SlowGroup, SlowPackets, SlowReason,
};
use l4::abi::Outcome;
use model::attribute::{Bars, Group};
use model::insight::advice::{advice_for, unseen};
use model::insight::{Change, Filter, Found, Side, Times, Told, Unfinished, judge};
use model::snapshot::ServiceView;

use super::packets::of_service;
use super::parts::{groups, millis, named, owner_name, owners, percent, seconds};
use crate::control::Picture;
use crate::insight::Insight;
use crate::packets::view::View;

/// What is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Watching<'a> {
    /// What was seen.
    pub insight: &'a Insight,
    /// The packet plane.
    pub view: &'a View,
    /// Now, nanoseconds on the kernel's clock.
    pub now: u64,
}

/// What connections of a service that fit showed; `None` where none was watched. The filter's time is how long ago, in
/// nanoseconds.
pub(super) fn service(
    picture: &Picture,
    watching: &Watching<'_>,
    view: &ServiceView,
    filter: &Filter,
    now_unix_ms: u64,
) -> Option<SlowPackets> {
    if !view.config.forward.packets() {
        return None;
    }
    let since = watching.now.saturating_sub(filter.since);
    let found = watching.insight.found(&Filter { since, ..filter.clone() });
    if found.watched == 0 {
        return None;
    }
    let both = view.config.forward == model::config::Forward::Nat;
    let unix = |at: u64| now_unix_ms.saturating_sub(watching.now.saturating_sub(at) / 1_000_000);
    let name = |id: Option<u32>| named(picture, id);
    let example = |change: &Change| example(change, picture, unix(change.at));
    Some(SlowPackets {
        name: view.config.name.clone(),
        forward: view.config.forward.name().to_owned(),
        both_directions: both,
        unseen: unseen(view.config.forward).iter().map(|text| (*text).to_owned()).collect(),
        sample: watching.view.insight.sample,
        watched: found.watched,
        begun: found.begun,
        late: found.late,
        unscaled: found.unscaled,
        handshakes: handshakes(&found),
        client: side(&found.sides[0]),
        server: both.then(|| side(&found.sides[1])),
        balancer_resets: resets(watching.view, &view.config.name),
        seconds: seconds(found.bars.total()),
        owners: owners(&found.bars),
        reasons: reasons(&found.bars),
        pools: pools(&found, name),
        servers: groups(&found.servers, |id| name(*id)),
        networks: groups(&found.networks, ToString::to_string),
        examples: found.examples.iter().map(example).collect(),
    })
}

/// Segments that this machine answered with a reset.
fn resets(view: &View, service: &str) -> u64 {
    let (Some(now), Some(flows), Some(index)) =
        (&view.now, view.flows.get(service), view.services.get(service))
    else {
        return 0;
    };
    let outcomes = of_service(&now.counts, *index, flows);
    outcomes.get(&Outcome::ResetSent).map_or(0, l4::counts::Packets::sum)
}

fn handshakes(found: &Found) -> Handshakes {
    let [unanswered, unacknowledged, unfinished] = found.unfinished;
    Handshakes {
        done: found.opened,
        server_part: times(&found.server_part),
        client_part: times(&found.client_part),
        whole: times(&found.whole),
        unanswered,
        unacknowledged,
        unfinished,
        refused: found.refused,
    }
}

fn times(times: &Times) -> Option<HandshakeTimes> {
    (times.count > 0).then(|| HandshakeTimes {
        count: times.count,
        median_ms: millis(times.median),
        p95_ms: millis(times.most),
        longest_ms: millis(times.longest),
    })
}

fn side(told: &Told) -> PacketSide {
    PacketSide {
        packets: told.packets,
        lost_behind: told.again,
        lost_before: told.filled,
        reordered: told.reordered,
        repair_ms: millis(told.loss_nanos),
        zero_windows: told.zero,
        zero_window_ms: millis(told.zero_nanos),
        silly_windows: told.silly,
        silly_window_ms: millis(told.silly_nanos),
        resets: told.resets,
    }
}

fn reasons(bars: &Bars) -> Vec<SlowReason> {
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

fn pools(found: &Found, name: impl Fn(Option<u32>) -> String) -> Vec<SlowGroup> {
    let mut pools: BTreeMap<String, (f64, Bars)> = BTreeMap::new();
    for group in &found.servers {
        let server = name(group.key);
        let pool = server.split_once('/').map_or("none", |(pool, _)| pool);
        let sum = pools.entry(pool.to_owned()).or_default();
        sum.0 += group.exchanges;
        sum.1.join(&group.bars, 1.0);
    }
    let pools = pools.into_iter().map(|(key, (exchanges, bars))| Group { key, exchanges, bars });
    let mut pools: Vec<Group<String>> = pools.collect();
    pools.sort_by_key(|group| std::cmp::Reverse(group.bars.total()));
    groups(&pools, Clone::clone)
}

fn example(change: &Change, picture: &Picture, seen_unix_ms: u64) -> PacketExample {
    let bars = judge(change);
    let part = |bar: &model::attribute::Bar| {
        (format!("{}/{}", owner_name(bar.owner), bar.limit.code()), millis(bar.nanos))
    };
    let reset = |side: Side| change.sides[side as usize].resets > 0;
    let notes = [
        (change.refused, "refused"),
        (change.unfinished == Some(Unfinished::Server), "unanswered"),
        (change.unfinished == Some(Unfinished::Client), "unacknowledged"),
        (change.unfinished == Some(Unfinished::Either), "unfinished"),
        (reset(Side::Client), "reset-by-client"),
        (reset(Side::Server), "reset-by-server"),
        (change.late, "late"),
        (!change.scaled, "scale-unknown"),
    ];
    PacketExample {
        seen_unix_ms,
        client: std::net::SocketAddr::new(change.client, change.port).to_string(),
        server: change.server.map(|id| named(picture, Some(id))),
        total_ms: millis(bars.total()),
        parts_ms: bars.all().iter().map(part).collect(),
        notes: notes.iter().filter(|(is, _)| *is).map(|(_, note)| (*note).to_owned()).collect(),
        from_client: side(&change.sides[0]),
        from_server: change.both.then(|| side(&change.sides[1])),
    }
}
