//! Shell completion with names of live objects: the candidates that bash, zsh and fish offer.

use std::path::Path;
use std::process::Command;

use tests::e2e::balancer::{TestBalancer, program};
use tests::e2e::balancer_config::BalancerConfig;
use tests::e2e::dir::TestDir;
use tests::e2e::servers::origin;
use tests::e2e::tools;

/// A command line up to the cursor, and the expected candidates.
const ROWS: [(&str, &str); 7] = [
    ("steelyard server drain web/", "web/* web/a web/b"),
    ("steelyard server drain web/b", "web/b"),
    ("steelyard server add ", "web"),
    ("steelyard explain server ", "web/* web/a web/b"),
    ("steelyard status ", "shop web"),
    ("steelyard server dra", "drain"),
    ("steelyard generat", "generations"),
];

/// Calls the completion function of bash.
const IN_BASH: &str = r#"
source <(steelyard completions bash)
read -ra COMP_WORDS <<<"$1"
[[ "$1" = *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_steelyard_live steelyard "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\n' "${COMPREPLY[@]}"
"#;

/// Presses Tab in zsh on a pseudo-terminal. zsh finds the completions in a folder of functions.
const IN_ZSH: &str = r#"
zmodload zsh/zpty
zpty shell "PATH=$PATH TERM=dumb zsh -f -i"
zpty -w shell "PS1='re''ady> '; unsetopt list_beep; bindkey '^I' list-choices; fpath=($FUNCTIONS \$fpath); autoload -Uz compinit; compinit -u -D"
zpty -r shell seen '*ready> *'
zpty -w -n shell "$1"$'\t'
zpty -r shell seen '*
*
*'
for line in ${${(f)seen}[2,-1]}; do print -l ${${=line%%-- *}//(\\\\|$'\r')}; done
"#;

/// fish prints its candidates itself.
const IN_FISH: &str =
    "source (steelyard completions fish | psub); complete -C $argv[1] | string split -f 1 \\t";

/// The candidates that a shell offers for a line.
fn offered(shell: &str, script: &str, dir: &TestDir, socket: &Path, line: &str) -> String {
    let mut command = Command::new(tools::program("timeout"));
    command.arg("60").arg(tools::program(shell));
    match shell {
        "bash" => command.args(["--norc", "-c", script, "bash", line]),
        "zsh" => command.args(["-f", "-c", script, "zsh", line]),
        _ => command.args(["--no-config", "-c", script, line]),
    };
    let folder = program().parent().unwrap().display().to_string();
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{folder}:{path}")).env("STEELYARD_SOCKET", socket);
    command.env("FUNCTIONS", dir.path()).env("HOME", dir.path());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut found: Vec<&str> = text.split_whitespace().collect();
    found.sort_unstable();
    found.join(" ")
}

#[test]
fn shells_complete_names_of_live_objects() {
    let a = origin("a");
    let b = origin("b");
    let balancer = TestBalancer::start(&BalancerConfig::http(&[a.address(), b.address()]));
    let socket = balancer.dir().join("sock");
    let dir = TestDir::new();
    let made = Command::new(program()).args(["completions", "zsh"]).output().unwrap();
    dir.write("_steelyard", made.stdout);
    for (shell, script) in [("bash", IN_BASH), ("zsh", IN_ZSH), ("fish", IN_FISH)] {
        for (line, expected) in ROWS {
            assert_eq!(offered(shell, script, &dir, &socket, line), expected, "{shell}: {line}");
        }
    }
    let nobody = balancer.dir().join("absent");
    for (shell, script) in [("bash", IN_BASH), ("fish", IN_FISH)] {
        assert_eq!(offered(shell, script, &dir, &nobody, "steelyard status "), "", "{shell}");
    }
}
