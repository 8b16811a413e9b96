//! Runs one example beside what was made of it, and compares what clients see.
//!
//! What is asked stands in `examples`, how in `ask`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

use lab::origin::Origin;
use lab::port::Reserved;
use tests::e2e::balancer::{figure, program};
use tests::e2e::certificate::{Authority, wanted};
use tests::e2e::dir::Dir;
use tests::e2e::h2origin::{H2Origin, Manner};
use tests::e2e::process::Process;
use tests::e2e::servers::{origin, reserved_at};
use tests::e2e::wait;

use super::ask::{Asker, Namer, Question, Seen};
use super::examples::{Example, Share, Speak};

/// Where the converter's examples are.
pub fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/convert/tests/data")
}

/// Runs an example on both sides and compares.
pub fn run(example: &Example, start: impl Fn(&Dir, &str) -> Command) {
    let (dir, servers) = (Dir::new(), servers(example));
    let asker = Asker::new(&files(&dir));
    let (theirs, ours) = (fronts(example), fronts(example));
    write(&dir, example, &servers, &theirs);
    let original = Process::start(start(&dir, example.file));
    let _original = listening(original, theirs[0].address());
    write(&dir, example, &servers, &ours);
    let _steelyard = converted(&dir, example.file, ours[0].address());
    known(&dir);
    let mut sides = [Side::new(&asker, theirs), Side::new(&asker, ours)];
    let questions = questions(example);
    ready(&sides, &questions);
    let mut differ = Vec::new();
    for question in &questions {
        let [expected, found] = sides.each_mut().map(|side| side.ask(question));
        if expected != found {
            differ.push(format!("{question:?}: {expected:?}, ours {found:?}"));
        }
    }
    differ.sort();
    differ.dedup();
    let (file, count) = (example.file, questions.len());
    assert!(differ.is_empty(), "{file}: {} differ:\n{}", differ.len(), differ.join("\n"));
    let [theirs, ours] = &sides;
    figure(format!("convert {file}: {count} requests, {:?}, ours {:?}", theirs.tally, ours.tally));
    assert!(count >= 300, "{file}: {count} requests are not several hundred");
    for (pool, share) in example.shares {
        shared(file, pool, *share, theirs, ours);
    }
}

/// What one balancer answered.
struct Side<'a> {
    asker: &'a Asker,
    fronts: Vec<Reserved>,
    tally: BTreeMap<String, u32>,
    found: BTreeMap<String, BTreeSet<String>>,
}

impl Side<'_> {
    fn new(asker: &Asker, fronts: Vec<Reserved>) -> Side<'_> {
        Side { asker, fronts, tally: BTreeMap::new(), found: BTreeMap::new() }
    }

    /// The answer without the server's own name, which is counted.
    fn ask(&mut self, question: &Question) -> Seen {
        let mut seen = self.asker.ask(self.fronts[question.front].address(), question);
        if let Some(server) = seen.server.take() {
            *self.tally.entry(server.clone()).or_default() += 1;
            seen.server = server.split('/').next().map(str::to_owned);
            self.found.entry(format!("{question:?}")).or_default().insert(server);
        } else {
            *self.tally.entry("balancer".to_owned()).or_default() += 1;
        }
        seen
    }

    fn of(&self, pool: &str) -> BTreeMap<&str, u32> {
        let all = self.tally.iter().map(|(server, count)| (server.as_str(), *count));
        all.filter(|(server, _)| server.split('/').next() == Some(pool)).collect()
    }
}

/// How the same requests were shared out on both sides.
fn shared(file: &str, pool: &str, share: Share, theirs: &Side<'_>, ours: &Side<'_>) {
    let (expected, found) = (theirs.of(pool), ours.of(pool));
    let told = format!("{file}, {pool}: {expected:?}, ours {found:?}");
    assert!(!expected.is_empty() && expected.keys().eq(found.keys()), "{told}");
    let off = expected.values().zip(found.values()).map(|(one, other)| one.abs_diff(*other)).max();
    match share {
        Share::Turn => assert!(off.unwrap() <= TURN, "{told}"),
        Share::Load => {}
        Share::Key => {
            for (question, servers) in theirs.found.iter().chain(&ours.found) {
                let of_pool = servers.iter().filter(|s| s.split('/').next() == Some(pool));
                assert!(of_pool.count() <= 1, "{file}: {question} found {servers:?}");
            }
        }
    }
}

