//! `explain trace --watch`: what passes an interface, analysed until a signal, the time's end, or the interface's.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use lab::net::NetworkNamespace;
use rustix::process::Signal;
use serde_json::Value;
use tests::e2e::balancer::program;
use tests::e2e::process::ChildProcess;
use tests::e2e::wait;
use tests::skip::skip;

const THINK: Duration = Duration::from_millis(150);
pub const EXCHANGES: usize = 3;
/// Connections that are told apart at a time.
const TOLD_APART: usize = 10_000;

pub fn namespace() -> Option<NetworkNamespace> {
    let made = NetworkNamespace::new("watch");
    made.map_err(|error| skip(&format!("no namespace: {error}"))).ok()
}

/// Starts the command inside, and waits until the kernel has its socket.
fn watch(namespace: &NetworkNamespace, arguments: &[&str]) -> ChildProcess {
    let mut command = namespace.command(program());
    command.args(["explain", "trace", "--json", "--watch"]).args(arguments);
    let watching = ChildProcess::start(command);
    wait_for_socket(namespace);
    watching
}

/// Waits until a program inside has a packet socket.
pub fn wait_for_socket(namespace: &NetworkNamespace) {
    let is_bound = || {
        let sockets = std::fs::read_to_string("/proc/thread-self/net/packet").unwrap();
        // A line of headings, and one for each socket, of which the fourth word is the protocol: all of them.
        sockets.lines().skip(1).any(|line| line.split_whitespace().nth(3) == Some("0003"))
    };
    wait::until("a packet socket of the command", || namespace.run_inside(is_bound).unwrap());
}

/// What it printed at its end, with this exit code.
fn report(mut watching: ChildProcess, code: i32) -> Value {
    assert_eq!(watching.wait().code(), Some(code), "{}", watching.output());
    // Its output is collected by another thread.
    wait::until_some("the report", || serde_json::from_str(&watching.output()).ok())
}

/// A server that thinks, and its address.
fn serve(exchanges: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(exchanges) {
            let mut stream = stream.unwrap();
            let mut request = [0; 512];
            assert!(stream.read(&mut request).unwrap() > 0);
            wait::linger(THINK);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
        }
    });
    address
}

fn ask(address: SocketAddr) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with("ok"), "{answer}");
}

/// Some exchanges with a server that thinks, and a connection that is refused.
pub fn exchange() {
    let address = serve(EXCHANGES);
    (0..EXCHANGES).for_each(|_| ask(address));
    assert!(TcpStream::connect(refused_address()).is_err());
}

fn refused_address() -> SocketAddr {
    // Nobody else is in the namespace, so the port stays free.
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

#[test]
fn exchanges_and_failures_are_told_once_when_the_watch_ends() {
    let Some(namespace) = namespace() else { return };
    for interface in ["lo", "any"] {
        let watching = watch(&namespace, &[interface]);
        namespace.run_inside(exchange).unwrap();
        watching.signal(Signal::INT);
        let report = report(watching, 0);
        assert_eq!(report["files"][0], interface);
        assert_eq!(report["connections_total"], EXCHANGES + 1, "{report:#}");
        assert_eq!(report["transactions_total"], EXCHANGES);
        assert_eq!(report["capture"]["duplicates"], 0);
        assert_eq!(report["capture"]["drops"], 0);
        let verdict = &report["verdict"];
        assert_eq!(verdict["failures"][0]["code"], "CONNECT_REFUSED");
        assert_eq!(verdict["failures"][0]["connections"], 1);
        assert_eq!(verdict["most_significant"]["code"], "SERVER_THINK");
        let total = verdict["total_seconds"].as_f64().unwrap();
        assert!(total >= THINK.as_secs_f64() * EXCHANGES as f64, "{total}");
    }
}

#[test]
fn it_ends_by_itself_after_a_time_and_when_the_interface_is_removed() {
    let Some(namespace) = namespace() else { return };
    let quiet = report(watch(&namespace, &["lo", "--for", "300ms"]), 0);
    assert_eq!(quiet["connections_total"], 0);
    namespace.ip("link add gone type veth peer name other\nlink set gone up\n").unwrap();
    let watching = watch(&namespace, &["gone"]);
    // An interface that goes down may come back.
    namespace.ip("link set gone down\nlink set gone up\n").unwrap();
    namespace.ip("link del gone\n").unwrap();
    let ended = report(watching, 3);
    assert_eq!(ended["capture"]["damage"], "interface gone was removed");
}

#[test]
fn packets_that_found_no_room_are_counted() {
    let Some(namespace) = namespace() else { return };
    let watching = watch(&namespace, &["lo", "--ring", "1"]);
    watching.signal(Signal::STOP);
    let flood = || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut from = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut to = listener.accept().unwrap().0;
        let reader = std::thread::spawn(move || std::io::copy(&mut to, &mut std::io::sink()));
        from.write_all(&vec![b'x'; 8 << 20]).unwrap();
        drop(from);
        reader.join().unwrap().unwrap();
    };
    namespace.run_inside(flood).unwrap();
    watching.signal(Signal::CONT);
    watching.signal(Signal::INT);
    let report = report(watching, 0);
    assert!(report["capture"]["drops"].as_u64().unwrap() > 0, "{report:#}");
    assert!(report["capture"]["frames"].as_u64().unwrap() > 0, "{report:#}");
}

#[test]
fn connections_beyond_the_limit_stay_in_the_sums() {
    let Some(namespace) = namespace() else { return };
    let mut watching = watch(&namespace, &["lo"]);
    let all = TOLD_APART * 5 / 4;
    let refused = || {
        let address = refused_address();
        (0..all).for_each(|_| assert!(TcpStream::connect(address).is_err()));
    };
    namespace.run_inside(refused).unwrap();
    watching.signal(Signal::INT);
    // A program for development takes seconds for as many, on a busy machine more than one deadline.
    wait::reached(|| watching.try_wait().is_some());
    let report = report(watching, 0);
    assert_eq!(report["capture"]["drops"], 0);
    assert_eq!(report["connections_total"], all);
    let told = report["connections"].as_array().unwrap().len();
    assert!((TOLD_APART / 2..TOLD_APART).contains(&told), "{told}");
    assert_eq!(report["connections_left_out"], all - told);
    let failure = &report["verdict"]["failures"][0];
    assert_eq!(failure["code"], "CONNECT_REFUSED");
    assert_eq!(failure["connections"], all);
}

#[test]
fn what_cannot_be_watched_is_said_with_the_remedy() {
    let mut plain = Command::new(program());
    let absent = plain.args(["explain", "trace", "--watch", "nowhere"]).output().unwrap();
    let text = String::from_utf8_lossy(&absent.stderr);
    assert_eq!(absent.status.code(), Some(1), "{text}");
    assert!(text.contains("`nowhere`") && text.contains("lo"), "{text}");
    if !rustix::process::geteuid().is_root() {
        return skip("rights can be given up by root alone");
    }
    let mut barred = Command::new("setpriv");
    barred.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program());
    let barred = barred.args(["explain", "trace", "--watch", "lo"]).output().unwrap();
    let text = String::from_utf8_lossy(&barred.stderr);
    assert_eq!(barred.status.code(), Some(2), "{text}");
    assert!(text.contains("CAP_NET_RAW"), "{text}");
}
