//! Operator commands to the thread: to take over, to hand over, to go by priorities again, and to end. It carries
//! nothing out itself.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

/// How long others wait for the thread.
/// The process must end even if giving addresses up hangs.
const WAIT: Duration = Duration::from_secs(5);
/// Orders that may wait.
/// Commands of operators; more wait at the sender.
const QUEUE: usize = 16;

/// How it is to change who is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakeoverAction {
    /// This member becomes active.
    TakeOver,
    /// The other member is to become active.
    HandOver {
        /// Although no other member is known to take over.
        force: bool,
    },
    Release,
}

/// A command for the VRRP thread.
#[derive(Debug)]
pub enum VrrpCommand {
    /// To change who is active.
    ChangeActive {
        how: TakeoverAction,
        /// Which group; `None`: all.
        group: Option<String>,
        /// The channel for the result.
        done: oneshot::Sender<Result<Vec<String>, TakeoverError>>,
    },
    Shutdown {
        /// Addresses are given up.
        give: bool,
        /// When it is done.
        done: oneshot::Sender<()>,
    },
}

/// Why a command to take over was not followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TakeoverError {
    #[error("there is no group `{0}`: groups are tables `[vrrp.NAME]`")]
    Unknown(String),
    #[error("this machine shares no address: there is no table `[vrrp.NAME]`")]
    None,
    /// The group could not.
    #[error("group {name}: {why}")]
    Refused { name: String, why: String },
    /// The other member would not take it.
    #[error("group {name}: {why}; `--force` hands over all the same")]
    Unready { name: String, why: String },
    /// Others have to agree first.
    #[error(
        "{0}: active as soon as the other member or the witness agrees; see `steelyard status`"
    )]
    Waits(String),
    /// The thread has ended.
    #[error("the daemon is stopping")]
    Stopping,
}

/// Where orders go, and where the thread takes them.
pub fn command_channel() -> (VrrpCommandSender, mpsc::Receiver<VrrpCommand>) {
    let (sender, inbox) = mpsc::channel(QUEUE);
    (VrrpCommandSender(sender), inbox)
}

/// Sends commands to the VRRP thread.
#[derive(Clone, Debug)]
pub struct VrrpCommandSender(mpsc::Sender<VrrpCommand>);

impl VrrpCommandSender {
    /// Waits, not for ever, until it has ended.
    pub async fn shut_down(&self, give: bool) {
        let (done, told) = oneshot::channel();
        if self.0.send(VrrpCommand::Shutdown { give, done }).await.is_ok() {
            // After the timeout the caller stops waiting; the thread ends with the process.
            let _ = tokio::time::timeout(WAIT, told).await;
        }
    }

    /// Changes who is active; returns the groups that changed.
    ///
    /// # Errors
    /// The first group that could not change. The groups before it have changed.
    pub async fn change_active(
        &self,
        how: TakeoverAction,
        group: Option<String>,
    ) -> Result<Vec<String>, TakeoverError> {
        let (done, told) = oneshot::channel();
        let sent = self.0.send(VrrpCommand::ChangeActive { how, group, done }).await;
        sent.map_err(|_| TakeoverError::Stopping)?;
        let answer = tokio::time::timeout(WAIT, told).await;
        answer.ok().and_then(Result::ok).unwrap_or(Err(TakeoverError::Stopping))
    }
}
