//! Errors of the command line without the notation of Rust: what the standard library says of numbers, and ranges.
//!
//! It changes the texts of wrong values alone. Which values are wrong, clap and the parsers of each verb decide.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The error with a text in plain words where a number was not read.
pub fn plain_usage_error(error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::ValueValidation {
        return error;
    }
    let reason = std::error::Error::source(&error).map(ToString::to_string);
    let Some(expected) = reason.as_deref().and_then(expected_number) else { return error };
    let shown = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.as_str(),
        _ => "",
    };
    let value = shown(ContextKind::InvalidValue);
    let argument = shown(ContextKind::InvalidArg);
    let text = format!(
        "invalid value '{value}' for '{argument}': expected {expected}\n\nFor more information, try '--help'.\n"
    );
    clap::Error::raw(ErrorKind::ValueValidation, text)
}

/// What a value should have been, from the standard library's or clap's reason; `None`: the reason is in plain words.
fn expected_number(reason: &str) -> Option<String> {
    if let Some(range) = reason.split_once(" is not in ").map(|(_, range)| range) {
        return Some(plain_range(range));
    }
    let of_integers = [
        "invalid digit found in string",
        "cannot parse integer from empty string",
        "number too large to fit in target type",
        "number too small to fit in target type",
        "number would be zero for non-zero type",
    ];
    if of_integers.contains(&reason) {
        return Some("a whole number that is not negative, and not too large".to_owned());
    }
    let of_decimals = ["invalid float literal", "cannot parse float from empty string"];
    if of_decimals.contains(&reason) {
        return Some("a number such as 2 or 0.5".to_owned());
    }
    let of_addresses =
        ["invalid IP address syntax", "invalid IPv4 address syntax", "invalid IPv6 address syntax"];
    if of_addresses.contains(&reason) {
        return Some("an address such as 192.0.2.7 or 2001:db8::7".to_owned());
    }
    (reason == "invalid socket address syntax")
        .then(|| "an address and port such as 192.0.2.7:8080 or [2001:db8::7]:8080".to_owned())
}

/// `1..=1000` as `a whole number from 1 to 1000`.
fn plain_range(range: &str) -> String {
    let (from, to) = range.split_once("..").unwrap_or((range, ""));
    match to.trim_start_matches('=') {
        // The end of what the type holds is no limit that anybody set.
        "" | "9223372036854775807" | "18446744073709551615" => {
            format!("a whole number from {from}")
        }
        to => format!("a whole number from {from} to {to}"),
    }
}

#[cfg(test)]
mod tests {
    use clap::{Arg, Command, value_parser};

    use super::*;

    /// The text that is printed for a value.
    fn printed(argument: Arg, value: &str) -> String {
        let command = Command::new("x").arg(argument);
        let error = command.try_get_matches_from(["x", value]).unwrap_err();
        plain_usage_error(error).to_string()
    }

    #[test]
    fn numbers_are_explained_in_plain_words() {
        let weight = || Arg::new("N").value_parser(value_parser!(u16).range(0..=256));
        let text = printed(weight(), "900");
        assert!(
            text.contains("'900' for '[N]': expected a whole number from 0 to 256\n"),
            "{text}"
        );
        assert!(printed(weight(), "x").contains("expected a whole number"));
        let count = || Arg::new("N").value_parser(value_parser!(u64).range(1..));
        assert!(printed(count(), "0").contains("expected a whole number from 1\n"));
        let share = Arg::new("SHARE").value_parser(value_parser!(f64));
        assert!(printed(share, "x").contains("a number such as 2 or 0.5"));
        let address = Arg::new("IP").value_parser(value_parser!(std::net::IpAddr));
        assert!(printed(address, "1.2.3").contains("an address such as 192.0.2.7"));
    }

    #[test]
    fn other_errors_stay_as_they_are() {
        let own = Arg::new("X").value_parser(|_: &str| Err::<String, _>("expected a colour"));
        assert!(printed(own, "x").contains("expected a colour"));
        let unknown = Command::new("x").try_get_matches_from(["x", "--y"]).unwrap_err();
        assert_eq!(plain_usage_error(unknown).kind(), ErrorKind::UnknownArgument);
    }
}
