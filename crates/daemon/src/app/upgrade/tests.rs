//! Both sides in one process: the old one over a recording engine and real sockets.

use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use l7::socket::{AddressClaim, listeners, listening_address};
use model::config::SocketOptions;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;

use super::message::{self, UpgradeMessage, VERSION};
use super::new_process::{TakeError, take_over};
use super::old_process::{self, handle_attempt};
use crate::control::actor::start::StartedControl;
use crate::control::actor::{ActorParts, ControlActor};
use crate::control::reconcile::fake::FakeEngine;
use crate::state::{
    ApplyError, ChangeOrigin, ChangeTrigger, ConfigChange, ControlHandle, OperatorCommand,
};
use crate::util::admin_listeners::admin_sockets::AdminSockets;
use crate::util::event::EventLog;
use crate::util::listeners::{KernelSockets, ListenerSet, ListeningSocket, NoSocketStore};
use crate::util::scratch_dir::Scratch;

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

fn change(text: &str) -> ConfigChange {
    let text = text.to_owned();
    let file = "t.toml".to_owned();
    ConfigChange::new(text, file, ChangeOrigin::new("tester", ChangeTrigger::Api))
}

async fn old(workers: usize) -> ControlHandle {
    let options = SocketOptions::default();
    let any = "127.0.0.1:0".parse().unwrap();
    let sockets = listeners(any, &options, workers, AddressClaim::Alone).unwrap();
    let at = listening_address(sockets[0].as_fd()).unwrap();
    let mut listeners = ListenerSet::new(Box::new(KernelSockets), Box::new(NoSocketStore), workers);
    listeners.inherit(sockets.into_iter().map(|socket| ListeningSocket { address: at, socket }));
    let parts = ActorParts {
        engine: Arc::new(FakeEngine::default()),
        listeners,
        workers,
        state: None,
        file: None,
        predecessor: None,
        events: EventLog::quiet(),
    };
    let StartedControl { control, actor } =
        ControlActor::start(parts, change(&text(at))).await.unwrap();
    tokio::spawn(actor.run());
    control
}

fn bound(control: &ControlHandle) -> SocketAddr {
    *control.state().listeners.keys().next().unwrap()
}

