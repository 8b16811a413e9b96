//! What is said of rules that refuse more than they did, since their conditions or their effects cannot be written.

use crate::notes::{ConversionNotes, UnsupportedReason};

use super::lex::ConfigLine;

pub const AUTH: &str = "requests are not authenticated; so that nothing is open that was closed, a rule refuses what this protected";

pub const OTHER_AUTH: &str =
    "authenticate at the servers or with `tls.client`, then take the rule with `deny` out";
pub const CHANGES: &str = "`rewrite` in a rule, or do it at the servers";

pub const WIDENED: &str = "so that nothing is open that was closed, the rule refuses all that could have met the condition";
pub const NARROWED: &str =
    "so that nothing is open that was closed, nothing is let through by this part of the condition";
pub const CLOSED: &str =
    "so that nothing is open that was closed, all requests that it may have meant are refused";
pub const OTHER_HOST: &str =
    "so that no server is asked for another host, these requests are refused";
pub const SERVER: &str = "no rule chooses one server of a pool";
pub const SERVER_INSTEAD: &str = "a pool of its own for the server, and a rule that leads there";
pub const PROGRAM: &str =
    "something else than a rule decides about these connections, or where they go";
pub const SLOW_REFUSAL: &str = "a client that is refused gets its answer at once";

pub const LONG_BODIES: &str =
    "a longer body is refused with 413, as soon as it is known to be longer";
pub const HELD_BACK: &str = "no rule here refuses an answer of a server; so that nothing gets out that was held back, these requests are refused";
pub const HELD_BACK_INSTEAD: &str = "hold it back at the servers, then take the rule with 502 out";

/// Adds a note about an access condition that cannot be expressed, and its consequence.
pub fn note_guard(
    line: &ConfigLine,
    why: &UnsupportedReason,
    consequence: &str,
    notes: &mut ConversionNotes,
) {
    let reason = format!("{}; {consequence}", why.reason);
    notes.left_out(line.source, &line.text(), &reason, &why.instead);
}
