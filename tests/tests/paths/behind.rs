//! The servers behind: nginx, Go, WSGI, Node, and one that strips path parameters. They judge nothing.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use tests::e2e::nginx::Nginx;
use tests::e2e::process::Process;
use tests::e2e::target::tool;
use tests::e2e::tools::program;
use tests::e2e::wait;

/// A server.
#[derive(Debug)]
pub enum Behind {
    /// nginx.
    Nginx(Nginx),
    /// A program of ours on another library.
    Told { _process: Process, address: SocketAddr },
}

impl Behind {
    /// nginx.
    pub fn nginx() -> Behind {
        let area = |location: &str, area: &str| {
            format!(
                "location {location} {{ add_header X-Areas location={area} always; return 200 \"\"; }}\n"
            )
        };
        let areas = [area("/admin/", "admin"), area("/public/", "public"), area("/", "other")];
        Behind::Nginx(Nginx::with("nginx", &areas.concat()))
    }

    /// Go.
    pub fn go() -> Behind {
        Behind::told(Command::new(tool("paths-by-go")))
    }

    /// Node.
    pub fn node() -> Behind {
        let mut command = Command::new(program("node"));
        command.arg(here("server.js"));
        Behind::told(command)
    }

    /// Python: `wsgi` or `params`.
    pub fn python(which: &str) -> Behind {
        let mut command = Command::new(program("python3"));
        command.arg(here("server.py")).arg(which);
        Behind::told(command)
    }

    fn told(command: Command) -> Behind {
        let process = Process::start(command);
        let port = wait::some("a server that listens", || {
            let said = process.said();
            said.lines().find_map(|line| line.strip_prefix("listens ")?.parse().ok())
        });
        Behind::Told { _process: process, address: SocketAddr::from(([127, 0, 0, 1], port)) }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        match self {
            Behind::Nginx(nginx) => nginx.address(),
            Behind::Told { address, .. } => *address,
        }
    }
}

fn here(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/paths").join(file)
}
