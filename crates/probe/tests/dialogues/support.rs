//! Runs a dialogue: received bytes go in, sent bytes and the result come out.

use model::config::ProbeKind;
use probe::context::ProbeContext;
use probe::dialogue::{DialogueStep, ProbeResult};
use probe::probe_plan::ProbePlan;

/// The secret of every context.
pub const SECRET: &[u8] = b"s3cret";

/// The outcome of a run.
#[derive(Debug, Default)]
pub struct DialogueRun {
    /// The bytes that the dialogue sent.
    pub sent: Vec<u8>,
    /// The result, if the dialogue ended.
    pub result: Option<ProbeResult>,
}

pub fn plan(kind: &ProbeKind) -> ProbePlan {
    ProbePlan::new(kind, false)
}

/// Feeds these pieces; with `closes` the server closes then.
pub fn play(plan: &ProbePlan, pieces: &[&[u8]], closes: bool) -> DialogueRun {
    let context = ProbeContext {
        address: "192.0.2.1:9".parse().unwrap(),
        host: "192.0.2.1:9",
        secret: Some(SECRET),
        random: 7,
    };
    let mut dialogue = plan.start_dialogue(&context).unwrap();
    let mut talk = DialogueRun::default();
    let mut step = dialogue.start(&mut talk.sent);
    for piece in pieces {
        if step != DialogueStep::Wait {
            break;
        }
        assert!(!dialogue.awaited().is_empty());
        step = dialogue.receive(piece, &mut talk.sent);
    }
    talk.result = match step {
        DialogueStep::Done(verdict) => Some(verdict),
        DialogueStep::Wait if closes => Some(dialogue.handle_close()),
        DialogueStep::Wait => None,
    };
    talk
}

/// A BER element of at most 127 bytes.
pub fn ber(tag: u8, contents: &[u8]) -> Vec<u8> {
    [&[tag, u8::try_from(contents.len()).unwrap()][..], contents].concat()
}
