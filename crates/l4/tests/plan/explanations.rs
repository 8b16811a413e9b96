//! Writes as text, so that rows are readable.

use l4::abi::{self, Method};
use l4::map_write::MapWrite;
use l4::plan::encoding::from_mapped_bytes;

pub fn words(writes: &[MapWrite]) -> Vec<String> {
    writes.iter().map(one).collect()
}

fn one(write: &MapWrite) -> String {
    let ip = |bytes: [u8; 16]| from_mapped_bytes(bytes).to_string();
    let four = |bytes: [u8; 4]| std::net::Ipv4Addr::from(bytes).to_string();
    let list = |list: &[u32]| list.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    match write {
        MapWrite::NextHop(at, way) => format!("way {at} {}", way.state),
        MapWrite::Share(at, share) => {
            let back = if share.flags & abi::SHARE_CLIENT != 0 {
                "client".to_owned()
            } else {
                ip(share.back)
            };
            format!("share {at} {back}/{} records {}+{}", share.proto, share.first, share.ports)
        }
        MapWrite::Share4(key, at) => {
            format!(
                "share4 {}:{} {}/{} = {at}",
                four(key.server),
                key.port,
                four(key.back),
                key.proto
            )
        }
        MapWrite::Share6(key, at) => format!("share6 :{}/{} = {at}", key.port, key.proto),
        MapWrite::ShareList(at, shares) => format!("list {at}: {}", list(shares)),
        MapWrite::Server(at, server) => format!("server {at} {}", described(server)),
        MapWrite::Schedule(at, entries) if entries.len() > 12 => {
            format!("schedule {at}: {} entries", entries.len())
        }
        MapWrite::Schedule(at, entries) => format!("schedule {at}: {}", list(entries)),
        MapWrite::Pool(at, pool) => format!("pool {at} schedule {}+{}", pool.first, pool.length),
        MapWrite::Rules(at, rules) => {
            let pools: Vec<u32> = rules.iter().map(|rule| rule.pool).collect();
            format!("rules {at}: to pools {}", list(&pools))
        }
        MapWrite::Guard(key, value) => format!(
            "guard of {} {}/{} {}",
            key.scope,
            ip(key.addr),
            key.prefix - 32,
            abi::Guard::of(value.action).unwrap().name()
        ),
        MapWrite::Service(at, service) => format!(
            "service {at} {} pool {} rules {}+{}",
            Method::of(service.method).unwrap().name(),
            service.pool as i32,
            service.rule_first,
            service.rule_count
        ),
        MapWrite::Vip4(key, vip) => {
            format!("vip {}:{}/{} = {}", four(key.addr), key.port, key.proto, vip.service as i32)
        }
        MapWrite::Vip6(key, vip) => {
            let address = std::net::Ipv6Addr::from(key.addr);
            format!("vip [{address}]:{}/{} = {}", key.port, key.proto, vip.service as i32)
        }
        MapWrite::Address(key, kinds) => format!("address {} = {kinds}", ip(key.addr)),
        MapWrite::Flags(flags) => format!("flags {flags}"),
        MapWrite::Expect(flags) => format!("expect flags {flags}"),
        gone => dropped(gone),
    }
}

fn described(server: &abi::Server) -> String {
    let shares = match server.share_count {
        0 => String::new(),
        count => format!(" list {}+{count}", server.share_first),
    };
    let address = from_mapped_bytes(server.addr);
    let flags = flags(server.flags.into());
    format!("{address}:{} of {} {flags}{shares}", server.port, server.service)
}

/// The text of a removal.
fn dropped(write: &MapWrite) -> String {
    let ip = |bytes: [u8; 16]| from_mapped_bytes(bytes).to_string();
    let four = |bytes: [u8; 4]| std::net::Ipv4Addr::from(bytes).to_string();
    match write {
        MapWrite::DropVip4(key) => {
            format!("drop vip {}:{}/{}", four(key.addr), key.port, key.proto)
        }
        MapWrite::DropVip6(key) => format!("drop vip :{}/{}", key.port, key.proto),
        MapWrite::DropAddress(key) => format!("drop address {}", ip(key.addr)),
        MapWrite::DropGuard(key) => format!("drop guard of {} {}", key.scope, ip(key.addr)),
        MapWrite::DropShare4(key) => {
            format!("drop share4 {}:{} {}", four(key.server), key.port, four(key.back))
        }
        MapWrite::DropShare6(key) => format!("drop share6 :{}", key.port),
        MapWrite::DropServer(at) => format!("drop server {at}"),
        MapWrite::DropService(at) => format!("drop service {at}"),
        other => unreachable!("{other:?} takes nothing away"),
    }
}

fn flags(flags: u32) -> String {
    let names = [
        (abi::SERVER_TAKES, "takes"),
        (abi::SERVER_SERVES, "serves"),
        (abi::SERVER_RESETS, "resets"),
        (abi::SERVER_LOCAL, "local"),
        (abi::SERVER_KEEPS, "keeps"),
    ];
    let set: Vec<&str> =
        names.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, name)| *name).collect();
    if set.is_empty() { "gone".to_owned() } else { set.join("+") }
}
