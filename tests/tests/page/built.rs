//! The page in the program is what its sources build, only from packages of the public registry.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tests::e2e::dir::TestDir;
use tests::skip::skip;
use tests::tree::top;

use crate::browser::npm_packages;

/// Where packages may come from.
const REGISTRY: &str = "https://registry.npmjs.org/";

#[test]
fn packages_are_named_with_their_digests_and_come_from_the_public_registry() {
    let lock = std::fs::read_to_string(top().join("crates/api/web/package-lock.json")).unwrap();
    let lock: Value = serde_json::from_str(&lock).unwrap();
    let packages = lock["packages"].as_object().unwrap();
    for (name, package) in packages.iter().filter(|(name, _)| !name.is_empty()) {
        let from = package["resolved"].as_str().unwrap_or_default();
        assert!(from.starts_with(REGISTRY), "{name}: {from}");
        assert!(
            package["integrity"].as_str().is_some_and(|it| it.starts_with("sha512-")),
            "{name}"
        );
    }
    assert!(packages.len() > 3);
}

#[test]
fn the_committed_page_is_what_its_sources_build() {
    let web = top().join("crates/api/web");
    let Some(modules) = npm_packages() else {
        return skip("node and npm are not installed: tests/setup test");
    };
    let out = TestDir::new();
    let run = |arguments: &[&str]| {
        let mut command = Command::new("node");
        let done = command.args(arguments).current_dir(&web).output().unwrap();
        let said = String::from_utf8_lossy(&done.stdout).into_owned()
            + &String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{arguments:?}: {said}");
    };
    let tool = |name: &str| modules.join(name).display().to_string();
    run(&[&tool("typescript/bin/tsc"), "--noEmit"]);
    let place = out.path().display().to_string();
    let vite = tool("vite/bin/vite.js");
    run(&[&vite, "build", "--outDir", &place, "--emptyOutDir", "--logLevel", "warn"]);
    let files = |folder: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let committed = web.join("dist");
    assert_eq!(files(&committed), files(out.path()));
    for name in files(&committed) {
        let same = std::fs::read(committed.join(&name)).unwrap()
            == std::fs::read(out.path().join(&name)).unwrap();
        assert!(same, "dist/{name} is not what the sources build: npm ci && npm run build");
    }
}

/// Text that people read, in each place where a view may hold it.
const BAD_VIEW: &str = "export const Bad = ({ is }: { is: boolean }) => (\n  <p title=\"Servers\" class=\"panel wide\">\n    \
    text\n    {is ? \"connecting\" : null}\n    {`${1} of ${2}`}\n  </p>\n);\n";

#[test]
fn all_text_of_the_page_stands_in_one_file() {
    let web = top().join("crates/api/web");
    if npm_packages().is_none() {
        return skip("node and npm are not installed: tests/setup test");
    }
    let findings = |files: &[&Path]| -> Vec<String> {
        let mut command = Command::new("node");
        command.arg("test/strings.mjs").args(files).current_dir(&web);
        let done = command.output().unwrap();
        assert!(done.stderr.is_empty(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().lines().map(str::to_owned).collect()
    };
    assert_eq!(findings(&[]), [""; 0]);
    let out = TestDir::new();
    let bad = out.path().join("bad.tsx");
    std::fs::write(&bad, BAD_VIEW).unwrap();
    let found = findings(&[&bad]);
    for (at, text) in [(2, "Servers"), (3, "text"), (4, "connecting"), (5, "of")] {
        let place = format!("bad.tsx:{at}: \"{text}\" is shown to people");
        assert!(found.iter().any(|one| one.contains(&place)), "{place}: {found:?}");
    }
    assert_eq!(found.len(), 4, "{found:?}");
}
