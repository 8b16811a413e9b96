//! `normalize`: TCP options that a service clears are not agreed on by real hosts; what it refuses is dropped and counted.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use lab::net::{SiteLayout, SysctlSetting};
use rustix::net::{AddressFamily, SendFlags, SocketType};
use tests::e2e::cli_environment::run_command;
use tests::e2e::packet_balancer::{BOTH, IpVersion, ready};
use tests::e2e::tools::program;
use tests::e2e::wait;

use super::topology::{ForwardMethodCase, PacketTopology};

const CLEARED: &str =
    "normalize = { sack = \"clear\", timestamps = \"clear\", window-scale = \"clear\" }\n";
const CLEARING: [ForwardMethodCase; 3] = [
    ForwardMethodCase { forward: "mac", service: CLEARED },
    ForwardMethodCase { forward: "nat", service: CLEARED },
    ForwardMethodCase { forward: "tunnel", service: CLEARED },
];
const REFUSING: ForwardMethodCase =
    ForwardMethodCase { forward: "nat", service: "normalize = { sack = \"drop\" }\n" };

/// Connects from the client's namespace.
pub fn connect(
    world: &PacketTopology,
    to: SocketAddr,
    wait: Duration,
) -> std::io::Result<TcpStream> {
    world.plane.site.client.run_inside(|| TcpStream::connect_timeout(&to, wait)).unwrap()
}

/// What the client's kernel and a server's agreed on, as `ss` lists it.
fn agreed(world: &PacketTopology, version: IpVersion) -> Vec<String> {
    let open = connect(world, version.service(), Duration::from_secs(20)).unwrap();
    let mut ss = world.plane.site.client.command(program("ss"));
    ss.args(["-tinoHO", "sport", "=", &format!(":{}", open.local_addr().unwrap().port())]);
    let told = run_command(ss);
    assert!(told.stdout.contains("mss:"), "{told:?}");
    let words = told.stdout.split_whitespace().map(|word| word.split(':').next().unwrap_or(word));
    let names = ["ts", "sack", "wscale"];
    words.filter(|word| names.contains(word)).map(str::to_owned).collect()
}

/// Whether the client's kernel offers selective acknowledgements.
fn permit_sack(world: &PacketTopology, value: &str) {
    let setting = SysctlSetting { path: "net/ipv4/tcp_sack", value };
    world.plane.site.client.write_sysctls(&[setting]).unwrap();
}

fn removals(world: &PacketTopology, version: IpVersion) -> Vec<String> {
    let name = if version == IpVersion::V4 { "shop4" } else { "shop6" };
    let services = world.plane.packets().services;
    let service = services.into_iter().find(|one| one.name == name).unwrap();
    service.removals.into_iter().map(|one| one.field).collect()
}

pub fn count(world: &PacketTopology, name: &str) -> u64 {
    let outcomes = world.plane.packets().outcomes;
    outcomes.iter().find(|one| one.name == name).map_or(0, |one| one.count.total)
}

// Rows: C02
#[test]
fn hosts_agree_on_no_option_that_the_service_clears() {
    if !ready() {
        return;
    }
    let mut world =
        PacketTopology::open(&SiteLayout { local_servers: 1, ..SiteLayout::default() }, "");
    for version in BOTH {
        assert_eq!(agreed(&world, version), ["ts", "sack", "wscale"], "as hosts are set");
    }
    for method in CLEARING {
        world.forward_by(method);
        for version in BOTH {
            assert_eq!(agreed(&world, version), Vec::<String>::new(), "{method:?} {version:?}");
            world.downloads(version);
            world.uploads(version, &format!("{}-{version:?}", method.forward));
            wait::until("what was removed is counted", || {
                removals(&world, version) == ["window-scale", "sack", "timestamps"]
            });
        }
    }
    world.is_balanced();
}

// Rows: C02
#[test]
fn packets_with_a_refused_option_are_dropped_and_counted() {
    if !ready() {
        return;
    }
    let mut world =
        PacketTopology::open(&SiteLayout { local_servers: 1, ..SiteLayout::default() }, "");
    world.forward_by(REFUSING);
    for version in BOTH {
        let before = count(&world, "option-refused");
        let refused = connect(&world, version.service(), Duration::from_millis(300));
        assert_eq!(refused.unwrap_err().kind(), std::io::ErrorKind::TimedOut, "{version:?}");
        wait::until("it is counted", || count(&world, "option-refused") > before);
        // A client that offers none is served.
        permit_sack(&world, "0");
        assert_eq!(agreed(&world, version), ["ts", "wscale"], "{version:?}");
        permit_sack(&world, "1");
    }
    world.is_balanced();
}

