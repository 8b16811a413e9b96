//! Runs one example beside its conversion, and compares the responses.
//!
//! `examples` lists the requests; `ask` sends them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

use lab::origin::TestOrigin;
use lab::port::ReservedPort;
use tests::e2e::balancer::{figure, program};
use tests::e2e::certificate::{CertificateAuthority, certificate_for};
use tests::e2e::dir::TestDir;
use tests::e2e::h2origin::{H2Behaviour, H2Origin};
use tests::e2e::process::ChildProcess;
use tests::e2e::servers::{origin, reserve_port_at};
use tests::e2e::wait;

use super::client::{NamingServer, ProxyAnswer, ProxyClient, ProxyRequest};
use super::examples::{BalanceComparison, ConvertExample, OriginProtocol};

/// The folder of the converter's examples.
pub fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/convert/tests/data")
}

/// Runs an example on both sides and compares.
pub fn run(example: &ConvertExample, start: impl Fn(&TestDir, &str) -> Command) {
    let dir = TestDir::new();
    let servers = servers(example);
    let asker = ProxyClient::new(&files(&dir));
    let theirs = fronts(example);
    let ours = fronts(example);
    write(&dir, example, &servers, &theirs);
    let original = ChildProcess::start(start(&dir, example.file));
    let _original = listening(original, theirs[0].address());
    write(&dir, example, &servers, &ours);
    let _steelyard = converted(&dir, example.file, ours[0].address());
    check_known(&dir);
    let mut sides = [ComparedBalancer::new(&asker, theirs), ComparedBalancer::new(&asker, ours)];
    let questions = questions(example);
    wait_until_ready(&sides, &questions);
    let mut differ = Vec::new();
    for question in &questions {
        let [expected, found] = sides.each_mut().map(|side| side.ask(question));
        if expected != found {
            differ.push(format!("{question:?}: {expected:?}, ours {found:?}"));
        }
    }
    differ.sort();
    differ.dedup();
    let file = example.file;
    let count = questions.len();
    assert!(differ.is_empty(), "{file}: {} differ:\n{}", differ.len(), differ.join("\n"));
    let [theirs, ours] = &sides;
    figure(format!("convert {file}: {count} requests, {:?}, ours {:?}", theirs.tally, ours.tally));
    assert!(count >= 300, "{file}: {count} requests are not several hundred");
    for (pool, share) in example.balance_checks {
        check_balance(file, pool, *share, theirs, ours);
    }
}

/// The responses of one balancer.
struct ComparedBalancer<'a> {
    client: &'a ProxyClient,
    fronts: Vec<ReservedPort>,
    tally: BTreeMap<String, u32>,
    servers_by_key: BTreeMap<String, BTreeSet<String>>,
}

impl ComparedBalancer<'_> {
    fn new(asker: &ProxyClient, fronts: Vec<ReservedPort>) -> ComparedBalancer<'_> {
        ComparedBalancer {
            client: asker,
            fronts,
            tally: BTreeMap::new(),
            servers_by_key: BTreeMap::new(),
        }
    }

    /// The response without the server's name, which is counted.
    fn ask(&mut self, question: &ProxyRequest) -> ProxyAnswer {
        let mut seen = self.client.ask(self.fronts[question.front].address(), question);
        if let Some(server) = seen.server.take() {
            *self.tally.entry(server.clone()).or_default() += 1;
            seen.server = server.split('/').next().map(str::to_owned);
            self.servers_by_key.entry(format!("{question:?}")).or_default().insert(server);
        } else {
            *self.tally.entry("balancer".to_owned()).or_default() += 1;
        }
        seen
    }

    fn pool_counts(&self, pool: &str) -> BTreeMap<&str, u32> {
        let all = self.tally.iter().map(|(server, count)| (server.as_str(), *count));
        all.filter(|(server, _)| server.split('/').next() == Some(pool)).collect()
    }
}

/// Compares the distribution of the same requests on both sides.
fn check_balance(
    file: &str,
    pool: &str,
    share: BalanceComparison,
    theirs: &ComparedBalancer<'_>,
    ours: &ComparedBalancer<'_>,
) {
    let expected = theirs.pool_counts(pool);
    let found = ours.pool_counts(pool);
    let told = format!("{file}, {pool}: {expected:?}, ours {found:?}");
    assert!(!expected.is_empty() && expected.keys().eq(found.keys()), "{told}");
    let off = expected.values().zip(found.values()).map(|(one, other)| one.abs_diff(*other)).max();
    match share {
        BalanceComparison::RoundRobin => assert!(off.unwrap() <= TURN, "{told}"),
        BalanceComparison::LeastLoaded => {}
        BalanceComparison::ByKey => {
            for (question, servers) in theirs.servers_by_key.iter().chain(&ours.servers_by_key) {
                let of_pool = servers.iter().filter(|s| s.split('/').next() == Some(pool));
                assert!(of_pool.count() <= 1, "{file}: {question} found {servers:?}");
            }
        }
    }
}

