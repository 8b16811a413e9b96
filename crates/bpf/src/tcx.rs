//! Programs of traffic control at an interface, by pinned links that outlive the process. The tenant decides which
//! program goes where.

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::{fs, io};

use thiserror::Error;

use crate::interface::{InterfaceError, NetworkInterface};
use crate::load::{LoadError, LoadedObject};
use crate::pin_directory::{PinDirectory, PinDirectoryError};
use crate::sys;

pub use crate::sys::TcDirection;

/// Why a program cannot be attached.
#[derive(Debug, Error)]
pub enum TcxError {
    /// The directory of the pins.
    #[error(transparent)]
    Home(#[from] PinDirectoryError),
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A link cannot be made, pinned or opened; tcx links exist since Linux 6.6.
    #[error("cannot {act} the {what} of interface `{interface}`, which needs Linux 6.6")]
    Link {
        act: &'static str,
        what: &'static str,
        interface: String,
        #[source]
        source: io::Error,
    },
}

/// Programs of one tenant.
#[derive(Clone, Copy, Debug)]
pub struct TcxPrograms {
    pub what: &'static str,
    /// The directory of their pins below the home; its name ends in `-hooks` or `-links`, which `pin_owner` recognises.
    pub pins: &'static str,
}

/// A program of an object, and the end of the names of its pins.
#[derive(Clone, Copy, Debug)]
pub struct TcxProgram<'a> {
    pub name: &'a str,
    pub ending: &'a str,
}

/// Where a program sees packets: at one direction of an interface.
#[derive(Clone, Copy, Debug)]
pub struct TcxPoint<'a> {
    pub interface: &'a str,
    pub side: TcDirection,
}

impl TcxPrograms {
    /// Attaches a program of an object to one direction of an interface; one with the same ending is replaced
    /// atomically. `false`: it was attached already.
    ///
    /// # Errors
    /// The interface is missing, or the kernel refuses.
    pub fn attach(
        &self,
        home: &PinDirectory,
        loaded: &LoadedObject,
        program: TcxProgram<'_>,
        point: TcxPoint<'_>,
    ) -> Result<bool, TcxError> {
        let TcxPoint { interface: name, side } = point;
        let interface = NetworkInterface::find(name)?;
        let TcxProgram { name: program, ending, .. } = program;
        let program = loaded.program(program)?;
        let path = self.pin_path(home, name, ending)?;
        let failed = |act| {
            let interface = name.to_owned();
            let what = self.what;
            move |source| TcxError::Link { act, what, interface, source }
        };
        match sys::pinned(&path) {
            // An interface that was removed and recreated has another index: its old link is useless.
            Ok(link) if sys::tcx_ifindex(link.as_fd()).ok() == Some(interface.index) => {
                let renewed = sys::link_update(link.as_fd(), program.as_fd());
                return renewed.map(|()| false).map_err(failed("renew"));
            }
            Ok(_) => fs::remove_file(&path).map_err(failed("renew"))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed("open")(error)),
        }
        let link = sys::link_tcx(program.as_fd(), interface.index, side);
        let link = link.map_err(failed("attach"))?;
        sys::pin(link.as_fd(), &path).map(|()| true).map_err(failed("pin"))
    }

    /// Detaches from an interface, which may be gone.
    ///
    /// # Errors
    /// The pin cannot be removed.
    pub fn detach(&self, home: &PinDirectory, name: &str, ending: &str) -> Result<(), TcxError> {
        match fs::remove_file(self.pin_path(home, name, ending)?) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                let interface = name.to_owned();
                let what = self.what;
                Err(TcxError::Link { act: "remove", what, interface, source })
            }
            _ => Ok(()),
        }
    }

    fn pin_path(&self, home: &PinDirectory, name: &str, ending: &str) -> Result<PathBuf, TcxError> {
        // Names in a BPF file system have no dots; interfaces may have some.
        Ok(home.subdirectory(self.pins)?.join(format!("{}-{ending}", name.replace('.', "%"))))
    }
}
