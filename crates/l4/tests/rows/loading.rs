//! Pins and versions: what runs is taken over, another ABI is refused, and removal leaves nothing.

use bpf::{Home, LoadError};
use l4::abi::{Method, Outcome};
use l4::{OpenError, Plane, Sizes};

use super::packet::{ACK, Packet, SYN, TCP, tcp};
use super::world::{TX, World, link};

#[test]
fn connections_outlive_the_process_that_loaded() {
    let Some(world) = World::new() else { return };
    world.service(0, Method::Mac);
    world.listen("203.0.113.10", 80, TCP, 0);
    world.server(0, "10.0.0.1", 0);
    world.server(1, "10.0.0.2", 0);
    world.pool(0, &[0]);
    let syn = tcp("192.0.2.7:4000", "203.0.113.10:80", SYN);
    world.expect("SYN", &syn.bytes(), Outcome::Forwarded, TX);
    world.pool(0, &[1]);
    let home = Home::open(&world.place().join("home")).unwrap();
    let larger = Sizes { flows: 1 << 14, ..Sizes::default() };
    let again = Plane::open(&home, &larger, false).unwrap();
    assert!(again.adopted());
    assert_eq!(again.flows.capacity(), world.plane.flows.capacity(), "tables keep their size");
    let ack = Packet { flags: ACK, ..syn };
    let trial = again.program().unwrap().trial(&ack.bytes(), 0, 1).unwrap();
    assert_eq!(trial.packet[..6], link(0), "the flow is known");
}

#[test]
fn another_abi_is_refused_or_replaced() {
    let Some(world) = World::new() else { return };
    let home = Home::open(&world.place().join("home")).unwrap();
    let program = |fingerprint, replace| {
        let object: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/decap.bpf.o"));
        let sizes = &[];
        let tenant = l4::plane::TENANT;
        bpf::Program { tenant, object, version: 1, fingerprint, sizes, only: &[], replace }
    };
    let refused = bpf::load(&home, &program(7, false)).unwrap_err();
    assert!(matches!(refused, LoadError::Abi { .. }), "{refused:?}");
    assert!(refused.to_string().contains("steelyard stop"), "{refused}");
    let replaced = bpf::load(&home, &program(7, true)).unwrap();
    assert!(!replaced.adopted);
    let refused = Plane::open(&home, &Sizes::default(), false).unwrap_err();
    assert!(matches!(refused, OpenError::Load(LoadError::Abi { .. })), "{refused:?}");
    home.clear().unwrap();
    assert!(!home.root().exists());
}

#[test]
fn a_place_for_pins_must_be_one() {
    let plain = std::env::temp_dir().join(format!("steelyard-plain-{}", std::process::id()));
    let refused = Home::open(&plain).unwrap_err().to_string();
    let _ = std::fs::remove_dir(&plain);
    let says = ["BPF file system", "CAP_BPF", "CAP_NET_ADMIN", "type information"];
    assert!(says.iter().any(|words| refused.contains(words)), "{refused}");
}

#[test]
fn every_outcome_is_in_some_row() {
    let rows = [
        include_str!("capacity.rs"),
        include_str!("choosing.rs"),
        include_str!("errors.rs"),
        include_str!("fragments.rs"),
        include_str!("guards.rs"),
        include_str!("mac.rs"),
        include_str!("malformed.rs"),
        include_str!("nat.rs"),
        include_str!("tunnel.rs"),
    ];
    // The kernel refuses to shrink a packet only when it has fewer bytes than were just read from it.
    let unreachable = [Outcome::ResizeFailed];
    for outcome in Outcome::ALL {
        let named = format!("Outcome::{outcome:?}");
        let found = rows.iter().any(|text| text.contains(&named));
        assert_eq!(found, !unreachable.contains(&outcome), "{named}");
    }
}
