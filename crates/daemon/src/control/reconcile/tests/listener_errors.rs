//! Errors of addresses that cannot be bound.

use super::{ReconcileWorld, TWO, at};

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
