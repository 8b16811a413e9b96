//! Large files of keepalived.

use convert::dialect::Dialect;

use crate::shape::{FileShape, address, each};

pub const SHAPES: [FileShape; 6] = [
    FileShape::new(Dialect::Keepalived, "services", services),
    FileShape::new(Dialect::Keepalived, "servers", servers),
    FileShape::new(Dialect::Keepalived, "instances", instances),
    FileShape::new(Dialect::Keepalived, "addresses", addresses),
    FileShape::new(Dialect::Keepalived, "group", group),
    FileShape::new(Dialect::Keepalived, "nested", nested),
];

fn services(lines: usize) -> String {
    let one = |at: usize| {
        format!(
            "virtual_server {} 80 {{\nlb_algo wrr\nlb_kind DR\nprotocol TCP\nreal_server 10.255.0.1 80 {{\nweight 1\n}}\n}}\n",
            address(at)
        )
    };
    each(lines / 8, one)
}

fn servers(lines: usize) -> String {
    let one = |at: usize| {
        format!("real_server {} 80 {{\nTCP_CHECK {{\nconnect_timeout 3\n}}\n}}\n", address(at))
    };
    format!(
        "virtual_server 192.0.2.1 80 {{\nlb_kind DR\nprotocol TCP\n{}}}\n",
        each(lines / 5, one)
    )
}

fn instances(lines: usize) -> String {
    let one = |at: usize| {
        format!(
            "vrrp_instance v{at} {{\ninterface e{}\nvirtual_router_id {}\npriority 100\nvirtual_ipaddress {{\n{}\n}}\n}}\n",
            at / 255,
            at % 255 + 1,
            address(at)
        )
    };
    each(lines / 8, one)
}

fn addresses(lines: usize) -> String {
    let all = each(lines, |at| format!("{}/32\n", address(at)));
    format!(
        "vrrp_instance v {{\ninterface e0\nvirtual_router_id 1\npriority 100\nvirtual_ipaddress {{\n{all}}}\n}}\n"
    )
}

fn group(lines: usize) -> String {
    let all = each(lines, |at| format!("{} 80\n", address(at)));
    format!(
        "virtual_server_group g {{\n{all}}}\nvirtual_server group g {{\nlb_kind DR\nprotocol TCP\nreal_server 10.255.0.1 80 {{\nweight 1\n}}\n}}\n"
    )
}

fn nested(lines: usize) -> String {
    format!(
        "virtual_server 192.0.2.1 80 {{\n{}{}}}\n",
        "real_server 10.0.0.1 80 {\n".repeat(lines / 2),
        "}\n".repeat(lines / 2)
    )
}
