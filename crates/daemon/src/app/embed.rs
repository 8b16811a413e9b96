//! A whole daemon inside another program: for `steelyard try` and for tests. No root, no file left behind.
//!
//! Its API listens in a temporary directory that also holds its state; both are removed with it. It handles no signals
//! and does not notify systemd.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use l7::OpenCounts;
use l7::socket::{AddressClaim, ListenError, listeners, listening_address};
use model::config::{ConfigFindings, SocketOptions, load};

use crate::api_server::control_socket::{ControlSocketError, ReplacePolicy, bind};
use crate::app::{App, AppBuildError, AppOptions};
use crate::health::health_check::counts::ProbeSums;
use crate::state::{ChangeOrigin, ChangeTrigger, ConfigChange, ControlHandle, ShutdownRequest};
use crate::util::event::EventLog;
use crate::util::listeners::{ListeningSocket, NoSocketStore};
use crate::util::scratch_dir::Scratch;

/// The socket is this user's alone.
const MODE: u32 = 0o600;

/// A daemon inside this process.
pub struct EmbeddedDaemon {
    app: App,
    socket: PathBuf,
    // Removed last, when everything in it is closed.
    scratch: Scratch,
}

/// A free address, held until a daemon takes it: a configuration's text can name it.
#[derive(Debug)]
pub struct ReservedAddress {
    address: SocketAddr,
    sockets: Vec<OwnedFd>,
}

impl ReservedAddress {
    /// A port of this address that the kernel chooses, with a socket for each of `workers`.
    ///
    /// # Errors
    /// The address is not to be had.
    pub fn reserve_port(ip: IpAddr, workers: usize) -> Result<ReservedAddress, ListenError> {
        let options = SocketOptions::default();
        let sockets = listeners((ip, 0).into(), &options, workers.max(1), AddressClaim::Alone)?;
        let address = sockets.first().and_then(|socket| listening_address(socket.as_fd()));
        let address = address.ok_or(ListenError::NotListening)?;
        Ok(ReservedAddress { address, sockets })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    fn sockets(self) -> impl Iterator<Item = ListeningSocket> {
        let address = self.address;
        self.sockets.into_iter().map(move |socket| ListeningSocket { address, socket })
    }
}

/// Why it did not start; nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The text has mistakes.
    #[error("{0}")]
    Invalid(ConfigFindings),
    /// The scratch directory could not be made.
    #[error("no temporary directory could be made: {0}")]
    Scratch(#[source] io::Error),
    #[error(transparent)]
    Bind(#[from] ControlSocketError),
    #[error(transparent)]
    Build(#[from] AppBuildError),
}

impl EmbeddedDaemon {
    /// Starts a daemon from a configuration's text, within the caller's runtime. `global.control` is replaced.
    ///
    /// # Errors
    /// See `EmbedError`.
    pub async fn start(text: &str) -> Result<EmbeddedDaemon, EmbedError> {
        EmbeddedDaemon::start_on(text, Vec::new(), EventLog::quiet()).await
    }

    /// As `start`, on addresses that were reserved, with an event log.
    ///
    /// # Errors
    /// See `EmbedError`.
    pub async fn start_on(
        text: &str,
        reserved: Vec<ReservedAddress>,
        events: EventLog,
    ) -> Result<EmbeddedDaemon, EmbedError> {
        let file = "embedded.toml".to_owned();
        let checked = load(text, &file).map_err(EmbedError::Invalid)?;
        let scratch = Scratch::new("daemon").map_err(EmbedError::Scratch)?;
        let socket = scratch.path().join("control.sock");
        let bound = bind(&socket, MODE, ReplacePolicy::StaleOnly)?;
        let origin = ChangeOrigin::new("embedded", ChangeTrigger::Start);
        let plan = AppOptions {
            change: ConfigChange::new(text, file, origin),
            global: checked.config.global,
            inherited: reserved.into_iter().flat_map(ReservedAddress::sockets).collect(),
            predecessor: None,
            socket_store: Box::new(NoSocketStore),
            state: Some(scratch.path().join("state")),
            file: None,
            events,
        };
        let mut app = App::build(plan).await?;
        app.serve_api(Some(bound));
        Ok(EmbeddedDaemon { app, socket, scratch })
    }

    /// To ask for changes.
    pub fn control(&self) -> &ControlHandle {
        &self.app.control
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Where each service listens.
    pub fn addresses(&self) -> BTreeMap<String, Vec<SocketAddr>> {
        let mut addresses: BTreeMap<String, Vec<SocketAddr>> = BTreeMap::new();
        for (address, facts) in &self.control().state().listeners {
            addresses.entry(facts.service_name.clone()).or_default().push(*address);
        }
        addresses
    }

    pub fn open_counts(&self) -> OpenCounts {
        self.app.open_counts()
    }

    pub fn probes(&self) -> ProbeSums {
        self.app.probes()
    }

    /// Stops the daemon: exchanges may finish within `limit`. Returns how many connections were reset.
    pub async fn stop(self, limit: Duration) -> OpenCounts {
        let EmbeddedDaemon { app, scratch, .. } = self;
        let how = ShutdownRequest { handed_over: false, limit: Some(limit), detach: false };
        let left = app.shut_down(how, std::future::pending()).await;
        drop(scratch);
        left
    }
}
