//! The delay and the cost of connection replication at 20,000 connections a second, by each method and in both
//! families. The results are printed; only the bytes per connection are asserted. Only with `STEELYARD_LONG=1`.

use std::collections::BTreeMap;
use std::time::Instant;

use model::capacity::replication_traffic::NETWORK_HEADER_BYTES;
use tests::e2e::balancer::is_long;
use tests::skip::skip;

use super::clients::{EACH, RawClients, hush};
use super::replicated::{
    MAC, NAT, ReplicatedPair, TUNNEL, begin, replication, until_follows, wire,
};
use super::topology::{ClientFamily, First, MemberIndex, Second, V4, V6, VrrpTopology};

/// The limit of bytes per connection: two notices of 43 bytes, each with a part of the 54 header bytes.
const BYTES: f64 = 90.0;
/// The steps of a run. A run of `nat` lasts as long as a full resynchronisation, whose records are a third in time and
/// nearly all in bytes.
const STEPS: u32 = 10_000;
const PERIOD: u32 = 30_000;

/// A setting that frees the ports of closed connections early.
pub const SHORT: &str = "timeout = { half-closed = \"1s\" }";

#[test]
fn connections_are_replicated_at_a_rate() {
    if !is_long() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return skip("namespaces need root");
    }
    let mut pair = wire(SHORT);
    hush([&pair.world.server, &pair.server]);
    begin(&mut pair.world, First, "active");
    begin(&mut pair.world, Second, "standby");
    until_follows(&pair.world);
    for (name, port, steps) in
        [("mac", MAC, STEPS), ("tunnel", TUNNEL, STEPS), ("nat", NAT, PERIOD)]
    {
        for version in [V4, V6] {
            at_a_rate(&pair, (name, version, port), steps);
        }
    }
}

fn at_a_rate(pair: &ReplicatedPair, (name, version, port): (&str, ClientFamily, u16), steps: u32) {
    let world = &pair.world;
    let clients = RawClients::new(world, version, port);
    let before = ReplicationLoad::of(world, First);
    let late = clients.run(steps);
    let spent = ReplicationLoad::of(world, First).since(&before);
    let connections = f64::from(steps * EACH);
    let count = |name: &str| spent.counts[name];
    let bytes =
        (count("bytes") + NETWORK_HEADER_BYTES as u64 * count("packets")) as f64 / connections;
    println!(
        "proof: {name} {version:?}: {:.0} connections/s for {:.1} s ({late} of {steps} steps late), {}; {bytes:.1} bytes a \
         connection on the wire, headers included; of a core {:.1} % for telling, {:.1} % for entering",
        connections / spent.seconds,
        spent.seconds,
        spent.promptness(),
        spent.share(0),
        spent.share(1),
    );
    assert!(count("sent") as f64 >= connections, "every connection is told of");
    assert!(bytes <= BYTES, "{bytes} bytes");
}

/// A member's replication counters, and the processor time of both members' replication threads.
pub struct ReplicationLoad {
    at: Instant,
    /// The seconds since the previous totals.
    pub seconds: f64,
    pub counts: BTreeMap<String, u64>,
    cpu_nanos: [u64; 2],
}

impl ReplicationLoad {
    /// The totals so far of replication from this member.
    pub fn of(world: &VrrpTopology, who: MemberIndex) -> ReplicationLoad {
        let counts = replication(world, who).unwrap().counts;
        let nanos = [who, if who == First { Second } else { First }];
        ReplicationLoad {
            at: Instant::now(),
            seconds: 0.0,
            counts,
            cpu_nanos: nanos.map(|who| nanos_of(world, who)),
        }
    }

    /// The difference between two totals.
    pub fn since(mut self, before: &ReplicationLoad) -> ReplicationLoad {
        self.seconds = (self.at - before.at).as_secs_f64();
        for (name, count) in &mut self.counts {
            *count -= before.counts.get(name).copied().unwrap_or(0);
        }
        for (now, before) in self.cpu_nanos.iter_mut().zip(before.cpu_nanos) {
            *now = now.saturating_sub(before);
        }
        self
    }

    /// Percent of a core: index 0 is the sending member, 1 the receiving one.
    pub fn share(&self, of: usize) -> f64 {
        self.cpu_nanos[of] as f64 / 1e9 / self.seconds * 100.0
    }

    /// The number of records that arrived in time, as text.
    pub fn promptness(&self) -> String {
        let [prompt, slow, again, held] =
            ["prompt", "slow", "resynchronised", "held-back"].map(|name| self.counts[name]);
        format!(
            "{prompt} of {} records told within 50 ms ({:.2} %), {again} told again, {held} rounds held back",
            prompt + slow,
            prompt as f64 / (prompt + slow).max(1) as f64 * 100.0,
        )
    }
}

fn nanos_of(world: &VrrpTopology, who: MemberIndex) -> u64 {
    let pid = world.whole_status(who).map_or(0, |status| status.pid);
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of = |task: std::fs::DirEntry| {
        let read = |name: &str| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
        let ours = read("comm").trim() == "replication";
        let spent = read("schedstat").split_whitespace().next().and_then(|text| text.parse().ok());
        spent.filter(|_| ours).unwrap_or(0u64)
    };
    tasks.map(of).sum()
}
