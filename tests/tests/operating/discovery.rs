//! Service discovery: servers from a file, and from a name that the test itself resolves.

use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::cli_environment::CliEnvironment;
use tests::e2e::servers::{addresses, origin};
use tests::e2e::wait;

fn names(place: &CliEnvironment) -> Vec<String> {
    let mut all: Vec<String> =
        place.status().pools[0].servers.iter().map(|server| server.address.clone()).collect();
    all.sort();
    all
}

fn listed(at: &[SocketAddr]) -> Vec<String> {
    let mut all: Vec<String> = at.iter().map(ToString::to_string).collect();
    all.sort();
    all
}

#[test]
fn a_file_is_watched_and_rubbish_in_it_changes_nothing() {
    let origins = [origin("a"), origin("b"), origin("c")];
    let at = addresses(&origins);
    let place = CliEnvironment::new(&BalancerConfig::http(&at[..1]));
    let file = place.dir().write("servers", format!("{} weight=3\n", at[1]));
    let from = format!("servers-from = {{ file = \"{}\" }}", file.display());
    place.write(&BalancerConfig::http(&at[..1]).pool(&from));
    let _process = place.start();
    wait::until("the file is read", || names(&place) == listed(&at[..2]));
    place.dir().write("servers", format!("{}\n{}\n", at[1], at[2]));
    wait::until("the file is read again", || names(&place) == listed(&at));
    place.dir().write("servers", "10.0.0.1:80\nrubbish\n");
    wait::until("the mistake is told", || {
        place.status().warnings.iter().any(|text| text.contains("line 2"))
    });
    assert_eq!(names(&place), listed(&at), "the last good list stands");
}

#[test]
fn the_files_servers_stay_until_a_source_that_replaces_them_has_answered() {
    let origins = [origin("a"), origin("b")];
    let at = addresses(&origins);
    let place = CliEnvironment::new(&BalancerConfig::http(&at[..1]));
    let _process = place.start();
    let file = place.dir().join("later");
    let text = std::fs::read_to_string(place.file()).unwrap();
    let start = text.find("servers = [").unwrap();
    let end = start + text[start..].find(']').unwrap() + 1;
    let source = format!("servers-from = {{ file = \"{}\" }}", file.display());
    let next = format!("{}{source}{}", &text[..start], &text[end..]);
    place.dir().write("next.toml", &next);
    let next = place.dir().join("next.toml");
    place.run_verb_ok(&["apply", next.to_str().unwrap()]);
    assert_eq!(names(&place), listed(&at[..1]), "nothing was found yet");
    place.dir().write("later", format!("{}\n", at[1]));
    wait::until("what is found takes their place", || names(&place) == listed(&at[1..]));
}

/// A DNS server that answers every query with A records.
struct Resolver {
    at: SocketAddr,
    last: Arc<Mutex<Option<Vec<u8>>>>,
    thread: Option<JoinHandle<()>>,
}

impl Resolver {
    fn start(addresses: Vec<u8>) -> Resolver {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let at = socket.local_addr().unwrap();
        let last = Arc::new(Mutex::new(Some(addresses)));
        let shared = Arc::clone(&last);
        let thread = std::thread::spawn(move || {
            let mut room = [0; 512];
            while Arc::strong_count(&shared) > 1 {
                let Ok((length, from)) = socket.recv_from(&mut room) else { continue };
                let hosts = shared.lock().unwrap().clone();
                let _ = socket.send_to(&answer(&room[..length], hosts), from);
            }
        });
        Resolver { at, last, thread: Some(thread) }
    }

    fn says(&self, addresses: Option<Vec<u8>>) {
        *self.last.lock().unwrap() = addresses;
    }
}

impl Drop for Resolver {
    fn drop(&mut self) {
        self.last = Arc::default();
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// A response with 127.0.0.N for each host and a TTL of a second. Without hosts: SERVFAIL.
fn answer(question: &[u8], hosts: Option<Vec<u8>>) -> Vec<u8> {
    let mut out = question.to_vec();
    let code = if hosts.is_some() { 0 } else { 2 };
    let hosts = hosts.unwrap_or_default();
    out[2] |= 0x80;
    out[3] = 0x80 | code;
    out[6..12].copy_from_slice(&[0, hosts.len() as u8, 0, 0, 0, 0]);
    for host in hosts {
        out.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 127, 0, 0, host]);
    }
    out
}

#[test]
fn a_name_brings_servers_and_its_failure_takes_none() {
    let origins = [origin("a")];
    let at = addresses(&origins);
    let resolver = Resolver::start(vec![2, 3]);
    let from = format!(
        "servers-from = {{ dns = \"web.test\", port = 7, resolver = \"{}\", max = 3 }}",
        resolver.at
    );
    let place = CliEnvironment::new(&BalancerConfig::http(&at).pool(&from));
    let _process = place.start();
    let with = |hosts: &[u8]| {
        let found = hosts.iter().map(|host| SocketAddr::from(([127, 0, 0, *host], 7)));
        listed(&at.iter().copied().chain(found).collect::<Vec<_>>())
    };
    wait::until("the name is resolved", || names(&place) == with(&[2, 3]));
    resolver.says(Some(vec![4, 5, 3, 2, 6]));
    wait::until("what is too much is left out", || names(&place) == with(&[2, 3, 4]));
    for silence in [None, Some(Vec::new())] {
        resolver.says(silence);
        wait::until("it is told", || {
            place.status().warnings.iter().any(|text| text.contains("web.test"))
        });
        assert_eq!(names(&place), with(&[2, 3, 4]), "the last good answer stands");
        resolver.says(Some(vec![2, 3, 4]));
        wait::until("it is believed again", || place.status().warnings.is_empty());
    }
}
