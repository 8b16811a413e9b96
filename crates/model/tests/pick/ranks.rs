//! Priorities, backups, localities, spill-over and the last resort: which servers are eligible.

use std::sync::Arc;

use model::config::{
    AllDownPolicy, BalancePolicy, PoolConfig, Priority, ServerConfig, ServerWeight,
};
use model::id::ServerId;
use model::load_balancing::eligible_servers::{EligibleServers, EligibleTier};
use model::load_balancing::{PickResult, Rng, ServerPicker};
use model::snapshot::{PoolView, ServerState};

use super::{POLICIES, pick, pick_after, view::pool};

const DOWN: ServerState = ServerState::Down;
const UNKNOWN: ServerState = ServerState::Unknown;
const UP: ServerState = ServerState::Up;

/// Priority (10 backup, 11 last resort), weight, locality, state.
type RankedServer = (u8, u16, Option<&'static str>, ServerState);

/// The case, the servers, the spill-over, the eligible servers and their tier.
type RankRow<'a> = (&'a str, &'a [RankedServer], Option<u8>, &'a [usize], EligibleTier);

fn pool_view(
    given: &[RankedServer],
    spill: Option<u8>,
    here: Option<&str>,
    all_down: AllDownPolicy,
) -> PoolView {
    let mut view =
        pool(BalancePolicy::RoundRobin, &given.iter().map(|server| server.1).collect::<Vec<_>>());
    view.config = Arc::new(PoolConfig {
        all_down,
        spill_over: spill,
        locality: here.map(str::to_owned),
        ..(*view.config).clone()
    });
    for (server, (priority, weight, there, state)) in view.servers.iter_mut().zip(given) {
        server.state = *state;
        server.weight = ServerWeight::new(*weight).unwrap();
        server.config = Arc::new(ServerConfig {
            priority: match priority {
                10 => Priority::BACKUP,
                11 => Priority::LAST_RESORT,
                number => Priority::new(*number).unwrap(),
            },
            locality: there.map(str::to_owned),
            ..(*server.config).clone()
        });
    }
    view
}

fn turn(view: &PoolView) -> (Vec<usize>, EligibleTier) {
    let eligible = EligibleServers::from_view(view);
    (eligible.servers.iter().map(|slot| slot.index).collect(), eligible.tier)
}

fn two(number: u8) -> EligibleTier {
    EligibleTier::Up(Priority::new(number).unwrap())
}

fn priorities() -> Vec<RankRow<'static>> {
    vec![
        ("the first alone", &[(1, 1, None, UP), (2, 1, None, UP)], None, &[0], two(1)),
        ("numbers need not begin at 1", &[(7, 1, None, UP), (9, 1, None, UP)], None, &[0], two(7)),
        ("the next when none is up", &[(1, 1, None, DOWN), (2, 1, None, UP)], None, &[1], two(2)),
        (
            "half is enough without a threshold",
            &[(1, 1, None, UP), (1, 1, None, DOWN), (2, 1, None, UP)],
            None,
            &[0],
            two(1),
        ),
        (
            "half is too little for 70 %",
            &[(1, 1, None, UP), (1, 1, None, DOWN), (2, 1, None, UP), (3, 1, None, UP)],
            Some(70),
            &[0, 2],
            two(2),
        ),
        (
            "the next, and still too little",
            &[(1, 10, None, UP), (1, 90, None, DOWN), (2, 10, None, UP), (3, 9, None, UP)],
            Some(50),
            &[0, 2, 3],
            two(3),
        ),
        (
            "just enough is enough",
            &[(1, 7, None, UP), (1, 3, None, DOWN), (2, 1, None, UP)],
            Some(70),
            &[0],
            two(1),
        ),
        (
            "drained capacity is missing too",
            &[(1, 1, None, ServerState::Drain), (1, 1, None, UP), (10, 1, None, UP)],
            Some(60),
            &[1, 2],
            EligibleTier::Up(Priority::BACKUP),
        ),
    ]
}

fn reserves_and_places() -> Vec<RankRow<'static>> {
    vec![
        (
            "a backup before the unknown",
            &[(1, 1, None, UNKNOWN), (10, 1, None, UP)],
            None,
            &[1],
            EligibleTier::Up(Priority::BACKUP),
        ),
        (
            "the unknown by rank",
            &[(10, 1, None, UNKNOWN), (3, 1, None, UNKNOWN), (11, 1, None, UP)],
            None,
            &[1],
            EligibleTier::Unknown(Priority::new(3).unwrap()),
        ),
        (
            "the last resort is not spilled over to",
            &[(1, 1, None, UP), (1, 9, None, DOWN), (11, 1, None, UP)],
            Some(90),
            &[0],
            two(1),
        ),
        (
            "the last resort, even unknown",
            &[(1, 1, None, DOWN), (11, 1, None, UNKNOWN)],
            None,
            &[1],
            EligibleTier::LastResort,
        ),
        ("nobody", &[(1, 1, None, DOWN), (11, 1, None, DOWN)], None, &[], EligibleTier::Empty),
        (
            "near first",
            &[(1, 1, Some("y"), UP), (1, 1, Some("x"), UP), (1, 1, None, UP)],
            None,
            &[1, 2],
            two(1),
        ),
        (
            "far before the next priority",
            &[(1, 1, Some("x"), DOWN), (1, 1, Some("y"), UP), (2, 1, Some("x"), UP)],
            None,
            &[1],
            two(1),
        ),
        (
            "far helps near when little is left",
            &[(1, 4, Some("x"), DOWN), (1, 1, Some("x"), UP), (1, 1, Some("y"), UP)],
            Some(30),
            &[1, 2],
            two(1),
        ),
    ]
}

