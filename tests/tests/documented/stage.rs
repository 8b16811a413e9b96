//! Prerequisites of the pages: the files they name, the daemon of an installed machine, and its captures.

use std::io::Read;

use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::process::ChildProcess;
use tests::e2e::wait;
use tests::tree::{SourceTree, top};

use crate::host::{DocumentHost, HOME};

/// The daemon's file on the installed machine.
const FILE: &str = "/etc/steelyard/steelyard.toml";

/// The configuration of the installed machine, to which all pages but the README and the ten-minute guide refer.
const INSTALLED: &str = r#"
[global]
control = { listen = "192.0.2.5:9443", certificate = "/etc/steelyard/control.pem", tokens = "/etc/steelyard/tokens",
            hosts = ["lb.example"] }

[service.shop]
listen    = "203.0.113.10:80"
forward   = "http"
pool      = "web"
objective = "99.9%"

[service.secure]
listen  = "203.0.113.10:443"
forward = "http"
pool    = "web"
tls     = "/etc/steelyard/shop.pem"

[capture.slow]
service = "shop"
latency = "500ms"

[pool.web]
servers = [
  { name = "a", address = "10.0.0.11:8080", weight = 3 },
  { name = "b", address = "10.0.0.12:8080" },
  { name = "rack1-a", address = "10.0.0.12:8081", state = "disabled" },
]

[names]
listen = "203.0.113.53:53"

[zone."gslb.example.org"]
nameservers = "ns1.gslb.example.org"
contact     = "hostmaster@example.org"

[name."ns1.gslb.example.org"]
addresses = "203.0.113.53"

[name."www.gslb.example.org"]
pool = "web"
"#;

const HAPROXY: &str = "
defaults
    mode http
    timeout connect 5s
    timeout client 30s
    timeout server 30s
frontend www
    bind :80
    default_backend app
backend app
    server a 10.0.0.11:8080
    server b 10.0.0.12:8080 weight 3
";

