//! `steelyard apply`: puts a configuration in force. What it touches is the daemon's to say.

use std::path::PathBuf;
use std::process::ExitCode;

use api::types::Applied;

use crate::ask::{Contact, Saving, file_name, read_config, wait};
use crate::end::{End, Failure, finish, print_findings, print_json};
use crate::show::plain::plain;
use crate::show::screen;

/// Put a configuration in force; what did not change is not touched.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard apply steelyard.toml
  steelyard apply --if-generation 7 steelyard.toml   refuse if somebody else applied meanwhile
  generate-config | steelyard apply -                from standard input
  steelyard apply --save new.toml                    and write it into the daemon's file

A configuration with mistakes is refused whole, and every mistake is listed as by `steelyard check`.")]
pub struct Args {
    /// The configuration, or - for standard input.
    pub file: PathBuf,
    /// Only if this generation is in force.
    #[arg(long, value_name = "N")]
    pub if_generation: Option<u64>,
    #[command(flatten)]
    saving: Saving,
    #[command(flatten)]
    contact: Contact,
}

/// Carries it out.
pub fn run(args: &Args) -> ExitCode {
    finish(
        args.contact.json,
        wait(async {
            let text = read_config(&args.file)?;
            let file = Some(file_name(&args.file));
            let client = args.contact.client()?;
            let save = args.saving.asked();
            let applied = client.apply(text, file, args.if_generation, save).await?;
            show(&applied, args.contact.json)
        }),
    )
}

/// Prints what a change did.
pub fn show(applied: &Applied, json: bool) -> Result<End, Failure> {
    if json {
        print_json(applied)?;
        return Ok(End::Done);
    }
    print_findings(&applied.warnings, 0);
    screen::print(&render(applied))?;
    Ok(End::Done)
}

fn render(applied: &Applied) -> String {
    let generation = applied.generation;
    if !applied.changed {
        return format!("nothing differs: generation {generation} stays in force\n");
    }
    let mut out = format!("generation {generation} is in force\n");
    for effect in &applied.effects {
        out.push_str(&format!("  {}\n", plain(effect)));
    }
    if let Some(file) = &applied.saved {
        out.push_str(&format!("  {} says so\n", plain(file)));
    }
    if !applied.confirmed {
        out.push_str("  not every worker has confirmed it yet; look at `steelyard status`\n");
    }
    for what in &applied.needs_restart {
        out.push_str(&format!("  takes effect at the next start: {}\n", plain(what)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_and_what_was_not_is_told() {
        let mut applied = Applied { generation: 7, ..Applied::default() };
        assert_eq!(render(&applied), "nothing differs: generation 7 stays in force\n");
        applied.changed = true;
        applied.confirmed = true;
        applied.effects = vec!["service shop stops listening on 127.0.0.1:80".into()];
        let text = "generation 7 is in force\n  service shop stops listening on 127.0.0.1:80\n";
        assert_eq!(render(&applied), text);
        applied.confirmed = false;
        applied.needs_restart = vec!["workers".into()];
        assert!(render(&applied).ends_with(
            "  not every worker has confirmed it yet; look at `steelyard status`\n  \
             takes effect at the next start: workers\n"
        ));
    }
}
