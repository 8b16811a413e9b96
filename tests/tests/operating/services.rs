//! Servers under SRV records of a real name server, and a name with thousands of addresses.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::client::HttpClient;
use tests::e2e::dir::TestDir;
use tests::e2e::process::ChildProcess;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::tools::program;
use tests::e2e::wait;

fn names(place: &CliEnvironment) -> Vec<String> {
    let servers = &place.status().pools[0].servers;
    let mut all: Vec<String> = servers.iter().map(|server| server.address.clone()).collect();
    all.sort();
    all
}

/// A zone with these SRV records. Each version of the zone has another serial.
fn zone(serial: u32, services: &[(u16, u16, u16)]) -> String {
    let mut text =
        format!("$TTL 1\n@ IN SOA ns a {serial} 60 60 60 1\n@ IN NS ns\nns IN A 127.0.0.1\n");
    for (priority, weight, port) in services {
        text.push_str(&format!("_http._tcp IN SRV {priority} {weight} {port} localhost.\n"));
    }
    text
}

#[test]
fn services_of_bind9_bring_ports_and_weights_and_their_loss_takes_none() {
    let origins = [origin("a"), origin("b"), origin("c")];
    let ports: Vec<u16> = addresses(&origins).iter().map(SocketAddr::port).collect();
    let dir = TestDir::new();
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let at = dir.path().display();
    dir.write("zone", zone(1, &[(10, 30, ports[0]), (10, 10, ports[1]), (20, 9, ports[2])]));
    dir.write(
        "named.conf",
        format!(
            "options {{ directory \"{at}\"; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};\n\
             recursion no; pid-file none; session-keyfile none; dnssec-validation no; }};\ncontrols {{ }};\n\
             zone \"shop.example\" {{ type master; file \"zone\"; }};\n"
        ),
    );
    let mut command = Command::new(program("named"));
    command.args(["-g", "-n", "1", "-c"]).arg(dir.join("named.conf"));
    let mut named = ChildProcess::start(command);
    let from = format!(
        "balance = \"round-robin\"\nservers-from = {{ dns = \"_http._tcp.shop.example\", type = \"srv\", \
         resolver = \"127.0.0.1:{port}\" }}"
    );
    let setup = BalancerConfig::http(&[]).pool(&from);
    let place = CliEnvironment::new(&setup);
    let _process = place.start();
    let listed = |ports: &[u16]| {
        let mut all: Vec<String> = ports.iter().map(|port| format!("localhost:{port}")).collect();
        all.sort();
        all
    };
    wait::until("the first priority alone", || names(&place) == listed(&ports[..2]));
    let up = || place.status().pools[0].servers.iter().all(|server| server.state.name() == "up");
    wait::until("their name is resolved", up);
    let mut client = HttpClient::connect(setup.fronts()[0]);
    let a = (0..80).filter(|_| client.get("/").field("x-origin").as_deref() == Some("a")).count();
    // A worker adopts the new schedule between two of its events, perhaps during these requests.
    assert!((59..=61).contains(&a), "three of four by weight are {a} of 80");
    dir.write("zone", zone(2, &[(10, 30, ports[1]), (10, 10, ports[2])]));
    named.signal(Signal::HUP);
    wait::until("the new services", || names(&place) == listed(&ports[1..]));
    named.signal(Signal::KILL);
    named.wait();
    wait::until("its loss is told", || {
        place.status().warnings.iter().any(|text| text.contains("_http._tcp.shop.example"))
    });
    assert_eq!(names(&place), listed(&ports[1..]), "the last good answer stands");
    assert_eq!(HttpClient::connect(setup.fronts()[0]).get("/").status(), 200);
}

/// The number of addresses of a name: as many as fit into one DNS message over TCP.
const MANY: u16 = 4_000;

/// A DNS server on one UDP and TCP port. Over UDP it truncates its response, over TCP it returns the addresses.
fn large() -> SocketAddr {
    let (tcp, udp) = wait::until_some("a port for both", || {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind(tcp.local_addr().unwrap()).ok()?;
        Some((tcp, udp))
    });
    let at = tcp.local_addr().unwrap();
    std::thread::spawn(move || {
        udp.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut room = [0; 512];
        while let Ok((length, from)) = udp.recv_from(&mut room) {
            let mut cut = room[..length].to_vec();
            cut[2] |= 0x82;
            cut[3] = 0x80;
            let _ = udp.send_to(&cut, from);
        }
    });
    std::thread::spawn(move || {
        for mut stream in tcp.incoming().flatten() {
            let mut length = [0; 2];
            if stream.read_exact(&mut length).is_err() {
                continue;
            }
            let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
            stream.read_exact(&mut message).unwrap();
            message[2] |= 0x80;
            message[3] = 0x80;
            message[6..8].copy_from_slice(&MANY.to_be_bytes());
            for number in 0..MANY {
                let [high, low] = number.to_be_bytes();
                message.extend_from_slice(&[
                    0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 9, high, low,
                ]);
            }
            let length = u16::try_from(message.len()).unwrap().to_be_bytes();
            let _ = stream.write_all(&[&length[..], &message].concat());
        }
    });
    at
}

#[test]
fn of_thousands_of_addresses_the_first_are_taken_and_it_is_reported() {
    let origins = [origin("a")];
    let resolver = large();
    let from =
        format!("servers-from = {{ dns = \"many.test\", port = 7, resolver = \"{resolver}\" }}");
    let place = CliEnvironment::new(&BalancerConfig::http(&addresses(&origins)).pool(&from));
    let _process = place.start();
    wait::until("as many as `max`", || names(&place).len() == 1 + 256);
    wait::until("it is told", || place.count_events("source-clamped") == 1);
    let events = place.events().events;
    let clamped = events.iter().find(|event| event.kind == "source-clamped").unwrap();
    assert!(clamped.text.contains(&format!("{} servers more", MANY - 256)), "{clamped:?}");
    assert!(names(&place).contains(&"127.9.0.0:7".to_owned()));
}
