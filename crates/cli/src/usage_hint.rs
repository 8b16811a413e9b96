//! A hint for a configuration that was named in the other way: some commands take it after `-c` because they have a
//! default, others as their first argument because they change something.

use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The error, with the correct command line if it is known.
pub fn with_hint(mut error: clap::Error, program: &Command, verb: Option<&str>) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::String(found)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let verb = verb.and_then(|verb| program.find_subcommand(verb));
    if let Some(right) = verb.and_then(|verb| suggest_usage(verb, found)) {
        let suggestion = ContextValue::StyledStrs(vec![StyledStr::from(right)]);
        error.insert(ContextKind::Suggested, suggestion);
    }
    error
}

/// How this command takes a configuration, if `found` names one in the other way.
fn suggest_usage(verb: &Command, found: &str) -> Option<String> {
    let name = verb.get_name();
    let after_option = verb.get_arguments().any(|one| one.get_long() == Some("config"));
    let word = verb.get_positionals().any(|one| one.get_id() == "file");
    let is_option = found == "-c" || found == "--config" || found.starts_with("--config=");
    if after_option && !found.starts_with('-') {
        return Some(format!("the configuration is named after -c: steelyard {name} -c {found}"));
    }
    (word && is_option)
        .then(|| format!("the configuration is the first word: steelyard {name} FILE"))
}
