//! Further measurements of streams over two links: two streams, the other direction, loss, and the cost of holding
//! packets.
//!
//! The figures are printed. The only assertion is that equalised links carry at least as much as one link; the
//! thresholds are in `stream.rs`.

use std::time::Duration;

use super::stream::{BOTH, FAR, NAIVE, NEAR, ONE, hows, time};
use super::topology::{Client, LinkEnd, LinkTopology, Server, mtu};
use super::traffic::{stream, streams_to};

/// One packet in this many is lost: 0.1 %.
const LOSE_EVERY: u64 = 1_000;

/// A way to use both links.
struct LinkCase {
    what: &'static str,
    to: LinkEnd,
    streams: usize,
    lose_every: u64,
}

const CASES: [LinkCase; 4] = [
    LinkCase { what: "two streams", to: Server, streams: 2, lose_every: 0 },
    LinkCase { what: "the other direction", to: Client, streams: 1, lose_every: 0 },
    LinkCase { what: "0.1 % lost", to: Server, streams: 1, lose_every: LOSE_EVERY },
    LinkCase { what: "0.1 % lost, two streams", to: Server, streams: 2, lose_every: LOSE_EVERY },
];

/// The best of two runs: a busy machine makes streams slower, never faster.
fn best(case: &LinkCase, how: &str, policy: &str) -> Option<f64> {
    let world = LinkTopology::lossy(&[NEAR, FAR], case.lose_every, policy)?;
    let runs = (0..2).map(|_| streams_to(case.to, &world, case.streams, how, time()));
    Some(runs.fold(0.0, f64::max))
}

#[test]
fn two_streams_the_other_direction_and_loss() {
    for how in hows() {
        for case in &CASES {
            let Some(one) = best(case, how, ONE) else { return };
            let Some(naive) = best(case, how, NAIVE) else { return };
            let Some(equal) = best(case, how, BOTH) else { return };
            println!(
                "proof: {how}, 17 ms longer, {}: one link {one:.0} Mbit/s, naive {naive:.0} Mbit/s ({:.2} times), \
                 equalised {equal:.0} Mbit/s ({:.2} times)",
                case.what,
                naive / one,
                equal / one,
            );
            // With loss, cubic halves its window regardless of the path, so the bundle is not to blame.
            if case.lose_every == 0 {
                assert!(equal >= one, "{how}, {}", case.what);
            }
        }
    }
}

#[test]
fn what_holding_a_packet_costs() {
    let Some(mut world) = LinkTopology::open(&[NEAR, FAR], BOTH) else { return };
    let held = |world: &LinkTopology| world.status(Client).counts["held"];
    tests::e2e::wait::until("packets of the shorter link are held", || {
        world.status(Client).links[0].added_delay_us > 0
    });
    stream(&world, "cubic", Duration::from_millis(200), || ());
    // Packets that a link receives together are held together. The shorter link's frame count is therefore the number
    // of held packets.
    let carried = |world: &LinkTopology| world.bytes()[0] / u64::from(mtu() + 14);
    let before = (held(&world), carried(&world), world.used(Client, "holder"));
    let seen = stream(&world, "cubic", time(), || ());
    let bursts = held(&world) - before.0;
    let frames = carried(&world) - before.1;
    let used = world.used(Client, "holder").saturating_sub(before.2);
    println!(
        "proof: held {bursts} times, {frames} packets of {} bytes, at {:.0} Mbit/s: {:.2} µs of the holder's processor a \
         packet",
        mtu() + 14,
        seen.mbit,
        used.as_secs_f64() * 1e6 / frames as f64
    );
    assert!(bursts > 0 && frames > 0);
}
