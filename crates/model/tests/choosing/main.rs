//! The results of each policy with servers that are equal, unequal, slow or failing, from low load to overload; the
//! guide must show exactly these figures.

#![allow(clippy::unwrap_used, reason = "a test says what it expected and stops")]

mod page;
mod plot;
mod scenes;
mod simulation;
#[path = "../support/view.rs"]
mod view;

use std::path::PathBuf;

use scenes::{LOADS, POLICIES, SCENES};
use simulation::{PolicyOutcome, PolicySetup, run};

/// Exchanges of each cell of the guide.
const EXCHANGES: u32 = 16_000;
/// Clients in the guide: few enough that hashes over them differ, as they do.
const CLIENTS: u64 = 1_000;
/// The place of the figures in the guide.
const MARKS: (&str, &str) = ("<!-- figures -->\n\n", "<!-- end of figures -->\n");

/// One policy in one scene.
pub struct PolicyRow {
    policy: &'static str,
    cells: Vec<PolicyOutcome>,
}

fn docs(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides").join(name)
}

fn figures() -> Vec<(&'static str, Vec<PolicyRow>)> {
    let row = |scene, balance: model::config::BalancePolicy| {
        let cell = |load: &u32| {
            let load = f64::from(*load) / 100.0;
            run(&PolicySetup { scene, balance, load, exchanges: EXCHANGES, clients: CLIENTS })
        };
        PolicyRow { policy: balance.name(), cells: LOADS.iter().map(cell).collect() }
    };
    let rows = |scene| POLICIES.iter().map(|balance| row(scene, *balance)).collect();
    SCENES.iter().map(|scene| (scene.name, rows(scene))).collect()
}

#[test]
fn the_guide_shows_what_the_simulation_says() {
    let figures = figures();
    let page = docs("which-policy-when.md");
    let plot = docs("which-policy-when.svg");
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(MARKS.0).unwrap();
    let (_, after) = rest.split_once(MARKS.1).unwrap();
    let text = [before, MARKS.0, &page::tables(&figures), MARKS.1, after].concat();
    let svg = plot::svg(&figures);
    for (path, fresh) in [(page, text), (plot, svg)] {
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(&path, &fresh).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == fresh, "{} is stale: run with UPDATE_EXPECT=1", path.display());
    }
}

#[test]
fn of_identical_servers_each_has_its_fair_share_under_every_policy() {
    for balance in POLICIES {
        let exchanges = 30_000;
        let clients = 20_000;
        let setup = PolicySetup { scene: &SCENES[0], balance, load: 0.7, exchanges, clients };
        let given = run(&setup).given;
        let fair = given.iter().sum::<u64>() as f64 / given.len() as f64;
        for (server, given) in given.iter().enumerate() {
            let part = *given as f64 / fair;
            assert!((0.85..=1.15).contains(&part), "{}: {server} has {part:.3}", balance.name());
        }
    }
}

#[test]
fn a_seed_is_a_run() {
    let setup = |load| PolicySetup {
        scene: &SCENES[2],
        balance: model::config::BalancePolicy::Prequal,
        load,
        exchanges: 2_000,
        clients: CLIENTS,
    };
    assert_eq!(run(&setup(0.9)).given, run(&setup(0.9)).given);
    assert_ne!(run(&setup(0.9)).given, run(&setup(0.7)).given);
}
