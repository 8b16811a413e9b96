//! Failed exchanges as text: what failed, whose it is, how often, since when, to whom, and what to check. Pure.

use api::types::{FailureTarget, SlowFailure};

use crate::show::paint::{Colour, Paint};
use crate::show::paragraph::wrapped;
use crate::show::plain::plain;
use crate::show::unit::{count, moment};

/// Failures, above everything that is only slow. Empty without a failure.
pub fn render_failures(failures: &[SlowFailure], width: usize, paint: Paint) -> String {
    let mut out = String::new();
    for failure in failures {
        let codes = match &failure.code {
            Some(code) => format!("{}, {}", plain(code), plain(&failure.cause)),
            None => plain(&failure.cause),
        };
        let title = format!("Failed: {} ({codes})", plain(&failure.title));
        out.push_str(&format!(
            "{}, cause: {}\n",
            paint.text(Colour::Bad, &title),
            plain(&failure.owner)
        ));
        let number = count(failure.count.round() as u64);
        let [first, last] = [failure.first_unix_ms, failure.last_unix_ms].map(moment);
        let when = match first == last {
            true => format!("at {first}"),
            false => format!("from {first} to {last}"),
        };
        let mut facts = format!("{number} ({:.1} %), {when}", failure.share_percent);
        for (label, targets) in [("servers", &failure.servers), ("clients", &failure.networks)] {
            if !targets.is_empty() {
                facts.push_str(&format!("; {label}: {}", list_targets(targets)));
            }
        }
        if let Some(example) = &failure.example {
            facts.push_str(&format!("; for example {}", plain(example)));
        }
        out.push_str(&wrapped(&format!("{facts}."), width));
        out.push_str(&wrapped(&format!("=> {}", plain(&failure.check)), width));
        out.push('\n');
    }
    out
}

fn list_targets(targets: &[FailureTarget]) -> String {
    let one = |target: &FailureTarget| {
        format!("{} {}", plain(&target.name), count(target.count.round() as u64))
    };
    targets.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_whose_how_often_when_and_what_to_check() {
        let target = |name: &str, count| FailureTarget { name: name.to_owned(), count };
        let failure = SlowFailure {
            cause: "server-refused".into(),
            code: Some("CONNECT_REFUSED".into()),
            owner: "server".into(),
            title: "refused connections".into(),
            count: 1_204.0,
            share_percent: 40.0,
            last_unix_ms: 1_000,
            servers: vec![target("web/a", 1_204.0)],
            networks: vec![target("192.0.2.0/24", 1_204.0)],
            example: Some("0040000000000005".into()),
            check: "Check that it runs.".into(),
            ..SlowFailure::default()
        };
        let text = render_failures(&[failure], 100, Paint::fixed(false));
        for part in [
            "Failed: refused connections (CONNECT_REFUSED, server-refused), cause: server\n",
            "1,204 (40.0 %), from 1970-01-01 00:00:00Z to 1970-01-01 00:00:01Z",
            "web/a 1,204",
            "0040000000000005",
            "=> Check that it runs.",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        assert_eq!(render_failures(&[], 100, Paint::fixed(false)), "");
    }
}
