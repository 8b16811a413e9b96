//! The servers: nginx, Go, WSGI, Node, and one that strips path parameters. This module asserts nothing.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use tests::e2e::nginx::Nginx;
use tests::e2e::process::ChildProcess;
use tests::e2e::target::tool;
use tests::e2e::tools::program;
use tests::e2e::wait;

#[derive(Debug)]
pub enum PathOrigin {
    Nginx(Nginx),
    /// A project program based on another library.
    Scripted {
        _process: ChildProcess,
        address: SocketAddr,
    },
}

impl PathOrigin {
    pub fn nginx() -> PathOrigin {
        let area = |location: &str, area: &str| {
            format!(
                "location {location} {{ add_header X-Areas location={area} always; return 200 \"\"; }}\n"
            )
        };
        let areas = [area("/admin/", "admin"), area("/public/", "public"), area("/", "other")];
        PathOrigin::Nginx(Nginx::with("nginx", &areas.concat()))
    }

    pub fn go() -> PathOrigin {
        PathOrigin::from_command(Command::new(tool("paths-by-go")))
    }

    pub fn node() -> PathOrigin {
        let mut command = Command::new(program("node"));
        command.arg(here("server.js"));
        PathOrigin::from_command(command)
    }

    /// A Python server: `wsgi` or `params`.
    pub fn python(which: &str) -> PathOrigin {
        let mut command = Command::new(program("python3"));
        command.arg(here("server.py")).arg(which);
        PathOrigin::from_command(command)
    }

    fn from_command(command: Command) -> PathOrigin {
        let process = ChildProcess::start(command);
        let port = wait::until_some("a server that listens", || {
            let said = process.output();
            said.lines().find_map(|line| line.strip_prefix("listens ")?.parse().ok())
        });
        PathOrigin::Scripted {
            _process: process,
            address: SocketAddr::from(([127, 0, 0, 1], port)),
        }
    }

    pub fn address(&self) -> SocketAddr {
        match self {
            PathOrigin::Nginx(nginx) => nginx.address(),
            PathOrigin::Scripted { address, .. } => *address,
        }
    }
}

fn here(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/paths").join(file)
}
