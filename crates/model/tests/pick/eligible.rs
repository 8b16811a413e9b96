//! Eligible servers: the same for every policy.

use std::sync::Arc;

use model::config::{AllDownPolicy, BalancePolicy, PoolConfig, ServerConfig, ServerWeight};
use model::id::ServerId;
use model::load_balancing::{PickResult, Rng, ServerPicker};
use model::snapshot::{PoolView, ServerState};
use proptest::prelude::*;

use super::{POLICIES, pick_after, view::pool};

/// One server: its state, weight, whether it has an address, its cap and its exchanges in flight.
#[derive(Clone, Copy, Debug)]
struct GivenServer {
    state: ServerState,
    weight: u16,
    address: bool,
    cap: Option<u32>,
    in_flight: u32,
}

const UP: GivenServer =
    GivenServer { state: ServerState::Up, weight: 1, address: true, cap: None, in_flight: 0 };

fn pool_view(balance: BalancePolicy, all_down: AllDownPolicy, given: &[GivenServer]) -> PoolView {
    let mut view = pool(balance, &vec![1; given.len()]);
    view.config = Arc::new(PoolConfig { all_down, ..(*view.config).clone() });
    for (server, given) in view.servers.iter_mut().zip(given) {
        server.state = given.state;
        server.weight = ServerWeight::new(given.weight).unwrap();
        server.address = server.address.take().filter(|_| given.address);
        let config = ServerConfig { connections: given.cap, ..(*server.config).clone() };
        server.config = Arc::new(config);
        for _ in 0..given.in_flight {
            server.stats.in_flight.increment();
        }
    }
    view
}

/// The reference rule: the set of right choices.
fn allowed(
    given: &[GivenServer],
    all_down: AllDownPolicy,
    tried: &[ServerId],
) -> (Vec<usize>, bool) {
    let tier = |state: ServerState| -> Vec<usize> {
        (0..given.len())
            .filter(|at| given[*at].state == state && given[*at].weight > 0 && given[*at].address)
            .collect()
    };
    let mut able = tier(ServerState::Up);
    if able.is_empty() {
        able = tier(ServerState::Unknown);
    }
    if able.is_empty() && all_down == AllDownPolicy::Spread {
        able = tier(ServerState::Down);
    }
    let some = !able.is_empty();
    let fresh: Vec<usize> =
        able.iter().copied().filter(|at| !tried.contains(&ServerId(*at as u32))).collect();
    let candidates = if fresh.is_empty() { able } else { fresh };
    let below = |at: &usize| given[*at].cap.is_none_or(|cap| given[*at].in_flight < cap);
    (candidates.into_iter().filter(below).collect(), some)
}

fn check(
    given: &[GivenServer],
    all_down: AllDownPolicy,
    tried: &[ServerId],
) -> Result<(), TestCaseError> {
    let (right, some) = allowed(given, all_down, tried);
    for balance in POLICIES {
        let view = pool_view(balance, all_down, given);
        let mut chooser = ServerPicker::new(&view, 11);
        let mut rng = Rng::new(5);
        for number in 0..12 {
            let choice = pick_after(&mut chooser, &view, number << 8, tried, &mut rng);
            let ok = match choice {
                PickResult::Server(at) => right.contains(&at),
                PickResult::AllAtCap => some && right.is_empty(),
                PickResult::None => !some,
            };
            prop_assert!(ok, "{balance:?} chose {choice:?}, right would be {right:?}");
        }
    }
    Ok(())
}

