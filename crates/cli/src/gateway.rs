//! `steelyard gateway`: objects of Kubernetes. The crate `gateway` translates; this reads files and prints.

mod manifests;
mod render;

use std::process::ExitCode;

use clap::Subcommand;

/// Translate objects of Kubernetes Gateway API and Ingress.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard gateway render shop.yaml > steelyard.toml
  steelyard gateway render manifests/ --status")]
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
