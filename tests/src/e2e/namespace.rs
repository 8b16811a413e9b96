//! A network namespace of one test, with a separate hosts file.
//!
//! Needs root; a test without root must report that with `skip`. The loopback interface is up, and no other interface
//! exists.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::tools::program;

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A namespace, which is removed with its files on drop.
#[derive(Debug)]
pub struct TestNamespace {
    name: String,
}

impl TestNamespace {
    /// Creates a namespace, or returns the reason why that is impossible.
    pub fn new() -> Result<TestNamespace, String> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("steelyard-{}-{number}", std::process::id());
        run(&["netns", "add", &name])?;
        let namespace = TestNamespace { name };
        run(&["-n", &namespace.name, "link", "set", "lo", "up"])?;
        let files = namespace.files();
        std::fs::create_dir_all(&files).map_err(|error| format!("{files:?}: {error}"))?;
        std::fs::write(files.join("resolv.conf"), "").map_err(|error| error.to_string())?;
        namespace.set_hosts("");
        Ok(namespace)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sets its hosts file.
    pub fn set_hosts(&self, hosts: &str) {
        std::fs::write(self.files().join("hosts"), hosts).unwrap();
    }

    /// Runs a function on a thread inside the namespace. The processes that the function starts are in the namespace
    /// too.
    pub fn run_inside<T: Send>(&self, run: impl FnOnce() -> T + Send) -> T {
        let place = std::fs::File::open(Path::new("/run/netns").join(&self.name)).unwrap();
        let inside = || {
            let kind = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(place.as_fd(), kind).unwrap();
            run()
        };
        let done = std::thread::scope(|scope| scope.spawn(inside).join());
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    pub fn command(&self, program: &Path) -> Command {
        TestNamespace::command_in(&self.name, program)
    }

    /// Runs a program inside the namespace of this name.
    pub fn command_in(name: &str, inside: &Path) -> Command {
        let mut command = Command::new(program("ip"));
        command.args(["netns", "exec", name]).arg(inside);
        command
    }

    fn files(&self) -> PathBuf {
        Path::new("/etc/netns").join(&self.name)
    }
}

impl Drop for TestNamespace {
    fn drop(&mut self) {
        let _ = run(&["netns", "del", &self.name]);
        let _ = std::fs::remove_dir_all(self.files());
        // Ignored: the directory stays while others use it.
        let _ = std::fs::remove_dir("/etc/netns");
    }
}

fn run(arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program("ip")).args(arguments).output().map_err(|e| e.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("ip {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
}
