//! Errors of addresses that cannot be bound.

use super::{ReconcileWorld, RecordedCall, TWO, at};
use crate::util::listeners::DescriptorUse;

#[test]
fn every_address_that_cannot_be_had_is_named() {
    let mut world = ReconcileWorld::new(TWO);
    let ports = [8_011, 8_012, 8_013];
    for port in &ports[..2] {
        world.fake.occupy_address(at(&format!("127.0.0.1:{port}")));
    }
    let list = ports.map(|port| format!("\"127.0.0.1:{port}\"")).join(", ");
    let more = format!(
        "{TWO}[service.more]\nlisten = [{list}]\nforward = \"tcp\"\npool = \"{}\"\n",
        world.book.pools.keys().next().unwrap()
    );
    let refused = world.change(&more).unwrap_err().to_string();
    for port in ports {
        let named = refused.contains(&format!("cannot listen on 127.0.0.1:{port}"));
        assert_eq!(named, port != 8_013, "{refused}");
    }
    assert!(!world.book.listeners.contains_key(&at("127.0.0.1:8013")), "all or nothing");
}

#[test]
fn too_few_descriptors_are_said_once_before_anything_is_opened() {
    let pool = "\n[pool.web]\nservers = [\"127.0.0.1:9001\"]\n";
    let service = |port: usize| {
        format!(
            "[service.s{port}]\nlisten = [\"127.0.0.1:{port}\"]\nforward = \"tcp\"\npool = \"web\"\n"
        )
    };
    let first = service(8_000) + pool;
    let mut world = ReconcileWorld::new(&first);
    let many: String = (8_000..8_300).map(service).collect::<String>() + pool;
    // 299 new addresses on two workers.
    world.fake.set_descriptors(DescriptorUse { limit: 1_000, open: 403 });
    let refused = world.change(&many).unwrap_err().to_string();
    for words in ["598 listening sockets", "299 addresses", "597 descriptors more of its 1000"] {
        assert!(refused.contains(words), "{words}: {refused}");
    }
    assert!(refused.contains("LimitNOFILE=") && refused.contains("global.workers"), "{refused}");
    assert!(refused.lines().count() == 1, "{refused}");
    let is_bind = |call: &RecordedCall| matches!(call, RecordedCall::Bind(..));
    assert!(!world.fake.take_calls().iter().any(is_bind));
    world.fake.set_descriptors(DescriptorUse { limit: 1_000, open: 402 });
    world.change(&many).unwrap();
}
