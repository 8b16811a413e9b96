//! Pebble: an ACME authority that really validates names. Its name server resolves every name to this machine. Both are
//! Go programs that `tests/setup test` builds.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use super::certificate::{CertificateAuthority, certificate_for, replace};
use super::dir::TestDir;
use super::process::ChildProcess;
use super::servers;
use super::target::tool;
use super::tools::curl_text;
use super::wait;

/// Pebble with its name server.
#[derive(Debug)]
pub struct Pebble {
    process: ChildProcess,
    _names: ChildProcess,
    directory: String,
    roots: String,
    dir: TestDir,
}

/// The validation ports, and the validity of certificates.
#[derive(Clone, Copy, Debug)]
pub struct PebbleOptions {
    /// The port of its HTTP-01 requests.
    pub http: SocketAddr,
    /// The port of its TLS-ALPN-01 handshakes.
    pub tls: SocketAddr,
    pub validity: u32,
}

impl Pebble {
    /// Starts both programs, and waits until they answer.
    pub fn start(terms: PebbleOptions) -> Pebble {
        let dir = TestDir::new();
        let [asked, managed, names, names_managed] = [(); 4].map(|()| servers::reserve_port());
        let authority = CertificateAuthority::new("the authority's own authority");
        authority.write(dir.join("ca.pem"));
        let (chain, key) = authority.sign(&certificate_for(&["127.0.0.1"]));
        replace(&dir.join("own.pem"), &chain);
        replace(&dir.join("own.key"), &key);
        let mut command = Command::new(tool("pebble-challtestsrv"));
        command.args(["-defaultIPv4", "127.0.0.1", "-defaultIPv6", ""]);
        command.args(["-http01", "", "-https01", "", "-tlsalpn01", "", "-doh", ""]);
        command.args(["-dnsserver", &names.address().to_string()]);
        command.args(["-management", &names_managed.address().to_string()]);
        let names_process = ChildProcess::start(command);
        let config = serde_json::json!({ "pebble": {
            "listenAddress": asked.address().to_string(),
            "managementListenAddress": managed.address().to_string(),
            "certificate": dir.join("own.pem"),
            "privateKey": dir.join("own.key"),
            "httpPort": terms.http.port(),
            "tlsPort": terms.tls.port(),
            "ocspResponderURL": "",
            "externalAccountBindingRequired": false,
            "domainBlocklist": ["forbidden.example"],
            "retryAfter": { "authz": 1, "order": 1 },
            "keyAlgorithm": "ecdsa",
            "profiles": { "default": { "description": "", "validityPeriod": terms.validity } },
        }});
        let file = dir.write("pebble.json", config.to_string());
        let mut command = Command::new(tool("pebble"));
        command.arg("-config").arg(file).args(["-dnsserver", &names.address().to_string()]);
        // Without Pebble's pause before each validation.
        command.env("PEBBLE_VA_NOSLEEP", "1");
        let mut process = ChildProcess::start(command);
        for address in [asked.address(), managed.address()] {
            wait::until("the authority answers", || {
                assert!(process.try_wait().is_none(), "it ended: {}", process.output());
                std::net::TcpStream::connect(address).is_ok()
            });
        }
        Pebble {
            process,
            _names: names_process,
            directory: format!("https://{}/dir", asked.address()),
            roots: format!("https://{}/roots/0", managed.address()),
            dir,
        }
    }

    /// The URL of the ACME directory.
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// The certificate that signed Pebble's TLS certificate.
    pub fn ca(&self) -> PathBuf {
        self.dir.join("ca.pem")
    }

    /// The root certificate of the certificates that Pebble issues.
    pub fn root(&self) -> PathBuf {
        let ca = self.ca();
        let text = curl_text(&["--cacert", ca.to_str().unwrap(), &self.roots]);
        self.dir.write("root.pem", text)
    }

    pub fn output(&self) -> String {
        self.process.output()
    }
}
