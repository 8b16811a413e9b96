//! Who may be chosen: the same for every policy.

use std::sync::Arc;

use model::config::{AllDown, Balance, Pool, Server, Weight};
use model::id::ServerId;
use model::pick::{Choice, Chooser, Rng};
use model::snapshot::{PoolView, ServerState};
use proptest::prelude::*;

use super::{POLICIES, pick_after, view::pool};

/// One server: its state, weight, whether it has an address, its cap and what it has in flight.
#[derive(Clone, Copy, Debug)]
struct Given {
    state: ServerState,
    weight: u16,
    address: bool,
    cap: Option<u32>,
    in_flight: u32,
}

const UP: Given =
    Given { state: ServerState::Up, weight: 1, address: true, cap: None, in_flight: 0 };

fn made(balance: Balance, all_down: AllDown, given: &[Given]) -> PoolView {
    let mut view = pool(balance, &vec![1; given.len()]);
    view.config = Arc::new(Pool { all_down, ..(*view.config).clone() });
    for (server, given) in view.servers.iter_mut().zip(given) {
        server.state = given.state;
        server.weight = Weight::new(given.weight).unwrap();
        server.address = server.address.filter(|_| given.address);
        let config = Server { connections: given.cap, ..(*server.config).clone() };
        server.config = Arc::new(config);
        for _ in 0..given.in_flight {
            server.live.in_flight.up();
        }
    }
    view
}

/// The rule in words, without any cleverness: which choices are right?
fn allowed(given: &[Given], all_down: AllDown, tried: &[ServerId]) -> (Vec<usize>, bool) {
    let tier = |state: ServerState| -> Vec<usize> {
        (0..given.len())
            .filter(|at| given[*at].state == state && given[*at].weight > 0 && given[*at].address)
            .collect()
    };
    let mut able = tier(ServerState::Up);
    if able.is_empty() {
        able = tier(ServerState::Unknown);
    }
    if able.is_empty() && all_down == AllDown::Spread {
        able = tier(ServerState::Down);
    }
    let some = !able.is_empty();
    let fresh: Vec<usize> =
        able.iter().copied().filter(|at| !tried.contains(&ServerId(*at as u32))).collect();
    let candidates = if fresh.is_empty() { able } else { fresh };
    let below = |at: &usize| given[*at].cap.is_none_or(|cap| given[*at].in_flight < cap);
    (candidates.into_iter().filter(below).collect(), some)
}

fn check(given: &[Given], all_down: AllDown, tried: &[ServerId]) -> Result<(), TestCaseError> {
    let (right, some) = allowed(given, all_down, tried);
    for balance in POLICIES {
        let view = made(balance, all_down, given);
        let mut chooser = Chooser::new(&view, 11);
        let mut rng = Rng::new(5);
        for number in 0..12 {
            let choice = pick_after(&mut chooser, &view, number << 8, tried, &mut rng);
            let ok = match choice {
                Choice::Server(at) => right.contains(&at),
                Choice::AllAtCap => some && right.is_empty(),
                Choice::None => !some,
            };
            prop_assert!(ok, "{balance:?} chose {choice:?}, right would be {right:?}");
        }
    }
    Ok(())
}

#[test]
fn rows() {
    let down = Given { state: ServerState::Down, ..UP };
    let unknown = Given { state: ServerState::Unknown, ..UP };
    let full = Given { cap: Some(2), in_flight: 2, ..UP };
    let rows: [(&str, Vec<Given>, AllDown, Vec<u32>); 12] = [
        ("no server", vec![], AllDown::Spread, vec![]),
        ("up before unknown", vec![unknown, UP, down], AllDown::Refuse, vec![]),
        ("unknown before nothing", vec![down, unknown], AllDown::Refuse, vec![]),
        ("all down, refused", vec![down, down], AllDown::Refuse, vec![]),
        ("all down, spread", vec![down, down], AllDown::Spread, vec![]),
        (
            "draining and disabled never",
            vec![
                Given { state: ServerState::Drain, ..UP },
                Given { state: ServerState::Disabled, ..UP },
            ],
            AllDown::Spread,
            vec![],
        ),
        (
            "weight 0 takes nothing",
            vec![Given { weight: 0, ..UP }, unknown],
            AllDown::Refuse,
            vec![],
        ),
        ("no address", vec![Given { address: false, ..UP }], AllDown::Spread, vec![]),
        ("a tried one is left out", vec![UP, UP, UP], AllDown::Refuse, vec![0, 2]),
        ("all were tried", vec![UP, UP], AllDown::Refuse, vec![0, 1]),
        (
            "a full one is waited for when the other failed",
            vec![UP, full],
            AllDown::Refuse,
            vec![0],
        ),
        ("all full", vec![full, full], AllDown::Refuse, vec![]),
    ];
    for (what, given, all_down, tried) in rows {
        let tried: Vec<ServerId> = tried.into_iter().map(ServerId).collect();
        check(&given, all_down, &tried).unwrap_or_else(|wrong| panic!("{what}: {wrong}"));
    }
}

fn given() -> impl Strategy<Value = Given> {
    use ServerState::{Disabled, Down, Drain, Unknown, Up};
    let state = prop::sample::select(vec![Up, Up, Down, Unknown, Drain, Disabled]);
    let weight = prop_oneof![1 => Just(0), 6 => 1..=256u16];
    let cap = prop::option::of(0..3u32);
    (state, weight, prop::bool::weighted(0.9), cap, 0..3u32).prop_map(
        |(state, weight, address, cap, in_flight)| Given { state, weight, address, cap, in_flight },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_policy_chooses_among_the_right_ones_only(
        given in prop::collection::vec(given(), 0..12),
        spread: bool,
        tried in prop::collection::vec((0..12u32).prop_map(ServerId), 0..4),
    ) {
        let all_down = if spread { AllDown::Spread } else { AllDown::Refuse };
        check(&given, all_down, &tried)?;
    }

    #[test]
    fn after_a_refresh_the_new_view_counts(
        before in prop::collection::vec(given(), 0..8),
        after in prop::collection::vec(given(), 0..8),
        policy in 0..POLICIES.len(),
        other in 0..POLICIES.len(),
    ) {
        let mut chooser = Chooser::new(&made(POLICIES[policy], AllDown::Refuse, &before), 3);
        let view = made(POLICIES[other], AllDown::Refuse, &after);
        chooser.refresh(&view);
        let (right, some) = allowed(&after, AllDown::Refuse, &[]);
        let mut rng = Rng::new(9);
        for number in 0..12 {
            match pick_after(&mut chooser, &view, number << 8, &[], &mut rng) {
                Choice::Server(at) => prop_assert!(right.contains(&at)),
                Choice::AllAtCap => prop_assert!(some && right.is_empty()),
                Choice::None => prop_assert!(!some),
            }
        }
    }
}

#[test]
fn one_free_server_is_found_among_many_full_ones() {
    let mut given = vec![Given { cap: Some(1), in_flight: 1, weight: 256, ..UP }; 300];
    given[217] = Given { cap: Some(1), ..UP };
    for balance in POLICIES {
        let view = made(balance, AllDown::Refuse, &given);
        let mut chooser = Chooser::new(&view, 1);
        let mut rng = Rng::new(2);
        for number in 0..50 {
            let choice = pick_after(&mut chooser, &view, number, &[], &mut rng);
            assert_eq!(choice, Choice::Server(217), "{balance:?}");
        }
    }
}
