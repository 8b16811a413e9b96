//! Both sides in one process: the old one over a recording engine and real sockets.

use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use l7::socket::{Claim, listeners, listening_at};
use model::config::SocketOptions;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;

use super::frame::{self, VERSION, Word};
use super::give::{self, answer};
use super::take::{TakeError, take};
use crate::control::actor::{Actor, Parts};
use crate::control::{ApplyError, Change, Control, Origin, ServerWord, Way};
use crate::event::Events;
use crate::listeners::{Kernel, Listeners, NoKeeper};
use crate::reconcile::fake::Fake;
use crate::scratch::Scratch;
use crate::serve::ports::AdminSockets;

fn text(at: SocketAddr) -> String {
    format!(
        r#"
[service.shop]
listen = "{at}"
forward = "http"
pool = "web"
[pool.web]
servers = [{{ name = "a", address = "10.0.0.1:80" }}]
"#
    )
}

fn change(text: &str) -> Change {
    let (text, file) = (text.to_owned(), "t.toml".to_owned());
    Change::new(text, file, Origin::new("tester", Way::Api))
}

async fn old(workers: usize) -> Control {
    let options = SocketOptions::default();
    let any = "127.0.0.1:0".parse().unwrap();
    let sockets = listeners(any, &options, workers, Claim::Alone).unwrap();
    let at = listening_at(sockets[0].as_fd()).unwrap();
    let mut listeners = Listeners::new(Box::new(Kernel), Box::new(NoKeeper), workers);
    listeners.inherit(sockets.into_iter().map(|socket| (at, socket)));
    let parts = Parts {
        engine: Arc::new(Fake::default()),
        listeners,
        workers,
        state: None,
        file: None,
        before: None,
        events: Events::quiet(),
    };
    let (control, actor) = Actor::begin(parts, change(&text(at))).await.unwrap();
    tokio::spawn(actor.run());
    control
}

fn bound(control: &Control) -> SocketAddr {
    *control.picture().listeners.keys().next().unwrap()
}

/// Whether changes are possible, after having waited for it as long as a test may take.
async fn may_change(control: &Control) -> bool {
    let now = control.picture().text.clone();
    let text =
        format!("{now}[pool.more]\nservers = [{{ name = \"a\", address = \"10.0.0.1:80\" }}]\n");
    for _ in 0..1000 {
        match control.apply(change(&text)).await {
            Ok(_) => return true,
            Err(ApplyError::HandingOver) => tokio::time::sleep(Duration::from_millis(5)).await,
            Err(error) => panic!("{error}"),
        }
    }
    false
}

fn ours(control: &Control) -> (Control, Arc<AdminSockets>) {
    (control.clone(), Arc::new(AdminSockets::new([])))
}

#[tokio::test]
async fn sockets_words_and_health_change_hands() {
    let scratch = Scratch::new("upgrade").unwrap();
    let path = scratch.path().join("u");
    // More sockets than one message carries.
    let control = old(crate::rights::PER_MESSAGE + 3).await;
    let by = Origin::new("tester", Way::Api);
    control.set_server("web", "a", ServerWord::Drain, by).await.unwrap();
    let (tell, mut handed) = mpsc::channel(1);
    let giver =
        give::serve(UnixListener::bind(&path).unwrap(), ours(&control), Arc::default(), tell);
    let giver = tokio::spawn(giver);

    let taken = take(&path).await.unwrap();
    assert_eq!(taken.offer.text, *control.picture().text);
    assert_eq!(taken.offer.memory.servers.len(), 1);
    assert_eq!(taken.sockets.len(), crate::rights::PER_MESSAGE + 3);
    let address = bound(&control);
    for (configured, socket) in &taken.sockets {
        assert_eq!(*configured, address);
        assert_eq!(listening_at(socket.as_fd()), Some(address));
    }
    assert!(handed.try_recv().is_err());
    taken.ready().await.unwrap();
    let (pid, _) = handed.recv().await.unwrap();
    assert_eq!(pid, std::process::id());
    giver.await.unwrap();
}

