//! Plays a dialogue: what comes goes in, what it says and its verdict come out.

use model::config::ProbeKind;
use probe::context::Context;
use probe::dialogue::{Step, Verdict};
use probe::plan::Plan;

/// The secret of every context.
pub const SECRET: &[u8] = b"s3cret";

/// What came of playing.
#[derive(Debug, Default)]
pub struct Talk {
    /// What the dialogue said.
    pub said: Vec<u8>,
    /// How it ended, if it did.
    pub verdict: Option<Verdict>,
}

/// A prepared probe.
pub fn plan(kind: &ProbeKind) -> Plan {
    Plan::new(kind, false)
}

/// Plays these pieces; with `closes` the server closes then.
pub fn play(plan: &Plan, pieces: &[&[u8]], closes: bool) -> Talk {
    let context = Context {
        address: "192.0.2.1:9".parse().unwrap(),
        host: "192.0.2.1:9",
        secret: Some(SECRET),
        draw: 7,
    };
    let mut dialogue = plan.begin(&context).unwrap();
    let mut talk = Talk::default();
    let mut step = dialogue.begin(&mut talk.said);
    for piece in pieces {
        if step != Step::Wait {
            break;
        }
        assert!(!dialogue.awaits().is_empty());
        step = dialogue.take(piece, &mut talk.said);
    }
    talk.verdict = match step {
        Step::Done(verdict) => Some(verdict),
        Step::Wait if closes => Some(dialogue.end()),
        Step::Wait => None,
    };
    talk
}

/// A BER element of at most 127 bytes.
pub fn ber(tag: u8, contents: &[u8]) -> Vec<u8> {
    [&[tag, u8::try_from(contents.len()).unwrap()][..], contents].concat()
}
