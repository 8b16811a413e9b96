//! Connections that survive the loss of their member: the other member has their records, forwards them to the same
//! servers, and does not reuse their ports.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use api::types::{ReplicationStatus, Report};
use lab::net::{BpfFs, NetworkNamespace, SysctlSetting};
use lab::origin::{OriginKind, OriginOptions, TestOrigin};
use tests::e2e::balancer::program;
use tests::e2e::cli_environment::run_command;
use tests::e2e::process::ChildProcess;
use tests::e2e::{tools, wait};
use tests::skip::skip;

use super::host::host;
use super::topology::{ClientFamily, First, MemberIndex, Second, V4, V6, VrrpTopology};

const GROUP: &str = "advertise = \"300ms\"\npreempt = false";
const SECRET: &str = "5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e";
/// The ports of the services. `STICKY` is a `mac` service with persistence.
pub const NAT: u16 = 81;
pub const MAC: u16 = 8080;
pub const TUNNEL: u16 = 8083;
const STICKY: u16 = 8085;
pub const PORTS: [u16; 3] = [MAC, TUNNEL, STICKY];
/// The last bytes of the servers' addresses and of the return addresses.
const SERVERS: [u8; 2] = [50, 51];
pub const BACK: u8 = 60;

/// The number of connections of each service and family in each step.
fn many() -> usize {
    let text = std::env::var("STEELYARD_CONNECTIONS").ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(40)
}

pub struct ReplicatedPair {
    pub world: VrrpTopology,
    pub server: NetworkNamespace,
    pub origins: Vec<TestOrigin>,
    _origins: Vec<TestOrigin>,
    _pins: BpfFs,
}

/// Two members, both not started, with two servers behind each method in both families.
pub fn wire(more: &str) -> ReplicatedPair {
    let mut world = VrrpTopology::new(GROUP);
    let server = host(&world.hub, "server", SERVERS[1], "server2");
    let at = |namespace: &NetworkNamespace, name: &str, port: u16| {
        let listen = SocketAddr::from(([0u16; 8], port));
        let options =
            OriginOptions { listen, ..OriginOptions::new(name, OriginKind::Http { body: 128 }) };
        namespace.run_inside(|| TestOrigin::start(options)).unwrap().unwrap()
    };
    let first = [TUNNEL, STICKY].map(|port| at(&world.server, "server", port));
    let origins = PORTS.map(|port| at(&server, "server2", port));
    let pins = BpfFs::mount().unwrap();
    for one in [&world.server, &server] {
        unpack(one, &pins);
    }
    for one in [&world.server, &server] {
        let rows = ["all/arp_ignore", "eth0/arp_ignore"].map(|row| format!("net/ipv4/conf/{row}"));
        one.write_sysctls(&[
            SysctlSetting { path: &rows[0], value: "1" },
            SysctlSetting { path: &rows[1], value: "1" },
            SysctlSetting { path: "net/ipv4/conf/all/arp_announce", value: "2" },
        ])
        .unwrap();
        one.ip(&format!(
            "addr add {}/32 dev lo\naddr add {}/128 dev lo nodad\n",
            V4.shared(),
            V6.shared()
        ))
        .unwrap();
    }
    for who in [First, Second] {
        let at = usize::from(who == Second);
        let backs = [V4, V6].map(|version| format!("\"{}\"", version.host(BACK))).join(", ");
        world.plane[at] =
            format!("interfaces = [\"eth0\"]\nmode = \"generic\"\nreturn = [{backs}]");
        world.tail[at] = services(more) + &heartbeat(&world, who);
        for version in [V4, V6] {
            let also = format!(
                "unadvertised = [{{ addresses = \"{}\", interface = \"eth0\" }}]",
                version.host(BACK)
            );
            world.only[at].push((version, also));
        }
    }
    ReplicatedPair { world, server, origins: origins.into(), _origins: first.into(), _pins: pins }
}

/// Loads the decapsulators on a server.
fn unpack(server: &NetworkNamespace, pins: &BpfFs) {
    let mut command = server.command(program());
    command.args([
        "decap",
        "load",
        "--interface",
        "eth0",
        "--mode",
        "generic",
        "--from",
        "any",
        "--pins",
    ]);
    command.arg(pins.path().join(server.name()));
    let said = run_command(command);
    assert_eq!(said.code, 0, "{said:?}");
}

fn services(more: &str) -> String {
    let mut text = String::new();
    for (version, family) in [(V4, 4), (V6, 6)] {
        let shared = version.shared();
        for (name, forward, port, own) in [
            ("nat", "nat", NAT, ""),
            ("mac", "mac", MAC, ""),
            ("tunnel", "tunnel", TUNNEL, ""),
            ("stick", "mac", STICKY, "sticky = \"1h\""),
        ] {
            let listen = SocketAddr::new(shared, port);
            let to = if port == NAT { MAC } else { port };
            let servers =
                SERVERS.map(|last| format!("\"{}\"", SocketAddr::new(version.host(last), to)));
            text.push_str(&format!(
                "[service.{name}{family}]\nlisten = \"{listen}\"\nforward = \"{forward}\"\n\
                 pool = \"{name}{family}\"\n{own}\n{more}\n\
                 [pool.{name}{family}]\nservers = [{}]\n",
                servers.join(", "),
            ));
        }
    }
    text
}

