//! The servers: nginx, Apache, Node and Go, with the requests that each has seen. This module asserts nothing.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use tests::e2e::dir::TestDir;
use tests::e2e::nginx::Nginx;
use tests::e2e::process::ChildProcess;
use tests::e2e::servers;
use tests::e2e::target::tool;
use tests::e2e::tools::program;
use tests::e2e::wait;

/// A request as a server saw it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReceivedRequest {
    pub method: String,
    pub target: String,
    /// Bytes of the body. `None` if the server does not report them.
    pub bytes: Option<u64>,
}

#[derive(Debug)]
pub enum SmugglingOrigin {
    /// nginx; its log is a file.
    Nginx(Nginx),
    /// Apache; its log is a file.
    Apache { _process: ChildProcess, address: SocketAddr, dir: TestDir },
    /// A project program based on another library; its output is its log.
    Scripted(ChildProcess, SocketAddr),
}

impl SmugglingOrigin {
    pub fn nginx() -> SmugglingOrigin {
        let directives = "access_log root/seen combined;\n\
            location / { add_header X-Seen \"$request_method $request_uri\" always; return 200 \"seen\\n\"; }";
        SmugglingOrigin::Nginx(Nginx::with("nginx", directives))
    }

    /// Apache. With `lenient` it accepts what it accepted before `HttpProtocolOptions Strict`.
    pub fn apache(lenient: bool) -> SmugglingOrigin {
        let dir = TestDir::new();
        let port = servers::reserve_port();
        // Apache's workers run as `nobody`. They need no file here, and Apache opens the log before it drops
        // privileges.
        let options = if lenient { "Unsafe LenientMethods Allow0.9" } else { "Strict" };
        let modules = ["mpm_event", "authz_core", "headers", "rewrite"];
        let at = dir.path().display();
        let load = modules.map(|name| {
            format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n")
        });
        let text = format!(
            "ServerRoot {at}\nServerName shop.example\nPidFile {at}/pid\nListen {}\nErrorLog {at}/error\n{}\
             User nobody\nGroup nogroup\nServerLimit 1\nStartServers 1\nThreadsPerChild 32\n\
             MaxRequestWorkers 32\nKeepAlive On\nKeepAliveTimeout 60\nMaxKeepAliveRequests 0\n\
             HttpProtocolOptions {options}\nAllowEncodedSlashes NoDecode\nTraceEnable on\n\
             CustomLog {at}/seen \"%h - - %t \\\"%r\\\" %>s\"\n\
             Header always set X-Seen \"expr=%{{THE_REQUEST}}\"\n\
             RewriteEngine On\nRewriteRule ^ - [R=200,L]\n",
            port.address(),
            load.concat(),
        );
        let file = dir.write("httpd.conf", text);
        let mut command = Command::new(program("apache2"));
        command.args(["-DFOREGROUND", "-f"]).arg(file);
        let mut process = ChildProcess::start(command);
        wait::until("apache2 accepts", || {
            assert!(process.try_wait().is_none(), "apache2 ended: {}", process.output());
            std::net::TcpStream::connect(port.address()).is_ok()
        });
        SmugglingOrigin::Apache { _process: process, address: port.address(), dir }
    }

    /// Node. `lenient` selects its insecure parser.
    pub fn node(lenient: bool) -> SmugglingOrigin {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/smuggling/server.js");
        let mut command = Command::new(program("node"));
        command.arg(script).args(lenient.then_some("lenient"));
        SmugglingOrigin::from_command(command)
    }

    pub fn go() -> SmugglingOrigin {
        SmugglingOrigin::from_command(Command::new(tool("seen-by-go")))
    }

    fn from_command(command: Command) -> SmugglingOrigin {
        let process = ChildProcess::start(command);
        let port = wait::until_some("a server that listens", || {
            let said = process.output();
            said.lines().find_map(|line| line.strip_prefix("listens ")?.parse().ok())
        });
        SmugglingOrigin::Scripted(process, SocketAddr::from(([127, 0, 0, 1], port)))
    }

    pub fn address(&self) -> SocketAddr {
        match self {
            SmugglingOrigin::Nginx(nginx) => nginx.address(),
            SmugglingOrigin::Apache { address, .. } | SmugglingOrigin::Scripted(_, address) => {
                *address
            }
        }
    }

    /// The complete requests that the server has seen, in order, and the number of rejected ones.
    pub fn seen(&self) -> (Vec<ReceivedRequest>, usize) {
        match self {
            SmugglingOrigin::Nginx(nginx) => {
                from_log(&String::from_utf8_lossy(&nginx.file("seen")))
            }
            SmugglingOrigin::Apache { dir, .. } => {
                from_log(&std::fs::read_to_string(dir.join("seen")).unwrap_or_default())
            }
            SmugglingOrigin::Scripted(process, _) => from_words(&process.output()),
        }
    }
}

/// `client - - [time] "METHOD TARGET VERSION" STATUS …`.
fn from_log(log: &str) -> (Vec<ReceivedRequest>, usize) {
    let mut seen = Vec::new();
    let mut refused = 0;
    for line in log.lines() {
        let parts: Vec<&str> = line.split('"').collect();
        let request: Vec<&str> = parts[1].split(' ').collect();
        let status = parts[2].split_whitespace().next().unwrap_or_default();
        match request[..] {
            [method, target, _] if status == "200" => {
                let method = method.to_owned();
                let target = target.to_owned();
                seen.push(ReceivedRequest { method, target, bytes: None });
            }
            _ => refused += 1,
        }
    }
    (seen, refused)
}

/// Lines of the form `seen METHOD TARGET BYTES` or `refused WHY`.
fn from_words(said: &str) -> (Vec<ReceivedRequest>, usize) {
    let mut seen = Vec::new();
    let mut refused = 0;
    for line in said.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["seen", method, target, bytes] => {
                let method = method.to_owned();
                let target = target.to_owned();
                seen.push(ReceivedRequest { method, target, bytes: bytes.parse().ok() });
            }
            ["refused", ..] => refused += 1,
            _ => {}
        }
    }
    (seen, refused)
}
