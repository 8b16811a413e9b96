//! Programs at the sockets of a control group, by pinned links that outlive the process. The tenant decides which
//! program goes where.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::{fs, io};

use rustix::io::Errno;
use thiserror::Error;

use crate::load::{LoadError, LoadedObject};
use crate::pin_directory::{PinDirectory, PinDirectoryError};
use crate::sys;

pub use crate::sys::ConnectHook;

/// Why a program cannot be attached.
#[derive(Debug, Error)]
pub enum CgroupError {
    /// The directory of the pins.
    #[error(transparent)]
    Home(#[from] PinDirectoryError),
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A link cannot be made, pinned or opened.
    #[error("cannot {act} the {what} at the control group `{}`", group.display())]
    Link {
        act: &'static str,
        what: &'static str,
        group: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// Programs of one tenant.
#[derive(Clone, Copy, Debug)]
pub struct CgroupPrograms {
    /// Their name in errors: `programs for own connections`.
    pub what: &'static str,
    /// The directory of their pins below the home.
    pub pins: &'static str,
}

impl CgroupPrograms {
    /// Attaches a program of an object to a group's sockets; an earlier one is replaced atomically.
    ///
    /// # Errors
    /// The group is missing, or the kernel refuses.
    pub fn attach(
        &self,
        home: &PinDirectory,
        loaded: &LoadedObject,
        name: &str,
        when: ConnectHook,
        group: &Path,
    ) -> Result<(), CgroupError> {
        let program = loaded.program(name)?;
        let path = home.subdirectory(self.pins)?.join(name);
        let failed = |act| {
            let group = group.to_owned();
            let what = self.what;
            move |source| CgroupError::Link { act, what, group, source }
        };
        match sys::pinned(&path) {
            // A link that another program detached is useless: a new one is made.
            Ok(link) => match sys::link_update(link.as_fd(), program.as_fd()) {
                Err(error) if error.raw_os_error() == Some(Errno::NOLINK.raw_os_error()) => {
                    fs::remove_file(&path).map_err(failed("renew"))?;
                }
                done => return done.map_err(failed("renew")),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed("open")(error)),
        }
        let at = fs::File::open(group).map_err(failed("open"))?;
        let link = sys::link_cgroup(program.as_fd(), at.as_fd(), when).map_err(failed("attach"))?;
        sys::pin(link.as_fd(), &path).map_err(failed("pin"))
    }
}
