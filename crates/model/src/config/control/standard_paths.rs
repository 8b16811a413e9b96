//! Where the daemon and its clients find each other and their files when nothing is written: the system's paths, or the
//! user's own by the XDG base directory specification. What the machine looks like is passed in.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::types::{DEFAULT_SOCKET, DEFAULT_STATE_DIR};

/// The configuration of the system's daemon.
pub const SYSTEM_CONFIG: &str = "/etc/steelyard/steelyard.toml";
/// The name of the configuration in a user's directory.
const USER_CONFIG: &str = "steelyard/steelyard.toml";
/// Where a user without a runtime directory or a home has files: the one place that containers leave writable.
const LAST_RESORT: &str = "/tmp";

/// The paths of this process, which are chosen once, before a configuration is loaded.
static CHOSEN: OnceLock<StandardPaths> = OnceLock::new();
static SYSTEM: OnceLock<StandardPaths> = OnceLock::new();

/// The paths that are used where none is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandardPaths {
    /// The socket that a daemon of this user opens.
    pub socket: PathBuf,
    /// The state directory of a daemon of this user.
    pub state: PathBuf,
    /// The configurations that are looked for, the first one first.
    pub configs: Vec<PathBuf>,
    /// The sockets that a client looks for, the first one first.
    pub client_sockets: Vec<PathBuf>,
}

/// What the paths depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserEnvironment {
    /// The effective user id.
    pub user: u32,
    /// Whether the directory of the system's socket belongs to this user, as a service manager makes it.
    pub owns_system_directory: bool,
    /// `XDG_RUNTIME_DIR`, or the directory that the system made for this user; it belongs to the user.
    pub runtime: Option<PathBuf>,
    /// `XDG_STATE_HOME`.
    pub state_home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`.
    pub config_home: Option<PathBuf>,
    /// `HOME`, if this user can write there.
    pub home: Option<PathBuf>,
}

impl StandardPaths {
    /// Those of the system: root's, and those of the user that a service manager runs the daemon as.
    pub fn system() -> StandardPaths {
        StandardPaths {
            socket: DEFAULT_SOCKET.into(),
            state: DEFAULT_STATE_DIR.into(),
            configs: vec![SYSTEM_CONFIG.into()],
            client_sockets: vec![DEFAULT_SOCKET.into()],
        }
    }

    /// Those of a user.
    pub fn for_user(user: &UserEnvironment) -> StandardPaths {
        let system = StandardPaths::system();
        if user.user == 0 || user.owns_system_directory {
            return system;
        }
        // A path that is not absolute is to be ignored (XDG Base Directory Specification), and `/` is what containers
        // set for a user without a home.
        let usable = |path: &Option<PathBuf>| {
            path.clone().filter(|path| path.is_absolute() && path != Path::new("/"))
        };
        let own = Path::new(LAST_RESORT).join(format!("steelyard-{}", user.user));
        let home = usable(&user.home);
        let below_home = |name: &str| home.as_ref().map(|home| home.join(name));
        let runtime = usable(&user.runtime).map(|runtime| runtime.join("steelyard"));
        let state = usable(&user.state_home).or_else(|| below_home(".local/state"));
        let config = usable(&user.config_home).or_else(|| below_home(".config"));
        let socket = runtime.unwrap_or_else(|| own.clone()).join("control.sock");
        let config = config.map(|config| config.join(USER_CONFIG));
        StandardPaths {
            state: state.map_or_else(|| own.join("state"), |state| state.join("steelyard")),
            configs: config.into_iter().chain(system.configs).collect(),
            client_sockets: std::iter::once(socket.clone()).chain(system.client_sockets).collect(),
            socket,
        }
    }

    /// Makes these the paths of the process; without effect once they were chosen.
    pub fn choose(self) {
        // A second choice would move the socket under a daemon that runs.
        let _ = CHOSEN.set(self);
    }
}

/// The paths of this process; those of the system unless others were chosen.
pub fn standard_paths() -> &'static StandardPaths {
    CHOSEN.get().unwrap_or_else(|| SYSTEM.get_or_init(StandardPaths::system))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(change: impl FnOnce(&mut UserEnvironment)) -> StandardPaths {
        let mut user = UserEnvironment {
            user: 1000,
            runtime: Some("/run/user/1000".into()),
            home: Some("/h/ann".into()),
            ..UserEnvironment::default()
        };
        change(&mut user);
        StandardPaths::for_user(&user)
    }

    #[test]
    fn root_and_the_service_managers_user_have_the_systems_paths() {
        assert_eq!(paths(|user| user.user = 0), StandardPaths::system());
        assert_eq!(paths(|user| user.owns_system_directory = true), StandardPaths::system());
    }

    #[test]
    fn a_user_has_own_paths_and_asks_the_systems_daemon_when_there_is_no_own_one() {
        let own = paths(|_| {});
        assert_eq!(own.socket, Path::new("/run/user/1000/steelyard/control.sock"));
        assert_eq!(own.state, Path::new("/h/ann/.local/state/steelyard"));
        let config = PathBuf::from("/h/ann/.config/steelyard/steelyard.toml");
        assert_eq!(own.configs, [config, SYSTEM_CONFIG.into()]);
        assert_eq!(own.client_sockets, [own.socket.clone(), DEFAULT_SOCKET.into()]);
        let set = paths(|user| {
            user.state_home = Some("/s".into());
            user.config_home = Some("/c".into());
        });
        assert_eq!(set.state, Path::new("/s/steelyard"));
        assert_eq!(set.configs[0], Path::new("/c/steelyard/steelyard.toml"));
    }

    #[test]
    fn a_user_without_home_or_runtime_directory_has_one_below_tmp() {
        for home in [None, Some("/"), Some("relative")] {
            let own = paths(|user| {
                user.home = home.map(PathBuf::from);
                user.runtime = None;
                user.state_home = Some("relative".into());
            });
            assert_eq!(own.socket, Path::new("/tmp/steelyard-1000/control.sock"));
            assert_eq!(own.state, Path::new("/tmp/steelyard-1000/state"));
            assert_eq!(own.configs, [PathBuf::from(SYSTEM_CONFIG)]);
        }
    }
}