// Rows: Z11
#[test]
fn rows() {
    for (case, given, spill, want, tier) in [priorities(), reserves_and_places()].concat() {
        let view = pool_view(given, spill, Some("x"), AllDownPolicy::Refuse);
        assert_eq!(turn(&view), (want.to_vec(), tier), "{case}");
    }
}

// Rows: I15
#[test]
fn all_down_is_everybody_enabled() {
    let given = [(1, 1, None, DOWN), (2, 1, None, DOWN), (10, 1, None, ServerState::Disabled)];
    let spread = pool_view(&given, None, None, AllDownPolicy::Spread);
    assert_eq!(turn(&spread), (vec![0, 1], EligibleTier::AllDown));
    assert_eq!(
        turn(&pool_view(&given, None, None, AllDownPolicy::Refuse)),
        (vec![], EligibleTier::Empty)
    );
}

#[test]
fn every_policy_keeps_to_the_turn_and_gives_back() {
    let given = [(1, 2, None, UP), (1, 1, None, UP), (10, 1, None, UP)];
    for balance in POLICIES {
        let mut view = pool_view(&given, None, None, AllDownPolicy::Refuse);
        view.config = Arc::new(PoolConfig { balance, ..(*view.config).clone() });
        let mut chooser = ServerPicker::new(&view, 3);
        let mut rng = Rng::new(3);
        let mut chosen = |view: &PoolView, chooser: &mut ServerPicker| {
            let picks = (0..64).map(|number| pick(chooser, view, number << 12, &mut rng));
            let backup = picks.map(|choice| usize::from(choice == PickResult::Server(2)));
            backup.sum::<usize>()
        };
        assert_eq!(chosen(&view, &mut chooser), 0, "{balance:?}");
        view.servers[0].state = DOWN;
        view.servers[1].state = DOWN;
        chooser.refresh(&view);
        assert_eq!(chosen(&view, &mut chooser), 64, "{balance:?}");
        view.servers[1].state = UP;
        chooser.refresh(&view);
        assert_eq!(chosen(&view, &mut chooser), 0, "{balance:?}");
    }
}

/// The servers, those that were tried, and who may take the retry.
type BackupRow<'a> = (&'a [RankedServer], &'a [u32], &'a [usize]);

/// Each server that a retry with `retry.backup` goes to.
fn retried(view: &mut PoolView, balance: BalancePolicy, backup: bool, tried: &[u32]) -> Vec<usize> {
    let mut config = PoolConfig { balance, ..(*view.config).clone() };
    config.retry.backup = backup;
    view.config = Arc::new(config);
    let tried: Vec<ServerId> = tried.iter().copied().map(ServerId).collect();
    let mut chooser = ServerPicker::new(view, 3);
    let mut rng = Rng::new(3);
    let picks =
        (0..64).map(|number| pick_after(&mut chooser, view, number << 12, &tried, &mut rng));
    let mut found: Vec<usize> = picks
        .map(|choice| match choice {
            PickResult::Server(at) => at,
            other => panic!("{other:?}"),
        })
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn retries_go_to_the_next_priority_once_all_before_were_tried() {
    let rows: [BackupRow<'_>; 7] = [
        (&[(1, 1, None, UP), (1, 1, None, UP), (10, 1, None, UP)], &[0], &[1]),
        (&[(1, 1, None, UP), (1, 1, None, UP), (10, 1, None, UP)], &[0, 1], &[2]),
        (&[(1, 1, None, UP), (2, 1, None, UP), (2, 3, None, UP), (10, 1, None, UP)], &[0], &[1, 2]),
        (&[(1, 1, None, UP), (2, 1, None, DOWN), (10, 1, None, UP), (11, 1, None, UP)], &[0], &[2]),
        (&[(1, 1, None, UP), (10, 0, None, UP), (11, 1, None, UP)], &[0], &[2]),
        (&[(1, 1, None, UP), (2, 1, None, UNKNOWN), (10, 1, None, UP)], &[0], &[2]),
        (&[(1, 1, None, UP), (1, 1, Some("y"), UP), (10, 1, None, UP)], &[0], &[1]),
    ];
    for (given, tried, want) in rows {
        for balance in POLICIES {
            let mut view = pool_view(given, None, Some("x"), AllDownPolicy::Refuse);
            assert_eq!(retried(&mut view, balance, true, tried), want, "{given:?} {balance:?}");
            let first: Vec<usize> = turn(&view).0;
            let without = retried(&mut view, balance, false, tried);
            assert!(without.iter().all(|at| first.contains(at)), "{given:?} {balance:?}");
        }
    }
}

#[test]
fn a_full_backup_is_waited_for() {
    let given = [(1, 1, None, UP), (10, 1, None, UP)];
    let mut view = pool_view(&given, None, None, AllDownPolicy::Refuse);
    let mut config = (*view.config).clone();
    config.retry.backup = true;
    view.config = Arc::new(config);
    let capped = ServerConfig { connections: Some(1), ..(*view.servers[1].config).clone() };
    view.servers[1].config = Arc::new(capped);
    view.servers[1].stats.in_flight.increment();
    let mut chooser = ServerPicker::new(&view, 3);
    let choice = pick_after(&mut chooser, &view, 1, &[ServerId(0)], &mut Rng::new(3));
    assert_eq!(choice, PickResult::AllAtCap);
}
