//! `steelyard gateway`: objects of Kubernetes. The crate `gateway` translates; this reads files and prints.

mod manifests;
mod render;

use std::process::ExitCode;

use clap::Subcommand;

/// Kubernetes Gateway API: translate its objects.
#[derive(Clone, Debug, clap::Args)]
pub struct GatewayArgs {
    #[command(subcommand)]
    what: GatewayCommand,
}

#[derive(Clone, Debug, Subcommand)]
enum GatewayCommand {
    Render(render::RenderArgs),
}

pub fn run(args: &GatewayArgs) -> ExitCode {
    match &args.what {
        GatewayCommand::Render(args) => render::run(args),
    }
}
