//! Runs the programs that set networks up: `ip`, `ethtool`, `nsenter`.
//!
//! An error names its command. No process outlives the call.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use thiserror::Error;

#[derive(Debug, Error)]
pub enum ToolError {
    /// The program could not be started, or writing its input failed.
    #[error(
        "cannot run `{command}`; Debian has it in iproute2, ethtool, util-linux or iputils-ping"
    )]
    Start {
        command: String,
        #[source]
        source: io::Error,
    },
    /// The program ended with an error.
    #[error("`{command}` failed: {said}")]
    Failed { command: String, said: String },
}

/// Directories of administrators' programs, which are not in every user's search path.
const ADMIN: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];

/// The path of a program: in the search path, otherwise in a directory of administrators' programs, otherwise its bare
/// name.
pub fn find(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let listed = std::env::split_paths(&path).chain(ADMIN.iter().map(PathBuf::from));
    let mut places = listed.map(|dir| dir.join(program));
    places.find(|place| place.is_file()).unwrap_or_else(|| PathBuf::from(program))
}

/// Runs a command to its end and returns its standard output.
pub fn run_command(command: &mut Command) -> Result<String, ToolError> {
    run_with_input(command, "")
}

pub(super) fn run_with_input(command: &mut Command, input: &str) -> Result<String, ToolError> {
    let name = command_text(command);
    let broken = |source| ToolError::Start { command: name.clone(), source };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(broken)?;
    if let Some(mut stdin) = child.stdin.take() {
        // Ignored: a program that ends before it has read everything reports the reason itself.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(broken)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let mut standard_error = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if standard_error.is_empty() {
        standard_error = output.status.to_string();
    }
    if !input.is_empty() {
        standard_error = format!("{standard_error}; of: {}", input.trim().replace('\n', "; "));
    }
    Err(ToolError::Failed { command: name, said: standard_error })
}

fn command_text(command: &Command) -> String {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_command_and_what_it_said() {
        let mut missing = Command::new("/nonexistent/ip");
        assert!(run_command(&mut missing).unwrap_err().to_string().contains("/nonexistent/ip"));
        let mut failing = Command::new(find("sh"));
        failing.args(["-c", "cat >/dev/null; echo no such link >&2; exit 1"]);
        let error = run_with_input(&mut failing, "link set x up\n").unwrap_err().to_string();
        assert!(error.contains("no such link; of: link set x up"), "{error}");
        let mut good = Command::new(find("cat"));
        assert_eq!(run_with_input(&mut good, "all").unwrap(), "all");
    }
}
