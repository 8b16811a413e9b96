//! A host of these tests: a namespace with a link to the bridge.

use std::process::Command;

use lab::net::{NetworkNamespace, SysctlSetting};
use tests::e2e::tools;

/// Creates a host at the bridge. Its MAC address ends in the same number as its IP addresses.
pub fn host(hub: &NetworkNamespace, role: &str, last: u8, port: &str) -> NetworkNamespace {
    let host = NetworkNamespace::new(role).unwrap();
    host.write_sysctls(&[
        SysctlSetting { path: "net/ipv6/conf/default/accept_dad", value: "0" },
        SysctlSetting { path: "net/ipv6/conf/all/accept_dad", value: "0" },
        SysctlSetting { path: "net/ipv6/conf/default/router_solicitations", value: "0" },
    ])
    .unwrap();
    let mut ip = Command::new(tools::program("ip"));
    ip.args(["link", "add", "eth0", "netns", host.name(), "type", "veth"]);
    ip.args(["peer", "name", port, "netns", hub.name()]);
    lab::net::run_command(&mut ip).unwrap();
    hub.ip(&format!("link set {port} master br0 up\n")).unwrap();
    host.ip(&format!(
        "link set eth0 address 02:00:00:00:00:{last:02x}\nlink set eth0 up\n\
         addr add 10.9.0.{last}/24 dev eth0\naddr add fd09::{last}/64 dev eth0 nodad\n"
    ))
    .unwrap();
    host
}
