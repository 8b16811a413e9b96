//! Linux hosts with each window factor that TCP has, joined by a pair of interfaces: no window contradicts the factor that
//! its SYN announced.
//!
//! The test needs root for namespaces.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use lab::net::{NetworkNamespace, SysctlSetting};
use serde_json::{Value, json};
use tests::e2e::captures;
use tests::e2e::dir::TestDir;
use tests::e2e::wait::DEADLINE;
use tests::skip::skip;

use crate::analysed::analysed;
use crate::beside::have_tools;
use crate::scripted_exchange::{ClientScript, ServerScript};

/// The largest factor, as a shift (RFC 7323, 2.3).
const MOST: u32 = 14;
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 77, 0, 1), Ipv4Addr::new(10, 77, 0, 2)];

/// Clients that read at once, that stop for a while, and that send more than they receive.
const CLIENTS: [ClientScript; 3] = [
    ClientScript { times: 3, ..QUIET },
    ClientScript { stop: (100_000, Duration::from_millis(60)), ..QUIET },
    ClientScript { pieces: 10, ..QUIET },
];
const QUIET: ClientScript = ClientScript {
    times: 1,
    pieces: 0,
    each: Duration::ZERO,
    stop: (0, Duration::ZERO),
    reads: Duration::ZERO,
    delays: false,
};

/// A client and a server.
fn join_hosts() -> Option<[NetworkNamespace; 2]> {
    let made = ["client", "server"].map(NetworkNamespace::new);
    let [Ok(client), Ok(server)] = made else {
        skip(&format!("no namespaces: {made:?}"));
        return None;
    };
    let peer = format!("link add eth0 type veth peer name eth0 netns {}\n", server.name());
    client.ip(&peer).unwrap();
    for (host, own) in [&client, &server].into_iter().zip(ADDRESSES) {
        host.ip(&format!("addr add {own}/32 dev eth0\nlink set eth0 up\n")).unwrap();
    }
    Some([client, server])
}

/// Lets a host announce this factor: Linux takes the least that covers its largest buffer, or the route's window if that is
/// smaller.
fn set_factor(host: &NetworkNamespace, peer: Ipv4Addr, shift: u32) {
    let most = 1_u64 << (15 + shift);
    let usual = most.min(131_072);
    let buffers = format!("4096 {usual} {most}");
    host.write_sysctls(&[SysctlSetting { path: "net/ipv4/tcp_rmem", value: &buffers }]).unwrap();
    let window = 2 * most - 1;
    host.ip(&format!("route replace {peer}/32 dev eth0 window {window}\n")).unwrap();
}

/// Records what the clients do with these factors.
fn record([client, server]: &[NetworkNamespace; 2], file: &Path, shifts: [u32; 2]) -> Value {
    set_factor(client, ADDRESSES[1], shifts[0]);
    set_factor(server, ADDRESSES[0], shifts[1]);
    let listener = server.run_inside(|| TcpListener::bind((ADDRESSES[1], 0)).unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    let recorder = captures::begin(client, file, address.port());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in CLIENTS {
                let stream = listener.accept().unwrap().0;
                stream.set_read_timeout(Some(DEADLINE)).unwrap();
                ServerScript::of(400_000).serve(stream);
            }
        });
        let ask = || {
            for one in CLIENTS {
                let stream = TcpStream::connect(address).unwrap();
                stream.set_read_timeout(Some(DEADLINE)).unwrap();
                one.ask(stream);
            }
        };
        client.run_inside(ask).unwrap();
    });
    captures::end(recorder, file, CLIENTS.len() as u64);
    analysed(file)
}

// Rows: D07
#[test]
fn no_window_of_linux_contradicts_its_factor() {
    if !have_tools() {
        return;
    }
    let Some(hosts) = join_hosts() else { return };
    let dir = TestDir::new();
    for shift in 0..=MOST {
        let shifts = [shift, MOST - shift];
        let report = record(&hosts, &dir.join(&format!("{shift}.pcap")), shifts);
        let found = report["connections"].as_array().unwrap();
        assert_eq!(found.len(), CLIENTS.len());
        for one in found {
            let scales = ["client", "server"].map(|side| &one[side]["window"]["scale"]);
            assert_eq!(
                scales.map(|scale| &scale["shift"]),
                shifts.map(|shift| json!(shift)).each_ref()
            );
            assert!(scales.iter().all(|scale| scale["provenance"] == "syn"), "{scales:?}");
            assert_eq!(one["flags"], json!([]), "{shifts:?}: {one:#}");
        }
    }
}
