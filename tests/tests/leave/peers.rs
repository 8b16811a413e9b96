//! The same shutdown of HAProxy and nginx, for comparison. Only in the long run.

use std::net::SocketAddr;
use std::process::Command;

use rustix::process::Signal;
use tests::e2e::balancer::{figure, is_long};
use tests::e2e::dir::TestDir;
use tests::e2e::process::ChildProcess;
use tests::e2e::servers::{origin, reserve_port};
use tests::e2e::tools::program;
use tests::e2e::wait;

use crate::workload::{LeaveOutcome, LeaveWorkload};

#[test]
fn peers_are_stopped_the_same_way() {
    if !is_long() {
        return;
    }
    let origin = origin("a");
    for (name, arguments) in [("haproxy", ["-db", "-f"]), ("nginx", ["-q", "-c"])] {
        let dir = TestDir::new();
        let port = reserve_port();
        let front = port.address();
        let text = match name {
            "haproxy" => haproxy(front, origin.address()),
            _ => nginx(front, origin.address(), &dir),
        };
        drop(port);
        let file = dir.write("peer.conf", text);
        let mut command = Command::new(program(name));
        command.args(arguments).arg(file);
        let mut process = ChildProcess::start(command);
        wait::until("it accepts", || {
            assert!(process.try_wait().is_none(), "{}", process.output());
            std::net::TcpStream::connect(front).is_ok()
        });
        let under = LeaveWorkload::start(front);
        process.signal(Signal::TERM);
        let LeaveOutcome {
            answered,
            broken,
            cut_downloads: cut,
            downloads,
            observations: seen,
            ..
        } = under.end();
        process.wait();
        figure(format!(
            "{name}, a stop under load: {answered} requests answered, {broken} broken, {cut} of {downloads} downloads \
             cut ({})",
            seen.join("; ")
        ));
    }
}

fn haproxy(front: SocketAddr, server: SocketAddr) -> String {
    format!(
        "global\n maxconn 1000\n\
         defaults\n mode http\n timeout connect 5s\n timeout client 60s\n timeout server 60s\n\
         frontend shop\n bind {front}\n default_backend web\n\
         backend web\n server a {server}\n"
    )
}

fn nginx(front: SocketAddr, server: SocketAddr, dir: &TestDir) -> String {
    let at = dir.path().display();
    format!(
        "daemon off; worker_processes 2; error_log stderr crit; pid {at}/pid;\n\
         events {{ worker_connections 1024; }}\n\
         http {{ access_log off; client_body_temp_path {at}/b; proxy_temp_path {at}/p; fastcgi_temp_path {at}/f;\n\
         uwsgi_temp_path {at}/u; scgi_temp_path {at}/s;\n\
         upstream web {{ server {server}; keepalive 64; }}\n\
         server {{ listen {front} reuseport; location / {{ proxy_pass http://web; proxy_http_version 1.1;\n\
         proxy_set_header Connection \"\"; proxy_buffering off; }} }} }}\n"
    )
}
