//! Servers that authenticate a connection instead of a request (NTLM, Negotiate): a connection authenticated for one
//! client serves no other client, and its client stays on it.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::spawn;

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;
use tests::e2e::h2client::{self, H2Request};
use tests::e2e::wait;

/// A server that authenticates connections instead of requests. It responds with the number of the connection and the
/// authenticated name.
struct AuthenticatingServer {
    address: SocketAddr,
    open: Arc<AtomicU32>,
}

impl AuthenticatingServer {
    fn start(scheme: &'static str) -> AuthenticatingServer {
        AuthenticatingServer::asking(scheme, "401 Unauthorized", "WWW-Authenticate")
    }

    /// A server whose challenge has this status and this field.
    fn asking(
        scheme: &'static str,
        status: &'static str,
        field: &'static str,
    ) -> AuthenticatingServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let open = Arc::new(AtomicU32::new(0));
        let count = open.clone();
        spawn(move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                let open = count.clone();
                open.fetch_add(1, Ordering::SeqCst);
                spawn(move || {
                    // Ignored: the peer may disconnect at any time.
                    let _ = serve(&stream, number, scheme, (status, field));
                    open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        AuthenticatingServer { address, open }
    }
}

fn serve(
    mut stream: &TcpStream,
    number: usize,
    scheme: &str,
    (status, field): (&str, &str),
) -> std::io::Result<()> {
    let mut who = None;
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    loop {
        let mut credentials = None;
        loop {
            let Some(line) = lines.next() else { return Ok(()) };
            let line = line?;
            if line.is_empty() {
                break;
            }
            let Some((name, value)) = line.split_once(": ") else { continue };
            if name.eq_ignore_ascii_case("authorization") {
                credentials = value.strip_prefix(&format!("{scheme} ")).map(str::to_owned);
            }
        }
        let challenge = match credentials.as_deref() {
            Some("hello") => " challenge",
            Some(name) => {
                who = Some(name.to_owned());
                ""
            }
            None => "",
        };
        let body = format!("{number} {}", who.as_deref().unwrap_or("nobody"));
        let length = body.len();
        let head = match who {
            Some(_) => format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n"),
            None => format!(
                "HTTP/1.1 {status}\r\n{field}: Basic realm=\"a, b\"\r\n\
                 {field}: {scheme}{challenge}\r\nContent-Length: {length}\r\n\r\n"
            ),
        };
        stream.write_all((head + &body).as_bytes())?;
    }
}

fn ask(client: &mut HttpClient, credentials: &str) -> String {
    client.send(format!("GET / HTTP/1.1\r\nHost: shop.example\r\n{credentials}\r\n"));
    client.read_answer().text()
}

fn balancer(servers: &[&AuthenticatingServer]) -> TestBalancer {
    let at: Vec<_> = servers.iter().map(|server| server.address).collect();
    TestBalancer::start(&BalancerConfig::http(&at).global("workers = 1\n"))
}

#[test]
fn an_authenticated_connection_is_its_clients_alone() {
    for scheme in ["NTLM", "Negotiate"] {
        let servers = [AuthenticatingServer::start(scheme), AuthenticatingServer::start(scheme)];
        let balancer = balancer(&[&servers[0], &servers[1]]);
        let mut alice = balancer.client();
        let first = ask(&mut alice, "");
        let own = first.split(' ').next().unwrap().to_owned();
        // The challenge, its response and all later requests use the same connection.
        assert_eq!(ask(&mut alice, &format!("Authorization: {scheme} hello\r\n")), first);
        let named = format!("{own} alice");
        assert_eq!(ask(&mut alice, &format!("Authorization: {scheme} alice\r\n")), named);
        for _ in 0..8 {
            assert!(ask(&mut balancer.client(), "").ends_with(" nobody"));
            assert_eq!(ask(&mut alice, ""), named);
        }
        drop(alice);
        // An authenticated connection ends with its client, and so does a connection with a pending challenge.
        let open = || servers.iter().map(|server| server.open.load(Ordering::SeqCst)).sum::<u32>();
        wait::until("no connection to the servers", || open() == 0);
        assert!(ask(&mut balancer.client(), "").ends_with(" nobody"));
    }
}

#[test]
fn a_connection_is_bound_by_either_field_in_an_answer_of_any_status() {
    for (status, field) in [
        ("407 Proxy Authentication Required", "WWW-Authenticate"),
        ("401 Unauthorized", "Proxy-Authenticate"),
        ("403 Forbidden", "WWW-Authenticate"),
    ] {
        let server = AuthenticatingServer::asking("NTLM", status, field);
        let balancer = balancer(&[&server]);
        let mut alice = balancer.client();
        let first = ask(&mut alice, "");
        // A challenged client stays on its connection, and no other client uses that connection.
        for _ in 0..4 {
            assert_ne!(ask(&mut balancer.client(), ""), first, "{status} {field}");
            assert_eq!(ask(&mut alice, ""), first, "{status} {field}");
        }
    }
}

#[test]
fn whoever_authenticates_at_once_is_kept_too() {
    let server = AuthenticatingServer::start("NTLM");
    let balancer = balancer(&[&server]);
    // An already shared connection becomes exclusive to the client.
    let mut alice = balancer.client();
    let named = ask(&mut alice, "Authorization: NTLM alice\r\n");
    assert!(named.ends_with(" alice"));
    for _ in 0..4 {
        assert!(ask(&mut balancer.client(), "").ends_with(" nobody"));
        assert_eq!(ask(&mut alice, ""), named);
    }
}

#[test]
fn a_client_of_http_2_leaves_no_authenticated_connection() {
    let server = AuthenticatingServer::start("NTLM");
    let setup = BalancerConfig::http(&[server.address])
        .global("workers = 1\n")
        .service("http2 = \"always\"\n");
    let balancer = TestBalancer::start(&setup);
    let fields = vec![("authorization", "NTLM alice".to_owned())];
    let asked = H2Request { fields, ..H2Request::get("/") };
    let answer = h2client::send_all(balancer.front(), &[asked]).remove(0);
    assert!(answer.body.ends_with(b" alice"));
    for _ in 0..4 {
        let answer = h2client::send_all(balancer.front(), &[H2Request::get("/")]).remove(0);
        assert!(answer.body.ends_with(b" nobody"));
    }
}

/// The page hides the challenge's body, and the connection belongs to its client all the same.
#[test]
fn a_challenge_behind_a_page_reserves_the_connection_too() {
    let server = AuthenticatingServer::start("NTLM");
    let page = "error-page = [{ status = 401, body = \"page\", intercept = true }]\n";
    let setup = BalancerConfig::http(&[server.address]).global("workers = 1\n").service(page);
    let balancer = TestBalancer::start(&setup);
    let mut alice = balancer.client();
    assert_eq!(ask(&mut alice, ""), "page");
    assert_eq!(ask(&mut balancer.client(), ""), "page");
    assert_eq!(ask(&mut alice, "Authorization: NTLM hello\r\n"), "page");
    assert_eq!(ask(&mut alice, "Authorization: NTLM alice\r\n"), "0 alice");
    for _ in 0..4 {
        assert_eq!(ask(&mut balancer.client(), ""), "page");
        assert_eq!(ask(&mut alice, ""), "0 alice");
    }
}
