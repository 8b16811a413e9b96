//! Scenarios of tunnels: `tcp` services and upgrades, with every way to end, at servers some of which are dead.

use std::time::Duration;

use model::cause::Cause;
use model::config::ForwardingMode;
use model::id::ServiceId;
use model::load_balancing::Rng;

use super::harness::{WorkerHarness, addresses, seeds, setting};
use super::tunnel_peer::{TunnelEnd, TunnelPeer, TunnelPlan, TunnelPlans, TunnelRecord};
use super::world::ConnectReaction;

fn plan(rng: &mut Rng) -> TunnelPlan {
    let mut size = || [0, 1, 900, 40_000, 150_000][rng.below(5) as usize];
    let sends = [size(), size()];
    let mut end = |sends: u64| match rng.below(8) {
        0..4 => TunnelEnd::Own,
        4 | 5 => TunnelEnd::After,
        6 => TunnelEnd::Reset(rng.below(sends + 1) as usize),
        _ => TunnelEnd::Never,
    };
    TunnelPlan { ends: [end(sends[0]), end(sends[1])], sends, reads: [true; 2] }
}

/// Checks the result of a plan in which both sides read.
fn check_records(seed: u64, id: u64, plan: &TunnelPlan, records: &[TunnelRecord; 2]) {
    let context = format!("seed {seed}: tunnel {id}, {plan:?}: {records:?}");
    let resets = plan.ends.iter().any(|end| matches!(end, TunnelEnd::Reset(_)));
    let orderly =
        plan.ends.contains(&TunnelEnd::Own) && !resets && !plan.ends.contains(&TunnelEnd::Never);
    let unheard = records[0].reset && records[1] == TunnelRecord::default();
    for (side, records) in records.iter().enumerate() {
        if unheard && side == 1 {
            continue;
        }
        assert!(!records.wrong, "{context}");
        let theirs = plan.sends[1 - side];
        assert!(records.got <= theirs, "{context}");
        assert!(resets || records.got == theirs, "{context}");
        assert_eq!(orderly, records.ended && !records.broken && !records.reset, "{context}");
        // No side takes a truncated stream for complete, and no side waits forever.
        assert!(orderly || records.broken || records.reset, "{context}");
    }
}

fn tunnels(seed: u64, upgrade: bool) {
    let mut rng = Rng::new(seed);
    let addresses = addresses(3);
    let forward = if upgrade { ForwardingMode::Http } else { ForwardingMode::Tcp };
    let snapshot = setting(&addresses, |service| service.forward = forward, |_| (), |_| ());
    let stage = WorkerHarness::new(seed, 512 + rng.below(60_000) as usize, snapshot);
    let plans = TunnelPlans::default();
    let dead = [
        ConnectReaction::Refuses,
        ConnectReaction::RefusesAtOnce,
        ConnectReaction::Breaks,
        ConnectReaction::Silent,
    ];
    let dead = dead.get(seed as usize % 5);
    dead.into_iter().for_each(|reach| stage.sim.reach(addresses[0], *reach));
    for address in addresses.iter().skip(usize::from(dead.is_some())) {
        let plans = plans.clone();
        stage.serve(*address, move || TunnelPeer::server(plans.clone(), upgrade));
    }
    let door = stage.open(ServiceId(0));
    for id in 0..10 {
        plans.borrow_mut().insert(id, (plan(&mut rng), [TunnelRecord::default(); 2]));
        let delay = Duration::from_micros(rng.below(1_000_000));
        stage.client(&door, id, delay, TunnelPeer::client(plans.clone(), upgrade, id));
    }
    stage.pass(Duration::from_secs(2), |_| ());
    stage.until(|| stage.connections() == 0);
    // Resets and ends are still in flight to the peers.
    stage.pass(Duration::from_secs(1), |_| ());
    for (id, (plan, records)) in plans.borrow().iter() {
        check_records(seed, *id, plan, records);
    }
    let plans = plans.borrow();
    let resets =
        |side: usize| plans.values().filter(|(_, records)| records[side].reset).count() as u64;
    let idle = |plan: &TunnelPlan| {
        let [client, server] = plan.ends;
        let resets = matches!(client, TunnelEnd::Reset(_)) || matches!(server, TunnelEnd::Reset(_));
        !resets && (!plan.ends.contains(&TunnelEnd::Own) || plan.ends.contains(&TunnelEnd::Never))
    };
    let idle = plans.values().filter(|(plan, _)| idle(plan)).count() as u64;
    assert_eq!(stage.cause_count(Cause::TunnelIdle), idle, "seed {seed}: {plans:?}");
    let client = stage.cause_count(Cause::ClientReset);
    let server = stage.cause_count(Cause::ServerReset);
    assert!(client <= resets(0) && server <= resets(1), "seed {seed}: {client} {server} {plans:?}");
    let either =
        plans.values().filter(|(_, records)| records[0].reset || records[1].reset).count() as u64;
    assert_eq!(client + server, either, "seed {seed}: {plans:?}");
    drop(plans);
    stage.finish();
}

#[test]
fn tcp_tunnels_carry_all_bytes_and_every_way_to_end() {
    seeds(25).for_each(|seed| tunnels(seed, false));
}

#[test]
fn upgraded_connections_carry_all_bytes_and_every_way_to_end() {
    seeds(25).for_each(|seed| tunnels(seed, true));
}

/// When the server's window and the balancer's buffer are full, no byte moves: the reset must be detected nevertheless.
#[test]
fn a_reset_ends_a_tunnel_whose_other_side_does_not_read() {
    for (resetting, cause) in [(0, Cause::ClientReset), (1, Cause::ServerReset)] {
        let addresses = addresses(1);
        let tcp =
            |service: &mut model::config::ServiceConfig| service.forward = ForwardingMode::Tcp;
        let stage = WorkerHarness::new(1, 4096, setting(&addresses, tcp, |_| (), |_| ()));
        let plans = TunnelPlans::default();
        let mut plan = TunnelPlan { sends: [0; 2], ends: [TunnelEnd::Never; 2], reads: [true; 2] };
        plan.sends[resetting] = 200_000;
        plan.ends[resetting] = TunnelEnd::Reset(6_000);
        plan.reads[1 - resetting] = false;
        plans.borrow_mut().insert(7, (plan, [TunnelRecord::default(); 2]));
        let servers = plans.clone();
        stage.serve(addresses[0], move || TunnelPeer::server(servers.clone(), false));
        let door = stage.open(ServiceId(0));
        stage.client(&door, 7, Duration::ZERO, TunnelPeer::client(plans.clone(), false, 7));
        stage.pass(Duration::from_secs(3), |_| ());
        assert_eq!((stage.cause_count(cause), stage.connections()), (1, 0), "{:?}", plans.borrow());
        stage.finish();
    }
}
