//! Findings for people: a line each, and below wrong ones the reason and the commands that fix them.
//!
//! The commands are repeated together at the end, for a root shell.

use model::preflight::{PreflightFinding, PreflightResult};

pub fn render_findings(findings: &[PreflightFinding]) -> String {
    let mut out = String::new();
    for PreflightFinding { check, verdict, about, found, why, commands } in findings {
        let word = match verdict {
            PreflightResult::Good => "good ",
            PreflightResult::Wrong => "WRONG",
        };
        out.push_str(&format!("{word}  {:<16} {about}: {found}\n", check.name()));
        if !why.is_empty() {
            out.push_str(&format!("       {why}\n"));
        }
        for command in commands {
            out.push_str(&format!("         {command}\n"));
        }
    }
    let wrong: Vec<&PreflightFinding> =
        findings.iter().filter(|finding| finding.verdict == PreflightResult::Wrong).collect();
    if wrong.is_empty() {
        out.push_str("this server is ready\n");
        return out;
    }
    let mut commands: Vec<&String> = Vec::new();
    for command in wrong.iter().flat_map(|finding| &finding.commands) {
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    out.push_str(&format!("\n{} wrong; as root:\n", wrong.len()));
    commands.iter().for_each(|command| out.push_str(&format!("  {command}\n")));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::preflight::PreflightCheck;

    #[test]
    fn fixes_are_listed_beside_findings_and_once_at_the_end() {
        let finding = |about: &str, verdict, commands: &[&str]| PreflightFinding {
            check: PreflightCheck::ArpIgnore,
            verdict,
            about: about.to_owned(),
            found: "arp_ignore 0".to_owned(),
            why: if commands.is_empty() { String::new() } else { "it answers".to_owned() },
            commands: commands.iter().map(ToString::to_string).collect(),
        };
        let good = finding("eth2", PreflightResult::Good, &[]);
        assert_eq!(
            render_findings(std::slice::from_ref(&good)),
            "good   arp-ignore       eth2: arp_ignore 0\nthis server is ready\n"
        );
        let set = "sysctl -w a=1";
        let bad = ["eth0", "eth1"].map(|link| finding(link, PreflightResult::Wrong, &[set]));
        let expected = "\
WRONG  arp-ignore       eth0: arp_ignore 0
       it answers
         sysctl -w a=1
WRONG  arp-ignore       eth1: arp_ignore 0
       it answers
         sysctl -w a=1

2 wrong; as root:
  sysctl -w a=1
";
        assert_eq!(render_findings(&bad), expected);
    }
}
