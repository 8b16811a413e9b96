//! `steelyard gateway render`: manifests to a configuration, or to the conditions of their objects. No cluster is asked.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::gateway::certificates::KeyPairFile;
use ::gateway::object_set::ObjectSet;
use ::gateway::problems::ObjectProblem;
use ::gateway::settings::{
    CERTIFICATE_DIRECTORY, CONTROLLER_NAME, GatewaySettings, INGRESS_CONTROLLER_NAME, REFUSAL_PORT,
};
use ::gateway::status::{ConditionState, ObjectStatus, StatusCondition};
use ::gateway::translation::{GatewayTranslation, translate};
use serde::Serialize;

use super::manifests::read_manifests;
use crate::outcome::{CommandError, CommandOutcome, finish, print_json, print_note};
use crate::show::screen;

/// Translate manifests of Gateway API into a configuration, without a cluster.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard gateway render shop.yaml > steelyard.toml
  steelyard gateway render manifests/ --status
  kubectl get gatewayclasses,gateways,httproutes,referencegrants,services,endpointslices,secrets,namespaces -A -o yaml |
    steelyard gateway render - --certificates /etc/steelyard/gateway > steelyard.toml
  steelyard gateway render shop.yaml --json | jq .statuses

Supported kinds are GatewayClass, Gateway, HTTPRoute, GRPCRoute, TLSRoute, TCPRoute, ReferenceGrant,
Ingress, IngressClass, Service,
EndpointSlice, Secret and Namespace. The configuration goes to standard output. What could not be rendered
as specified goes to standard error.

Exit codes: 0 everything is rendered as specified, 1 no listener can be served, 2 unreadable, 3 something is
not as specified.")]
pub struct RenderArgs {
    /// Files with manifests, folders of them, or - for standard input.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Print the conditions of every object instead of the configuration.
    #[arg(long)]
    status: bool,
    /// Print JSON: the configuration, the status of every object, and problems.
    #[arg(long)]
    json: bool,
    /// Listening address of Ingresses, and of Gateways without an address; by default all
    /// addresses.
    #[arg(long, value_name = "ADDRESS")]
    address: Option<IpAddr>,
    /// Write the certificates of Secrets into this directory, readable by their owner only.
    /// Otherwise the configuration expects them in /run/steelyard/gateway.
    #[arg(long, value_name = "DIRECTORY")]
    certificates: Option<PathBuf>,
    /// The first port on 127.0.0.1 for error responses to the share of a split whose back end is
    /// invalid or has no endpoint.
    #[arg(long, value_name = "PORT", default_value_t = REFUSAL_PORT)]
    loopback_port: u16,
    /// The controller's name in a GatewayClass.
    #[arg(long, value_name = "NAME", default_value = CONTROLLER_NAME)]
    controller: String,
    /// The controller's name in an IngressClass.
    #[arg(long, value_name = "NAME", default_value = INGRESS_CONTROLLER_NAME)]
    ingress_controller: String,
}

/// The document that `--json` prints.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct RenderResult<'a> {
    configuration: Option<&'a str>,
    statuses: &'a [ObjectStatus],
    certificates: &'a [KeyPairFile],
    problems: &'a [ObjectProblem],
    /// Objects of kinds that are not read.
    ignored: &'a [String],
}

pub fn run(args: &RenderArgs) -> ExitCode {
    finish(args.json, render(args))
}

