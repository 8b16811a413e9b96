//! Every command of the README and the pages below `docs/` is run as written, on a separate machine.
//!
//! `table` lists the commands that are run differently or not at all, each with its reason. Only the exit code of a
//! command is checked; its output is covered by other tests. `STEELYARD_PAGES=docs/tls.md,docs/slo.md` runs the
//! commands of these pages alone.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "the whole program is a test, which the lints cannot see"
)]

mod host;
mod stage;
mod table;

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Instant;

use rustix::process::Signal;
use tests::documented_commands::{ShownCommand, commands};
use tests::e2e::process::ChildProcess;
use tests::skip::skip;
use tests::tree::SourceTree;

use host::DocumentHost;
use stage::DocumentStage;
use table::{CommandTreatment, ROWS};

/// Pages that start on an empty machine; they run first.
const ALONE: [&str; 2] = ["README.md", "docs/guides/ten-minutes.md"];

#[test]
fn every_command_on_the_pages_works() {
    let begun = Instant::now();
    let world = match DocumentHost::new() {
        Ok(world) => world,
        Err(reason) => return skip(&format!("no namespace can be made: {reason}")),
    };
    let tree = SourceTree::read_repository().unwrap();
    let all = commands(&tree);
    let mut run =
        DocumentRun { world: &world, rows: BTreeSet::new(), wrong: Vec::new(), figures: [0; 3] };
    let chosen = std::env::var("STEELYARD_PAGES").ok();
    let is_chosen =
        |page: &str| chosen.as_ref().is_none_or(|it| it.split(',').any(|it| it == page));
    let stage = DocumentStage::new(&world, &tree);
    // The README's machine is reset after it. Other pages use the servers of the ten-minute guide.
    if is_chosen(ALONE[0]) {
        drop(run.page(&all, ALONE[0], None));
    }
    stage.ten_minutes();
    let ten = run.page(&all, ALONE[1], Some("/tmp/shop.sock"));
    let installed = stage.installed();
    let pages: BTreeSet<&str> = all.iter().map(|shown| shown.page.as_str()).collect();
    for page in pages.into_iter().filter(|page| !ALONE.contains(page) && is_chosen(page)) {
        let beside = stage.before(page);
        drop((run.page(&all, page, None), beside));
        stage.after(page);
    }
    drop((ten, installed));
    run.report(begun, all.len(), chosen.is_none());
}

/// The progress of the run.
struct DocumentRun<'w> {
    world: &'w DocumentHost,
    rows: BTreeSet<usize>,
    wrong: Vec<String>,
    /// Commands run as written, run differently, and skipped.
    figures: [usize; 3],
}

impl DocumentRun<'_> {
    /// Runs a page's commands, and returns the processes that keep running.
    fn page(
        &mut self,
        all: &[ShownCommand],
        page: &str,
        socket: Option<&str>,
    ) -> Vec<ChildProcess> {
        let mut staying = Vec::new();
        for shown in all.iter().filter(|shown| shown.page == page) {
            let row = ROWS.iter().position(|(of, text, _)| *of == page && *text == shown.text);
            self.rows.extend(row);
            let begun = Instant::now();
            match row.map_or(CommandTreatment::ExitCodes(&[0]), |row| ROWS[row].2) {
                CommandTreatment::Skipped(why) => {
                    self.figures[2] += 1;
                    println!("not run: {why}");
                }
                CommandTreatment::Replaced(other) => {
                    self.figures[1] += 1;
                    self.ends(shown, self.world.shell(other, socket), &[0]);
                }
                CommandTreatment::ExitCodes(codes) => {
                    self.figures[0] += 1;
                    self.ends(shown, self.world.shell(&shown.text, socket), codes);
                }
                CommandTreatment::Screen(sees) => {
                    self.figures[0] += 1;
                    self.ends(shown, self.world.screen(&shown.text, socket, sees), &[0]);
                }
                CommandTreatment::Until(says) => {
                    self.figures[0] += 1;
                    let mut process = self.world.start(&shown.text, socket, says);
                    process.signal(Signal::INT);
                    if process.wait().code() != Some(0) {
                        self.wrong.push(format!("{}: {}", place(shown), process.output()));
                    }
                }
                CommandTreatment::KeepsRunning(says) => {
                    self.figures[0] += 1;
                    staying.push(self.world.start(&shown.text, socket, says));
                }
            }
            println!("{:>6} ms  {}", begun.elapsed().as_millis(), place(shown));
        }
        staying
    }

    /// Prints the figures, and fails for what went wrong. Rows and totals are judged when every page was run.
    fn report(&self, begun: Instant, shown: usize, is_complete: bool) {
        let [done, otherwise, not] = self.figures;
        println!(
            "{done} run as written, {otherwise} otherwise, {not} not, in {:?}",
            begun.elapsed()
        );
        assert!(self.wrong.is_empty(), "{}", self.wrong.join("\n\n"));
        if is_complete {
            let unused = ROWS.iter().enumerate().filter(|(at, _)| !self.rows.contains(at));
            let unused: Vec<_> =
                unused.map(|(_, (page, command, _))| format!("{page}: {command}")).collect();
            assert!(unused.is_empty(), "rows without a command:\n{}", unused.join("\n"));
            assert!(done > 70 && not < 25, "{done} and {not} of {shown}");
        }
    }

    fn ends(&mut self, shown: &ShownCommand, mut command: Command, codes: &[i32]) {
        let output = command.output().unwrap();
        if !output.status.code().is_some_and(|code| codes.contains(&code)) {
            let [out, err] = [output.stdout, output.stderr].map(|text| last(&text));
            self.wrong.push(format!("{}: {}\n{out}{err}", place(shown), output.status));
        }
    }
}

fn place(shown: &ShownCommand) -> String {
    format!("{}:{}: {}", shown.page, shown.line, shown.text)
}

fn last(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text).into_owned();
    let from = text.lines().count().saturating_sub(8);
    text.lines().skip(from).map(|line| format!("  {line}\n")).collect()
}