const STRICT: ForwardMethodCase = ForwardMethodCase {
    forward: "nat",
    service: "normalize = { reserved-bits = \"drop\", urgent = \"clear\", syn-data = \"drop\", exceed-mss = \"drop\" }\n",
};
const URGENT: ForwardMethodCase =
    ForwardMethodCase { forward: "nat", service: "normalize = { urgent = \"drop\" }\n" };

/// Sends a request whose last byte is urgent, and returns the first line of the response.
fn request_with_urgent_byte(world: &PacketTopology, version: IpVersion) -> std::io::Result<String> {
    let mut open = connect(world, version.service(), Duration::from_secs(20))?;
    open.set_read_timeout(Some(Duration::from_secs(2)))?;
    open.write_all(b"GET / HTTP/1.0\r\n\r")?;
    rustix::net::send(&open, b"\n", SendFlags::OOB)?;
    let mut line = String::new();
    BufReader::new(open).read_line(&mut line)?;
    Ok(line)
}

// Rows: C07
#[test]
fn strict_headers_pass_real_traffic_and_clear_the_urgent_flag() {
    if !ready() {
        return;
    }
    let mut world =
        PacketTopology::open(&SiteLayout { local_servers: 1, ..SiteLayout::default() }, "");
    for version in BOTH {
        // A server reads no urgent byte in line, so its request does not end.
        assert!(request_with_urgent_byte(&world, version).is_err(), "{version:?}");
    }
    world.forward_by(STRICT);
    for version in BOTH {
        let line = request_with_urgent_byte(&world, version).unwrap();
        assert!(line.contains(" 200 "), "{version:?}: {line}");
        wait::until("it is counted", || removals(&world, version) == ["urgent"]);
        world.downloads(version);
        world.uploads(version, &format!("strict-{version:?}"));
    }
    for name in ["mss-exceeded", "reserved-bits-refused"] {
        assert_eq!(count(&world, name), 0, "{name}: {}", world.failure_report());
    }
    world.forward_by(URGENT);
    let before = count(&world, "urgent-refused");
    assert!(request_with_urgent_byte(&world, IpVersion::V4).is_err());
    wait::until("it is counted", || count(&world, "urgent-refused") > before);
    world.is_balanced();
}

/// Opens a connection with the request in its SYN (`MSG_FASTOPEN`), and returns the first line of the response.
fn request_in_a_syn(world: &PacketTopology, version: IpVersion) -> std::io::Result<String> {
    let to = version.service();
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let fast_open = SendFlags::from_bits_retain(0x2000_0000);
    let opened = world.plane.site.client.run_inside(|| {
        let socket = rustix::net::socket(family, SocketType::STREAM, None)?;
        rustix::net::sendto(&socket, b"GET / HTTP/1.0\r\n\r\n", fast_open, &to)?;
        Ok::<TcpStream, rustix::io::Errno>(socket.into())
    });
    let open = opened.unwrap()?;
    open.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut line = String::new();
    BufReader::new(open).read_line(&mut line)?;
    Ok(line)
}

// Rows: C07
/// TCP Fast Open without a cookie: the data is in the SYN, and in the next SYN it is not.
#[test]
fn data_in_a_syn_is_dropped_and_its_client_served() {
    if !ready() {
        return;
    }
    let mut world =
        PacketTopology::open(&SiteLayout { local_servers: 1, ..SiteLayout::default() }, "");
    world.forward_by(STRICT);
    let setting = SysctlSetting { path: "net/ipv4/tcp_fastopen", value: "5" };
    world.plane.site.client.write_sysctls(&[setting]).unwrap();
    for version in BOTH {
        let before = count(&world, "syn-data-refused");
        let line = request_in_a_syn(&world, version).unwrap();
        assert!(line.contains(" 200 "), "{version:?}: {line}\n{}", world.failure_report());
        wait::until("it is counted", || count(&world, "syn-data-refused") > before);
    }
    world.is_balanced();
}