fn render(args: &RenderArgs) -> Result<CommandOutcome, CommandError> {
    let contents = read_manifests(&args.files)?;
    let mut problems = contents.problems;
    let set = ObjectSet::from_manifests(contents.objects, &mut problems);
    let directory = args.certificates.as_deref().map(Path::to_string_lossy);
    let settings = GatewaySettings {
        controller_name: args.controller.clone(),
        ingress_controller_name: args.ingress_controller.clone(),
        default_address: args.address,
        certificate_directory: directory.unwrap_or(CERTIFICATE_DIRECTORY.into()).into_owned(),
        refusal_port: args.loopback_port,
    };
    let translation = translate(&set, &settings);
    problems.extend(translation.problems.iter().cloned());
    if let Some(directory) = &args.certificates {
        write_certificates(directory, &translation.certificates)?;
    }
    let failures = describe_failures(&translation, &problems);
    let end = match (&translation.configuration, failures.is_empty()) {
        (None, _) => CommandOutcome::Negative,
        (Some(_), true) => CommandOutcome::Done,
        (Some(_), false) => CommandOutcome::Partial,
    };
    let configuration = translation.configuration.as_deref();
    if args.json {
        print_json(&RenderResult {
            configuration,
            statuses: &translation.statuses,
            certificates: &translation.certificates,
            problems: &problems,
            ignored: &contents.ignored,
        })?;
        return Ok(end);
    }
    if args.status {
        translation.statuses.iter().try_for_each(|status| screen::print(&status_text(status)))?;
    } else {
        screen::print(configuration.unwrap_or_default())?;
    }
    print_note(&notes_text(&failures, &translation, args, &contents.ignored));
    Ok(end)
}

fn write_certificates(directory: &Path, files: &[KeyPairFile]) -> Result<(), CommandError> {
    let failed = |path: &Path, error: std::io::Error| {
        CommandError::Unusable(format!("cannot write {}: {error}", path.display()))
    };
    if !files.is_empty() && !directory.is_dir() {
        files::create::make_dir(directory, 0o700).map_err(|error| failed(directory, error))?;
    }
    for file in files {
        let path = Path::new(&file.path);
        files::create::replace(path, file.pem.as_bytes(), 0o600, |_| Ok(()))
            .map_err(|error| failed(path, error))?;
    }
    Ok(())
}

/// Every problem and every condition that is not as it was wanted, one a line.
fn describe_failures(translation: &GatewayTranslation, problems: &[ObjectProblem]) -> Vec<String> {
    let mut lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    for status in &translation.statuses {
        status.visit_failures(|part, condition| {
            let part = if part.is_empty() { String::new() } else { format!("{part}: ") };
            let line = condition_line(condition);
            lines.push(format!("{}: {part}{line}", status.label()));
        });
    }
    lines
}

fn condition_line(condition: &StatusCondition) -> String {
    let state = if condition.status == ConditionState::True { "true" } else { "false" };
    format!("{} is {state}, {}: {}", condition.kind, condition.reason, condition.message)
}

fn status_text(status: &ObjectStatus) -> String {
    let mut text = format!("{}\n", status.label());
    text.push_str(&conditions_text("  ", &status.conditions));
    for listener in &status.listeners {
        let routes = listener.attached_routes;
        text.push_str(&format!("  listener {}, attached routes {routes}\n", listener.name));
        text.push_str(&conditions_text("    ", &listener.conditions));
    }
    for parent in &status.parents {
        let section = parent.parent_ref.section_name.as_ref();
        let section = section.map(|name| format!(", listener {name}")).unwrap_or_default();
        text.push_str(&format!("  parent {}{section}\n", parent.parent_ref.name));
        text.push_str(&conditions_text("    ", &parent.conditions));
    }
    text
}

fn conditions_text(indent: &str, conditions: &[StatusCondition]) -> String {
    conditions.iter().map(|one| format!("{indent}{}\n", condition_line(one))).collect()
}

fn notes_text(
    failures: &[String],
    translation: &GatewayTranslation,
    args: &RenderArgs,
    ignored: &[String],
) -> String {
    let mut text: String = failures.iter().map(|line| format!("{line}\n")).collect();
    if !ignored.is_empty() {
        text.push_str(&format!("not read, by their kind: {}\n", ignored.join(", ")));
    }
    if args.certificates.is_none() {
        for file in &translation.certificates {
            text.push_str(&format!("{}: the certificate of Secret {}; ", file.path, file.secret));
            text.push_str("--certificates writes it\n");
        }
    }
    if translation.configuration.is_none() {
        text.push_str(&format!(
            "no listener can be served; expected a Gateway whose GatewayClass has the controllerName {}, or an Ingress \
             whose IngressClass has the controller {}\n",
            args.controller, args.ingress_controller
        ));
    }
    text
}