const NGINX: &str = "
events {}
http {
    upstream app { server 10.0.0.11:8080; server 10.0.0.12:8080; }
    server { listen 80; location / { proxy_pass http://app; } }
}
";

const KEEPALIVED: &str = "
virtual_server 203.0.113.10 80 {
    lb_algo wrr
    lb_kind DR
    protocol TCP
    real_server 10.0.0.11 80 {
        weight 3
    }
    real_server 10.0.0.12 80 {
        weight 1
    }
}
";

const DISPATCHER: &str = "
dscontrol cluster add www address 203.0.113.10
dscontrol port add www:80
dscontrol server add www:80:10.0.0.11 weight 3
dscontrol server add www:80:10.0.0.12 weight 1
";

const CADDY: &str = "\
http://shop.example {
    reverse_proxy 10.0.0.11:8080 10.0.0.12:8080
}
";

const ENVOY: &str = "\
static_resources:
  listeners:
    - address: { socket_address: { address: 0.0.0.0, port_value: 80 } }
      filter_chains:
        - filters:
            - name: envoy.filters.network.http_connection_manager
              typed_config:
                \"@type\": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                stat_prefix: shop
                route_config:
                  virtual_hosts:
                    - { name: shop, domains: [\"*\"], routes: [{ match: { prefix: \"/\" }, route: { cluster: web } }] }
                http_filters:
                  - name: envoy.filters.http.router
                    typed_config: { \"@type\": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router }
  clusters:
    - name: web
      type: STATIC
      load_assignment:
        cluster_name: web
        endpoints:
          - lb_endpoints:
              - endpoint: { address: { socket_address: { address: 10.0.0.11, port_value: 8080 } } }
";

const APACHE: &str = "\
<VirtualHost *:80>
    ServerName shop.example
    ProxyPass \"/\" \"http://10.0.0.11:8080/\"
    ProxyPassReverse \"/\" \"http://10.0.0.11:8080/\"
</VirtualHost>
";

const TRAEFIK: &str = "\
http:
  routers:
    shop: { rule: \"Host(`shop.example`)\", entryPoints: [web], service: shop }
  services:
    shop: { loadBalancer: { servers: [{ url: \"http://10.0.0.11:8080\" }] } }
";

/// The user's curl configuration: an HTTP error is a failure, and the shop's own authority is trusted.
const CURL: &str = "fail\nsilent\nshow-error\ncacert = /etc/steelyard/ca.pem\n";

/// Networks of a CDN, in the file that pages name.
const CDN: &str = "192.0.2.0/24     # the edge\n2001:db8:cd::/48\n";

/// Files of certificates below `/etc/steelyard`, and the name of each.
const CERTIFICATES: [(&str, &str); 5] = [
    ("control", "lb.example"),
    ("shop", "shop.example"),
    ("admin", "admin.shop.example"),
    ("certs/red", "red.example"),
    ("certs/blue", "blue.example"),
];

/// Keys for signed tokens: the example of RFC 7517, appendix A.1.
const JWK_SET: &str = r#"{"keys":[{"kty":"EC","crv":"P-256","use":"sig","kid":"1",
"x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}"#;

/// A server that wants a certificate of the balancer.
const TLS_SERVER: &str = "openssl s_server -accept 10.0.0.11:8443 -cert /etc/steelyard/shop.pem -key /etc/steelyard/shop.pem \
    -CAfile /etc/steelyard/ca.pem -Verify 1 -www";
const AS_NOBODY: &str = "setpriv --reuid=65534 --regid=65534 --clear-groups";
const POSTGRES: &str = "-D /tmp/data -c unix_socket_directories= -c fsync=off \
    -c listen_addresses=10.0.0.11,10.0.0.12,10.0.0.13";
const EXIM: &str = "\
exim_user = nobody
exim_group = nogroup
tls_advertise_hosts =
spool_directory = /tmp/spool
log_file_path = /tmp/spool/%slog
pid_file_path = /tmp/spool/pid
primary_hostname = mail.example
local_interfaces = <; 10.0.0.11 ; 10.0.0.12
daemon_smtp_ports = 25 : 587
rfc1413_query_timeout = 0s
keep_environment =
acl_smtp_rcpt = accept
";

pub struct DocumentStage<'w> {
    world: &'w DocumentHost,
    tree: &'w SourceTree,
}

impl<'w> DocumentStage<'w> {
    /// Writes the files that the README and all pages need.
    pub fn new(world: &'w DocumentHost, tree: &'w SourceTree) -> DocumentStage<'w> {
        let readme = configuration(tree, "README.md").unwrap();
        world.write("new.toml", readme.replace("weight = 3", "weight = 2"));
        world.write("shop.toml", readme);
        for (path, text) in [
            ("haproxy.cfg", HAPROXY),
            ("/etc/haproxy/haproxy.cfg", HAPROXY),
            ("/etc/nginx/nginx.conf", NGINX),
            ("keepalived.conf", KEEPALIVED),
            ("commands.txt", DISPATCHER),
            ("Caddyfile", CADDY),
            ("envoy.yaml", ENVOY),
            ("dynamic.yaml", TRAEFIK),
            ("/etc/apache2/sites-enabled/shop.conf", APACHE),
            (FILE, INSTALLED),
            ("/etc/steelyard/cdn.cidr", CDN),
            (&format!("{HOME}/.curlrc"), CURL),
        ] {
            world.write(path, text);
        }
        let lab = blocks(tree, "docs/lab.md").find(|block| block.contains("[[link]]")).unwrap();
        world.write("wan.toml", lab);
        let manifests = &tree.file("docs/gateway.md").unwrap().text;
        let manifests = manifests.split("```yaml\n").nth(1).unwrap();
        world.write("shop.yaml", manifests.split("```").next().unwrap());
        captures(world);
        DocumentStage { world, tree }
    }

    /// Prepares a machine without a running daemon, for the ten-minute guide.
    pub fn ten_minutes(&self) {
        let guide = configuration(self.tree, "docs/guides/ten-minutes.md").unwrap();
        self.world.write("shop.toml", guide);
    }

    /// The daemon of the installed machine, with a capture and a token.
    pub fn installed(&self) -> ChildProcess {
        let world = self.world;
        let authority = CertificateAuthority::new("the shop's own");
        authority.write(world.place("/etc/steelyard/ca.pem"));
        for (name, host) in CERTIFICATES {
            let file = world.place(&format!("/etc/steelyard/{name}.pem"));
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            authority.pair(file, &certificate_for(&[host]));
        }
        for name in ["alice", "balancer"] {
            let file = world.place(&format!("/etc/steelyard/{name}.pem"));
            authority.pair(file, &certificate_for(&[]).client(name));
        }
        world.write("/etc/steelyard/jwks.json", JWK_SET);
        world.done("chmod 600 /etc/steelyard/jwks.json");
        world.done("mkdir -p -m 700 ~/.config/steelyard");
        world.done(
            "umask 077; steelyard token view docs --into /etc/steelyard/tokens | head -n 1 > ~/.config/steelyard/token",
        );
        let daemon = world.start("steelyard run", None, "api-listening");
        world.write("shop.toml", INSTALLED);
        wait::until("packets are kept", || world.well("steelyard capture start slow"));
        world.done("curl http://shop.example/ -o /dev/null");
        world.done("steelyard capture stop slow");
        let folder = world.place("/var/lib/steelyard/captures");
        let made = wait::until_some("a capture", || {
            let first = std::fs::read_dir(&folder).ok()?.next()?.ok()?.path();
            first.extension().is_some_and(|it| it == "pcapng").then_some(first)
        });
        std::fs::copy(made, folder.join("slow-1795413600000.pcapng")).unwrap();
        daemon
    }

    /// Prepares what a page leaves to other machines and to the reader.
    pub fn before(&self, page: &str) -> Vec<ChildProcess> {
        let world = self.world;
        match page {
            "docs/api.md" => {
                world.write("next.toml", INSTALLED.replace("weight = 3", "weight = 2"));
                Vec::new()
            }
            "docs/authentication.md" => {
                let mut shown = blocks(self.tree, page);
                let tokens = shown.find(|block| block.contains("\"jwt\"")).unwrap();
                world.write("jwt.toml", tokens);
                Vec::new()
            }
            "docs/lab.md" => {
                world.done("umask 077; head -c 32 /dev/urandom | base64 > token");
                let agent = |at: &str| {
                    world.start(&format!("steelyard bench agent {at} --token-file token"), None, at)
                };
                let stream = "steelyard bench serve --stream 192.0.2.7:7008";
                vec![
                    agent("192.0.2.7:7009"),
                    agent("192.0.2.8:7009"),
                    world.start(stream, None, "192.0.2.7:7008"),
                ]
            }
            "docs/guides/direct-server-return.md" | "docs/guides/high-availability.md" => {
                self.interfaces();
                self.guide(page)
            }
            "docs/examples/dns.md" | "docs/examples/tunnel.md" => {
                self.interfaces();
                self.guide(page)
            }
            "docs/examples/mutual-tls.md" => {
                self.guide(page);
                vec![world.start(TLS_SERVER, None, "ACCEPT")]
            }
            "docs/examples/postgres.md" => {
                self.guide(page);
                self.world.done("install -d -o nobody /tmp/data");
                self.world.done(&format!("{AS_NOBODY} \"$(ls /usr/lib/postgresql/*/bin/initdb | tail -n 1)\" -N -A trust -D /tmp/data"));
                let server = format!(
                    "{AS_NOBODY} $(ls /usr/lib/postgresql/*/bin/postgres | tail -n 1) {POSTGRES}"
                );
                vec![world.start(&server, None, "ready to accept connections")]
            }
            "docs/examples/mail.md" => {
                self.guide(page);
                world.done("install -d -o nobody /tmp/spool");
                world.write("/etc/exim.conf", EXIM);
                let server = world.start("exim4 -bdf -C /etc/exim.conf", None, "");
                world.done(
                    "curl --retry 60 --retry-connrefused --retry-delay 1 smtp://10.0.0.11/ -X NOOP",
                );
                vec![server]
            }
            _ => self.guide(page),
        }
    }

    /// The interfaces of pages that forward packets or share an address.
    fn interfaces(&self) {
        self.world.done("ip link set eth0 up && ip link set eth1 up");
        self.world.done("ip address replace 10.9.9.1/24 dev eth0");
    }

    /// Writes the first configuration of a guide or an example into the daemon's file, below the machine's own `[global]`.
    fn guide(&self, page: &str) -> Vec<ChildProcess> {
        if let Some(text) = self.guide_configuration(page) {
            let global = INSTALLED.split("[service.").next().unwrap();
            self.world.write(FILE, format!("{global}{text}"));
        }
        Vec::new()
    }

    /// Takes back what a guide changed in the daemon's file.
    pub fn after(&self, page: &str) {
        if self.guide_configuration(page).is_some() {
            self.world.write(FILE, INSTALLED);
            self.world.done("steelyard reload");
        }
    }

    fn guide_configuration(&self, page: &str) -> Option<String> {
        let is_whole = page.starts_with("docs/guides/") || page.starts_with("docs/examples/");
        is_whole.then(|| configuration(self.tree, page)).flatten()
    }
}

/// Captures with the file names that the pages use.
fn captures(world: &DocumentHost) {
    let read = |name: &str| {
        let file = top().join("crates/trace/tests/captures").join(name);
        let packed = std::fs::read(file).unwrap();
        let mut whole = Vec::new();
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_end(&mut whole).unwrap();
        (packed, whole)
    };
    let (packed, slow) = read("two_lb_slow_lb2.pcap.gz");
    for name in ["slow", "big", "all", "middle", "front"] {
        world.write(&format!("{name}.pcap"), &slow);
    }
    world.write("big.pcapng.gz", packed);
    world.write("fast.pcap", read("two_lb_fast_lb1.pcap.gz").1);
    world.write("back.pcap", read("two_lb_slow_lb2_client.pcap.gz").1);
}

/// The first configuration that a page shows.
fn configuration(tree: &SourceTree, page: &str) -> Option<String> {
    blocks(tree, page).find(|block| block.contains("[service."))
}

/// The blocks of TOML of a page.
fn blocks<'t>(tree: &'t SourceTree, page: &str) -> impl Iterator<Item = String> + 't {
    let text = &tree.file(page).unwrap().text;
    text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).map(str::to_owned)
}
