//! Pins and versions: a running plane is adopted, another ABI is rejected, and removal leaves nothing.

use bpf::{LoadError, MapEntryCount, PinDirectory};
use l4::abi::{Method, Outcome};
use l4::{DatapathError, PacketDatapath, TableSizes};

use super::packet::{ACK, SYN, TCP, TestPacket, tcp};
use super::world::{DatapathTestbed, TX, link};

#[test]
fn connections_outlive_the_process_that_loaded() {
    let Some(world) = DatapathTestbed::pinned() else { return };
    world.service(0, Method::Mac);
    world.listen("203.0.113.10", 80, TCP, 0);
    world.server(0, "10.0.0.1", 0);
    world.server(1, "10.0.0.2", 0);
    world.pool(0, &[0]);
    let syn = tcp("192.0.2.7:4000", "203.0.113.10:80", SYN);
    world.expect("SYN", &syn.bytes(), Outcome::Forwarded, TX);
    world.pool(0, &[1]);
    let home = PinDirectory::open(&world.place().join("home")).unwrap();
    let larger = TableSizes { flows: 1 << 14, ..TableSizes::default() };
    let reopened = PacketDatapath::open(&home, &larger, false).unwrap();
    assert!(reopened.is_adopted());
    assert_eq!(reopened.flows.capacity(), world.plane.flows.capacity(), "tables keep their size");
    let ack = TestPacket { flags: ACK, ..syn };
    let trial = reopened.program().unwrap().test_run(&ack.bytes(), 0, 1).unwrap();
    assert_eq!(trial.packet[..6], link(0), "the flow is known");
}

#[test]
fn another_abi_is_refused_or_replaced() {
    let Some(world) = DatapathTestbed::pinned() else { return };
    let home = PinDirectory::open(&world.place().join("home")).unwrap();
    let program = |fingerprint, replace| {
        let object: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/decap.bpf.o"));
        let sizes = &[];
        let tenant = l4::datapath::TENANT;
        bpf::ProgramSpec { tenant, object, version: 1, fingerprint, sizes, only: &[], replace }
    };
    let refused = bpf::load(&home, &program(7, false)).unwrap_err();
    assert!(matches!(refused, LoadError::Abi { .. }), "{refused:?}");
    assert!(refused.to_string().contains("steelyard stop"), "{refused}");
    let replaced = bpf::load(&home, &program(7, true)).unwrap();
    assert!(!replaced.adopted);
    let refused = PacketDatapath::open(&home, &TableSizes::default(), false).unwrap_err();
    assert!(matches!(refused, DatapathError::Load(LoadError::Abi { .. })), "{refused:?}");
    home.clear().unwrap();
    assert!(!home.root().exists());
}

#[test]
fn a_place_for_pins_must_be_one() {
    let room = files::TemporaryDir::new("plain").unwrap();
    let plain = room.path().join("pins");
    let refused = PinDirectory::open(&plain).unwrap_err().to_string();
    let says = ["BPF file system", "CAP_BPF", "CAP_NET_ADMIN", "type information"];
    assert!(says.iter().any(|words| refused.contains(words)), "{refused}");
}

/// The kernel's figure for a map's memory in bytes.
fn taken(path: &std::path::Path) -> u64 {
    use std::os::fd::{AsFd, AsRawFd};
    let map = libbpf_rs::MapHandle::from_pinned_path(path).unwrap();
    let info = format!("/proc/self/fdinfo/{}", map.as_fd().as_raw_fd());
    let info = std::fs::read_to_string(info).unwrap();
    let line = info.lines().find_map(|line| line.strip_prefix("memlock:")).unwrap();
    line.trim().parse().unwrap()
}

#[test]
fn the_memory_that_is_stated_is_what_the_kernel_takes() {
    let sizes = TableSizes { flows: 1 << 16, records: 1 << 16, ..TableSizes::default() };
    let Some(world) = DatapathTestbed::sized(&sizes) else { return };
    let maps = std::fs::read_dir(world.place().join("home/balance/maps")).unwrap();
    let sum: u64 = maps.map(|map| taken(&map.unwrap().path())).sum();
    let stated = sizes.memory_bytes();
    assert!(sum.abs_diff(stated) <= stated / 10, "{stated} bytes are stated, {sum} are taken");
    for MapEntryCount { map, entries } in sizes.entries() {
        assert_eq!(world.plane.sizes()[map], entries, "{map}");
    }
    // The configuration reference contains the bytes of a connection.
    let reference = include_str!("../../../../docs/reference/configuration.md");
    let flows = format!("about {} bytes for each", l4::map_sizes::FLOW_BYTES);
    let records = format!("{} for each of the second", l4::map_sizes::RECORD_BYTES);
    assert!(reference.contains(&flows) && reference.contains(&records));
}

#[test]
fn tables_that_do_not_fit_say_what_to_lower() {
    let Some(world) = DatapathTestbed::pinned() else { return };
    let home = PinDirectory::open(&world.place().join("large")).unwrap();
    let object: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lb.bpf.o"));
    let refused = bpf::load(
        &home,
        &bpf::ProgramSpec {
            tenant: l4::datapath::TENANT,
            object,
            version: 1,
            fingerprint: 1,
            sizes: &[MapEntryCount { map: "flows", entries: u32::MAX }],
            only: &["balance", "errors"],
            replace: false,
        },
    );
    let refused = refused.unwrap_err();
    assert!(matches!(refused, LoadError::Kernel { .. }), "{refused:?}");
    let message = refused.to_string();
    assert!(message.contains("flows") && message.contains("lower `flows`"), "{message}");
    assert!(!message.contains('\n'), "{message}");
}