/// Whether changes become possible within the time limit of a test.
async fn may_change(control: &ControlHandle) -> bool {
    let now = control.state().text.clone();
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

#[tokio::test]
async fn sockets_words_and_health_change_hands() {
    let scratch = Scratch::new("upgrade").unwrap();
    let path = scratch.path().join("u");
    // More sockets than one message carries.
    let control = old(crate::util::fd_passing::PER_MESSAGE + 3).await;
    let by = ChangeOrigin::new("tester", ChangeTrigger::Api);
    control.command_server("web", "a", OperatorCommand::Drain, by).await.unwrap();
    let (tell, mut handed) = mpsc::channel(1);
    let giver = old_process::serve_takeover(
        UnixListener::bind(&path).unwrap(),
        control.clone(),
        Arc::new(AdminSockets::new([])),
        Arc::default(),
        tell,
    );
    let giver = tokio::spawn(giver);

    let state = take_over(&path).await.unwrap();
    assert_eq!(state.offer.text, *control.state().text);
    assert_eq!(state.offer.memory.servers.len(), 1);
    assert_eq!(state.sockets.len(), crate::util::fd_passing::PER_MESSAGE + 3);
    let address = bound(&control);
    for one in &state.sockets {
        assert_eq!(one.address, address);
        assert_eq!(listening_address(one.socket.as_fd()), Some(address));
    }
    assert!(handed.try_recv().is_err());
    state.confirm_ready().await.unwrap();
    let successor = handed.recv().await.unwrap();
    assert_eq!(successor.pid, std::process::id());
    giver.await.unwrap();
}

#[tokio::test]
async fn a_process_that_dies_before_it_is_ready_leaves_the_old_one_as_it_was() {
    let scratch = Scratch::new("upgrade").unwrap();
    let path = scratch.path().join("u");
    let control = old(2).await;
    let (tell, mut handed) = mpsc::channel(1);
    tokio::spawn(old_process::serve_takeover(
        UnixListener::bind(&path).unwrap(),
        control.clone(),
        Arc::new(AdminSockets::new([])),
        Arc::default(),
        tell,
    ));
    let state = take_over(&path).await.unwrap();
    let second = take_over(&path);
    assert!(matches!(control.apply(change("x")).await, Err(ApplyError::HandingOver)));
    drop(state);
    assert!(may_change(&control).await);
    TcpStream::connect(bound(&control)).unwrap();
    assert!(handed.try_recv().is_err());
    assert!(control.events().recent().iter().any(|event| event.kind == "takeover-failed"));
    // And another one may try.
    second.await.unwrap().confirm_ready().await.unwrap();
    assert!(handed.recv().await.is_some());
}

#[tokio::test]
async fn a_process_that_is_not_ready_in_time_is_rejected() {
    let control = old(1).await;
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let new = async {
        let hello = UpgradeMessage::Hello { version: VERSION, pid: 7 };
        message::send_message(&mut theirs, &hello).await.unwrap();
        let offer = message::receive_message(&mut theirs).await.unwrap();
        assert!(matches!(offer, Some(UpgradeMessage::Offer(_))));
        message::receive_sockets(&theirs, 1).await.unwrap();
        message::receive_message(&mut theirs).await.unwrap()
    };
    let none = AdminSockets::new([]);
    let (successor, heard) =
        tokio::join!(handle_attempt(ours, &control, &none, Duration::from_millis(50)), new);
    assert_eq!((successor.is_none(), heard), (true, Some(UpgradeMessage::TooLate)));
    assert!(may_change(&control).await);
}

#[tokio::test]
async fn nonsense_is_refused_and_leaves_no_trace() {
    for message in [UpgradeMessage::Hello { version: VERSION + 1, pid: 7 }, UpgradeMessage::Ready] {
        let control = old(1).await;
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let speak = async {
            message::send_message(&mut theirs, &message).await.unwrap();
            message::receive_message(&mut theirs).await.unwrap()
        };
        let none = AdminSockets::new([]);
        let (successor, heard) =
            tokio::join!(handle_attempt(ours, &control, &none, Duration::from_secs(60)), speak);
        assert!(successor.is_none());
        assert_eq!(
            matches!(heard, Some(UpgradeMessage::Refused(_))),
            message != UpgradeMessage::Ready,
            "{heard:?}"
        );
        assert!(may_change(&control).await);
    }
    let control = old(1).await;
    let (ours, theirs) = UnixStream::pair().unwrap();
    let speak = async {
        // A message that claims 4 GiB.
        let mut theirs = theirs;
        tokio::io::AsyncWriteExt::write_all(&mut theirs, &[0xff; 4]).await.unwrap();
        message::receive_message(&mut theirs).await.unwrap()
    };
    let none = AdminSockets::new([]);
    let (successor, heard) =
        tokio::join!(handle_attempt(ours, &control, &none, Duration::from_secs(60)), speak);
    assert_eq!((successor.is_none(), heard), (true, None));
}

#[tokio::test]
async fn where_nobody_is_there_is_nothing_to_take() {
    let scratch = Scratch::new("upgrade").unwrap();
    let error = take_over(&scratch.path().join("none")).await.unwrap_err();
    assert!(matches!(error, TakeError::NoDaemon { .. }));
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
        message::receive_message(&mut stream).await.unwrap();
        let sockets = handed.sockets.into_iter();
        let (addresses, sockets): (Vec<_>, Vec<_>) =
            sockets.map(|one| (one.address, one.socket)).unzip();
        let offer = message::UpgradeOffer {
            pid: 1,
            generation: 1,
            text: handed.text.to_string(),
            file: String::new(),
            origin: ChangeOrigin::new("tester", ChangeTrigger::Start),
            memory: handed.memory,
            sockets: addresses,
        };
        message::send_message(&mut stream, &UpgradeMessage::Offer(Box::new(offer))).await.unwrap();
        message::send_sockets(&stream, &sockets).await.unwrap();
    };
    let (state, ()) = tokio::join!(take_over(&path), old);
    state.unwrap().confirm_ready().await.unwrap();
}
