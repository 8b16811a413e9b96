//! `steelyard completions`: what a shell needs to complete the command line. Names of live objects are asked of the
//! daemon by `steelyard names`, in bash and fish.

use std::process::ExitCode;

use clap_complete::{Shell, generate};

use crate::end::{End, Failure, finish};
use crate::show::screen;

/// Print completions for a shell.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard completions bash > /etc/bash_completion.d/steelyard
  steelyard completions fish > ~/.config/fish/completions/steelyard.fish")]
pub struct Args {
    /// The shell.
    pub shell: Shell,
}

/// Prints those of `program`.
pub fn run(args: &Args, mut program: clap::Command) -> ExitCode {
    let name = program.get_name().to_owned();
    let mut script = Vec::new();
    generate(args.shell, &mut program, name, &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    script.push_str(live(args.shell));
    finish(false, screen::print(&script).map(|()| End::Done).map_err(Failure::Output))
}

/// What completes names of live objects, behind what is generated.
fn live(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => BASH,
        Shell::Fish => FISH,
        _ => "",
    }
}

const BASH: &str = r#"
_steelyard_live() {
    local current="${COMP_WORDS[COMP_CWORD]}" of=""
    case "${COMP_WORDS[1]} ${COMP_WORDS[2]}" in
        "server add") [ "$COMP_CWORD" = 3 ] && of=pools ;;
        "server "*) [ "$COMP_CWORD" = 3 ] && of=servers ;;
        "explain server") [ "$COMP_CWORD" = 3 ] && of=servers ;;
        "status "*) [ "$COMP_CWORD" = 2 ] && of=objects ;;
        "report "*) [ "$COMP_CWORD" = 2 ] && of=objects ;;
    esac
    if [ -n "$of" ] && [ "${current#-}" = "$current" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(steelyard names "$of" 2>/dev/null)" -- "$current")
        return
    fi
    _steelyard "$@"
}
complete -F _steelyard_live -o bashdefault -o default steelyard
"#;

const FISH: &str = r#"
complete -c steelyard -n "__fish_seen_subcommand_from server; and __fish_seen_subcommand_from drain enable disable cut quiesce maintain weight remove" -f -a "(steelyard names servers 2>/dev/null)"
complete -c steelyard -n "__fish_seen_subcommand_from server; and __fish_seen_subcommand_from add" -f -a "(steelyard names pools 2>/dev/null)"
complete -c steelyard -n "__fish_seen_subcommand_from explain; and __fish_seen_subcommand_from server" -f -a "(steelyard names servers 2>/dev/null)"
complete -c steelyard -n "__fish_seen_subcommand_from status report" -f -a "(steelyard names objects 2>/dev/null)"
"#;