/// The allowed difference in round robin, because each worker has its own turn.
const TURN: u32 = 4;

fn questions(example: &ConvertExample) -> Vec<ProxyRequest> {
    let mut all = Vec::new();
    for talk in example.requests {
        for _ in 0..talk.times {
            for host in talk.hosts {
                for path in talk.paths {
                    for (method, more) in talk.methods {
                        let front = talk.front;
                        let way = talk.protocol;
                        all.push(ProxyRequest { front, protocol: way, method, host, path, more });
                    }
                }
            }
        }
    }
    all
}

/// Waits until both sides answer each listener's first request.
fn wait_until_ready(sides: &[ComparedBalancer<'_>; 2], questions: &[ProxyRequest]) {
    let mut known = BTreeSet::new();
    for question in questions.iter().filter(|question| known.insert(question.front)) {
        for side in sides {
            let front = side.fronts[question.front].address();
            wait::until(&format!("{front} accepts"), || {
                std::net::TcpStream::connect(front).is_ok()
            });
            wait::until(&format!("{question:?} is answered"), || {
                let seen = side.client.ask(front, question);
                seen.server.is_some() || (1..500).contains(&seen.status)
            });
        }
    }
}

/// Waits until every checked server has a health verdict. Until then, servers with a verdict are preferred.
fn check_known(dir: &TestDir) {
    let text = std::fs::read_to_string(dir.join("converted.toml")).unwrap();
    if !text.contains("probe = ") {
        return;
    }
    wait::until("every server is known", || {
        let mut status = Command::new(program());
        status.args(["status", "--json", "--socket"]).arg(dir.join("sock"));
        let told = status.output().unwrap().stdout;
        let told: serde_json::Value = serde_json::from_slice(&told).unwrap_or_default();
        let mut pools = told["pools"].as_array().into_iter().flatten();
        told["pools"].is_array()
            && pools.all(|pool| {
                let mut servers = pool["servers"].as_array().into_iter().flatten();
                servers.all(|server| server["state"] != "unknown")
            })
    });
}

fn fronts(example: &ConvertExample) -> Vec<ReservedPort> {
    let six = |to: &str| to.contains("[::1]");
    let ip =
        |to| if six(to) { IpAddr::from(Ipv6Addr::LOCALHOST) } else { Ipv4Addr::LOCALHOST.into() };
    example.fronts.iter().map(|(_, to)| reserve_port_at(ip(to))).collect()
}

enum StandInServer {
    Http(TestOrigin),
    Http2(H2Origin),
    Bytes(NamingServer),
}

impl StandInServer {
    fn address(&self) -> SocketAddr {
        match self {
            StandInServer::Http(origin) => origin.address(),
            StandInServer::Http2(origin) => origin.address(),
            StandInServer::Bytes(namer) => namer.address(),
        }
    }
}

fn servers(example: &ConvertExample) -> Vec<StandInServer> {
    let one = |name: &'static str| match example.origin_protocol {
        OriginProtocol::Bytes => StandInServer::Bytes(NamingServer::start(name)),
        OriginProtocol::Http2Of(pool) if name.starts_with(pool) => {
            StandInServer::Http2(H2Origin::start(H2Behaviour { name, streams: 100, refusals: 0 }))
        }
        OriginProtocol::Http | OriginProtocol::Http2Of(_) => StandInServer::Http(origin(name)),
    };
    example.servers.iter().map(|(_, name)| one(name)).collect()
}

/// Writes the example's file for these listeners.
fn write(
    dir: &TestDir,
    example: &ConvertExample,
    servers: &[StandInServer],
    fronts: &[ReservedPort],
) {
    let mut text = std::fs::read_to_string(data().join(example.file)).unwrap();
    let mut put = |from: &str, to: &str| {
        assert!(text.contains(from), "{} says nothing of {from:?}", example.file);
        text = text.replace(from, to);
    };
    for (from, to) in example.replacements {
        put(from, &to.replace("DIR", &dir.path().display().to_string()));
    }
    for ((from, to), front) in example.fronts.iter().zip(fronts) {
        put(from, &to.replace("PORT", &front.address().port().to_string()));
    }
    for ((from, _), server) in example.servers.iter().zip(servers) {
        put(from, &server.address().to_string());
    }
    dir.write(example.file, text);
}

