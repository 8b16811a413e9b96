//! Replays the corpus: each file's outcomes and each byte that is passed on are exact.

use crate::reader::{self, CorpusCase};
use crate::replay::{self, Replay};
use wire::http1::{Defect, HeadLimits, HttpVersion, ResponseContext};

#[test]
fn every_request_comes_to_its_outcome() {
    let cases = reader::load("requests");
    assert!(cases.len() >= 70, "the corpus has {} requests", cases.len());
    check(&cases, |case| replay::requests(&case.sent, &HeadLimits::default()));
}

#[test]
fn every_answer_comes_to_its_outcome() {
    let cases = reader::load("answers");
    assert!(cases.len() >= 25, "the corpus has {} answers", cases.len());
    check(&cases, |case| {
        let asked = match case.request_kind.as_str() {
            "head" => ResponseContext::Head,
            "connect" => ResponseContext::Connect,
            "upgrade" => ResponseContext::Upgrade,
            "other" => ResponseContext::Other,
            wrong => panic!("{}: asked {wrong}", case.name),
        };
        let client = if case.client == "1.0" { HttpVersion::Http10 } else { HttpVersion::Http11 };
        replay::answers(&case.sent, asked, client)
    });
}

/// A rule without a case would be a rule that nobody has seen at work.
#[test]
fn every_defect_has_a_case() {
    let cases = [reader::load("requests"), reader::load("answers")].concat();
    let named: Vec<&str> =
        cases.iter().filter_map(|case| case.refusal().map(|(name, _)| name)).collect();
    let missing: Vec<&str> = Defect::ALL
        .iter()
        // The exchange raises the first two; the third is what no known input reaches.
        .filter(|defect| {
            use Defect::{EarlyUpgradeData, Malformed, UnusualName};
            !matches!(defect, EarlyUpgradeData | UnusualName | Malformed)
        })
        .filter(|defect| !of_http2(**defect))
        .map(|defect| defect.name())
        .filter(|name| !named.contains(name))
        .collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}

/// What HTTP/1 has no form for.
fn of_http2(defect: Defect) -> bool {
    use Defect::{AuthorityMismatch, HopByHop, Http2Malformed, Http2Protocol};
    use Defect::{Http3Protocol, LengthMismatch, PseudoMissing, UpgradeWithBody};
    matches!(defect, AuthorityMismatch | HopByHop | Http2Malformed | Http2Protocol)
        || matches!(defect, Http3Protocol | LengthMismatch | PseudoMissing | UpgradeWithBody)
}

fn check(cases: &[CorpusCase], run: impl Fn(&CorpusCase) -> Replay) {
    let mut wrong = String::new();
    for case in cases {
        assert!(!case.intent.is_empty(), "{}: no intent", case.name);
        let found = run(case);
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            update(case, &found);
            continue;
        }
        if found.outcomes != case.expect {
            wrong +=
                &format!("\n{}: {:#?}\ninstead of {:#?}", case.name, found.outcomes, case.expect);
        } else if found.passed != case.passed {
            let is = reader::escaped(&found.passed);
            let was = reader::escaped(&case.passed);
            wrong += &format!("\n{}: passes on\n{is}instead of\n{was}", case.name);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn update(case: &CorpusCase, found: &Replay) {
    let text = std::fs::read_to_string(&case.file).unwrap();
    let kept = text.split("<<<\n").next().unwrap();
    let passed = reader::escaped(&found.passed);
    let passed = if passed.is_empty() { passed } else { format!("<<<\n{passed}") };
    std::fs::write(&case.file, format!("{kept}{passed}")).unwrap();
}
