//! `steelyard completions`: shell completions of the command line. In bash, zsh and fish, `steelyard names` completes
//! names of live objects from the daemon.

use std::process::ExitCode;

use clap_complete::{Shell, generate};

use crate::outcome::{CommandError, CommandOutcome, finish};
use crate::show::screen;

/// Print completions for a shell. Names of live objects complete in bash, zsh and fish.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  steelyard completions bash > /etc/bash_completion.d/steelyard
  steelyard completions zsh > /usr/local/share/zsh/site-functions/_steelyard
  steelyard completions fish > ~/.config/fish/completions/steelyard.fish")]
pub struct CompletionsArgs {
    /// The shell.
    pub shell: Shell,
}

/// Prints those of `program`.
pub fn run(args: &CompletionsArgs, mut program: clap::Command) -> ExitCode {
    let name = program.get_name().to_owned();
    let mut script = Vec::new();
    generate(args.shell, &mut program, name, &mut script);
    let script = with_live_names(args.shell, &String::from_utf8_lossy(&script));
    finish(
        false,
        screen::print(&script).map(|()| CommandOutcome::Done).map_err(CommandError::Output),
    )
}

/// The generated script, extended by the completion of live objects.
fn with_live_names(shell: Shell, script: &str) -> String {
    match shell {
        Shell::Bash => format!("{script}{BASH}"),
        Shell::Fish => format!("{script}{FISH}"),
        // In a folder of functions, zsh reads the file as the function `_steelyard` itself, and the end of the file
        // calls the function that it has just defined.
        Shell::Zsh => match script.rsplit_once("if [ \"$funcstack[1]\"") {
            Some((before, _)) => format!("{before}{ZSH}"),
            None => script.to_owned(),
        },
        _ => script.to_owned(),
    }
}

const BASH: &str = r#"
_steelyard_live() {
    local current="${COMP_WORDS[COMP_CWORD]}" of=""
    case "${COMP_WORDS[1]} ${COMP_WORDS[2]}" in
        "server add") [ "$COMP_CWORD" = 3 ] && of=pools ;;
        "server "*) [ "$COMP_CWORD" = 3 ] && of=servers ;;
        "explain server") [ "$COMP_CWORD" = 3 ] && of=servers ;;
        "copy service") [ "$COMP_CWORD" = 3 ] && of=services ;;
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

const ZSH: &str = r#"_steelyard_live() {
    local of=""
    case "${words[2]} ${words[3]}" in
        "server add") (( CURRENT == 4 )) && of=pools ;;
        "server "*) (( CURRENT == 4 )) && of=servers ;;
        "explain server") (( CURRENT == 4 )) && of=servers ;;
        "copy service") (( CURRENT == 4 )) && of=services ;;
        "status "*) (( CURRENT == 3 )) && of=objects ;;
        "report "*) (( CURRENT == 3 )) && of=objects ;;
    esac
    if [[ -n "$of" && "${words[CURRENT]}" != -* ]]; then
        local -a live
        live=(${(f)"$(steelyard names "$of" 2>/dev/null)"})
        compadd -a live
        return
    fi
    _steelyard "$@"
}

compdef _steelyard_live steelyard
if [ "$funcstack[1]" = "_steelyard" ]; then
    _steelyard_live "$@"
fi
"#;

const FISH: &str = r#"
function __steelyard_at
    set -l words (commandline -opc)
    test (count $words) -eq $argv[1]; and test "$words[2]" = "$argv[2]"
end
complete -c steelyard -n "__steelyard_at 3 server; and not __fish_seen_subcommand_from add" -f -a "(steelyard names servers 2>/dev/null)"
complete -c steelyard -n "__steelyard_at 3 server; and __fish_seen_subcommand_from add" -f -a "(steelyard names pools 2>/dev/null)"
complete -c steelyard -n "__steelyard_at 3 explain; and __fish_seen_subcommand_from server" -f -a "(steelyard names servers 2>/dev/null)"
complete -c steelyard -n "__steelyard_at 3 copy; and __fish_seen_subcommand_from service" -f -a "(steelyard names services 2>/dev/null)"
complete -c steelyard -n "__steelyard_at 2 status; or __steelyard_at 2 report" -f -a "(steelyard names objects 2>/dev/null)"
"#;
