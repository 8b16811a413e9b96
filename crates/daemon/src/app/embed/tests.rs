//! A whole daemon on loopback, with real workers.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use super::*;
use crate::state::ApplyError;

const LIMIT: Duration = Duration::from_secs(5);

/// A server that answers every connection with its name and closes.
fn origin(name: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _ = stream.write_all(name.as_bytes());
        }
    });
    address
}

fn text(at: SocketAddr, a: SocketAddr, b: SocketAddr) -> String {
    format!(
        r#"
[global]
workers = 2
[service.one]
listen = "{at}"
forward = "tcp"
pool = "p"
[pool.p]
servers = [{{ name = "a", address = "{a}" }}, {{ name = "b", address = "{b}" }}]
"#
    )
}

fn ask(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[tokio::test]
async fn it_carries_changes_and_leaves_nothing_behind() {
    let a = origin("a");
    let b = origin("b");
    let reserved = ReservedAddress::reserve_port("127.0.0.1".parse().unwrap(), 2).unwrap();
    let address = reserved.address();
    let text = text(address, a, b);
    let daemon = EmbeddedDaemon::start_on(&text, vec![reserved], EventLog::quiet()).await.unwrap();
    assert_eq!(daemon.addresses()["one"], [address]);
    let ask_many = move || (0..8).map(|_| ask(address)).collect::<BTreeSet<_>>();
    let answers = tokio::task::spawn_blocking(ask_many).await.unwrap();
    assert_eq!(answers, BTreeSet::from(["a".to_owned(), "b".to_owned()]));

    let by = ChangeOrigin::new("tester", ChangeTrigger::Api);
    let drain = crate::state::OperatorCommand::Drain;
    daemon.control().command_server("p", "a", drain, by.clone()).await.unwrap();
    let answers = tokio::task::spawn_blocking(ask_many).await.unwrap();
    assert_eq!(answers, BTreeSet::from(["b".to_owned()]));

    let busy = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let holder = TcpListener::bind(busy).unwrap();
    let more =
        format!("{text}[service.two]\nlisten = \"{busy}\"\nforward = \"tcp\"\npool = \"p\"\n");
    let change = ConfigChange::new(more, "x", by);
    let error = daemon.control().apply(change.clone()).await.unwrap_err();
    assert!(
        matches!(error, ApplyError::Listen(_)) && error.to_string().contains(&busy.to_string())
    );
    drop(holder);
    daemon.control().apply(change).await.unwrap();
    let answer = tokio::task::spawn_blocking(move || ask(busy)).await.unwrap();
    assert_eq!(answer, "b");

    let directory = daemon.socket().parent().unwrap().to_owned();
    assert!(daemon.socket().exists());
    daemon.stop(LIMIT).await;
    assert!(!directory.exists());
    assert!(TcpStream::connect(address).is_err());
}

#[tokio::test]
async fn mistakes_leave_nothing_behind_either() {
    assert!(matches!(EmbeddedDaemon::start("x").await, Err(EmbedError::Invalid(_))));
}
