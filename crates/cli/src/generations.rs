//! `steelyard generations`: the stored configurations.

use std::process::ExitCode;

use api::types::Generations;

use crate::common_args::{DaemonArgs, block_on};
use crate::outcome::{CommandError, CommandOutcome, finish};
use crate::refresh::{RefreshArgs, show_or_watch};
use crate::show::paint::{Colour, Paint};
use crate::show::screen;
use crate::show::table::{TextCell, TextTable, left, right};
use crate::show::unit::moment;

/// List the stored configurations for rollback.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard generations
  steelyard generations --watch           again every two seconds, until Ctrl-C
  steelyard generations --json | jq '.generations[] | select(.current).digest'")]
pub struct GenerationsArgs {
    #[command(flatten)]
    again: RefreshArgs,
    #[command(flatten)]
    contact: DaemonArgs,
}

pub fn run(args: &GenerationsArgs) -> ExitCode {
    finish(args.contact.json, block_on(print_generations(args)))
}

async fn print_generations(args: &GenerationsArgs) -> Result<CommandOutcome, CommandError> {
    let client = args.contact.client()?;
    let ask = || async { Ok(client.generations().await?) };
    let show = |stored: &Generations| render(stored, screen::width(), Paint::for_stdout());
    show_or_watch(args.again, args.contact.json, ask, show).await
}

fn render(stored: &Generations, width: usize, paint: Paint) -> String {
    let columns = [right("GENERATION"), left("WHEN"), left("DIGEST"), left("WHO"), left("FROM")];
    let mut table = TextTable::new(&columns);
    for generation in &stored.generations {
        let from = if generation.current {
            format!("{} (active)", generation.from)
        } else {
            generation.from.clone()
        };
        // Twelve hex digits, 48 bits: no two generations of one host share them by accident.
        let digest: String = generation.digest.chars().take(12).collect();
        let number = generation.generation.to_string();
        table.row(vec![
            if generation.current {
                TextCell::coloured(number, Colour::Good)
            } else {
                number.into()
            },
            moment(generation.at_unix_ms).into(),
            digest.into(),
            generation.who.as_str().into(),
            from.into(),
        ]);
    }
    table.render(width, paint)
}

#[cfg(test)]
mod tests {
    use api::types::Generation;

    use super::*;

    #[test]
    fn the_active_generation_is_marked() {
        let one = |generation, current| Generation {
            generation,
            at_unix_ms: 1_772_283_909_000,
            who: "uid 0".into(),
            from: "/etc/steelyard/steelyard.toml".into(),
            digest: "0123456789abcdef".into(),
            current,
        };
        let stored = Generations { generations: vec![one(12, true), one(9, false)] };
        assert_eq!(
            render(&stored, 100, Paint::fixed(false)),
            "GENERATION  WHEN                  DIGEST        WHO    FROM\n\
            \x20       12  2026-02-28 13:05:09Z  0123456789ab  uid 0  /etc/steelyard/steelyard.toml (active)\n\
            \x20        9  2026-02-28 13:05:09Z  0123456789ab  uid 0  /etc/steelyard/steelyard.toml\n"
        );
    }
}
