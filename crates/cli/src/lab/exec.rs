//! `steelyard lab exec`: a program on a host of a network, in place of this one.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use lab::net::find;

use super::common::{RecordsDirArgs, find_record};
use crate::outcome::{CommandError, finish};

/// Run a program on a host or router; its exit code is passed on.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard lab exec client -- curl -v http://10.0.2.2/
  steelyard lab exec --lab second edge -- tcpdump -ni eth0

Exit codes: the program's own; 1 no such host, 2 it could not be started.")]
pub struct LabExecArgs {
    /// The network, if several exist.
    #[arg(long = "lab", value_name = "NAME")]
    name: Option<String>,
    /// The host or router.
    #[arg(value_name = "HOST")]
    host: String,
    /// The program and its arguments.
    #[arg(value_name = "COMMAND", required = true, last = true)]
    command: Vec<OsString>,
    #[command(flatten)]
    kept: RecordsDirArgs,
}

/// Carries it out; returns only when it could not.
pub fn run(args: &LabExecArgs) -> ExitCode {
    finish(false, Err(enter_namespace(args)))
}

fn enter_namespace(args: &LabExecArgs) -> CommandError {
    let record = match find_record(&args.kept.open_records(), args.name.as_deref()) {
        Ok(record) => record,
        Err(failure) => return failure,
    };
    let Some(place) = record.host(&args.host) else {
        let hosts = record.nodes.iter().filter(|node| node.kind != "bridge");
        let hosts = hosts.map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ");
        return CommandError::Absent(format!(
            "{} has no host `{}`; it has {hosts}",
            record.name, args.host
        ));
    };
    let mut net = OsString::from("--net=");
    net.push(Path::new("/run/netns").join(&place.namespace));
    let error = Command::new(find("nsenter")).arg(net).arg("--").args(&args.command).exec();
    CommandError::Unusable(format!("cannot run nsenter: {error}; Debian has it in util-linux"))
}
