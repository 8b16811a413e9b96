//! A real nginx in a test's directory, as one process, so that killing that process stops all of it.
//!
//! It serves `/` (its name), `/page` (`PAGE` bytes) and `/upload/` (PUT), and writes no access log.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use lab::port::ReservedPort;
use rustix::process::Signal;

use super::dir::TestDir;
use super::namespace::TestNamespace;
use super::process::ChildProcess;
use super::servers;
use super::tools::program;
use super::wait;

pub const PAGE: usize = 3_000_001;

#[derive(Debug)]
pub struct Nginx {
    process: Option<ChildProcess>,
    port: ReservedPort,
    dir: TestDir,
    namespace: Option<String>,
}

impl Nginx {
    /// Starts nginx, and waits until it accepts connections.
    pub fn start(name: &str) -> Nginx {
        Nginx::with(name, "")
    }

    /// As `start`, with further directives in the `server` block.
    pub fn with(name: &str, directives: &str) -> Nginx {
        let mut nginx = Nginx::prepare(name, directives, None);
        nginx.revive();
        nginx
    }

    /// As `with`, behind TLS. `directives` name the certificate.
    pub fn tls(name: &str, directives: &str) -> Nginx {
        Nginx::listening(name, directives, "ssl")
    }

    /// As `tls`, with HTTP/2.
    pub fn http2(name: &str, directives: &str) -> Nginx {
        Nginx::listening(name, directives, "ssl http2")
    }

    /// As `with`, with HTTP/2 and without TLS.
    pub fn prior_knowledge(name: &str, directives: &str) -> Nginx {
        Nginx::listening(name, directives, "http2")
    }

    /// As `tls`, where connections begin with a PROXY protocol header.
    pub fn tls_proxied(name: &str, directives: &str) -> Nginx {
        Nginx::listening(name, directives, "ssl proxy_protocol")
    }

    /// As `with`, where connections begin with a PROXY protocol header.
    pub fn proxied(name: &str, directives: &str) -> Nginx {
        Nginx::listening(name, directives, "proxy_protocol")
    }

    fn listening(name: &str, directives: &str, words: &str) -> Nginx {
        let mut nginx = Nginx::prepare(name, directives, None);
        let text = std::fs::read_to_string(nginx.dir.join("nginx.conf")).unwrap();
        let listen = format!("listen {}", nginx.address());
        nginx.dir.write("nginx.conf", text.replace(&listen, &format!("{listen} {words}")));
        nginx.revive();
        nginx
    }

    /// As `with`, inside a namespace. This process cannot check there whether nginx accepts connections.
    pub fn within(namespace: &TestNamespace, name: &str, address: SocketAddr) -> Nginx {
        Nginx::inside(namespace.name(), name, &address.to_string(), "")
    }

    /// As `with`, inside the namespace of this name. `listen` is the value of the `listen` directive.
    pub fn inside(namespace: &str, name: &str, listen: &str, directives: &str) -> Nginx {
        let mut nginx = Nginx::prepare(name, directives, Some((namespace, listen)));
        nginx.process = Some(nginx.run());
        nginx
    }

    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    pub fn page_bytes(&self) -> Vec<u8> {
        std::fs::read(self.dir.join("root/page")).unwrap()
    }

    /// A file below the document root. Empty if the file does not exist yet.
    pub fn file(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.dir.join("root").join(name)).unwrap_or_default()
    }

    /// The body of the PUT request to `/upload/NAME`.
    pub fn uploaded(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.dir.join("root/upload").join(name)).unwrap()
    }

    /// As `uploaded`, but `None` if the file does not exist.
    pub fn uploaded_if_any(&self, name: &str) -> Option<Vec<u8>> {
        std::fs::read(self.dir.join("root/upload").join(name)).ok()
    }

    /// Sends SIGKILL. The port stays reserved.
    pub fn kill(&mut self) {
        let mut process = self.process.take().unwrap();
        process.signal(Signal::KILL);
        process.wait();
    }

    pub fn signal(&self, signal: Signal) {
        self.process.as_ref().unwrap().signal(signal);
    }

    pub fn revive(&mut self) {
        let mut process = self.run();
        let address = self.address();
        wait::until("nginx accepts", || {
            assert!(process.try_wait().is_none(), "nginx ended: {}", process.output());
            std::net::TcpStream::connect(address).is_ok()
        });
        self.process = Some(process);
    }

    fn prepare(name: &str, directives: &str, within: Option<(&str, &str)>) -> Nginx {
        let dir = TestDir::new();
        let port = servers::reserve_port();
        let address = within.map_or(port.address().to_string(), |(_, listen)| listen.to_owned());
        std::fs::create_dir_all(dir.join("root/upload")).unwrap();
        dir.write("root/page", super::http::noise(PAGE));
        let at = dir.path().display();
        let text = format!(
            "daemon off; master_process off; worker_processes 1; error_log stderr crit; pid {at}/pid;\n\
             events {{ worker_connections 1024; }}\n\
             http {{ access_log off; default_type text/plain; client_max_body_size 64m;\n\
             client_body_temp_path {at}/body; proxy_temp_path {at}/proxy; fastcgi_temp_path {at}/f;\n\
             uwsgi_temp_path {at}/u; scgi_temp_path {at}/s;\n\
             server {{ listen {address}; root {at}/root; if_modified_since before; add_header X-Origin {name} always;\n\
             {directives}\n\
             location = / {{ return 200 \"{name}\\n\"; }}\n\
             location /upload/ {{ dav_methods PUT; }} }} }}\n"
        );
        dir.write("nginx.conf", text);
        let namespace = within.map(|(namespace, _)| namespace.to_owned());
        Nginx { process: None, port, dir, namespace }
    }

    fn run(&self) -> ChildProcess {
        let mut command = match &self.namespace {
            None => Command::new(find_nginx()),
            Some(namespace) => TestNamespace::command_in(namespace, &find_nginx()),
        };
        command.args(["-e", "stderr", "-p"]).arg(self.dir.path());
        command.arg("-c").arg(self.dir.join("nginx.conf"));
        ChildProcess::start(command)
    }
}

fn find_nginx() -> PathBuf {
    program("nginx")
}
