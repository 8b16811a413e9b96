//! The three questions, each asked again until the model accepts the answer.

use std::io::{BufRead, Write};

use clap::ValueEnum;
use model::config::load;

use super::answers::{StarterAnswers, StarterMethod};
use super::starter_text;
use crate::outcome::CommandError;

/// Answers that options gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GivenAnswers {
    pub listen: Option<String>,
    pub forward: Option<StarterMethod>,
    pub servers: Option<Vec<String>>,
}

/// Any port above 1023 needs no privilege; this one is what people try first.
const LISTEN: &str = ":8080";
const FORWARD: StarterMethod = StarterMethod::Http;
const SERVERS: [&str; 2] = ["127.0.0.1:8081", "127.0.0.1:8082"];

impl GivenAnswers {
    /// The options without which a program cannot write a configuration. What to forward has a
    /// usual answer.
    pub fn missing_options(&self) -> Vec<&'static str> {
        let listen = self.listen.is_none().then_some("--listen ADDRESS");
        let servers = self.servers.is_none().then_some("--servers HOST:PORT,HOST:PORT");
        listen.into_iter().chain(servers).collect()
    }

    /// With the usual answers for the rest.
    pub fn with_defaults(self) -> StarterAnswers {
        StarterAnswers {
            listen: self.listen.unwrap_or_else(|| LISTEN.to_owned()),
            forward: self.forward.unwrap_or(FORWARD),
            servers: self.servers.unwrap_or_else(|| SERVERS.map(str::to_owned).to_vec()),
        }
    }
}

/// Asks for what was not given.
///
/// # Errors
/// The input ends before the last answer, or a given answer is wrong.
pub fn ask_missing(
    given: GivenAnswers,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> Result<StarterAnswers, CommandError> {
    let GivenAnswers { listen, forward, servers } = given.clone();
    let mut answers = given.with_defaults();
    if listen.is_none() {
        let question = format!("Where do clients connect? ADDRESS:PORT or :PORT [{LISTEN}] ");
        ask(&question, input, output, |text| {
            let listen = if text.is_empty() { LISTEN } else { text }.to_owned();
            let with =
                StarterAnswers { listen, servers: vec![SERVERS[0].to_owned()], ..answers.clone() };
            check_answers(&with)?;
            answers.listen = with.listen;
            Ok(())
        })?;
    }
    if forward.is_none() {
        let question =
            format!("What do they speak? http or tcp (anything else) [{}] ", FORWARD.name());
        ask(&question, input, output, |text| {
            answers.forward = match text {
                "" => FORWARD,
                word => StarterMethod::from_str(word, true)
                    .map_err(|_| format!("'{word}' is neither http nor tcp"))?,
            };
            Ok(())
        })?;
    }
    if servers.is_none() {
        let usual = SERVERS.join(", ");
        let question =
            format!("Which servers do the work? HOST:PORT, several with commas [{usual}] ");
        ask(&question, input, output, |text| {
            let text = if text.is_empty() { &usual } else { text };
            let words = text.split([',', ' ']).filter(|word| !word.is_empty());
            let servers = words.map(str::to_owned).collect();
            let with = StarterAnswers { servers, ..answers.clone() };
            check_answers(&with)?;
            answers.servers = with.servers;
            Ok(())
        })?;
    }
    check_answers(&answers).map_err(CommandError::Absent)?;
    Ok(answers)
}

/// Asks until `take` accepts the answer.
fn ask(
    question: &str,
    input: &mut impl BufRead,
    output: &mut impl Write,
    mut take: impl FnMut(&str) -> Result<(), String>,
) -> Result<(), CommandError> {
    loop {
        write!(output, "{question}")?;
        output.flush()?;
        let mut line = String::new();
        let read = input.read_line(&mut line);
        let read = read
            .map_err(|error| CommandError::Unusable(format!("cannot read an answer: {error}")))?;
        if read == 0 {
            let text = "the input ended before the last question was answered; nothing is written";
            return Err(CommandError::Unusable(text.to_owned()));
        }
        match take(line.trim()) {
            Ok(()) => return Ok(()),
            Err(why) => writeln!(output, "  {why}")?,
        }
    }
}

/// Whether the configuration of these answers is good; otherwise the first mistake.
pub fn check_answers(answers: &StarterAnswers) -> Result<(), String> {
    let findings = match load(&starter_text::write(answers), "answer") {
        Ok(_) => return Ok(()),
        Err(findings) => findings,
    };
    let first = findings.errors().next();
    Err(first.map_or_else(
        || findings.to_string(),
        |first| match &first.expected {
            Some(expected) => format!("{}; expected {expected}", first.message),
            None => first.message.clone(),
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(input: &str, given: GivenAnswers) -> (Result<StarterAnswers, String>, String) {
        let mut output = Vec::new();
        let answers = ask_missing(given, &mut input.as_bytes(), &mut output);
        (answers.map_err(|error| error.to_string()), String::from_utf8(output).unwrap())
    }

    #[test]
    fn empty_answers_are_the_usual_ones() {
        let answers = asked("\n\n\n", GivenAnswers::default()).0.unwrap();
        assert_eq!(answers, GivenAnswers::default().with_defaults());
    }

    #[test]
    fn a_wrong_answer_is_explained_and_asked_again() {
        let input = "nowhere\n:90000\n127.0.0.1:81\nudp\nTCP\n,\ndb1:5432 db2:5432\n";
        let (answers, output) = asked(input, GivenAnswers::default());
        let answers = answers.unwrap();
        assert_eq!(
            (answers.listen.as_str(), answers.forward),
            ("127.0.0.1:81", StarterMethod::Tcp)
        );
        assert_eq!(answers.servers, ["db1:5432", "db2:5432"]);
        for (question, times) in [("Where do", 3), ("What do", 2), ("Which servers", 2)] {
            assert_eq!(output.matches(question).count(), times, "{output}");
        }
        assert!(output.contains("'udp' is neither http nor tcp"), "{output}");
    }

    #[test]
    fn what_an_option_gave_is_not_asked_and_an_input_that_ends_is_reported() {
        let listen = Some(":81".to_owned());
        let given = GivenAnswers { listen, forward: Some(StarterMethod::Tcp), servers: None };
        let (answers, output) = asked("a:1\n", given.clone());
        assert_eq!(answers.unwrap().servers, ["a:1"]);
        assert!(!output.contains("Where"), "{output}");
        assert!(asked("", given).0.unwrap_err().contains("nothing is written"));
    }
}
