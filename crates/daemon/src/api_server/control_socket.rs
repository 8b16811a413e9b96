//! The control socket's file: opened so that it appears whole, with its mode, and replaces only what may be replaced.
//!
//! The socket is bound under a temporary name beside its path and then renamed: a client that connects always reaches
//! the old daemon or the new one. This module accepts no connections.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener as StdListener, UnixStream as StdStream};
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use thiserror::Error;

/// Connections that wait for the API's accept.
/// A burst waits instead of failing.
const BACKLOG: i32 = 128;
/// Linux takes 107 bytes and a terminator (unix(7)); the name that it is bound under first is longer than the last.
const PATH_BYTES_MAX: usize = 107 - ".4194304".len();

/// What distinguishes a file from another one that replaced it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    fn of(file: &Metadata) -> FileIdentity {
        FileIdentity { device: file.dev(), inode: file.ino() }
    }
}

/// A bound control socket.
#[derive(Debug)]
pub struct BoundControlSocket {
    pub listener: StdListener,
    path: PathBuf,
    file: FileIdentity,
}

/// Which existing files may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplacePolicy {
    /// Only a socket that no process listens on.
    StaleOnly,
    /// Also a living daemon's: it hands over to this process.
    RunningDaemon,
}

/// Why the control socket could not be opened.
#[derive(Debug, Error)]
pub enum ControlSocketError {
    /// Another daemon listens there.
    #[error(
        "global.control.socket: a daemon{} is already listening on {}: stop it, let this one take over, or choose another \
         path", pid.map(|pid| format!(" (process {pid})")).unwrap_or_default(), path.display()
    )]
    AlreadyRunning {
        path: PathBuf,
        /// The other process, if the system reports its id.
        pid: Option<i32>,
    },
    /// Something else than a socket is there.
    #[error("global.control.socket: {} exists and is not a socket: remove it or choose another path", path.display())]
    NotASocket { path: PathBuf },
    /// The path is too long for a unix socket.
    #[error("global.control.socket: {} is {} bytes long, at most {PATH_BYTES_MAX} are possible", path.display(), path.as_os_str().len())]
    TooLong { path: PathBuf },
    #[error("global.control.socket: {attempt} {}: {source}{}", path.display(), unwritable_hint(.source))]
    System {
        attempt: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl ControlSocketError {
    /// Whether its directory cannot be made or written to: a read-only root, or another user's.
    pub fn is_unwritable_directory(&self) -> bool {
        matches!(self, ControlSocketError::System { source, .. } if unwritable(source))
    }
}

fn unwritable(error: &io::Error) -> bool {
    use io::ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), NotFound | PermissionDenied | ReadOnlyFilesystem)
}

/// A hint for the operator if a directory cannot be written.
fn unwritable_hint(error: &io::Error) -> &'static str {
    if unwritable(error) { "; choose a path whose directory this user may write to" } else { "" }
}

/// Opens the socket at `path` with `mode`.
///
/// # Errors
/// See `ControlSocketError`; nothing is left behind.
pub fn bind(
    path: &Path,
    mode: u32,
    over: ReplacePolicy,
) -> Result<BoundControlSocket, ControlSocketError> {
    if path.as_os_str().len() > PATH_BYTES_MAX {
        return Err(ControlSocketError::TooLong { path: path.to_owned() });
    }
    create_directory(path)?;
    if over == ReplacePolicy::StaleOnly {
        check_not_running(path)?;
    }
    let mut first = path.as_os_str().to_owned();
    first.push(format!(".{}", std::process::id()));
    let first = PathBuf::from(first);
    // Left by a process with our number that died in between.
    let _ = std::fs::remove_file(&first);
    let bound = open(&first, mode).and_then(|listener| {
        let file = std::fs::symlink_metadata(&first)
            .map_err(|e| system_error("cannot look at", &first, e))?;
        std::fs::rename(&first, path).map_err(|e| system_error("cannot put in place", path, e))?;
        Ok(BoundControlSocket { listener, path: path.to_owned(), file: FileIdentity::of(&file) })
    });
    if bound.is_err() {
        // The binding error is reported; a file that stays is replaced at the next attempt of the same process.
        let _ = std::fs::remove_file(&first);
    }
    bound
}

impl BoundControlSocket {
    /// Another handle on the same file, to remove the file after the listener was handed over.
    pub fn socket_path(&self) -> SocketPath {
        SocketPath { path: self.path.clone(), file: self.file }
    }
}

/// Where a bound socket is.
#[derive(Clone, Debug)]
pub struct SocketPath {
    path: PathBuf,
    file: FileIdentity,
}

