//! HAProxy with a test's configuration, as one process, so that killing that process stops all of it.
//!
//! The test chooses the addresses that HAProxy listens on and forwards to.

use std::net::SocketAddr;
use std::process::Command;

use super::dir::TestDir;
use super::process::ChildProcess;
use super::tools::program;
use super::wait;

#[derive(Debug)]
pub struct Haproxy {
    _process: ChildProcess,
    _dir: TestDir,
}

impl Haproxy {
    /// Starts HAProxy with these sections, and waits until it accepts connections at `front`.
    pub fn start(sections: &str, front: SocketAddr) -> Haproxy {
        let dir = TestDir::new();
        let file = dir.write(
            "haproxy.cfg",
            format!(
                "global\n  maxconn 200\n  nbthread 1\ndefaults\n  mode http\n  timeout connect 5s\n  timeout client 30s\n  \
                 timeout server 30s\n{sections}\n"
            ),
        );
        let mut command = Command::new(program("haproxy"));
        command.arg("-db").arg("-f").arg(file);
        let mut process = ChildProcess::start(command);
        wait::until("haproxy accepts", || {
            assert!(process.try_wait().is_none(), "haproxy ended: {}", process.output());
            std::net::TcpStream::connect(front).is_ok()
        });
        Haproxy { _process: process, _dir: dir }
    }
}
