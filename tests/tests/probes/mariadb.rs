//! The health check of a real MariaDB: up, late, corrupted, full, hanging, resumed, and dead. MariaDB rejects the
//! check's user, as a server with accounts does.

use std::io::Write;
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Stdio;

use rustix::process::geteuid;
use tests::e2e::dir::TestDir;
use tests::e2e::process::ChildProcess;
use tests::e2e::tools::program;

use super::fake_servers::{balancer, wait_until_down, wait_until_up};
use super::faulty_proxy::is_heard_by_its_words;
use super::real::{NOBODY, lives, port, unprivileged};

/// The smallest limit that MariaDB accepts.
const CLIENTS: usize = 10;

#[test]
fn mariadb() {
    let dir = TestDir::new();
    let port = port();
    let data = dir.join("data");
    std::fs::create_dir(&data).unwrap();
    if geteuid().is_root() {
        chown(&data, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    install(&data);
    let mut command = unprivileged(program("mariadbd"));
    let own =
        ["--bind-address=127.0.0.1", "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0"];
    command.args(small(&data)).args(own).arg(format!("--port={port}"));
    command.arg(format!("--socket={}", data.join("sock").display()));
    command.arg(format!("--max-connections={CLIENTS}"));
    let mut process = ChildProcess::start(command);
    is_heard_by_its_words(port, "mysql = true", "MariaDB", "not mysql");
    is_down_while_it_is_full(port);
    lives(&mut process, port, "mysql = true", "MariaDB", "refused");
}

/// A data directory with the account tables, which the server creates from its package's scripts.
fn install(data: &Path) {
    let mut orders = "create database mysql;\nuse mysql;\n".to_owned();
    for name in ["system_tables", "system_tables_data"] {
        let files = ["mysql", "mariadb"].map(|of| format!("/usr/share/mysql/{of}_{name}.sql"));
        let found = files.iter().find_map(|file| std::fs::read_to_string(file).ok());
        orders.push_str(&found.unwrap_or_else(|| panic!("none of {files:?} is there")));
    }
    let mut command = unprivileged(program("mariadbd"));
    command.args(small(data)).arg("--bootstrap");
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(orders.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Ignores the machine's configuration, and keeps files small.
fn small(data: &Path) -> [String; 4] {
    [
        "--no-defaults".to_owned(),
        format!("--datadir={}", data.display()),
        "--innodb-buffer-pool-size=8M".to_owned(),
        "--innodb-log-file-size=4M".to_owned(),
    ]
}

/// A full server accepts the connection and reports too many clients.
fn is_down_while_it_is_full(port: u16) {
    let balancer = balancer(format!("127.0.0.1:{port}"), "mysql = true");
    wait_until_up(&balancer, "MariaDB");
    // MariaDB accepts one more client than the limit, for an administrator.
    let clients: Vec<TcpStream> =
        (0..=CLIENTS).map(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap()).collect();
    wait_until_down(&balancer, "Too many connections");
    drop(clients);
    wait_until_up(&balancer, "MariaDB");
}