impl SocketPath {
    /// Removes the file unless another process has replaced it.
    pub fn remove(&self) {
        let ours = std::fs::symlink_metadata(&self.path)
            .is_ok_and(|now| FileIdentity::of(&now) == self.file);
        if ours {
            // A file that stays is recognised as stale at the next start, because nothing listens behind it.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Creates the last directory of the path if it is missing. The directories above belong to the system.
fn create_directory(path: &Path) -> Result<(), ControlSocketError> {
    let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) else {
        return Ok(());
    };
    let above = parent.parent().filter(|above| !above.as_os_str().is_empty());
    let made = match above.map(std::fs::metadata) {
        Some(Err(error)) => Err(error),
        _ => files::create::make_dir(parent, 0o755),
    };
    made.map_err(|error| system_error("cannot make", parent, error))
}

fn check_not_running(path: &Path) -> Result<(), ControlSocketError> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(system_error("cannot look at", path, error)),
        Ok(there) if !there.file_type().is_socket() => {
            return Err(ControlSocketError::NotASocket { path: path.to_owned() });
        }
        Ok(_) => {}
    }
    match StdStream::connect(path) {
        Ok(stream) => {
            let pid = rustix::net::sockopt::socket_peercred(&stream)
                .ok()
                .map(|peer| peer.pid.as_raw_nonzero().get());
            Err(ControlSocketError::AlreadyRunning { path: path.to_owned(), pid })
        }
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound
            ) =>
        {
            Ok(())
        }
        Err(error) => Err(system_error("cannot tell whether a daemon listens on", path, error)),
    }
}

/// The mode is set before anybody can connect.
fn open(path: &Path, mode: u32) -> Result<StdListener, ControlSocketError> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let listen = || -> Result<StdListener, io::Error> {
        let socket =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
        rustix::fs::chmod(path, Mode::from_raw_mode(mode))?;
        rustix::net::listen(&socket, BACKLOG)?;
        Ok(StdListener::from(socket))
    };
    listen().map_err(|e| system_error("cannot open", path, e))
}

fn system_error(attempt: &'static str, path: &Path, source: io::Error) -> ControlSocketError {
    ControlSocketError::System { attempt, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::util::scratch_dir::Scratch;
    use std::os::unix::fs::PermissionsExt;

    fn scratch() -> Scratch {
        Scratch::new("bind").unwrap()
    }

    #[test]
    fn it_has_its_mode_makes_its_directory_and_goes_again() {
        let room = scratch();
        let path = room.path().join("run/control.sock");
        let bound = bind(&path, 0o640, ReplacePolicy::StaleOnly).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(std::fs::read_dir(room.path().join("run")).unwrap().count(), 1);
        assert!(StdStream::connect(&path).is_ok());
        bound.socket_path().remove();
        assert!(!path.exists());
    }

    #[test]
    fn a_dead_socket_is_replaced_and_a_living_one_named() {
        let room = scratch();
        let path = room.path().join("control.sock");
        drop(bind(&path, 0o600, ReplacePolicy::StaleOnly).unwrap());
        assert!(path.exists(), "nobody removed it");
        let living = bind(&path, 0o600, ReplacePolicy::StaleOnly).unwrap();
        let error = bind(&path, 0o600, ReplacePolicy::StaleOnly).unwrap_err();
        assert!(
            matches!(error, ControlSocketError::AlreadyRunning { pid: Some(pid), .. } if pid as u32 == std::process::id())
        );
        assert!(error.to_string().contains("already listening"), "{error}");
        assert!(StdStream::connect(&path).is_ok(), "the living one is undisturbed");
        drop(living);
    }

    #[test]
    fn a_takeover_leaves_no_gap_and_the_old_one_does_not_remove_the_new_ones_file() {
        let room = scratch();
        let path = room.path().join("control.sock");
        let old = bind(&path, 0o600, ReplacePolicy::StaleOnly).unwrap();
        let new = bind(&path, 0o600, ReplacePolicy::RunningDaemon).unwrap();
        old.socket_path().remove();
        drop(old);
        assert!(StdStream::connect(&path).is_ok());
        new.socket_path().remove();
        assert!(!path.exists());
    }

    #[test]
    fn a_place_that_cannot_be_written_is_distinguished_from_other_trouble() {
        let room = scratch();
        let deep = bind(&room.path().join("a/b/control.sock"), 0o600, ReplacePolicy::StaleOnly)
            .unwrap_err();
        assert!(deep.is_unwritable_directory(), "{deep}");
        assert!(deep.to_string().starts_with("global.control.socket: cannot make"), "{deep}");
        std::fs::write(room.path().join("data"), "").unwrap();
        let other = bind(&room.path().join("data"), 0o600, ReplacePolicy::StaleOnly).unwrap_err();
        assert!(!other.is_unwritable_directory(), "{other}");
    }

    #[test]
    fn what_is_no_socket_stays_and_paths_have_a_limit() {
        let room = scratch();
        let path = room.path().join("precious");
        std::fs::write(&path, "data").unwrap();
        assert!(matches!(
            bind(&path, 0o600, ReplacePolicy::StaleOnly),
            Err(ControlSocketError::NotASocket { .. })
        ));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "data");
        let long = room.path().join("x".repeat(120));
        assert!(matches!(
            bind(&long, 0o600, ReplacePolicy::StaleOnly),
            Err(ControlSocketError::TooLong { .. })
        ));
    }
}