#[test]
fn rows() {
    let down = GivenServer { state: ServerState::Down, ..UP };
    let unknown = GivenServer { state: ServerState::Unknown, ..UP };
    let full = GivenServer { cap: Some(2), in_flight: 2, ..UP };
    let rows: [(&str, Vec<GivenServer>, AllDownPolicy, Vec<u32>); 12] = [
        ("no server", vec![], AllDownPolicy::Spread, vec![]),
        ("up before unknown", vec![unknown, UP, down], AllDownPolicy::Refuse, vec![]),
        ("unknown before nothing", vec![down, unknown], AllDownPolicy::Refuse, vec![]),
        ("all down, refused", vec![down, down], AllDownPolicy::Refuse, vec![]),
        ("all down, spread", vec![down, down], AllDownPolicy::Spread, vec![]),
        (
            "draining and disabled never",
            vec![
                GivenServer { state: ServerState::Drain, ..UP },
                GivenServer { state: ServerState::Disabled, ..UP },
            ],
            AllDownPolicy::Spread,
            vec![],
        ),
        (
            "weight 0 takes nothing",
            vec![GivenServer { weight: 0, ..UP }, unknown],
            AllDownPolicy::Refuse,
            vec![],
        ),
        ("no address", vec![GivenServer { address: false, ..UP }], AllDownPolicy::Spread, vec![]),
        ("a tried one is left out", vec![UP, UP, UP], AllDownPolicy::Refuse, vec![0, 2]),
        ("all were tried", vec![UP, UP], AllDownPolicy::Refuse, vec![0, 1]),
        (
            "a full one is waited for when the other failed",
            vec![UP, full],
            AllDownPolicy::Refuse,
            vec![0],
        ),
        ("all full", vec![full, full], AllDownPolicy::Refuse, vec![]),
    ];
    for (case, given, all_down, tried) in rows {
        let tried: Vec<ServerId> = tried.into_iter().map(ServerId).collect();
        check(&given, all_down, &tried).unwrap_or_else(|wrong| panic!("{case}: {wrong}"));
    }
}

fn given() -> impl Strategy<Value = GivenServer> {
    use ServerState::{Disabled, Down, Drain, Unknown, Up};
    let state = prop::sample::select(vec![Up, Up, Down, Unknown, Drain, Disabled]);
    let weight = prop_oneof![1 => Just(0), 6 => 1..=256u16];
    let cap = prop::option::of(0..3u32);
    (state, weight, prop::bool::weighted(0.9), cap, 0..3u32).prop_map(
        |(state, weight, address, cap, in_flight)| GivenServer {
            state,
            weight,
            address,
            cap,
            in_flight,
        },
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
        let all_down = if spread { AllDownPolicy::Spread } else { AllDownPolicy::Refuse };
        check(&given, all_down, &tried)?;
    }

    #[test]
    fn after_a_refresh_the_new_view_counts(
        before in prop::collection::vec(given(), 0..8),
        after in prop::collection::vec(given(), 0..8),
        policy in 0..POLICIES.len(),
        other in 0..POLICIES.len(),
    ) {
        let mut chooser = ServerPicker::new(&pool_view(POLICIES[policy], AllDownPolicy::Refuse, &before), 3);
        let view = pool_view(POLICIES[other], AllDownPolicy::Refuse, &after);
        chooser.refresh(&view);
        let (right, some) = allowed(&after, AllDownPolicy::Refuse, &[]);
        let mut rng = Rng::new(9);
        for number in 0..12 {
            match pick_after(&mut chooser, &view, number << 8, &[], &mut rng) {
                PickResult::Server(at) => prop_assert!(right.contains(&at)),
                PickResult::AllAtCap => prop_assert!(some && right.is_empty()),
                PickResult::None => prop_assert!(!some),
            }
        }
    }
}

#[test]
fn one_free_server_is_found_among_many_full_ones() {
    let mut given = vec![GivenServer { cap: Some(1), in_flight: 1, weight: 256, ..UP }; 300];
    given[217] = GivenServer { cap: Some(1), ..UP };
    for balance in POLICIES {
        let view = pool_view(balance, AllDownPolicy::Refuse, &given);
        let mut chooser = ServerPicker::new(&view, 1);
        let mut rng = Rng::new(2);
        for number in 0..50 {
            let choice = pick_after(&mut chooser, &view, number, &[], &mut rng);
            assert_eq!(choice, PickResult::Server(217), "{balance:?}");
        }
    }
}
