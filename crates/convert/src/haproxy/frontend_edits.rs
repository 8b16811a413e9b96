//! The changes of fields of a frontend and its backends, put in order for one kind of listeners.

use std::collections::{BTreeMap, BTreeSet};

use crate::notes::ConversionNotes;

use super::edit_times::{
    EditTime, RuleReads, TimedEdit, advance_answers, drop_ineffective, request_times, wait_for,
};
use super::field_edit::ChangedMessage;
use super::http_rules::ProxyRules;
use super::service_edits::{ServiceEdits, on_listener};

/// The changes of a frontend.
pub struct FrontendEdits {
    requests: Vec<TimedEdit>,
    answers: Vec<TimedEdit>,
    every_answer: Vec<TimedEdit>,
}

/// The changes of a backend.
pub struct BackendEdits {
    requests: Vec<TimedEdit>,
    answers: Vec<TimedEdit>,
    every_answer: Vec<TimedEdit>,
}

fn of_message(rules: &ProxyRules, message: ChangedMessage, tls: bool) -> Vec<TimedEdit> {
    let all = rules.fields.edits.iter().filter(|edit| edit.message == message);
    all.filter_map(|edit| on_listener(edit, tls)).collect()
}

/// The fields of changes before this one that rules do not see.
fn unseen(requests: &[TimedEdit], edits_before: usize) -> BTreeSet<String> {
    let hidden =
        |one: &&TimedEdit| one.time != EditTime::BeforeRules && one.edit.position < edits_before;
    requests.iter().filter(hidden).map(|one| one.edit.key()).collect()
}

impl FrontendEdits {
    /// Puts the changes of a frontend in order. `rules`: what its rules and those of its backends look at.
    pub fn new(own: &ProxyRules, rules: &[RuleReads], tls: bool) -> FrontendEdits {
        let mut requests = of_message(own, ChangedMessage::Request, tls);
        drop_ineffective(&[], &mut requests, rules);
        let requests = request_times(requests, rules);
        let mut answers = of_message(own, ChangedMessage::Answer, tls);
        wait_for(&[], &mut answers);
        let every_answer = of_message(own, ChangedMessage::EveryAnswer, tls);
        FrontendEdits { requests, answers, every_answer }
    }

    /// Puts the changes of a backend in order: those of requests come after the frontend's, those of answers before.
    pub fn add_backend(&mut self, rules: &ProxyRules, tls: bool) -> BackendEdits {
        let mut requests = of_message(rules, ChangedMessage::Request, tls);
        drop_ineffective(&self.requests, &mut requests, &rules.reads());
        wait_for(&self.requests, &mut requests);
        let mut answers = of_message(rules, ChangedMessage::Answer, tls);
        wait_for(&[], &mut answers);
        wait_for(&answers, &mut self.answers);
        let every_answer = of_message(rules, ChangedMessage::EveryAnswer, tls);
        BackendEdits { requests, answers, every_answer }
    }

    /// Lets refusals get the changes of every answer, where the order allows it.
    pub fn advance_answers<'b>(
        &mut self,
        backends: impl Iterator<Item = &'b BackendEdits>,
        notes: &mut ConversionNotes,
    ) {
        let mut others: Vec<&[TimedEdit]> = vec![&self.answers];
        for backend in backends {
            others.extend([&backend.answers[..], &backend.every_answer]);
        }
        advance_answers(&others, &mut self.every_answer);
        let late = |one: &&TimedEdit| one.time != EditTime::BeforeRules;
        for one in self.every_answer.iter().filter(late) {
            let reason =
                "refusals of rules do not get it, because another change of the field comes first";
            notes.changed(one.edit.source, &one.edit.text, reason, "");
        }
    }

    /// The fields that are changed before this place of the frontend where rules do not see it.
    pub fn unseen(&self, edits_before: usize) -> BTreeSet<String> {
        unseen(&self.requests, edits_before)
    }

    /// All that may stand in the `rewrite` of a rule that leads to a backend.
    pub fn parts<'e>(&'e self, backend: &'e BackendEdits) -> [&'e [TimedEdit]; 4] {
        [&self.requests, &backend.requests, &self.answers, &backend.answers]
    }

    /// The edits of the service in their order. `pool`: the pool of a backend.
    pub fn service_edits(
        &self,
        backends: &BTreeMap<&str, BackendEdits>,
        pool: &dyn Fn(&str) -> Option<String>,
        notes: &mut ConversionNotes,
    ) -> ServiceEdits {
        let mut out = ServiceEdits::default();
        let after = EditTime::AfterRules;
        for (own, of_backend) in [
            (&self.requests, BackendEdits::requests as fn(&BackendEdits) -> &[TimedEdit]),
            (&self.answers, BackendEdits::answers),
            (&self.every_answer, BackendEdits::every_answer),
        ] {
            out.push_all(own, EditTime::BeforeRules, None, notes);
            let of_requests = own.iter().any(|one| one.edit.is_of_request());
            if of_requests {
                out.push_all(own, after, None, notes);
            }
            for (name, backend) in backends {
                let Some(pool) = pool(name) else { continue };
                out.push_all(of_backend(backend), after, Some(&pool), notes);
            }
            if !of_requests {
                out.push_all(own, after, None, notes);
            }
        }
        out
    }
}

impl BackendEdits {
    fn requests(&self) -> &[TimedEdit] {
        &self.requests
    }

    fn answers(&self) -> &[TimedEdit] {
        &self.answers
    }

    fn every_answer(&self) -> &[TimedEdit] {
        &self.every_answer
    }

    /// The fields that are changed before this place of the backend.
    pub fn unseen(&self, edits_before: usize) -> BTreeSet<String> {
        unseen(&self.requests, edits_before)
    }
}
