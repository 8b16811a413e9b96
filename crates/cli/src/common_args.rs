//! Options of all commands that talk to the daemon: its address, the output format, and timeouts.

use std::fs::File;
use std::future::Future;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use api::ApiClient;
use model::capacity::quantity::BitRate;
use model::config::unit::{BitsPerSecond, Time};

use crate::outcome::CommandError;
use crate::remote::RemoteArgs;
use crate::user_environment::standard_client_socket;

/// Which daemon.
#[derive(Clone, Debug, clap::Args)]
pub struct DaemonAddressArgs {
    /// The daemon's socket; also STEELYARD_SOCKET. Otherwise the socket of this user's daemon, or the system's
    /// [default: /run/steelyard/control.sock]
    #[arg(long, value_name = "PATH", env = "STEELYARD_SOCKET", hide_env = true)]
    pub socket: Option<PathBuf>,
    #[command(flatten)]
    pub far: RemoteArgs,
}

/// Which daemon, and in which form.
#[derive(Clone, Debug, clap::Args)]
pub struct DaemonArgs {
    #[command(flatten)]
    pub place: DaemonAddressArgs,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

impl DaemonAddressArgs {
    /// To speak to it.
    ///
    /// # Errors
    /// It is another machine's, and cannot be called as it was named.
    pub fn client(&self) -> Result<ApiClient, CommandError> {
        Ok(match self.far.open_remote()? {
            Some(remote) => ApiClient::remote(remote),
            None => {
                ApiClient::new(self.socket.as_deref().unwrap_or_else(|| standard_client_socket()))
            }
        })
    }
}

impl DaemonArgs {
    /// To speak to it.
    ///
    /// # Errors
    /// As of its place.
    pub fn client(&self) -> Result<ApiClient, CommandError> {
        self.place.client()
    }
}

/// Whether it is written into the daemon's file.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct SaveArgs {
    /// Write it into the daemon's file.
    #[arg(long, conflicts_with = "no_save")]
    save: bool,
    /// Do not write it, even if global.control.write-back is set.
    #[arg(long)]
    no_save: bool,
}

impl SaveArgs {
    /// The explicit choice; `None`: the command's default.
    pub fn save_preference(self) -> Option<bool> {
        if self.save { Some(true) } else { self.no_save.then_some(false) }
    }
}

/// Runs `work` to its end on this thread.
pub fn block_on<T>(work: impl Future<Output = Result<T, CommandError>>) -> Result<T, CommandError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandError::Unusable(format!("cannot start: {error}")))?
        .block_on(work)
}

/// A span with its unit: `500ms`, `2s`, `1m30s`.
pub fn span(text: &str) -> Result<Duration, String> {
    text.parse::<Time>()
        .map(|time| time.0)
        .map_err(|error| format!("{error}; a time is written with its unit: 500ms, 30s, 1m30s"))
}

/// The text of a configuration file, or of standard input for `-`.
pub fn read_config(file: &Path) -> Result<String, CommandError> {
    let unreadable = |why: &dyn std::fmt::Display| {
        CommandError::Unusable(format!("cannot read {}: {why}", file.display()))
    };
    let limit = api::routes::CONFIG_BYTES_MAX;
    let mut bytes = Vec::new();
    let read = if file == Path::new("-") {
        std::io::stdin().lock().take(limit as u64 + 1).read_to_end(&mut bytes)
    } else {
        File::open(file).and_then(|open| open.take(limit as u64 + 1).read_to_end(&mut bytes))
    };
    read.map_err(|error| unreadable(&error))?;
    if bytes.len() > limit {
        return Err(unreadable(&format_args!(
            "it is larger than {limit} bytes, the most that a configuration may have"
        )));
    }
    String::from_utf8(bytes).map_err(|error| unreadable(&describe_encoding(&error)))
}

/// Where a text is not UTF-8, and what makes it so.
fn describe_encoding(error: &std::string::FromUtf8Error) -> String {
    let bytes = error.as_bytes();
    let at = error.utf8_error().valid_up_to();
    let before = bytes.get(..at).unwrap_or_default();
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
    let from = if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        "UTF-16"
    } else {
        "ISO-8859-1"
    };
    format!(
        "byte {at}, in line {line}, is not UTF-8, which a configuration is written in; \
         `iconv -f {from} -t UTF-8` may help"
    )
}

/// The name of the file in findings: as it was given, `<stdin>` for `-`.
pub fn file_name(file: &Path) -> String {
    if file == Path::new("-") { "<stdin>".to_owned() } else { file.display().to_string() }
}

/// A rate above nothing, such as `1Gbit/s`.
pub fn bit_rate(text: &str) -> Result<BitRate, String> {
    let found = text
        .parse::<BitsPerSecond>()
        .map_err(|error| format!("{error}; expected a rate such as 1Gbit/s"))?;
    if found.0 == 0 {
        Err("expected more than nothing".to_owned())
    } else {
        Ok(BitRate(found.0 as f64))
    }
}

/// A time above nothing.
pub fn positive_span(text: &str) -> Result<Duration, String> {
    span(text).and_then(|time| {
        if time.is_zero() { Err("expected more than 0".to_owned()) } else { Ok(time) }
    })
}
