//! Many workers, each with its own picker, on one pool: their joint effect.

use model::config::BalancePolicy;
use model::load_balancing::{PickResult, Rng, ServerPicker};
use model::snapshot::ServerState;

use super::{pick, view::pool};

struct ChoosingWorker {
    chooser: ServerPicker,
    rng: Rng,
}

fn workers(view: &model::snapshot::PoolView, count: u64) -> Vec<ChoosingWorker> {
    (0..count)
        .map(|seed| ChoosingWorker { chooser: ServerPicker::new(view, seed), rng: Rng::new(seed) })
        .collect()
}

#[test]
fn workers_that_start_together_do_not_visit_servers_together() {
    for weights in [vec![1; 64], vec![2; 64], (0..64).map(|at| 1 + at % 4).collect()] {
        let view = pool(BalancePolicy::RoundRobin, &weights);
        let mut workers = workers(&view, 64);
        let mut worst = 0;
        for _ in 0..64 {
            let mut hits = [0u32; 64];
            for worker in &mut workers {
                let PickResult::Server(at) = pick(&mut worker.chooser, &view, 0, &mut worker.rng)
                else {
                    panic!()
                };
                hits[at] += 1;
            }
            worst = worst.max(hits.into_iter().max().unwrap());
        }
        // In step it would be 64; 64 balls into 64 bins by chance have 4 or 5 in the fullest.
        assert!(worst <= 12, "{worst} workers at one server in one step, weights {weights:?}");
    }
}

#[test]
fn a_server_that_comes_back_is_not_everybodys_next() {
    let mut view = pool(BalancePolicy::RoundRobin, &[1; 32]);
    view.servers[9].state = ServerState::Down;
    let mut workers = workers(&view, 64);
    for worker in &mut workers {
        for _ in 0..50 {
            pick(&mut worker.chooser, &view, 0, &mut worker.rng);
        }
    }
    view.servers[9].state = ServerState::Up;
    let mut hits = 0;
    for worker in &mut workers {
        worker.chooser.refresh(&view);
        hits += u32::from(
            pick(&mut worker.chooser, &view, 0, &mut worker.rng) == PickResult::Server(9),
        );
    }
    assert!(hits <= 8, "{hits} of 64");
}

/// A seeded run of random events: exchanges start and end on many workers, servers change state and weight. Every pick
/// is eligible at that moment, shared counters never exceed a limit, and no pick fails while a server has room.
fn run(seed: u64, balance: BalancePolicy) {
    let mut rng = Rng::new(seed);
    let mut view = pool(balance, &[1, 2, 3, 4, 5, 6, 7, 8]);
    for server in &mut view.servers {
        let mut config = (*server.config).clone();
        config.connections = Some(5);
        server.config = config.into();
    }
    let mut workers = workers(&view, 5);
    let mut flying: Vec<usize> = Vec::new();
    for step in 0..4000u32 {
        match rng.below(10) {
            0 => {
                let at = rng.below(8) as usize;
                let states =
                    [ServerState::Up, ServerState::Down, ServerState::Unknown, ServerState::Drain];
                view.servers[at].state = states[rng.below(4) as usize];
                workers.iter_mut().for_each(|worker| worker.chooser.refresh(&view));
            }
            1..=4 if !flying.is_empty() => {
                let ended = flying.swap_remove(rng.below(flying.len() as u64) as usize);
                view.servers[ended].stats.in_flight.decrement();
            }
            _ => {
                let worker = &mut workers[rng.below(5) as usize];
                let up = view.servers.iter().filter(|server| server.state == ServerState::Up);
                let room = up.clone().any(|server| server.stats.in_flight.get() < 5);
                let any_up = up.count() > 0;
                match pick(&mut worker.chooser, &view, step, &mut worker.rng) {
                    PickResult::Server(at) => {
                        let server = &view.servers[at];
                        let fits = [ServerState::Up, ServerState::Unknown].contains(&server.state);
                        assert!(
                            fits && (!any_up || server.state == ServerState::Up),
                            "seed {seed}"
                        );
                        assert!(server.stats.in_flight.increment() <= 5, "seed {seed}");
                        flying.push(at);
                    }
                    PickResult::AllAtCap | PickResult::None => {
                        assert!(!room, "seed {seed} step {step}")
                    }
                }
            }
        }
    }
}

#[test]
fn random_events_keep_the_rules() {
    // `source` is `maglev` with a table that is slow to rebuild for each event.
    for seed in 0..4 {
        for balance in &super::POLICIES[..super::POLICIES.len() - 1] {
            run(seed, *balance);
        }
    }
}
