//! Helpers of a guided run besides the fuzzer: the list of targets, and the conversion of the stored corpus to files
//! and back.
//!
//! This program runs no target.

#![allow(clippy::panic, clippy::expect_used, clippy::print_stdout, reason = "a tool of developers")]

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use fuzz::corpus_files;
use fuzz::fingerprint::fingerprint;
use fuzz::target::FuzzTarget;
use fuzz::targets::{all, find};

const USAGE: &str = "\
corpus list                 NAME FINGERPRINT LONGEST of each target
corpus unpack NAME DIR      its seeds, kept corpus and regressions as files in DIR, its words in DIR.dict
corpus pack NAME DIR        keeps the files of DIR, within the bounds; prints how many and their bytes
corpus show FILE            a file as the line of a corpus";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["list"] => list(),
        ["unpack", name, to] => unpack(named(name), Path::new(to)),
        ["pack", name, from] => pack(named(name), Path::new(from)),
        ["show", file] => println!("{}", corpus_files::escape(&read(Path::new(file)))),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn named(name: &str) -> &'static FuzzTarget {
    find(name).unwrap_or_else(|| panic!("no target '{name}'"))
}

fn list() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for target in all() {
        let print = fingerprint(&top, target.covers);
        println!("{} {print:016x} {}", target.name, target.max_bytes);
    }
}

fn unpack(target: &FuzzTarget, to: &Path) {
    make_dir(to);
    for (number, input) in corpus_files::initial_inputs(target).iter().enumerate() {
        write(&to.join(format!("{number:04}")), input);
    }
    let words = |word: &&[u8]| {
        let bytes: String = word.iter().map(|byte| format!("\\x{byte:02x}")).collect();
        format!("\"{bytes}\"\n")
    };
    let words: String = target.dictionary.iter().map(words).collect();
    write(&to.with_extension("dict"), words.as_bytes());
}

fn pack(target: &FuzzTarget, from: &Path) {
    let entries = fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    let inputs = entries.map(|entry| read(&entry.expect("an entry").path())).collect();
    let text = corpus_files::write(inputs);
    let file = corpus_files::path("corpus", &target.name);
    make_dir(file.parent().expect("a directory"));
    write(&file, text.as_bytes());
    let bytes: usize = corpus_files::corpus(&target.name).iter().map(Vec::len).sum();
    println!("{} {bytes}", text.lines().count());
}

fn make_dir(path: &Path) {
    fs::create_dir_all(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

fn read(file: &Path) -> Vec<u8> {
    fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn write(file: &Path, bytes: &[u8]) {
    fs::write(file, bytes).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}
