//! `steelyard apply`: activates a configuration. The daemon decides what changes.

mod pair_change;
mod rendering;

use std::process::ExitCode;

use api::ApiClient;
use api::client::pair::{self, PairChange};
use api::types::Applied;

use crate::common_args::{DaemonArgs, SaveArgs, block_on, file_name, read_config};
use crate::config_file::NamedConfigArgs;
use crate::outcome::{
    CommandError, CommandOutcome, finish, outcome_with_unsaved, print_findings, print_json,
};
use crate::show::screen;

/// Activate a configuration; unchanged objects are not touched.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard apply steelyard.toml
  steelyard apply --if-generation 7 steelyard.toml   rejected if somebody else changed it meanwhile
  generate-config | steelyard apply -                from standard input
  steelyard apply --save new.toml                    also write it into the daemon's file
  steelyard apply --pair lb2.example new.toml        on both members of a pair, or on neither

A configuration with mistakes is rejected as a whole, and every mistake is listed as by `steelyard check`.

With --pair the other member gets what both have in common (services, pools, zones, names, and numbers, intervals and
addresses of shared groups) and keeps its own settings. --ca, --pin, --token-file and so on then apply to
the other member. With --remote too, they come from the client's file.

Exit codes: 0 done, 1 rejected, 2 unreadable, or no daemon, 3 with --pair: only one member may have it, 4
done, but the daemon could not save it to disk.")]
pub struct ApplyArgs {
    #[command(flatten)]
    config: NamedConfigArgs,
    /// Only if this generation is active; otherwise reject the change.
    #[arg(long, value_name = "N")]
    pub if_generation: Option<u64>,
    /// Activate on both members, or on neither: the API of the other member, as for --remote.
    #[arg(long, value_name = "HOST")]
    pair: Option<String>,
    /// With --pair: overwrite what only the other member has.
    #[arg(long = "overwrite-peer", requires = "pair")]
    level: bool,
    #[command(flatten)]
    saving: SaveArgs,
    #[command(flatten)]
    contact: DaemonArgs,
}

pub fn run(args: &ApplyArgs) -> ExitCode {
    finish(
        args.contact.json,
        block_on(async {
            let text = read_config(args.config.path())?;
            let file = Some(file_name(args.config.path()));
            let client = args.contact.client()?;
            let json = args.contact.json;
            let if_generation = args.if_generation;
            let save = args.saving.save_preference();
            let Some(host) = &args.pair else {
                let applied = client.apply(text, file, if_generation, save).await?;
                return print_applied(&applied, json);
            };
            let peer = ApiClient::remote(args.contact.place.far.peer_remote(host)?);
            let order = PairChange {
                new_text: text,
                file,
                if_generation,
                save,
                allow_differences: args.level,
            };
            pair_change::print_pair_applied(pair::apply(&client, &peer, order).await, json)
        }),
    )
}

/// Prints the effects of a change.
pub fn print_applied(applied: &Applied, json: bool) -> Result<CommandOutcome, CommandError> {
    if json {
        print_json(applied)?;
    } else {
        print_findings(&applied.warnings, 0);
        screen::print(&rendering::render_applied(applied))?;
    }
    Ok(outcome_with_unsaved(&applied.unsaved))
}