fn heartbeat(world: &VrrpTopology, who: MemberIndex) -> String {
    let (name, peer) = if who == First { ("first", "second") } else { ("second", "first") };
    let (ours, theirs) = if who == First { (1, 2) } else { (2, 1) };
    world.dir(who).write("keys", format!("1 {SECRET}\n"));
    let file = world.dir(who).join("keys");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    format!(
        "[heartbeat.{peer}]\nname = \"{name}\"\nsecret = \"{}\"\n\
         paths = [{{ local = \"10.9.0.{ours}\", peer = \"10.9.0.{theirs}\" }}]\n",
        file.display()
    )
}

pub fn replication(world: &VrrpTopology, who: MemberIndex) -> Option<ReplicationStatus> {
    world.whole_status(who)?.heartbeats.into_iter().next()?.replication
}

pub fn until_follows(world: &VrrpTopology) {
    for who in [First, Second] {
        wait::until(&format!("{who:?} follows"), || {
            replication(world, who).is_some_and(|one| one.state == "following")
        });
    }
}

/// The number of connections in a member's tables, over all services that forward packets.
pub fn flows(world: &mut VrrpTopology, who: MemberIndex) -> usize {
    flows_by_service(world, who).values().sum()
}

/// The number of connections of each service in a member's tables.
fn flows_by_service(world: &mut VrrpTopology, who: MemberIndex) -> BTreeMap<String, usize> {
    let said = world.verb(who, &["report", "--json"]);
    let report: Report = serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{said:?}"));
    let services = report.packets.map(|packets| packets.services).unwrap_or_default();
    services.into_iter().map(|service| (service.name, service.flows as usize)).collect()
}

/// Waits until a member has as many connections of each service as the one that holds the addresses. Connections that
/// ended are in the tables for a while, so that a sum could hide one that is missing.
fn until_has_all(world: &mut VrrpTopology, who: MemberIndex, holder: MemberIndex) {
    wait::until(&format!("{who:?} has every connection"), || {
        let held = flows_by_service(world, holder);
        let known = flows_by_service(world, who);
        held.iter().all(|(service, count)| known.get(service) >= Some(count))
    });
}

/// A client's connection and its destination.
pub struct ClientSession {
    stream: TcpStream,
    pub to: SocketAddr,
}

impl ClientSession {
    /// Opens a connection, and checks that a request on it is answered.
    pub fn open(client: &NetworkNamespace, to: SocketAddr) -> Option<ClientSession> {
        let mut talk = client.run_inside(|| ClientSession::connect(to)).unwrap()?;
        talk.asks().map(|_| talk)
    }

    /// Opens a connection from the current namespace.
    pub fn connect(to: SocketAddr) -> Option<ClientSession> {
        let time = Duration::from_secs(5);
        let stream = TcpStream::connect_timeout(&to, time).ok()?;
        stream.set_read_timeout(Some(time)).ok()?;
        Some(ClientSession { stream, to })
    }

    /// Sends a request. Returns the name of the server whose complete response arrived.
    pub fn asks(&mut self) -> Option<String> {
        self.stream.write_all(b"GET / HTTP/1.1\r\nHost: shared\r\n\r\n").ok()?;
        let mut answer = Vec::new();
        let mut part = [0; 2048];
        loop {
            let bytes = self.stream.read(&mut part).ok().filter(|bytes| *bytes > 0)?;
            answer.extend(&part[..bytes]);
            let head = answer.windows(4).position(|end| end == b"\r\n\r\n");
            if let Some(head) = head.filter(|at| answer.len() >= at + 4 + 128) {
                let head = String::from_utf8_lossy(&answer[..head]).to_lowercase();
                let name = head.lines().find_map(|line| line.strip_prefix("x-origin: "))?;
                return head.starts_with("http/1.1 200").then(|| name.to_owned());
            }
        }
    }
}

/// The destinations of connections to these ports, in both families.
pub fn ends(ports: &[u16]) -> Vec<SocketAddr> {
    let ips = [V4, V6].map(ClientFamily::shared);
    let of = |ip: IpAddr| ports.iter().map(move |port| SocketAddr::new(ip, *port));
    ips.into_iter().flat_map(of).collect()
}

/// Opens `each` connections to each of these ports in each family.
pub fn open(world: &VrrpTopology, ports: &[u16], each: usize) -> Vec<ClientSession> {
    let mut talks = Vec::new();
    for to in ends(ports) {
        wait::until(&format!("{to} answers"), || ClientSession::open(&world.client, to).is_some());
        for at in 0..each {
            let talk = ClientSession::open(&world.client, to);
            talks.push(talk.unwrap_or_else(|| panic!("connection {at} to {to}")));
        }
    }
    talks
}