#[tokio::test]
async fn a_process_that_dies_before_it_is_ready_leaves_the_old_one_as_it_was() {
    let scratch = Scratch::new("upgrade").unwrap();
    let path = scratch.path().join("u");
    let control = old(2).await;
    let (tell, mut handed) = mpsc::channel(1);
    tokio::spawn(give::serve(
        UnixListener::bind(&path).unwrap(),
        ours(&control),
        Arc::default(),
        tell,
    ));
    let taken = take(&path).await.unwrap();
    let second = take(&path);
    assert!(matches!(control.apply(change("x")).await, Err(ApplyError::HandingOver)));
    drop(taken);
    assert!(may_change(&control).await);
    TcpStream::connect(bound(&control)).unwrap();
    assert!(handed.try_recv().is_err());
    assert!(control.events().recent().iter().any(|event| event.what == "takeover-failed"));
    // And another one may try.
    second.await.unwrap().ready().await.unwrap();
    assert!(handed.recv().await.is_some());
}

#[tokio::test]
async fn a_process_that_is_not_ready_in_time_is_told_so() {
    let control = old(1).await;
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let new = async {
        let hello = Word::Hello { version: VERSION, pid: 7 };
        frame::say(&mut theirs, &hello).await.unwrap();
        let offer = frame::hear(&mut theirs).await.unwrap();
        assert!(matches!(offer, Some(Word::Offer(_))));
        frame::receive_sockets(&theirs, 1).await.unwrap();
        frame::hear(&mut theirs).await.unwrap()
    };
    let none = AdminSockets::new([]);
    let (taken, heard) =
        tokio::join!(answer(ours, (&control, &none), Duration::from_millis(50)), new);
    assert_eq!((taken.is_none(), heard), (true, Some(Word::TooLate)));
    assert!(may_change(&control).await);
}

#[tokio::test]
async fn nonsense_is_refused_and_leaves_no_trace() {
    for word in [Word::Hello { version: VERSION + 1, pid: 7 }, Word::Ready] {
        let control = old(1).await;
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let speak = async {
            frame::say(&mut theirs, &word).await.unwrap();
            frame::hear(&mut theirs).await.unwrap()
        };
        let none = AdminSockets::new([]);
        let (taken, heard) =
            tokio::join!(answer(ours, (&control, &none), Duration::from_secs(60)), speak);
        assert!(taken.is_none());
        assert_eq!(matches!(heard, Some(Word::Refused(_))), word != Word::Ready, "{heard:?}");
        assert!(may_change(&control).await);
    }
    let control = old(1).await;
    let (ours, theirs) = UnixStream::pair().unwrap();
    let speak = async {
        // A word of 4 GiB.
        let mut theirs = theirs;
        tokio::io::AsyncWriteExt::write_all(&mut theirs, &[0xff; 4]).await.unwrap();
        frame::hear(&mut theirs).await.unwrap()
    };
    let none = AdminSockets::new([]);
    let (taken, heard) =
        tokio::join!(answer(ours, (&control, &none), Duration::from_secs(60)), speak);
    assert_eq!((taken.is_none(), heard), (true, None));
}

#[tokio::test]
async fn where_nobody_is_there_is_nothing_to_take() {
    let scratch = Scratch::new("upgrade").unwrap();
    let error = take(&scratch.path().join("none")).await.unwrap_err();
    assert!(matches!(error, TakeError::Nobody { .. }));
    assert!(error.to_string().contains("--takeover"), "{error}");
}

#[tokio::test]
async fn a_new_process_goes_on_when_the_old_one_dies() {
    let scratch = Scratch::new("upgrade").unwrap();
    let path = scratch.path().join("u");
    let listener = UnixListener::bind(&path).unwrap();
    let control = old(1).await;
    let handed = control.hand_over().await.unwrap();
    let old = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        frame::hear(&mut stream).await.unwrap();
        let (addresses, sockets): (Vec<_>, Vec<_>) = handed.sockets.into_iter().unzip();
        let offer = frame::Offer {
            pid: 1,
            generation: 1,
            text: handed.text.to_string(),
            file: String::new(),
            origin: Origin::new("tester", Way::Start),
            memory: handed.memory,
            sockets: addresses,
        };
        frame::say(&mut stream, &Word::Offer(Box::new(offer))).await.unwrap();
        frame::send_sockets(&stream, &sockets).await.unwrap();
    };
    let (taken, ()) = tokio::join!(take(&path), old);
    taken.unwrap().ready().await.unwrap();
}
