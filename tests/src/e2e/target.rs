//! Paths of this build's products: the folder `target/`, and the tools that `tests/setup test` installs there. This
//! module builds and installs nothing.

use std::path::{Path, PathBuf};

/// The build's folder. Test programs are in `target/PROFILE/deps/`.
///
/// # Panics
///
/// The test program is not in a `target/` folder.
pub fn target() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let folder = here.ancestors().nth(3).map(Path::to_owned);
    folder.unwrap_or_else(|| panic!("{here:?} is not in target/PROFILE/deps"))
}

/// A tool that `tests/setup test` builds or installs, by its path below `target/tools`.
///
/// # Panics
///
/// The tool is not installed.
pub fn tool(name: &str) -> PathBuf {
    let tool = target().join("tools").join(name);
    assert!(tool.is_file(), "{tool:?} is not there: run tests/setup test");
    tool
}
