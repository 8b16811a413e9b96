//! Signals as an enum. What is done about them is in `run`.

use std::io;

use tokio::signal::unix::{Signal as Source, SignalKind, signal};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGHUP: reload the configuration file.
    Reload,
    /// SIGTERM, SIGINT: leave; a second time: at once.
    Shutdown,
    /// SIGUSR1: open the access log anew.
    Reopen,
    /// SIGUSR2: start the new binary, which takes over.
    Upgrade,
}

/// Where they come from.
#[derive(Debug)]
pub struct SignalListener {
    hangup: Source,
    terminate: Source,
    interrupt: Source,
    user1: Source,
    user2: Source,
}

impl SignalListener {
    /// From now on they do not end the process.
    ///
    /// # Errors
    /// The system gives no handler.
    pub fn new() -> io::Result<SignalListener> {
        Ok(SignalListener {
            hangup: signal(SignalKind::hangup())?,
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            user1: signal(SignalKind::user_defined1())?,
            user2: signal(SignalKind::user_defined2())?,
        })
    }

    pub async fn next_signal(&mut self) -> Signal {
        tokio::select! {
            _ = self.terminate.recv() => Signal::Shutdown,
            _ = self.interrupt.recv() => Signal::Shutdown,
            _ = self.hangup.recv() => Signal::Reload,
            _ = self.user1.recv() => Signal::Reopen,
            _ = self.user2.recv() => Signal::Upgrade,
        }
    }
}