/// Writes the files that the examples name, and returns the authority's certificate.
fn files(dir: &TestDir) -> PathBuf {
    let authority = CertificateAuthority::new("test authority");
    let names = ["shop.example", "*.shop.example", "*.example"];
    for pair in ["shop.pem", "grpc.pem"] {
        authority.pair(dir.join(pair), &certificate_for(&names));
    }
    for (chain, key) in [("fullchain.pem", "privkey.pem"), ("grpc.crt", "grpc.key")] {
        let (certificate, secret) = authority.sign(&certificate_for(&names));
        dir.write(chain, certificate);
        dir.write(key, secret);
    }
    let nothing = "HTTP/1.0 503 Sorry\r\nContent-Length: 0\r\n\r\n";
    for (name, text) in [
        ("503.http", nothing),
        ("sorry.http", nothing),
        ("mime.types", "types { }"),
        ("absent.conf", ""),
        ("htpasswd", ""),
    ] {
        dir.write(name, text);
    }
    std::fs::create_dir(dir.join("conf.d")).unwrap();
    authority.write(dir.join("clients.pem"));
    authority.write(dir.join("ca.pem"))
}

/// The configuration that nginx itself runs: one process in the foreground, with all files in the test's directory. The
/// parts of the output of `nginx -T` become files.
pub fn for_nginx(dir: &TestDir, text: &str) -> String {
    let at = dir.path().display();
    let mut parts = text.split("# configuration file ").skip(1);
    let text = parts.next().map_or(text, |main| main.split_once('\n').unwrap().1);
    for part in parts {
        let (name, text) = part.split_once(":\n").unwrap();
        std::fs::write(name, text).unwrap();
    }
    let mut text = text.to_owned();
    if text.contains("stream {") {
        let module = Path::new(STREAM);
        let load = match module.exists() {
            true => format!("load_module {STREAM};\n"),
            false => String::new(),
        };
        return format!("{load}{ALONE}pid {at}/pid;\n{text}");
    }
    if !text.contains("http {") {
        text = format!("events {{ }}\nhttp {{\n{text}\n}}\n");
    }
    let mut more: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|what| format!("{what}_temp_path {at}/{what};\n"))
        .concat();
    if !text.contains("access_log") {
        more.push_str("access_log off;\n");
    }
    let pid = if text.contains("pid ") { String::new() } else { format!("pid {at}/pid;\n") };
    let text = text.replace("http {", &format!("http {{\n{more}"));
    format!("{ALONE}{pid}{text}")
}

const ALONE: &str = "daemon off; master_process off; error_log stderr crit;\n";

/// Debian's file of nginx's `stream` module. Other builds include the module.
const STREAM: &str = "/usr/lib/nginx/modules/ngx_stream_module.so";

/// Runs `steelyard convert` and then the converted configuration.
pub fn converted(dir: &TestDir, file: &str, front: SocketAddr) -> ChildProcess {
    let output = dir.join("converted.toml");
    let mut command = Command::new(program());
    let said = command.arg("convert").arg(dir.join(file)).arg("-o").arg(&output).output().unwrap();
    let told = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(matches!(said.status.code(), Some(0 | 3)), "{told}");
    let mut command = Command::new(program());
    let checked = command.args(["check", "-c"]).arg(&output).output().unwrap();
    let told = String::from_utf8_lossy(&checked.stderr).into_owned();
    assert!(checked.status.success(), "`steelyard check` refuses what was made of {file}: {told}");
    let text = std::fs::read_to_string(&output).unwrap();
    let at = dir.path().display();
    let control = format!("control = {{ socket = \"{at}/sock\", state = \"{at}/state\" }}\n");
    let text = match text.contains("[global]\n") {
        true => text.replace("[global]\n", &format!("[global]\n{control}")),
        false => format!("[global]\n{control}{text}"),
    };
    let mut command = Command::new(program());
    command.args(["run", "-c"]).arg(dir.write("steelyard.toml", text));
    for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID"] {
        command.env_remove(name);
    }
    listening(ChildProcess::start(command), front)
}

pub fn listening(mut process: ChildProcess, front: SocketAddr) -> ChildProcess {
    wait::until(&format!("{front} accepts"), || {
        assert!(process.try_wait().is_none(), "it ended: {}", process.output());
        std::net::TcpStream::connect(front).is_ok()
    });
    process
}
