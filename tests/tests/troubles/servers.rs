//! Servers that are gone, come and go, or cannot be found.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use lab::origin::OriginFault;
use tests::e2e::servers::reserve_port;
use tests::e2e::wait;

use crate::stage::{PLAIN, TroubleRow, TroubleStage};

const PROBE: &str = "probe = { http = \"/healthz\", interval = \"100ms\", timeout = \"100ms\" }";

fn wait_for_state(stage: &TroubleStage, server: usize, state: &str) {
    wait::until("the probe has seen it", || {
        stage.place.status().pools[0].servers[server].state.name() == state
    });
}

/// A server that takes its time for every answer. It lives as long as this process.
fn start_slow_server() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer_slowly(stream));
        }
    });
    address
}

fn answer_slowly(mut stream: TcpStream) {
    let mut head = [0; 4096];
    while stream.read(&mut head).is_ok_and(|bytes| bytes > 0) {
        wait::linger(Duration::from_millis(150));
        if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").is_err() {
            return;
        }
    }
}

pub const ROWS: &[TroubleRow] = &[
    TroubleRow {
        name: "one server gone",
        setup: |setup| setup.pool(PROBE),
        plant: |stage| stage.origins[1].kill().unwrap(),
        shows: "server web/b",
        heal: |stage| stage.origins[1].revive().unwrap(),
        ..PLAIN
    },
    TroubleRow {
        name: "all servers gone",
        setup: |setup| setup.pool(PROBE),
        plant: |stage| stage.origins.iter().for_each(|origin| origin.kill().unwrap()),
        shows: "no server is available",
        heal: |stage| stage.origins.iter().for_each(|origin| origin.revive().unwrap()),
        ..PLAIN
    },
    TroubleRow {
        name: "a server hangs",
        setup: |setup| setup.pool(PROBE),
        plant: |stage| stage.origins[0].set_hung(true).unwrap(),
        shows: "server web/a",
        heal: |stage| stage.origins[0].set_hung(false).unwrap(),
        ..PLAIN
    },
    TroubleRow {
        name: "a health check fails",
        setup: |setup| setup.pool(PROBE),
        plant: |stage| stage.set_fault(&[0], Some(OriginFault::Status(503))),
        shows: "503",
        heal: |stage| stage.set_fault(&[0], None),
        ..PLAIN
    },
    TroubleRow {
        name: "a server flaps",
        setup: |setup| setup.pool(PROBE),
        plant: |stage| {
            for _ in 0..3 {
                stage.origins[1].kill().unwrap();
                wait_for_state(stage, 1, "down");
                stage.origins[1].revive().unwrap();
                wait_for_state(stage, 1, "up");
            }
        },
        shows: "its state changed",
        ..PLAIN
    },
    TroubleRow {
        name: "one server slow",
        plant: |stage| {
            let address = start_slow_server().to_string();
            stage.verb(&["server", "add", "web", &address, "--name", "c"]);
            (0..3).for_each(|_| stage.send("/", Duration::from_millis(5)));
        },
        shows: "until its first byte",
        heal: |stage| {
            stage.verb(&["server", "remove", "web/c"]);
            stage.stop_extra_requests();
        },
        ..PLAIN
    },
    TroubleRow {
        name: "every server drained",
        plant: |stage| stage.verb(&["server", "drain", "web/*"]),
        shows: "is drained, disabled or of weight 0",
        heal: |stage| stage.verb(&["server", "enable", "web/*"]),
        ..PLAIN
    },
    TroubleRow {
        name: "a name that does not resolve",
        plant: |stage| stage.verb(&["server", "add", "web", "nowhere.invalid:80", "--name", "c"]),
        shows: "server web/c",
        heal: |stage| stage.verb(&["server", "remove", "web/c"]),
        ..PLAIN
    },
    TroubleRow {
        name: "a list of servers that is broken",
        prepare: |stage| {
            let text = std::fs::read_to_string(stage.place.file()).unwrap();
            let list = stage.place.dir().join("list").display().to_string();
            let port = reserve_port();
            let more = format!(
                "[service.more]\nlisten = \"{}\"\nforward = \"http\"\npool = \"more\"\n\
                 [pool.more]\nservers-from = {{ file = \"{list}\" }}\n",
                port.address()
            );
            std::fs::write(stage.place.file(), format!("{text}{more}")).unwrap();
            stage.place.dir().write("list", format!("{}\n", stage.origins[0].address()));
        },
        plant: |stage| drop(stage.place.dir().write("list", "no address at all\n")),
        shows: "pool more keeps the servers that were found last",
        heal: |stage| {
            drop(stage.place.dir().write("list", format!("{}\n", stage.origins[0].address())));
        },
        ..PLAIN
    },
];
