//! Parses rates on the command line: `5000`, or steps such as `1000..10000/1000`.

use thiserror::Error;

/// Rates in the order of their runs, requests a second.
#[derive(Clone, Debug, PartialEq)]
pub struct RateSteps(pub Vec<f64>);

/// Why a text is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RateStepsError {
    /// The text has neither form.
    #[error(
        "`{0}` is no rate; expected requests a second such as `5000`, or steps such as `1000..10000/1000`"
    )]
    Form(String),
    /// The steps never reach the last rate.
    #[error("`{0}` has no steps; expected FROM..TO/STEP with FROM up to TO and a STEP above 0")]
    Steps(String),
    /// More than `MOST_STEPS` steps.
    #[error("`{0}` has more than {MOST_STEPS} steps; take larger ones")]
    Many(String),
}

impl std::str::FromStr for RateSteps {
    type Err = RateStepsError;

    fn from_str(text: &str) -> Result<RateSteps, RateStepsError> {
        let number = |word: &str| {
            let found = word.trim().parse::<f64>().ok().filter(|n| *n > 0.0 && *n <= 1e7);
            found.ok_or_else(|| RateStepsError::Form(text.to_owned()))
        };
        let Some((from, rest)) = text.split_once("..") else {
            return Ok(RateSteps(vec![number(text)?]));
        };
        let (to, step) =
            rest.split_once('/').ok_or_else(|| RateStepsError::Form(text.to_owned()))?;
        let from = number(from)?;
        let to = number(to)?;
        let step = number(step)?;
        if from > to {
            return Err(RateStepsError::Steps(text.to_owned()));
        }
        let steps = ((to - from) / step + 1e-9).floor() as usize + 1;
        if steps > MOST_STEPS {
            return Err(RateStepsError::Many(text.to_owned()));
        }
        Ok(RateSteps((0..steps).map(|at| from + at as f64 * step).collect()))
    }
}

/// Bounds the duration of a benchmark.
const MOST_STEPS: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates() {
        let of = |text: &str| text.parse::<RateSteps>();
        assert_eq!(of("500"), Ok(RateSteps(vec![500.0])));
        assert_eq!(of("1000..3000/1000"), Ok(RateSteps(vec![1000.0, 2000.0, 3000.0])));
        assert_eq!(of("10..15/2"), Ok(RateSteps(vec![10.0, 12.0, 14.0])));
        assert!(matches!(of("5..1/1"), Err(RateStepsError::Steps(_))));
        for wrong in ["", "0", "-1", "nan", "1..2", "1..2/0", "1e9"] {
            assert!(matches!(of(wrong), Err(RateStepsError::Form(_))), "{wrong}");
        }
        assert!(matches!(of("1..9999/1"), Err(RateStepsError::Many(_))));
    }
}
