//! Smooth weighted round-robin: exact over every cycle, close to the share at every moment, steady over changes.

use model::config::{BalancePolicy, ServerWeight};
use model::id::ServerId;
use model::load_balancing::{PickResult, Rng, ServerPicker};
use model::snapshot::{PoolView, ServerState};
use proptest::prelude::*;

use super::{pick, pick_after, tally, view};

fn pool(weights: &[u16]) -> PoolView {
    view::pool(BalancePolicy::RoundRobin, weights)
}

fn sequence(chooser: &mut ServerPicker, view: &PoolView, length: usize) -> Vec<usize> {
    let mut rng = Rng::new(0);
    (0..length)
        .map(|_| match pick(chooser, view, 0, &mut rng) {
            PickResult::Server(at) => at,
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn five_one_one_is_as_smooth_as_can_be() {
    let view = pool(&[5, 1, 1]);
    let text: String = sequence(&mut ServerPicker::new(&view, 1), &view, 14)
        .into_iter()
        .map(|at| ['a', 'b', 'c'][at])
        .collect();
    // From any turn of the cycle, with b and c in either order. The classical algorithm gives a a b a c a a: a run of
    // four where the cycles meet, and b and c hardly apart.
    let cycles = ["aabaaac", "aacaaab"].map(|cycle| cycle.repeat(3));
    assert!(cycles.iter().any(|cycle| cycle.contains(&text)), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_cycle_is_exact_and_any_beginning_is_fair(
        weights in prop::collection::vec(prop_oneof![1..=4u16, 1..=256u16], 1..12),
        seed: u64,
        offset in 0..500usize,
    ) {
        let view = pool(&weights);
        let cycle: usize = weights.iter().map(|w| usize::from(*w)).sum();
        let mut chooser = ServerPicker::new(&view, seed);
        sequence(&mut chooser, &view, offset);
        let turns = sequence(&mut chooser, &view, cycle);
        let mut counts = vec![0i64; weights.len()];
        for (turn, at) in turns.iter().enumerate() {
            counts[*at] += 1;
            for (count, weight) in counts.iter().zip(&weights) {
                let ideal = (turn as f64 + 1.0) * f64::from(*weight) / cycle as f64;
                // Any stretch: less than one turn off at each end for the class, one more within it.
                prop_assert!((*count as f64 - ideal).abs() < 3.0, "{counts:?} after {turn}");
            }
        }
        let wanted: Vec<i64> = weights.iter().map(|w| i64::from(*w)).collect();
        prop_assert_eq!(counts, wanted);
    }

    #[test]
    fn servers_of_different_weights_are_never_a_turn_off(seed: u64, subset in prop::collection::btree_set(1..=256u16, 1..10)) {
        // The first turn of worker 0 is not visible from outside; two turns bound any stretch.
        let weights: Vec<u16> = subset.into_iter().collect();
        let view = pool(&weights);
        let cycle: usize = weights.iter().map(|w| usize::from(*w)).sum();
        let mut counts = vec![0f64; weights.len()];
        for (turn, at) in sequence(&mut ServerPicker::new(&view, seed), &view, cycle).into_iter().enumerate() {
            counts[at] += 1.0;
            for (count, weight) in counts.iter().zip(&weights) {
                let ideal = (turn as f64 + 1.0) * f64::from(*weight) / cycle as f64;
                prop_assert!((count - ideal).abs() < 2.0);
            }
        }
    }

    #[test]
    fn refreshing_keeps_the_shares_of_those_that_stay(
        seed: u64,
        mut weights in prop::collection::vec(1..=8u16, 2..10),
        period in 1..9usize,
    ) {
        // A server is added and removed repeatedly; the others must keep sharing the rest by weight.
        weights.push(9);
        let mut view = pool(&weights);
        let last = weights.len() - 1;
        let mut chooser = ServerPicker::new(&view, seed);
        let mut counts = vec![0f64; weights.len()];
        let rounds = 2000;
        for round in 0..rounds {
            if round % period == 0 {
                let up = view.servers[last].state == ServerState::Up;
                view.servers[last].state = if up { ServerState::Down } else { ServerState::Up };
                chooser.refresh(&view);
            }
            counts[sequence(&mut chooser, &view, 1)[0]] += 1.0;
        }
        let stay: f64 = counts[..last].iter().sum();
        let weight: f64 = weights[..last].iter().map(|w| f64::from(*w)).sum();
        for (count, w) in counts[..last].iter().zip(&weights) {
            let ideal = stay * f64::from(*w) / weight;
            prop_assert!((count - ideal).abs() <= 0.15 * ideal + 8.0, "{counts:?} for {weights:?}");
        }
    }
}

#[test]
fn a_refresh_that_changes_nothing_changes_nothing() {
    let view = pool(&[3, 1, 4, 1, 5]);
    let mut one = ServerPicker::new(&view, 7);
    let mut other = one.clone();
    let straight = sequence(&mut one, &view, 100);
    let refreshed: Vec<usize> = (0..100)
        .flat_map(|_| {
            other.refresh(&view);
            sequence(&mut other, &view, 1)
        })
        .collect();
    assert_eq!(straight, refreshed);
}

#[test]
fn a_removed_server_leaves_the_others_in_their_order() {
    let view = pool(&[1; 10]);
    let mut chooser = ServerPicker::new(&view, 5);
    let order = sequence(&mut chooser, &view, 10);
    let begun = sequence(&mut chooser, &view, 4);
    assert_eq!(begun, order[..4]);
    let gone = order[6];
    let smaller = view::without(&view, gone);
    chooser.refresh(&smaller);
    let names: Vec<ServerId> =
        sequence(&mut chooser, &smaller, 9).iter().map(|at| smaller.servers[*at].id).collect();
    let wanted: Vec<ServerId> = (4..14)
        .map(|turn| order[turn % 10])
        .filter(|at| *at != gone)
        .map(|at| ServerId(at as u32))
        .collect();
    assert_eq!(names, wanted);
}

#[test]
fn a_changed_weight_counts_from_the_next_cycle_on() {
    let mut view = pool(&[1, 1, 1]);
    let mut chooser = ServerPicker::new(&view, 1);
    sequence(&mut chooser, &view, 5);
    view.servers[1].weight = ServerWeight::new(10).unwrap();
    chooser.refresh(&view);
    sequence(&mut chooser, &view, 12);
    assert_eq!(tally(&mut chooser, &view, 12, &mut Rng::new(0)), [1, 10, 1]);
}

#[test]
fn a_tried_server_loses_its_turn_and_the_next_takes_it() {
    let view = pool(&[1; 4]);
    let mut chooser = ServerPicker::new(&view, 1);
    let order = sequence(&mut chooser, &view, 4);
    let tried = [ServerId(order[0] as u32)];
    let choice = pick_after(&mut chooser, &view, 0, &tried, &mut Rng::new(0));
    assert_eq!(choice, PickResult::Server(order[1]));
    assert_eq!(sequence(&mut chooser, &view, 1), [order[2]]);
}
