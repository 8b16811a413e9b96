//! A whole daemon inside another program: for `steelyard try` and for tests. No root, no file left behind.
//!
//! Its API listens in a directory of its own, where its state is kept too; both go with it. It takes no signals and
//! tells systemd nothing.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use l7::Open;
use l7::socket::{Claim, ListenError, listeners, listening_at};
use model::config::{Findings, SocketOptions, load};

use crate::control::{Change, Control, Leave, Origin, Way};
use crate::event::Events;
use crate::house::{BuildError, House, Plan};
use crate::listeners::NoKeeper;
use crate::probe::counts::ProbeSums;
use crate::scratch::Scratch;
use crate::serve::bind::{BindError, Over, bind};

/// The socket is this user's alone.
const MODE: u32 = 0o600;

/// A daemon inside this process.
pub struct Embedded {
    house: House,
    socket: PathBuf,
    // Removed last, when everything in it is closed.
    scratch: Scratch,
}

/// A free address, held until a daemon takes it: a configuration's text can name it.
#[derive(Debug)]
pub struct Reserved {
    address: SocketAddr,
    sockets: Vec<OwnedFd>,
}

impl Reserved {
    /// A port of this address that the kernel chooses, with a socket for each of `workers`.
    ///
    /// # Errors
    /// The address is not to be had.
    pub fn port_of(ip: IpAddr, workers: usize) -> Result<Reserved, ListenError> {
        let options = SocketOptions::default();
        let sockets = listeners((ip, 0).into(), &options, workers.max(1), Claim::Alone)?;
        let address = sockets.first().and_then(|socket| listening_at(socket.as_fd()));
        let address = address.ok_or(ListenError::NotListening)?;
        Ok(Reserved { address, sockets })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    fn sockets(self) -> impl Iterator<Item = (SocketAddr, OwnedFd)> {
        let address = self.address;
        self.sockets.into_iter().map(move |socket| (address, socket))
    }
}

/// Why it did not start; nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The text has mistakes.
    #[error("{0}")]
    Invalid(Findings),
    /// No directory of its own.
    #[error("no temporary directory could be made: {0}")]
    Scratch(#[source] io::Error),
    /// The API's socket.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Anything that runs.
    #[error(transparent)]
    Build(#[from] BuildError),
}

impl Embedded {
    /// Starts one from a configuration's text, within the runtime of the caller. `global.control` is replaced.
    ///
    /// # Errors
    /// See `EmbedError`.
    pub async fn start(text: &str) -> Result<Embedded, EmbedError> {
        Embedded::start_on(text, Vec::new(), Events::quiet()).await
    }

    /// As `start`, on addresses that were reserved, and says what happens.
    ///
    /// # Errors
    /// See `EmbedError`.
    pub async fn start_on(
        text: &str,
        reserved: Vec<Reserved>,
        events: Events,
    ) -> Result<Embedded, EmbedError> {
        let file = "embedded.toml".to_owned();
        let checked = load(text, &file).map_err(EmbedError::Invalid)?;
        let scratch = Scratch::new("daemon").map_err(EmbedError::Scratch)?;
        let socket = scratch.path().join("control.sock");
        let bound = bind(&socket, MODE, Over::Dead)?;
        let origin = Origin::new("embedded", Way::Start);
        let plan = Plan {
            change: Change::new(text, file, origin),
            global: checked.config.global,
            inherited: reserved.into_iter().flat_map(Reserved::sockets).collect(),
            before: None,
            keeper: Box::new(NoKeeper),
            state: Some(scratch.path().join("state")),
            file: None,
            events,
        };
        let mut house = House::build(plan).await?;
        house.serve(Some(bound));
        Ok(Embedded { house, socket, scratch })
    }

    /// To ask for changes.
    pub fn control(&self) -> &Control {
        &self.house.control
    }

    /// The API's socket.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Where each service listens.
    pub fn addresses(&self) -> BTreeMap<String, Vec<SocketAddr>> {
        let mut addresses: BTreeMap<String, Vec<SocketAddr>> = BTreeMap::new();
        for (address, facts) in &self.control().picture().listeners {
            addresses.entry(facts.service_name.clone()).or_default().push(*address);
        }
        addresses
    }

    /// What is open now.
    pub fn open(&self) -> Open {
        self.house.open()
    }

    /// Probes by result.
    pub fn probes(&self) -> ProbeSums {
        self.house.probes()
    }

    /// Ends it: exchanges may finish within `limit`. Returns what was cut.
    pub async fn stop(self, limit: Duration) -> Open {
        let Embedded { house, scratch, .. } = self;
        let how = Leave { handed: false, limit: Some(limit), detach: false };
        let left = house.leave(how, std::future::pending()).await;
        drop(scratch);
        left
    }
}
