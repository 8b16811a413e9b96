//! Hashes of packets beside that of the client's address: of both ends of a connection, and of the frame's sender.

use l4::abi::{self, Choose};
use model::load_balancing::maglev::{MaglevMember, build_table};

use super::choosing::{chosen, from, world};
use super::packet::{ACK, SYN, TCP, TestPacket, UDP, tcp, udp};
use super::world::DatapathTestbed;

/// The model of the hash of one end of a connection.
fn end_hash(end: std::net::SocketAddr) -> u64 {
    mixed(model::hash::hash_client(end.ip()).wrapping_add(end.port().into()))
}

fn mixed(mut x: u64) -> u64 {
    x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

/// Pools of both families that choose by a Maglev table and this hash.
fn hashing(world: &DatapathTestbed, choose: Choose) -> Vec<u32> {
    let member = |n: u16| MaglevMember { name: format!("server-{n}"), weight: 1 };
    let table = build_table(&(0..3).map(member).collect::<Vec<_>>(), 251);
    for index in [0, 1] {
        let mut pool = world.pool(index, &table);
        pool.choose = choose as u32;
        world.plane.pools.set(&index, &pool).unwrap();
    }
    table
}

// Rows: Z02
#[test]
fn both_directions_of_a_connection_choose_one_server() {
    let Some(world) = world() else { return };
    let table = hashing(&world, Choose::Symmetric);
    // Services of every address, as a pool of firewalls has them.
    world.flag(abi::CONFIG_ANY_PORT | abi::CONFIG_ANY_ADDRESS);
    for protocol in [TCP, UDP] {
        world.listen("0.0.0.0", 0, protocol, 0);
        world.listen("::", 0, protocol, 1);
    }
    let mut used = std::collections::BTreeSet::new();
    for n in 1..60_u16 {
        let ends = [
            (format!("192.0.2.{n}:{}", 4_000 + n), "198.18.0.1:443".to_owned()),
            (format!("[2001:db8:1::{n:x}]:{}", 4_000 + n), "[2001:db8:9::1]:443".to_owned()),
        ];
        for (client, server) in ends {
            let hash =
                end_hash(client.parse().unwrap()).wrapping_add(end_hash(server.parse().unwrap()));
            let want = table[(hash % 251) as usize];
            used.insert(want);
            assert_eq!(chosen(&world, &tcp(&client, &server, SYN)), want, "{client}");
            assert_eq!(chosen(&world, &tcp(&server, &client, SYN | ACK)), want, "{client}");
            assert_eq!(chosen(&world, &udp(&client, &server)), want, "{client}");
            assert_eq!(chosen(&world, &udp(&server, &client)), want, "{client}");
        }
    }
    assert_eq!(used.len(), 3, "{used:?}");
}

// Rows: Z02
#[test]
fn a_frame_chooses_by_its_source_address() {
    let Some(world) = world() else { return };
    let table = hashing(&world, Choose::LinkSource);
    for index in [0, 1] {
        let mut service = world.plane.services.get(&index).unwrap().unwrap();
        service.flags |= abi::SERVICE_LINK_SOURCE;
        world.plane.services.set(&index, &service).unwrap();
    }
    let mut used = std::collections::BTreeSet::new();
    for n in 0..40_u8 {
        let link = [2, 0x10, 0x20, 0x80, 0xff, n];
        let number = link.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let want = table[(mixed(number) % 251) as usize];
        used.insert(want);
        for tags in [vec![], vec![(0x8100, 5)]] {
            for client in ["192.0.2", "198.51.100"] {
                let port = 5_000 + u16::from(n) + 100 * tags.len() as u16;
                let packet = TestPacket {
                    from: link,
                    tags: tags.clone(),
                    ..from(&format!("{client}.7:{port}"))
                };
                assert_eq!(chosen(&world, &packet), want, "{n}");
            }
        }
    }
    assert_eq!(used.len(), 3, "{used:?}");
}
