//! Servers that close a reused connection after the first bytes of a response: they had the request, so it is not
//! retried.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::spawn;

use tests::e2e::balancer::TestBalancer;
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::client::HttpClient;

/// The server's address, and its number of PUT requests. It answers the first request of a connection; as the second
/// response it sends `begins` and closes.
fn server(begins: &'static str) -> (SocketAddr, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let puts = Arc::new(AtomicU32::new(0));
    let count = puts.clone();
    spawn(move || {
        for stream in listener.incoming().flatten() {
            let count = count.clone();
            // Ignored: the peer may disconnect at any time.
            spawn(move || drop(serve(&stream, begins, &count)));
        }
    });
    (address, puts)
}

fn serve(mut stream: &TcpStream, begins: &str, puts: &AtomicU32) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    for answer in ["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", begins] {
        let Some(first) = lines.next().transpose()? else { return Ok(()) };
        while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
        puts.fetch_add(u32::from(first.starts_with("PUT ")), Ordering::SeqCst);
        stream.write_all(answer.as_bytes())?;
    }
    Ok(())
}

#[test]
fn a_server_that_had_begun_to_answer_on_a_kept_connection_is_not_asked_again() {
    for begins in [
        "H",
        "HTTP/1.1 200 O",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
    ] {
        let (address, puts) = server(begins);
        let balancer =
            TestBalancer::start(&BalancerConfig::http(&[address]).global("workers = 1\n"));
        let mut client = HttpClient::connect(balancer.front());
        assert_eq!(client.get("/").status(), 200);
        client.send("PUT / HTTP/1.1\r\nHost: shop.example\r\nContent-Length: 0\r\n\r\n");
        let mut answer = client.read_answer();
        while answer.status() < 200 {
            answer = client.read_answer();
        }
        assert_eq!(answer.status(), 502, "{begins:?}");
        assert_eq!(puts.load(Ordering::SeqCst), 1, "{begins:?}");
    }
}