/// What taking turns may be off by: workers take turns each on its own.
const TURN: u32 = 4;

fn questions(example: &Example) -> Vec<Question> {
    let mut all = Vec::new();
    for talk in example.talks {
        for _ in 0..talk.times {
            for host in talk.hosts {
                for path in talk.paths {
                    for (method, more) in talk.kinds {
                        let (front, way) = (talk.front, talk.way);
                        all.push(Question { front, way, method, host, path, more });
                    }
                }
            }
        }
    }
    all
}

/// Waits until each listener's first question is answered by both.
fn ready(sides: &[Side<'_>; 2], questions: &[Question]) {
    let mut known = BTreeSet::new();
    for question in questions.iter().filter(|question| known.insert(question.front)) {
        for side in sides {
            let front = side.fronts[question.front].address();
            wait::until(&format!("{front} accepts"), || {
                std::net::TcpStream::connect(front).is_ok()
            });
            wait::until(&format!("{question:?} is answered"), || {
                let seen = side.asker.ask(front, question);
                seen.server.is_some() || (1..500).contains(&seen.status)
            });
        }
    }
}

/// Waits until every server that is probed was: until then those that were go before the others.
fn known(dir: &Dir) {
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

fn fronts(example: &Example) -> Vec<Reserved> {
    let six = |to: &str| to.contains("[::1]");
    let ip =
        |to| if six(to) { IpAddr::from(Ipv6Addr::LOCALHOST) } else { Ipv4Addr::LOCALHOST.into() };
    example.fronts.iter().map(|(_, to)| reserved_at(ip(to))).collect()
}

/// A stand-in.
enum Server {
    Http(Origin),
    Http2(H2Origin),
    Bytes(Namer),
}

impl Server {
    fn address(&self) -> SocketAddr {
        match self {
            Server::Http(origin) => origin.address(),
            Server::Http2(origin) => origin.address(),
            Server::Bytes(namer) => namer.address(),
        }
    }
}

fn servers(example: &Example) -> Vec<Server> {
    let one = |name: &'static str| match example.speak {
        Speak::Bytes => Server::Bytes(Namer::start(name)),
        Speak::Http2Of(pool) if name.starts_with(pool) => {
            Server::Http2(H2Origin::start(Manner { name, streams: 100, refusals: 0 }))
        }
        Speak::Http | Speak::Http2Of(_) => Server::Http(origin(name)),
    };
    example.servers.iter().map(|(_, name)| one(name)).collect()
}

/// Writes the example's file for these listeners.
fn write(dir: &Dir, example: &Example, servers: &[Server], fronts: &[Reserved]) {
    let mut text = std::fs::read_to_string(data().join(example.file)).unwrap();
    let mut put = |from: &str, to: &str| {
        assert!(text.contains(from), "{} says nothing of {from:?}", example.file);
        text = text.replace(from, to);
    };
    for (from, to) in example.instead {
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

/// Files that examples name; the authority's certificate is returned.
fn files(dir: &Dir) -> PathBuf {
    let authority = Authority::new("test authority");
    let names = ["shop.example", "*.shop.example", "*.example"];
    for pair in ["shop.pem", "grpc.pem"] {
        authority.pair(dir.join(pair), &wanted(&names));
    }
    for (chain, key) in [("fullchain.pem", "privkey.pem"), ("grpc.crt", "grpc.key")] {
        let (certificate, secret) = authority.sign(&wanted(&names));
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

/// What nginx itself runs: one process in the foreground, with all it writes in the test's directory. The files that
/// `nginx -T` printed are files again.
pub fn for_nginx(dir: &Dir, text: &str) -> String {
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

/// Where Debian has nginx's `stream`; others build it in.
const STREAM: &str = "/usr/lib/nginx/modules/ngx_stream_module.so";

/// Runs `steelyard convert` and then what it wrote.
pub fn converted(dir: &Dir, file: &str, front: SocketAddr) -> Process {
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
    listening(Process::start(command), front)
}

pub fn listening(mut process: Process, front: SocketAddr) -> Process {
    wait::until(&format!("{front} accepts"), || {
        assert!(process.ended().is_none(), "it ended: {}", process.said());
        std::net::TcpStream::connect(front).is_ok()
    });
    process
}
