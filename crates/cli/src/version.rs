//! `steelyard version`: which program this is, and what the kernel below it offers. It asks no daemon.
//!
//! Facts of the kernel are read where it publishes them; `steelyard doctor` judges them.

use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;

use crate::outcome::{CommandError, CommandOutcome, finish, print_json};
use crate::show::screen;

/// Show the version of this program, and which kernel features are available.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard version
  steelyard version --json | jq -r .version
  steelyard --version            the number alone")]
pub struct VersionArgs {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// The document that `--json` prints.
#[derive(Debug, Serialize)]
struct ProgramVersion {
    version: &'static str,
    /// The commit that it was built from; absent unless whoever built it said so (`STEELYARD_COMMIT`).
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'static str>,
    /// Processor and system that it was built for.
    target: String,
    /// Whether it was built with checks for development, which cost time.
    debug: bool,
    kernel: KernelFacts,
}

/// What the running kernel offers of what some services need.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct KernelFacts {
    /// `uname -r`; empty where /proc is not mounted.
    release: String,
    features: Vec<KernelFeature>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct KernelFeature {
    name: &'static str,
    found: bool,
    /// What of the configuration needs it.
    used_by: &'static str,
}

/// A file by whose presence, and text where one is expected, a kernel shows that it has a feature.
struct FeatureSign {
    name: &'static str,
    path: &'static str,
    text: Option<&'static str>,
    used_by: &'static str,
}

const SIGNS: [FeatureSign; 5] = [
    FeatureSign {
        name: "btf",
        path: "sys/kernel/btf/vmlinux",
        text: None,
        used_by: "the methods mac, tunnel and nat",
    },
    FeatureSign {
        name: "bpf-jit",
        path: "proc/sys/net/core/bpf_jit_enable",
        text: Some("1"),
        used_by: "the speed of packet methods",
    },
    FeatureSign {
        name: "mptcp",
        path: "proc/sys/net/mptcp/enabled",
        text: Some("1"),
        used_by: "mptcp",
    },
    FeatureSign {
        name: "ipv6",
        path: "proc/net/if_inet6",
        text: None,
        used_by: "listeners and servers with IPv6 addresses",
    },
    FeatureSign {
        name: "cgroup-v2",
        path: "sys/fs/cgroup/cgroup.controllers",
        text: None,
        used_by: "limits of memory and processors that are read",
    },
];

pub fn run(args: &VersionArgs) -> ExitCode {
    finish(args.json, print_version(args))
}

fn print_version(args: &VersionArgs) -> Result<CommandOutcome, CommandError> {
    let version = ProgramVersion {
        version: env!("CARGO_PKG_VERSION"),
        commit: option_env!("STEELYARD_COMMIT"),
        target: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
        debug: cfg!(debug_assertions),
        kernel: read_kernel(Path::new("/")),
    };
    if args.json {
        print_json(&version)?;
    } else {
        screen::print(&render(&version))?;
    }
    Ok(CommandOutcome::Done)
}

/// The facts of the kernel whose /proc and /sys stand under `root`.
fn read_kernel(root: &Path) -> KernelFacts {
    let read = |path: &str| std::fs::read_to_string(root.join(path));
    let release = read("proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned();
    let features = SIGNS
        .iter()
        .map(|sign| KernelFeature {
            name: sign.name,
            found: match sign.text {
                Some(text) => read(sign.path).is_ok_and(|found| found.trim() == text),
                None => root.join(sign.path).exists(),
            },
            used_by: sign.used_by,
        })
        .collect();
    KernelFacts { release, features }
}

fn render(version: &ProgramVersion) -> String {
    let commit = version.commit.map(|commit| format!(", commit {commit}")).unwrap_or_default();
    let debug = if version.debug { ", for development" } else { "" };
    let mut out = format!("steelyard {}{commit}, {}{debug}\n", version.version, version.target);
    let release = match version.kernel.release.as_str() {
        "" => "unknown",
        release => release,
    };
    out.push_str(&format!("kernel {release}\n"));
    for feature in &version.kernel.features {
        let found = if feature.found { "yes" } else { "no" };
        out.push_str(&format!("  {:<10} {found:<4} {}\n", feature.name, feature.used_by));
    }
    out
}

#[cfg(test)]
mod tests {
    use files::TemporaryDir;

    use super::*;

    #[test]
    fn features_are_those_that_the_kernel_shows() {
        let root = TemporaryDir::new("version").unwrap();
        let none = read_kernel(root.path());
        assert_eq!(none.release, "");
        assert!(none.features.iter().all(|feature| !feature.found), "{none:?}");
        for (path, text) in [
            ("proc/sys/kernel/osrelease", "6.1.0-test\n"),
            ("proc/sys/net/mptcp/enabled", "1\n"),
            ("proc/sys/net/core/bpf_jit_enable", "0\n"),
            ("sys/kernel/btf/vmlinux", ""),
        ] {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            files::create::write(&path, text, 0o600).unwrap();
        }
        let some = read_kernel(root.path());
        assert_eq!(some.release, "6.1.0-test");
        let found: Vec<&str> =
            some.features.iter().filter(|feature| feature.found).map(|one| one.name).collect();
        assert_eq!(found, ["btf", "mptcp"]);
    }

    #[test]
    fn the_text_names_program_commit_and_kernel() {
        let kernel = KernelFacts {
            release: String::new(),
            features: vec![KernelFeature { name: "btf", found: false, used_by: "nat" }],
        };
        let version = ProgramVersion {
            version: "1.2.3",
            commit: Some("abc"),
            target: "x86_64-linux".into(),
            debug: false,
            kernel,
        };
        let expected =
            "steelyard 1.2.3, commit abc, x86_64-linux\nkernel unknown\n  btf        no   nat\n";
        assert_eq!(render(&version), expected);
    }
}
