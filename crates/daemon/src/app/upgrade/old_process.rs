//! The old process's side: waits for a request, offers state and sockets, and announces when it leaves.
//!
//! Until the new process is ready nothing changes here: this process continues to accept and may cancel the takeover.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;

use super::message::{self, UpgradeMessage, UpgradeOffer, VERSION};
use crate::state::ControlHandle;
use crate::util::admin_listeners::admin_sockets::AdminSockets;

/// Limits the wait for the first message, and for the offer to be read.
/// The new process sends at once; one that hangs must not block the next takeover.
const PROMPT: Duration = Duration::from_secs(10);
/// From the offer until the new process must be ready.
/// A large configuration loads and its certificates are read within seconds; nothing can be changed meanwhile.
pub const READY_WITHIN: Duration = Duration::from_secs(60);
/// The pause after a failed accept, because descriptors may be short for a moment. A tenth of a second prevents a busy
/// loop.
const PAUSE: Duration = Duration::from_millis(100);

/// A process that has taken over, with the connection to it.
#[derive(Debug)]
pub struct SuccessorConnection {
    pub pid: u32,
    pub stream: UnixStream,
}

/// Serves takeover attempts, one after another, until one succeeds; then reports it on `handed`. `takes_over` is true
/// during an attempt, and remains true after a successful one.
pub async fn serve_takeover(
    listener: UnixListener,
    control: ControlHandle,
    admin: Arc<AdminSockets>,
    takes_over: Arc<AtomicBool>,
    handed: mpsc::Sender<SuccessorConnection>,
) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        takes_over.store(true, Ordering::Relaxed);
        let successor = handle_attempt(stream, &control, &admin, READY_WITHIN).await;
        takes_over.store(successor.is_some(), Ordering::Relaxed);
        if let Some(successor) = successor {
            // The receiver is dropped only if the process stops anyway.
            let _ = handed.send(successor).await;
            return;
        }
    }
}

/// Handles one takeover attempt. Returns the process that has taken over.
pub(super) async fn handle_attempt(
    mut stream: UnixStream,
    control: &ControlHandle,
    admin: &AdminSockets,
    ready_within: Duration,
) -> Option<SuccessorConnection> {
    let events = control.events();
    let pid = match tokio::time::timeout(PROMPT, check_peer(&mut stream)).await {
        Ok(Ok(pid)) => pid,
        Ok(Err(error)) => {
            events.warn("takeover-refused", error.to_string());
            return None;
        }
        Err(_) => return None,
    };
    let handed = match control.hand_over().await {
        Ok(handed) => handed,
        Err(error) => {
            // The new process may have ended; the takeover has failed either way.
            let _ = message::send_message(&mut stream, &UpgradeMessage::Refused(error.to_string()))
                .await;
            return None;
        }
    };
    events.info(
        "handing-over",
        format!("process {pid} is taking over; nothing is changed until then"),
    );
    let sockets = handed.sockets.into_iter().chain(admin.duplicate_all());
    let (addresses, sockets): (Vec<_>, Vec<_>) =
        sockets.map(|one| (one.address, one.socket)).unzip();
    let offer = UpgradeOffer {
        pid: std::process::id(),
        generation: handed.generation,
        text: handed.text.to_string(),
        file: handed.file.to_string(),
        origin: handed.origin,
        memory: handed.memory,
        sockets: addresses,
    };
    let offered = async {
        message::send_message(&mut stream, &UpgradeMessage::Offer(Box::new(offer))).await?;
        message::send_sockets(&stream, &sockets).await?;
        message::receive_message(&mut stream).await
    };
    let reason = match tokio::time::timeout(ready_within, offered).await {
        Ok(Ok(Some(UpgradeMessage::Ready))) => {
            // If it does not hear this it finds out by our leaving.
            let _ = message::send_message(&mut stream, &UpgradeMessage::Leaving).await;
            return Some(SuccessorConnection { pid, stream });
        }
        Ok(Ok(Some(UpgradeMessage::Refused(why)))) => why,
        Ok(Ok(Some(_))) => {
            "its message is not the expected one: do both have a version that can take over?"
                .to_owned()
        }
        Ok(Ok(None)) => "it ended before it was ready".to_owned(),
        Ok(Err(error)) => error.to_string(),
        Err(_) => {
            // The new process may have ended; the takeover is cancelled either way.
            let _ = message::send_message(&mut stream, &UpgradeMessage::TooLate).await;
            format!("it was not ready within {ready_within:?}")
        }
    };
    control.cancel_hand_over().await;
    events.error("takeover-failed", format!("process {pid} did not take over: {reason}; we go on"));
    None
}

/// Returns the peer's process id. Only root and this process's own user may take over.
async fn check_peer(stream: &mut UnixStream) -> io::Result<u32> {
    let user = stream.peer_cred()?.uid();
    let own = rustix::process::geteuid().as_raw();
    if user != own && user != 0 {
        message::send_message(
            stream,
            &UpgradeMessage::Refused("another user's process".to_owned()),
        )
        .await?;
        return Err(io::Error::other(format!("user {user} may not take over from user {own}")));
    }
    match message::receive_message(stream).await? {
        Some(UpgradeMessage::Hello { version: VERSION, pid }) => Ok(pid),
        Some(UpgradeMessage::Hello { version, .. }) => {
            let text = format!("it speaks version {version} of the takeover, we speak {VERSION}");
            message::send_message(stream, &UpgradeMessage::Refused(text.clone())).await?;
            Err(io::Error::other(text))
        }
        _ => Err(io::Error::other("whoever connected did not ask to take over")),
    }
}
