//! Rows and properties of the plan.

use proptest::prelude::*;

use super::*;
use crate::steering::snapshot::{CpuPlacement, DeviceChannels, QueueInterrupt, ReceiveQueue};

const ENDS: SteeringGoal = SteeringGoal { terminates_connections: true };
const FORWARDS: SteeringGoal = SteeringGoal { terminates_connections: false };

fn processors(count: u32) -> Vec<CpuPlacement> {
    (0..count).map(|number| CpuPlacement { number, node: 0, core: number }).collect()
}

fn interface(queues: usize) -> InterfaceQueues {
    InterfaceQueues {
        name: "eth0".to_owned(),
        receive: vec![ReceiveQueue::default(); queues],
        send: vec![Some(CpuMask::default()); queues],
        ..InterfaceQueues::default()
    }
}

fn snapshot(count: u32, one: InterfaceQueues) -> SteeringSnapshot {
    let processors = processors(count);
    SteeringSnapshot { processors, interfaces: vec![one], socket_flows: Some(0), irqbalance: false }
}

fn commands(snapshot: &SteeringSnapshot, wanted: SteeringGoal) -> Vec<String> {
    plan_steering(snapshot, wanted).iter().map(|step| step.change.command()).collect()
}

// Rows: L13
#[test]
fn one_queue_on_four_processors_gets_rps_and_rfs() {
    let machine = snapshot(4, interface(1));
    assert_eq!(
        commands(&machine, ENDS),
        [
            "echo f > /sys/class/net/eth0/queues/rx-0/rps_cpus",
            "echo 32768 > /sys/class/net/eth0/queues/rx-0/rps_flow_cnt",
            "echo 32768 > /proc/sys/net/core/rps_sock_flow_entries",
        ]
    );
    assert_eq!(
        commands(&machine, FORWARDS),
        ["echo f > /sys/class/net/eth0/queues/rx-0/rps_cpus"],
        "no socket reads what is forwarded"
    );
}

#[test]
fn four_queues_on_eight_processors_share_the_flows() {
    let planned = commands(&snapshot(8, interface(4)), ENDS);
    assert!(
        planned.contains(&"echo 8192 > /sys/class/net/eth0/queues/rx-3/rps_flow_cnt".to_owned())
    );
    assert!(
        planned.contains(&"echo c > /sys/class/net/eth0/queues/tx-1/xps_cpus".to_owned()),
        "{planned:?}"
    );
}

#[test]
fn a_queue_for_each_processor_needs_no_rps() {
    let mut one = interface(2);
    one.receive[1].processors = CpuMask::from_iter([0, 1]);
    let planned = commands(&snapshot(2, one), ENDS);
    assert_eq!(
        planned,
        [
            "echo 0 > /sys/class/net/eth0/queues/rx-1/rps_cpus",
            "echo 1 > /sys/class/net/eth0/queues/tx-0/xps_cpus",
            "echo 2 > /sys/class/net/eth0/queues/tx-1/xps_cpus",
        ]
    );
}

#[test]
fn queues_that_the_device_has_come_first() {
    let mut one = interface(1);
    one.channels = Some(DeviceChannels { combined: true, now: 1, maximum: 16 });
    let steps = plan_steering(&snapshot(4, one), ENDS);
    assert_eq!(steps.len(), 1, "the others when the queues are there: {steps:?}");
    assert_eq!(steps[0].change.command(), "ethtool -L eth0 combined 4");
    assert_eq!(steps[0].change.clone().into_reverse().command(), "ethtool -L eth0 combined 1");
}

#[test]
fn a_table_that_leads_to_few_queues_is_made_even() {
    let mut one = interface(4);
    one.spread = vec![64, 64];
    let steps = plan_steering(&snapshot(4, one), ENDS);
    assert_eq!(steps[0].change.command(), "ethtool -X eth0 equal 4");
    assert_eq!(
        steps[0].change.clone().into_reverse().command(),
        "ethtool -X eth0 weight 64 64 0 0"
    );
}

#[test]
fn interrupts_are_placed_and_left_alone_when_placed() {
    let interrupt = |name: &str, at: &[u32]| QueueInterrupt {
        name: name.to_owned(),
        processors: at.iter().copied().collect(),
    };
    let mut one = interface(2);
    one.interrupts = [
        (30, interrupt("virtio0-config", &[0, 1])),
        (31, interrupt("virtio0-input.0", &[0, 1])),
        (32, interrupt("virtio0-output.0", &[0, 1])),
        (33, interrupt("virtio0-input.1", &[0])),
    ]
    .into();
    let planned = commands(&snapshot(2, one.clone()), ENDS);
    assert_eq!(
        planned[..3],
        [
            "echo 0 > /proc/irq/31/smp_affinity_list",
            "echo 0 > /proc/irq/32/smp_affinity_list",
            "echo 1 > /proc/irq/33/smp_affinity_list",
        ]
    );
    // The opposite assignment is equally good.
    one.interrupts =
        [(31, interrupt("virtio0-input.0", &[1])), (33, interrupt("virtio0-input.1", &[0]))].into();
    let planned = commands(&snapshot(2, one), ENDS);
    assert!(planned.iter().all(|one| !one.contains("/proc/irq")), "{planned:?}");
}

