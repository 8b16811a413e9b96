//! Property: after any history the maps equal those of the last snapshot alone. After every single write a packet finds
//! valid entries.

use super::maps::SimulatedMaps;
use super::pictures::{PlannerFixture, pool, service};
use model::snapshot::ServerState;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// One service of a snapshot.
#[derive(Clone, Debug)]
struct RandomService {
    forward: usize,
    listen: usize,
    servers: Vec<(u8, u8)>,
    keys: usize,
    balance: usize,
    rule: bool,
}

const FORWARDS: [&str; 3] = ["mac", "tunnel", "nat"];
const LISTENS: [&str; 5] = [
    "203.0.113.NN:80",
    "203.0.113.NN:80,81",
    "203.0.113.NN:*",
    "203.0.113.NN:1000-2000",
    "[2001:db8::NN]:80",
];
const KEYS: [&str; 5] = [
    "",
    "protocol = [\"tcp\", \"udp\"]",
    "sticky = \"10m\"",
    "guard = { deny = [\"192.0.2.0/24\"], syn-rate = 9 }",
    "guard = { ban = \"1m\", source = { connections = 3, syn-rate = 2 } }",
];
const BALANCES: [&str; 3] =
    ["", "balance = { by = \"maglev\", size = 251 }", "balance = \"source\""];

fn one() -> impl Strategy<Value = RandomService> {
    let servers = proptest::collection::vec((1u8..6, 1u8..4), 1..4);
    (0..FORWARDS.len(), 0..LISTENS.len(), servers, 0..KEYS.len(), 0..BALANCES.len(), any::<bool>())
        .prop_map(|(forward, listen, mut servers, keys, balance, rule)| {
            servers.sort_unstable();
            servers.dedup_by_key(|(address, _)| *address);
            RandomService { forward, listen, servers, keys, balance, rule }
        })
}

/// Up to three services that appear, vanish and change; some of their servers are not up.
type RandomConfig = (Vec<Option<RandomService>>, Vec<(u8, usize)>);

fn picture() -> impl Strategy<Value = RandomConfig> {
    let services = proptest::collection::vec(proptest::option::weighted(0.8, one()), 3);
    (services, proptest::collection::vec((1u8..6, 0usize..4), 0..3))
}

fn text((services, _): &RandomConfig) -> String {
    let mut out = String::from("[packets]\nreturn = [\"10.0.0.254\", \"fd00::fe\"]\n");
    for (at, one) in services.iter().enumerate() {
        let Some(one) = one else { continue };
        let name = format!("s{at}");
        let v6 = LISTENS[one.listen].starts_with('[');
        let forward = FORWARDS[one.forward];
        let address = |address: u8| {
            if v6 { format!("[fd00::{address}]:80") } else { format!("10.0.0.{address}:80") }
        };
        let servers: Vec<String> =
            one.servers.iter().map(|(ip, weight)| format!("{}*{weight}", address(*ip))).collect();
        let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
        let listen = LISTENS[one.listen].replace("NN", &(10 + at).to_string());
        let rule = format!("rule = [{{ when = {{ tos = 8 }}, pool = \"{name}-night\" }}]");
        let keys = format!("{}\n{}", KEYS[one.keys], if one.rule { rule.as_str() } else { "" });
        out += &service(&name, forward, &listen, &keys);
        out += &pool(&name, &servers, BALANCES[one.balance]);
        if one.rule {
            out += &pool(&format!("{name}-night"), &[&address(9)], "");
        }
    }
    out
}

fn state(bench: &mut PlannerFixture, (_, states): &RandomConfig) {
    let all = [ServerState::Down, ServerState::Drain, ServerState::Disabled, ServerState::Unknown];
    bench.states = states
        .iter()
        .flat_map(|(ip, state)| {
            let v4 = format!("10.0.0.{ip}:80").parse().unwrap();
            let v6 = format!("[fd00::{ip}]:80").parse().unwrap();
            [(v4, all[*state]), (v6, all[*state])]
        })
        .collect();
}

/// As many cases as a long run gets.
const MOST: u32 = 500;

#[test]
fn only_the_last_snapshot_counts() {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    // Everything is looked at after every single write, which costs a second or two for each case.
    let mut runner = TestRunner::new(Config::with_cases(cases.unwrap_or(10).min(MOST)));
    let pictures = proptest::collection::vec((picture(), 0u8..3), 1..6);
    runner
        .run(&pictures, |pictures| {
            let mut bench = PlannerFixture::new();
            let mut maps = SimulatedMaps::default();
            for (picture, sweeps) in &pictures {
                state(&mut bench, picture);
                maps.apply(&bench.change(&text(picture)).writes);
                for _ in 0..*sweeps {
                    maps.apply(&bench.sweep(&[], &[]).0);
                }
            }
            for _ in 0..2 {
                maps.apply(&bench.sweep(&[], &[]).0);
            }
            let last = &pictures.last().unwrap().0;
            let mut fresh = PlannerFixture::new();
            let mut alone = SimulatedMaps::default();
            state(&mut fresh, last);
            alone.apply(&fresh.change(&text(last)).writes);
            prop_assert_eq!(maps.resolved(), alone.resolved());
            // So they do after a restart in between.
            let mut next = PlannerFixture::new();
            let mut after = maps.clone();
            next.planner.recover(maps.found());
            state(&mut next, last);
            after.apply(&next.change(&text(last)).writes);
            prop_assert_eq!(after.resolved(), alone.resolved());
            Ok(())
        })
        .unwrap();
}
