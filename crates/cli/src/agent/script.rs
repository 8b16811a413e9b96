//! A script of the user: a program whose first line is a number from 0 to 100. It runs without a shell and is killed at
//! its timeout.

use std::process::Stdio;
use std::str::FromStr;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::time::timeout;

/// Below the interval in which a balancer asks, so that a script that hangs is killed before the next question.
const LIMIT: Duration = Duration::from_secs(5);
/// Bytes of its answer that are read.
/// A percentage and words such as `drain` have fewer than 30.
const ANSWER_BYTES: u64 = 256;

/// A name and a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadScript {
    pub name: String,
    program: String,
}

impl FromStr for LoadScript {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, program)) if !name.is_empty() && program.starts_with('/') => {
                Ok(LoadScript { name: name.to_owned(), program: program.to_owned() })
            }
            _ => Err("expected NAME=/PATH/OF/PROGRAM".to_owned()),
        }
    }
}

impl LoadScript {
    /// Runs the script once and returns its share; `None`: it failed, timed out, or printed no number.
    pub async fn run(&self) -> Option<f64> {
        let run = async {
            let mut child = Command::new(&self.program)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .kill_on_drop(true)
                .spawn()
                .ok()?;
            let mut answer = Vec::new();
            child.stdout.take()?.take(ANSWER_BYTES).read_to_end(&mut answer).await.ok()?;
            child.wait().await.ok()?.success().then_some(answer)
        };
        parse_share(&timeout(LIMIT, run).await.ok()??)
    }
}

fn parse_share(answer: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(answer).ok()?;
    let number: f64 = text.lines().next()?.trim().trim_end_matches('%').trim().parse().ok()?;
    (0.0..=100.0).contains(&number).then_some(number / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shares() {
        for (answer, expected) in [
            ("50\n", Some(0.5)),
            (" 12.5 %\nmore", Some(0.125)),
            ("101", None),
            ("-1", None),
            ("NaN", None),
            ("", None),
            ("much", None),
        ] {
            assert_eq!(parse_share(answer.as_bytes()), expected, "{answer:?}");
        }
        assert!("queue=bin".parse::<LoadScript>().is_err());
    }
}
