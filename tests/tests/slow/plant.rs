//! A planted cause: what is planted, the right answer, and how often the balancer gave it.

use serde_json::Value;
use tests::e2e::balancer::{figure, is_long};

/// A cause as a test plants it, with the right answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlantedCause {
    pub what: &'static str,
    pub owner: &'static str,
    /// The codes that name it rightly.
    pub limits: &'static [&'static str],
}

/// Lines that a failure shows.
const SHOWN: usize = 3;

impl PlantedCause {
    /// Prints and checks how often the cause was right: in 95 of 100 lines. The owner must be right, or unknown, in every
    /// line. A line without an owner was not slow enough to have one. In the short variant other tests take the processors
    /// from client, link and server, which is then the cause of some lines: three of four owners must be right, and half
    /// of the causes.
    pub fn check_lines(&self, form: &str, lines: &[Value]) {
        let PlantedCause { what, owner, limits } = self;
        let has_owner = |line: &&Value| line["owner"] == *owner;
        let has_cause =
            |line: &&Value| has_owner(line) && limits.iter().any(|limit| line["limit"] == *limit);
        let may_be = |line: &&Value| has_owner(line) || line["owner"] == "unknown";
        let all = lines.len();
        let causes = lines.iter().filter(has_cause).count();
        let owners = lines.iter().filter(may_be).count();
        let wrong = lines.iter().filter(|line| !has_cause(line)).take(SHOWN).collect::<Vec<_>>();
        let space = if form.is_empty() { "" } else { " " };
        figure(format_args!(
            "{what}{space}{form}: {causes} of {all} the right cause, {owners} of {all} the right owner or unknown"
        ));
        let is_right = match is_long() {
            true => causes * 100 >= all * 95 && owners == all,
            false => causes * 2 >= all && owners * 4 >= all * 3,
        };
        assert!(is_right, "{what} {form}, not so: {wrong:#?}");
    }
}
