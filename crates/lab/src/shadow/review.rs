//! Reviews the differences of a run, with what the running daemon says of the rule that took a request.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::path::Path;

use super::accepted::{LIMITED, accept};
use super::accepted_defaults::offers_by_default;
use super::comparison::{DifferenceTopic, ServerPools, compare};
use super::difference_context::DifferenceContext;
use super::explanation::find_note;
use super::failed_turns::FailedTurns;
use super::hostile::decode_unreserved;
use super::input::ShadowInput;
use super::observation::StepObservation;
use super::report::{DifferenceRow, DifferenceVerdict, ShadowReport};
use super::request::ShadowRequest;
use super::source_route::{MatchedObjects, ObjectLines, route_lines};
use super::steelyard::find_matched;
use super::usual_form::{UsualForms, usual_host};

/// Reviews differences.
#[derive(Debug)]
pub struct DifferenceReview<'a> {
    pub input: ShadowInput<'a>,
    /// Of Steelyard's side.
    pub dir: &'a Path,
    pub pools: ServerPools,
    pub objects: ObjectLines,
    /// The original's file limits rates or connections.
    pub has_limits: bool,
    pub let_through: ServedResources,
    pub turns: FailedTurns,
    pub forms: UsualForms,
}

/// A resource as a client asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct AskedResource {
    service: String,
    host: String,
    method: String,
    target: String,
}

/// What the original has let through to a server.
#[derive(Debug, Default)]
pub struct ServedResources {
    resources: HashSet<AskedResource>,
}

impl ServedResources {
    pub fn read(requests: &[ShadowRequest], theirs: &[Vec<StepObservation>]) -> ServedResources {
        let served = requests.iter().zip(theirs).filter(|(request, steps)| {
            request.http().is_some_and(|http| http.fields.is_empty())
                && steps.iter().any(|step| step.server().is_some())
        });
        let resources = served.filter_map(|(request, _)| asked_resource(request, false)).collect();
        ServedResources { resources }
    }

    /// Whether the original lets the same resource through in its usual spelling (RFC 3986 section 6.2.2.2).
    fn has_usual_spelling(&self, request: &ShadowRequest) -> bool {
        let usual = asked_resource(request, true);
        usual.is_some_and(|usual| self.resources.contains(&usual))
    }
}

/// The resource of a request, in the usual spelling of its target and host or as it was sent.
fn asked_resource(request: &ShadowRequest, is_usual: bool) -> Option<AskedResource> {
    let http = request.http()?;
    Some(AskedResource {
        service: request.service.clone(),
        host: if is_usual { usual_host(&http.host) } else { http.host.clone() },
        method: http.method.clone(),
        target: if is_usual { decode_unreserved(&http.target) } else { http.target.clone() },
    })
}

impl DifferenceReview<'_> {
    /// Compares the answers of one request, and adds what differs to the report.
    pub fn add(
        &self,
        request: &ShadowRequest,
        theirs: &[StepObservation],
        ours: &[StepObservation],
        report: &mut ShadowReport,
    ) {
        report.requests += 1;
        let differences = compare(request, theirs, ours, &self.pools);
        report.equal += u64::from(differences.is_empty());
        let matched = OnceCell::new();
        for difference in &differences {
            let Some(their) = theirs.get(difference.step) else { continue };
            let Some(our) = ours.get(difference.step) else { continue };
            let seen = DifferenceContext {
                request,
                difference,
                theirs: their,
                ours: our,
                has_limits: self.has_limits,
                is_let_through: self.let_through.has_usual_spelling(request),
                offers_by_default: offers_by_default(self.input.source, request.to.port()),
                is_decided_by_turn: self.turns.decide(request),
                is_of_form: self.forms.decide(request, our, &self.pools),
            };
            report.add(self.row(seen, &matched));
        }
    }

    /// Whether both sides chose a server of the pools among which the request's own rule shares out.
    fn is_share(&self, seen: DifferenceContext<'_>, matched: &MatchedObjects) -> bool {
        let shared = |step: &StepObservation| {
            let pools = step.server().and_then(|served| self.pools.get(&served.server));
            pools.is_some_and(|pools| pools.iter().any(|one| matched.pools.contains(&one.pool)))
        };
        seen.difference.topic == DifferenceTopic::Pool
            && matched.pools.len() > 1
            && shared(seen.theirs)
            && shared(seen.ours)
    }

    fn row(
        &self,
        seen: DifferenceContext<'_>,
        matched: &OnceCell<MatchedObjects>,
    ) -> DifferenceRow {
        let difference = seen.difference;
        let mut row = DifferenceRow {
            verdict: DifferenceVerdict::Unexplained,
            request: seen.request.describe(),
            count: 1,
            what: difference.topic.describe(),
            theirs: difference.theirs.clone(),
            ours: difference.ours.clone(),
            reason: String::new(),
            line: 0,
        };
        let reason = accept(seen);
        if let Some(reason) = reason.filter(|reason| *reason != LIMITED) {
            row.verdict = DifferenceVerdict::Accepted;
            row.reason = reason.to_owned();
            return row;
        }
        let find = || find_matched(self.input.program, self.dir, seen.request);
        let matched = matched.get_or_init(find);
        let ShadowInput { source, dialect, notes, .. } = self.input;
        if self.is_share(seen, matched) {
            row.verdict = DifferenceVerdict::Accepted;
            row.reason = "shares are drawn anew for each request".to_owned();
            return row;
        }
        let route = route_lines(source, dialect, &self.objects, matched);
        match find_note(seen, notes, &route) {
            Some(note) => {
                row.verdict = DifferenceVerdict::Explained;
                row.reason = note.directive.clone();
                row.line = note.line;
            }
            None if reason.is_some() => {
                row.verdict = DifferenceVerdict::Accepted;
                row.reason = LIMITED.to_owned();
            }
            None if matched.rule > 0 => {
                row.reason = format!("rule {} of {}", matched.rule, matched.service);
            }
            None => row.reason.clone_from(&matched.service),
        }
        row
    }
}