/// The servers that answer new connections of a sticky client, in both families.
fn sticky_servers(world: &VrrpTopology) -> [String; 2] {
    [V4, V6].map(|version| {
        let to = SocketAddr::new(version.shared(), STICKY);
        let ask = || ClientSession::open(&world.client, to).and_then(|mut talk| talk.asks());
        wait::until_some(&format!("{to} answers"), ask)
    })
}

/// Panics unless every connection still works.
pub fn go_on(talks: &mut [ClientSession], what: &str) {
    let all = talks.len();
    let mut broken = Vec::new();
    for (at, talk) in talks.iter_mut().enumerate() {
        if talk.asks().is_none() {
            let from = talk.stream.local_addr().unwrap();
            broken.push(format!("connection {at} from {from} to {}", talk.to));
        }
    }
    println!("proof: {what}: {} of {all} connections broken", broken.len());
    assert!(broken.is_empty(), "{what}: {broken:#?}");
}

pub fn begin(world: &mut VrrpTopology, who: MemberIndex, state: &str) {
    world.start(who);
    for version in [V4, V6] {
        world.until(who, version, state);
    }
}

// Rows: I36
#[test]
fn connections_outlive_the_member_that_began_them() {
    if !rustix::process::geteuid().is_root() {
        return skip("namespaces need root");
    }
    let mut pair = wire("");
    let world = &mut pair.world;
    begin(world, First, "active");
    let mut talks = open(world, &[NAT, MAC, TUNNEL], many());
    join_under_load(world);
    talks.extend(open(world, &[NAT, MAC, TUNNEL], many()));
    let keeps = sticky_servers(world);
    // This later request was answered by the same server, so the record exists.
    assert_eq!(sticky_servers(world), keeps, "a client that keeps its server");
    until_has_all(world, Second, First);
    hand_over(world);
    go_on(&mut talks, "a planned hand-over to a member that joined under load");
    for at in 0..4 {
        assert_eq!(
            sticky_servers(world),
            keeps,
            "new connection {at} of a client that keeps its server"
        );
    }
    talks.extend(open(world, &[NAT, MAC, TUNNEL], many()));
    until_has_all(world, First, Second);
    world.unplug_power(Second);
    for version in [V4, V6] {
        world.until(First, version, "active");
    }
    go_on(&mut talks, "a crash of the member that had them all");
    let counts = replication(world, First).unwrap();
    assert_eq!(counts.unsent.len(), 0, "{counts:?}");
    reported(world);
}

/// The report contains the counters and the reasons of failovers, also as text.
fn reported(world: &mut VrrpTopology) {
    let said = world.verb(First, &["report", "--json"]);
    let report: Report = serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{said:?}"));
    for member in &report.members {
        assert!(member.counts["became-active"] >= 2, "{member:?}");
        assert!(member.changes.iter().all(|change| !change.reason.is_empty()), "{member:?}");
    }
    let peer = &report.peers[0];
    let counts = &peer.replication.as_ref().unwrap().counts;
    assert!(
        peer.heartbeats["received"] > 0 && counts["sent"] > 0 && counts["applied"] > 0,
        "{peer:?}"
    );
    let text = world.verb(First, &["report"]).stdout;
    for word in ["SHARED BY GROUP", "CHANGES OF", "records: applied"] {
        assert!(text.contains(word), "{word}: {text}");
    }
}

/// The second member takes over all groups.
pub fn hand_over(world: &mut VrrpTopology) {
    for version in [V4, V6] {
        let said = world.verb(Second, &["takeover", version.group()]);
        assert_eq!(said.code, 0, "{said:?}");
    }
    for version in [V4, V6] {
        world.until(Second, version, "active");
        world.until(First, version, "standby");
    }
}

/// The second member starts under load, and synchronises the existing connections.
pub fn join_under_load(world: &mut VrrpTopology) {
    let mut load = world.client.command(tools::program("sh"));
    let url = format!("http://{}:{NAT}/", V4.shared());
    load.arg("-c").arg(format!("while :; do curl -s -o /dev/null --max-time 2 {url}; done"));
    let load = ChildProcess::start(load);
    begin(world, Second, "standby");
    until_follows(world);
    drop(load);
}

// Rows: I36
#[test]
fn a_service_that_is_not_replicated_is_not_sent() {
    if !rustix::process::geteuid().is_root() {
        return skip("namespaces need root");
    }
    let mut pair = wire("replicate = \"none\"");
    let world = &mut pair.world;
    begin(world, First, "active");
    begin(world, Second, "standby");
    assert!(!open(world, &[NAT, MAC, TUNNEL], many()).is_empty());
    assert_eq!((replication(world, First), flows(world, Second)), (None, 0));
}