#[test]
fn what_xdp_forwards_in_the_driver_sees_no_rps() {
    let mut one = interface(1);
    one.xdp = Some(XdpPlacement::Driver);
    assert!(commands(&snapshot(4, one.clone()), FORWARDS).is_empty());
    assert_eq!(commands(&snapshot(4, one.clone()), ENDS).len(), 3, "what ends here passes by it");
    one.xdp = Some(XdpPlacement::Generic);
    assert_eq!(commands(&snapshot(4, one), FORWARDS).len(), 1, "after RPS");
}

#[test]
fn a_machine_with_one_processor_is_left_alone() {
    assert!(plan_steering(&snapshot(1, interface(4)), ENDS).is_empty());
}

fn machines() -> impl Strategy<Value = SteeringSnapshot> {
    let mask = proptest::collection::btree_set(0_u32..16, 0..5).prop_map(CpuMask::from_iter);
    let receive = (mask.clone(), 0_u64..40_000)
        .prop_map(|(processors, flows)| ReceiveQueue { processors, flows });
    let one = (
        proptest::collection::vec(receive, 1..10),
        proptest::collection::vec(proptest::option::of(mask.clone()), 0..10),
        proptest::collection::btree_map(20_u32..60, mask, 0..10),
        proptest::option::of(0_u32..3),
    );
    (2_u32..16, one, proptest::option::of(0_u64..60_000)).prop_map(
        |(count, (receive, send, irqs, node), socket_flows)| {
            let interrupts = irqs.into_iter().enumerate().map(|(queue, (number, processors))| {
                (number, QueueInterrupt { name: format!("eth0-TxRx-{queue}"), processors })
            });
            let one = InterfaceQueues {
                name: "eth0".to_owned(),
                node,
                receive,
                send,
                interrupts: interrupts.collect(),
                ..InterfaceQueues::default()
            };
            let mut processors = processors(count);
            for one in &mut processors {
                one.node = one.number % 2;
            }
            SteeringSnapshot { processors, interfaces: vec![one], socket_flows, irqbalance: false }
        },
    )
}

/// The machine after a file was written.
fn applied(mut snapshot: SteeringSnapshot, change: &SteeringChange) -> SteeringSnapshot {
    let SteeringChange::Write { file, to, .. } = change else { return snapshot };
    let one = &mut snapshot.interfaces[0];
    let number = |at: usize| -> usize {
        let part = file.split('/').nth(at).unwrap_or_default();
        part.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0)
    };
    let hex = || CpuMask::from_hex(to).unwrap_or_default();
    if file == SOCKET_FLOWS {
        snapshot.socket_flows = to.parse().ok();
    } else if file.ends_with("rps_cpus") {
        one.receive[number(6)].processors = hex();
    } else if file.ends_with("rps_flow_cnt") {
        one.receive[number(6)].flows = to.parse().unwrap_or(0);
    } else if file.ends_with("xps_cpus") {
        one.send[number(6)] = Some(hex());
    } else if let Some(interrupt) = one.interrupts.get_mut(&(number(3) as u32)) {
        interrupt.processors = CpuMask::from_list(to).unwrap_or_default();
    }
    snapshot
}

proptest! {
    #[test]
    fn a_plan_carried_out_leaves_nothing_to_plan_and_leads_back(start in machines(), ends: bool) {
        let wanted = SteeringGoal { terminates_connections: ends };
        let steps = plan_steering(&start, wanted);
        let done = steps.iter().fold(start.clone(), |at, step| applied(at, &step.change));
        prop_assert_eq!(plan_steering(&done, wanted), Vec::new());
        let back = steps.iter().rev().fold(done, |at, step| applied(at, &step.change.clone().into_reverse()));
        prop_assert_eq!(back, start);
    }

    #[test]
    fn no_step_names_a_processor_that_is_not_there(start in machines(), ends: bool) {
        let all = start.all_processors();
        for step in plan_steering(&start, SteeringGoal { terminates_connections: ends }) {
            let SteeringChange::Write { file, to, .. } = &step.change else { continue };
            let mask = if file.ends_with("_cpus") { CpuMask::from_hex(to) } else { CpuMask::from_list(to) };
            if !file.contains("flow") {
                prop_assert!(mask.is_ok_and(|mask| mask.iter().all(|one| all.contains(one))), "{:?}", step);
            }
        }
    }
}
