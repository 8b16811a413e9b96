//! `steelyard copy service`: a service and its pools, under new names. `model` writes the text, the daemon applies it.

use std::process::ExitCode;

use model::config::patch::service_copy::{CopiedPool, ServiceCopy, copy_service};

use crate::apply::print_applied;
use crate::common_args::{DaemonArgs, SaveArgs, block_on};
use crate::outcome::{CommandError, CommandOutcome, finish, print_note};
use crate::plan_change::print_plan;

/// Copy a service and its pools in the active configuration.
///
/// Every key of the service is copied, with its rules, and every pool that the service or one of its rules names. The
/// service's own pool is named like the new service, each other pool NEW-POOL. The originals are not changed. States and
/// weights that were set by commands are not copied.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard copy service shop shop-test --listen 10.0.0.10:8080
  steelyard copy service shop shop-test --listen 10.0.0.10:8080 --dry-run    show the change, and do nothing
  steelyard copy service shop shop-v6 --listen [2001:db8::10]:80 --share-pools
  steelyard copy service shop shop-test --listen 10.0.0.10:8080 --pool test-servers --save

`steelyard undo` takes the copy back. An address that is in use, and a name that is taken, are refused.")]
pub struct CopyServiceArgs {
    /// The service to copy.
    #[arg(value_name = "NAME")]
    service: String,
    /// The name of the copy.
    #[arg(value_name = "NEW")]
    new_service: String,
    /// Where the copy listens; several times for several addresses.
    #[arg(long, value_name = "ADDRESS:PORT", required = true)]
    listen: Vec<String>,
    /// The name of the copy of the service's own pool [default: NEW].
    #[arg(long, value_name = "POOL", conflicts_with = "share_pools")]
    pool: Option<String>,
    /// Copy no pool: both services use the same ones.
    #[arg(long)]
    share_pools: bool,
    /// Show what would change, as `plan-change` does, and change nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    saving: SaveArgs,
    #[command(flatten)]
    contact: DaemonArgs,
}

pub fn run(args: &CopyServiceArgs) -> ExitCode {
    finish(args.contact.json, block_on(copy(args)))
}

async fn copy(args: &CopyServiceArgs) -> Result<CommandOutcome, CommandError> {
    let client = args.contact.client()?;
    let stored = client.generations().await?.generations;
    let active = stored.into_iter().find(|generation| generation.current).ok_or_else(|| {
        CommandError::Unusable("the daemon names no active generation".to_owned())
    })?;
    let text = client.generation_text(active.generation).await?;
    let wanted = ServiceCopy {
        service: args.service.clone(),
        new_service: args.new_service.clone(),
        listen: args.listen.clone(),
        new_pool: args.pool.clone(),
        share_pools: args.share_pools,
    };
    let copied = copy_service(&text, &wanted)
        .map_err(|error| CommandError::Absent(format!("nothing is copied: {error}")))?;
    let pools = copied.pools;
    // After the daemon has accepted it: a refused copy has made no pool.
    let print_pools = || {
        if !args.contact.json {
            pools.iter().for_each(|pool| print_note(&describe_pool(pool)));
        }
    };
    let file = Some(active.from);
    if args.dry_run {
        let plan = client.plan(copied.text, file).await?;
        print_pools();
        return print_plan(&plan, args.contact.json);
    }
    // Whoever changed the configuration since it was read keeps the change, and the copy is refused.
    let expected = Some(active.generation);
    let saving = args.saving.save_preference();
    let applied = client.apply(copied.text, file, expected, saving).await?;
    print_pools();
    print_applied(&applied, args.contact.json)
}

fn describe_pool(pool: &CopiedPool) -> String {
    let others = match pool.also_used_by.as_slice() {
        [] => String::new(),
        names => format!("; pool {} stays in use by {}", pool.from, names.join(", ")),
    };
    format!("pool {} is a copy of pool {}{others}\n", pool.to, pool.from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_of_several_services_is_named_with_them() {
        let mut pool =
            CopiedPool { from: "web".into(), to: "test".into(), also_used_by: Vec::new() };
        assert_eq!(describe_pool(&pool), "pool test is a copy of pool web\n");
        pool.also_used_by = vec!["blog".into(), "wiki".into()];
        let text = "pool test is a copy of pool web; pool web stays in use by blog, wiki\n";
        assert_eq!(describe_pool(&pool), text);
    }
}
