//! What the standard paths depend on, read from the process and its environment. `model` chooses the paths.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use model::config::{DEFAULT_SOCKET, StandardPaths, UserEnvironment, standard_paths};
use rustix::fs::{Access, access};
use rustix::process::geteuid;

/// Makes the paths of this user those of the process.
pub fn choose_paths() {
    StandardPaths::for_user(&read_environment()).choose();
}

/// The configuration that is used where none is named: the first that is there, or the first that was looked for.
pub fn standard_config() -> &'static Path {
    let configs = &standard_paths().configs;
    let present = configs.iter().find(|path| path.exists());
    present.or(configs.first()).map_or(Path::new(""), PathBuf::as_path)
}

/// The configuration of this user's daemon, whether it is there or not.
pub fn own_config() -> &'static Path {
    standard_paths().configs.first().map_or(Path::new(""), PathBuf::as_path)
}

/// The socket of the daemon that is asked where none is named. A directory of another user, who could answer in the
/// daemon's place, is passed over.
pub fn standard_client_socket() -> &'static Path {
    let sockets = &standard_paths().client_sockets;
    let trusted = |socket: &&PathBuf| {
        let owner = socket.parent().and_then(|parent| std::fs::metadata(parent).ok());
        let user = geteuid().as_raw();
        // The system's daemon has a user of its own, whose directory root's service manager makes.
        socket.as_path() == Path::new(DEFAULT_SOCKET)
            || owner.is_some_and(|owner| owner.uid() == user)
    };
    let present = sockets.iter().filter(trusted).find(|socket| socket.exists());
    present.or(sockets.first()).map_or(Path::new(""), PathBuf::as_path)
}

fn read_environment() -> UserEnvironment {
    let path = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let user = geteuid().as_raw();
    let is_own = |path: &Path| std::fs::metadata(path).is_ok_and(|found| found.uid() == user);
    // A login makes it, and a service without one leaves the variable unset.
    let of_login = PathBuf::from(format!("/run/user/{user}"));
    // su and sudo may leave the variables of the user before.
    let is_writable = |path: &PathBuf| access(path, Access::WRITE_OK).is_ok();
    let runtime = path("XDG_RUNTIME_DIR").into_iter().chain([of_login]).find(|path| is_own(path));
    UserEnvironment {
        user,
        owns_system_directory: Path::new(DEFAULT_SOCKET).parent().is_some_and(is_own),
        runtime,
        state_home: path("XDG_STATE_HOME"),
        config_home: path("XDG_CONFIG_HOME"),
        home: path("HOME").filter(is_writable),
    }
}
